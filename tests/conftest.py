"""What all tests share: no test talks to another machine."""

from __future__ import annotations

import atexit
import ipaddress
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_hub import FakeHub

HUB = FakeHub().__enter__()
"""The one Hub of all tests, on loopback. It is empty, and offline unless a test asks for it."""

# Set before a test imports a library that reads it. Child processes inherit it.
os.environ["HF_ENDPOINT"] = HUB.url
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="embviz-hf-home-")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_XET"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
atexit.register(shutil.rmtree, os.environ["HF_HOME"], ignore_errors=True)


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that leaves this machine fails, and names where it wanted to go."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and not _is_loopback(address[0]):
            message = f"a test wanted to connect to {address}"
            raise AssertionError(message)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    """The fake Hub, online and empty, beside an empty local cache."""
    from huggingface_hub import constants

    from embviz.models import loading

    HUB.reset()
    loading._open.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    yield HUB
    HUB.reset()
    for thread in threading.enumerate():
        if thread.name.startswith("embviz-read"):  # left behind by a reading that was refused
            thread.join(30)

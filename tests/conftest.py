"""What all tests share: no test talks to another machine."""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Any

import pytest

# Set before a test imports a library that reads it. Child processes inherit it.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"


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

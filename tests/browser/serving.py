"""Starts a page as a process of its own and waits until it answers."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
WAIT_SECONDS = 120


@dataclass(frozen=True)
class Served:
    """A page that answers.

    Attributes:
        url: its address on this machine, without a slash at the end.
        pid: the process that serves it.
        seconds: from the start of the process to the first 200.
    """

    url: str
    pid: int
    seconds: float


@contextmanager
def serve(command: Sequence[str] = ("-m", "embviz", "serve", "--port", "{port}")) -> Iterator[Served]:
    """A page served by a Python with these arguments, `{port}` filled in; it is ended afterwards.

    Raises:
        RuntimeError: it ended, or did not answer in time; the message has what it printed.
    """
    port = _free_port()
    arguments = [sys.executable, *(argument.replace("{port}", str(port)) for argument in command)]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        started = time.perf_counter()
        process = subprocess.Popen(
            arguments, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            while not _answers(port):
                if process.poll() is not None or time.perf_counter() - started > WAIT_SECONDS:
                    log.seek(0)
                    message = f"{' '.join(arguments)} does not serve a page:\n{log.read()}"
                    raise RuntimeError(message)
                time.sleep(0.01)
            yield Served(f"http://127.0.0.1:{port}", process.pid, time.perf_counter() - started)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    """Whether the page's address answers with 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()

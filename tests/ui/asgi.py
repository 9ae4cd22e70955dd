"""Asks an ASGI app one question, without a server and without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message


@dataclass(frozen=True)
class Answer:
    """What came back; names of headers are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def __getitem__(self, name: str) -> str:
        """The one header of that name."""
        (value,) = [value for key, value in self.headers if key == name]
        return value

    def __contains__(self, name: str) -> bool:
        return name in dict(self.headers)


def ask(app: ASGIApp, path: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> Answer:
    """The answer of an app, put together from its messages."""
    sent: list[Message] = []

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not asked:  # nobody hangs up: whoever waits for that waits until the answer is complete
            await asyncio.Event().wait()
        return asked.pop()

    async def send(message: Message) -> None:
        # A copy: middleware may write to the message that it passes on.
        sent.append(dict(message))

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
        "server": ("127.0.0.1", 7860),
        "client": ("127.0.0.1", 50000),
    }
    finish(_run(app, scope, receive, send))
    start, *rest = sent
    assert start["type"] == "http.response.start"
    assert all(message["type"] == "http.response.body" for message in rest)
    named = tuple((name.decode().lower(), value.decode()) for name, value in start["headers"])
    return Answer(start["status"], named, b"".join(message.get("body", b"") for message in rest))


async def _run(app: ASGIApp, *arguments: Any) -> None:
    await app(*arguments)


def finish(work: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine to its end, in a thread: Playwright's tests leave a running event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()

"""The page's own files, kept in memory, compressed once, kept by browsers for a year under a versioned path."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

STATIC_PATH = "embviz-static"

_PLOTLY = "plotly.min.js"

# Written out, because some systems know no type or a wrong one, and a browser then refuses a module.
_TYPES = {"js": b"text/javascript; charset=utf-8", "css": b"text/css; charset=utf-8", "svg": b"image/svg+xml"}


@lru_cache(maxsize=1)
def version() -> str:
    """A short hash of all our files and of plotly's version; it stands in their path and changes with them."""
    from importlib.metadata import version as installed

    digest = hashlib.sha256(installed("plotly").encode())
    for name in sorted(_our_files()):
        digest.update(read_file(name))
    return digest.hexdigest()[:12]


def module_names() -> list[str]:
    """The names of our JavaScript modules."""
    return sorted(name for name in _our_files() if name.endswith(".js"))


def _our_files() -> set[str]:
    folder = resources.files("embviz.ui") / "static"
    return {file.name for file in folder.iterdir() if file.name.rsplit(".", 1)[-1] in _TYPES}


@lru_cache(maxsize=64)
def read_file(name: str) -> bytes:
    """The bytes of one of our files, or of the plotly.js that the installed plotly package brings.

    Raises:
        FileNotFoundError: there is no such file; names that lead elsewhere are not looked up at all.
    """
    if name == _PLOTLY:
        return (resources.files("plotly") / "package_data" / _PLOTLY).read_bytes()
    if name not in _our_files():
        raise FileNotFoundError(name)
    return (resources.files("embviz.ui") / "static" / name).read_bytes()


@lru_cache(maxsize=128)
def encoded(name: str, coding: str) -> bytes:
    """The same bytes in a content coding, once and for all: "br", "gzip" or "identity".

    Browsers ask for Brotli only over HTTPS and from this very machine; a class that opens its teacher's
    machine by plain HTTP gets gzip.
    """
    data = read_file(name)
    if coding == "br":
        import brotli

        packed: bytes = brotli.compress(data, quality=5 if len(data) > 1_000_000 else 9)
        return packed
    return gzip.compress(data, compresslevel=6, mtime=0) if coding == "gzip" else data


class CompressedFiles:
    """ASGI app under a Mount: `/<version>/<name>` gives the file of that name.

    Under a version that is not ours it is the same file, but nobody may keep it: a page of the server before or after
    this one has asked.
    """

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,  # noqa: ARG002 - ASGI calls with it
        send: Send,
    ) -> None:
        """Answers with the file, or with 404."""
        folder, _, name = scope["path"].rpartition("/")
        headers = dict(scope["headers"])
        coding = _coding(headers.get(b"accept-encoding", b"").decode("latin-1"))
        try:
            # In a thread: the first compression of plotly.js takes a moment, and others should not wait for it.
            body = (
                await asyncio.to_thread(encoded, name, coding) if name == _PLOTLY else encoded(name, coding)
            )
        except FileNotFoundError:
            await _answer(send, 404, b"", [])
            return
        ours = folder.rpartition("/")[2] == version()
        answer = [
            (b"content-type", _TYPES[name.rsplit(".", 1)[-1]]),
            (b"cache-control", b"public, max-age=31536000, immutable" if ours else b"no-cache"),
            (b"vary", b"accept-encoding"),
        ]
        if coding != "identity":
            answer.append((b"content-encoding", coding.encode()))
        await _answer(send, 200, body, answer, head=scope["method"] == "HEAD")


def _coding(accepted: str) -> str:
    """The best content coding that a browser accepts; one of weight 0 it refuses (RFC 9110, 12.5.3)."""
    names = set()
    for part in accepted.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        if not any(_ZERO.fullmatch(parameter) for parameter in parameters):
            names.add(name)
    return next((coding for coding in ("br", "gzip") if coding in names), "identity")


_ZERO = re.compile(r"q\s*=\s*0(\.0*)?")


async def _answer(
    send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]], *, head: bool = False
) -> None:
    """Sends an answer; to HEAD the length that GET would have, without the body."""
    headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})

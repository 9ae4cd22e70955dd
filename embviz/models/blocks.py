"""A file that is read in pieces, as a stream for zipfile."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

from embviz.models.files import File
from embviz.models.watch import in_parallel

BLOCK = 65_536

MAX_FETCHED = 25_000_000
"""Bytes after which a directory is too large to be one."""


class Blocks(io.RawIOBase):
    """A file for zipfile: its two ends are fetched at once, other blocks by need, a few megabytes at most."""

    def __init__(self, file: File) -> None:
        self.file, self.at, self.fetched = file, 0, 0
        last = max(0, (file.size - 1) // BLOCK)
        ends = sorted({0, max(0, last - 1), last})
        self.blocks = dict(zip(ends, in_parallel([partial(self._fetch, end) for end in ends]), strict=True))

    def _fetch(self, block: int) -> bytes:
        data = self.file.read(block * BLOCK, min((block + 1) * BLOCK, self.file.size))
        self.fetched += len(data)
        if self.fetched > MAX_FETCHED:
            raise ValueError("its directory is too large")
        return data

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Goes to a byte and gives its number back."""
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.file.size}[whence]
        if self.at < 0:
            raise OSError("it ends too early")
        return self.at

    def tell(self) -> int:
        """The byte that is read next."""
        return self.at

    def readinto(self, buffer: Any) -> int:
        """Fills the start of a buffer and gives back how much of it."""
        if self.at >= self.file.size:
            return 0
        block, skip = divmod(self.at, BLOCK)
        if block not in self.blocks:
            self.blocks[block] = self._fetch(block)
        data = self.blocks[block][skip : skip + len(buffer)]
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)

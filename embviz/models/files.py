"""Files that are read in pieces: `read(start, stop)`, whatever is behind it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol


class File(Protocol):
    """Anything with a size in bytes that gives the bytes of a range."""

    size: int

    def read(self, start: int, stop: int) -> bytes:
        """The bytes `start <= i < stop`."""


class LocalFile:
    """A file on disk. It is read and not mapped, so that a file that shrinks raises instead of killing us."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size

    def read(self, start: int, stop: int) -> bytes:
        """The bytes `start <= i < stop`.

        Raises:
            OSError: the file ends before `stop`.
        """
        with self.path.open("rb") as stream:
            stream.seek(start)
            data = stream.read(stop - start)
        if len(data) != stop - start:
            raise OSError(f"{self.path.name} ends at byte {start + len(data)}, before {stop}")
        return data


def sha256(path: Path) -> str:
    """The SHA-256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

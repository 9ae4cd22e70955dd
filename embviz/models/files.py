"""Files that are read in pieces: `read(start, stop)`, whatever is behind it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

from embviz.models.watch import current_watch


class File(Protocol):
    """Anything with a name and a size in bytes that gives the bytes of a range."""

    @property
    def name(self) -> str:
        """What to call it in a sentence."""

    @property
    def size(self) -> int:
        """Its length in bytes."""

    @property
    def over_network(self) -> bool:
        """Whether its bytes come over a network."""

    def read(self, start: int, stop: int) -> bytes:
        """The bytes `start <= i < stop`, never fewer.

        Raises:
            OSError: the file ends before `stop`.
        """


class LocalFile:
    """A file on disk. It is read and not mapped, so that a file that shrinks raises instead of killing us."""

    over_network = False

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path = path
        self.name = name or path.name
        self.size = path.stat().st_size

    def read(self, start: int, stop: int) -> bytes:
        """The bytes `start <= i < stop`.

        Raises:
            OSError: the file ends before `stop`.
        """
        with self.path.open("rb", buffering=0) as stream:
            stream.seek(start)
            data = stream.read(stop - start)
            while data and len(data) < stop - start:  # one call gives at most 2 GiB
                more = stream.read(stop - start - len(data))
                if not more:
                    break
                data += more
        if len(data) != stop - start:
            raise OSError(f"it ends at byte {start + len(data):,}, before {stop:,}")
        current_watch().received(self.name, len(data))
        return data


class KnownStart:
    """A file whose first bytes were read already: they are not read again.

    Args:
        file: the file.
        start: its first bytes.
    """

    def __init__(self, file: File, start: bytes) -> None:
        self.file, self.start = file, start
        self.name, self.size, self.over_network = file.name, file.size, file.over_network

    def read(self, start: int, stop: int) -> bytes:
        """The bytes `start <= i < stop`.

        Raises:
            OSError: the file ends before `stop`.
        """
        known = self.start[start:stop]
        if len(known) == stop - start:
            return known
        return known + self.file.read(start + len(known), stop)


def sha256(path: Path) -> str:
    """The SHA-256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def size_text(count: int) -> str:
    """A number of bytes for people: "438 MB"."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            number = count / scale
            return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"
    return f"{count} bytes"

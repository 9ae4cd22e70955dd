"""Many pieces of files at once: near ones share a read, far ones are read side by side."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from embviz.models.files import File
from embviz.models.watch import WORKERS, current_watch, in_parallel

GAP = 32_768
"""Two pieces with at most this many bytes between them share a read (measured: 0 to 128 KB are equally fast)."""

_SPLIT = 524_288
"""A longer run is read in pieces of this size, side by side, which also makes its progress visible."""

_LARGEST = 8_388_608


@dataclass(frozen=True)
class Piece:
    """The bytes `start <= i < stop` of a file."""

    file: File
    start: int
    stop: int


def read_pieces(pieces: Iterable[Piece]) -> dict[Piece, memoryview]:
    """The bytes of all pieces, in one round of parallel reads.

    Raises:
        OSError: a file ends before a piece does.
    """
    by_file: dict[File, list[Piece]] = defaultdict(list)
    for piece in set(pieces):
        by_file[piece.file].append(piece)
    runs = [Piece(file, *run) for file, wanted in by_file.items() for run in _runs(wanted)]
    current_watch().expect(sum(run.stop - run.start for run in runs))
    parts = [part for run in runs for part in _parts(run)]
    read = dict(zip(parts, in_parallel([_Read(part) for part in parts]), strict=True))

    result: dict[Piece, memoryview] = {}
    for file, wanted in by_file.items():
        own = [run for run in runs if run.file is file]
        starts = [run.start for run in own]
        whole = [memoryview(b"".join([read.pop(part) for part in _parts(run)])) for run in own]
        for piece in wanted:
            at = bisect_right(starts, piece.start) - 1
            result[piece] = whole[at][piece.start - starts[at] : piece.stop - starts[at]]
    return result


@dataclass(frozen=True)
class _Read:
    """A read that waits for its thread."""

    piece: Piece

    def __call__(self) -> bytes:
        return self.piece.file.read(self.piece.start, self.piece.stop)


def _runs(pieces: Iterable[Piece]) -> list[tuple[int, int]]:
    """Start and stop of the reads that cover these pieces of one file."""
    runs: list[tuple[int, int]] = []
    for start, stop in sorted((piece.start, piece.stop) for piece in pieces):
        if runs and start - runs[-1][1] <= GAP:
            runs[-1] = (runs[-1][0], max(stop, runs[-1][1]))
        else:
            runs.append((start, stop))
    return runs


def _parts(run: Piece) -> Iterator[Piece]:
    """A long run in pieces: a few large ones rather than thousands."""
    size = max(_SPLIT, min(_LARGEST, (run.stop - run.start) // (2 * WORKERS)))
    for start in range(run.start, run.stop, size):
        yield Piece(run.file, start, min(start + size, run.stop))

"""The word rows of an open model that were wanted last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock

MAX_CACHED_ROWS = 8_000_000
"""Bytes of rows that an open model keeps, so that a text that is typed on is not asked for again."""


class RowCache:
    """The rows that were wanted last, as bytes, up to a number of bytes."""

    def __init__(self) -> None:
        self._limit, self._size, self._lock = MAX_CACHED_ROWS, 0, Lock()
        self._rows: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def get(self, name: str, ids: Iterable[int]) -> dict[int, bytes]:
        """Those of the rows that are here."""
        with self._lock:
            found = [i for i in set(ids) if (name, i) in self._rows]
            for i in found:
                self._rows.move_to_end((name, i))
            return {i: self._rows[name, i] for i in found}

    def put(self, name: str, rows: Mapping[int, bytes]) -> None:
        """Keeps rows; those that were not wanted for the longest time leave."""
        with self._lock:
            for i, data in rows.items():
                if (name, i) not in self._rows:
                    self._rows[name, i] = data
                    self._size += len(data)
            while self._size > self._limit:
                self._size -= len(self._rows.popitem(last=False)[1])

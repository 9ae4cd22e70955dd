"""The answers that an open model gave last, so that a slider does not ask for them again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from embviz.embedding.decomposition import ALL_PARTS, Decomposition

MAX_BYTES = 16_000_000
"""Bytes of vectors that an open model keeps, about a hundred pairs of short sentences."""
MAX_ANSWERS = 64

Texts = tuple[str, str | None]


class RecentDecompositions:
    """The decompositions that were wanted last, up to a number of bytes, by what was typed.

    It belongs to its model, which they refer to: both are let go of together.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[Texts, Decomposition] = OrderedDict()
        self._lock = Lock()

    def get(self, texts: Texts, compute: Callable[[], Decomposition]) -> Decomposition:
        """The very same answer as last time, or a new one; visitors with other texts do not wait for it."""
        with self._lock:
            if texts in self._answers:
                self._answers.move_to_end(texts)
                return self._answers[texts]
        answer = compute()
        with self._lock:
            answer = self._answers.setdefault(texts, answer)  # another visitor may have been faster
            self._answers.move_to_end(texts)
            while len(self._answers) > MAX_ANSWERS or (len(self._answers) > 1 and self._size() > MAX_BYTES):
                self._answers.popitem(last=False)
        return answer

    def _size(self) -> int:
        return sum(_bytes(answer) for answer in self._answers.values())


def _bytes(answer: Decomposition) -> int:
    arrays = [answer.output, *(answer.part(name) for name in ALL_PARTS)]
    return sum(0 if array is None else array.nbytes for array in arrays)

"""Where the tensors of weight files lie, whatever the format of the files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import Protocol

import torch

from embviz.models.files import File
from embviz.models.ranges import Piece


@dataclass(frozen=True)
class TensorEntry:
    """Where a tensor lies.

    Attributes:
        file: the file that holds it.
        dtype: None means numbers that cannot be shown (integers, quantised ones).
        stored: the dtype as the file calls it.
        shape: its shape.
        start: the byte of the file where it starts.
    """

    file: File
    dtype: torch.dtype | None
    stored: str
    shape: tuple[int, ...]
    start: int

    @property
    def nbytes(self) -> int:
        """Its length in bytes."""
        return prod(self.shape) * (self.dtype.itemsize if self.dtype else 0)

    def piece(self) -> Piece:
        """All of it."""
        return Piece(self.file, self.start, self.start + self.nbytes)

    def row(self, index: int) -> Piece:
        """One row of a table."""
        size = self.nbytes // self.shape[0]
        return Piece(self.file, self.start + index * size, self.start + (index + 1) * size)


class Index(Protocol):
    """What is in the weight files of a model."""

    def names(self) -> Collection[str]:
        """The names of all tensors."""

    def entries(self, names: Collection[str]) -> Mapping[str, TensorEntry]:
        """Where some of the tensors lie; what has to be read for it is read in one round."""


def dtype_name(dtype: torch.dtype) -> str:
    """A dtype in a word: "float16"."""
    return str(dtype).removeprefix("torch.")

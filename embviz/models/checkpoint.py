"""Tensors out of a safetensors file, whole or by rows, without reading the rest of it.

Format: 8 bytes little-endian length of the header, a JSON header `{name: {dtype, shape, data_offsets}}`, the
data; offsets count from the end of the header (https://huggingface.co/docs/safetensors).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import torch
from torch import Tensor

from embviz.errors import ModelError
from embviz.models.files import File

MAX_HEADER = 25_000_000
DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class TensorSource(Protocol):
    """Named tensors of a model."""

    def __contains__(self, name: object) -> bool: ...

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, without reading it."""

    def tensor(self, name: str) -> Tensor:
        """A whole tensor, float32."""

    def rows(self, name: str, ids: Sequence[int]) -> Tensor:
        """Rows of a table, float32, `(len(ids), width)`."""


@dataclass(frozen=True)
class TensorEntry:
    """Where a tensor lies: its dtype, its shape, and the byte of the file where it starts."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    start: int


class Checkpoint:
    """The tensors of a safetensors file, read by need.

    Raises:
        ModelError: the file is not a safetensors file or is cut off.
    """

    def __init__(self, file: File) -> None:
        self.file = file
        self.entries: Mapping[str, TensorEntry] = _read_header(file)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, without reading it."""
        return self.entries[name].shape

    def tensor(self, name: str) -> Tensor:
        """A whole tensor, float32.

        Raises:
            ModelError: it holds no floating-point numbers, or the file has become shorter.
        """
        entry = self.entries[name]
        size = prod(entry.shape) * entry.dtype.itemsize
        return self._read(entry, entry.start, size).reshape(entry.shape)

    def rows(self, name: str, ids: Sequence[int]) -> Tensor:
        """Rows of a table, float32, `(len(ids), width)`; each distinct row is read once.

        Raises:
            IndexError: an id is not a row of the table.
            ModelError: the file has become shorter.
        """
        entry = self.entries[name]
        count, width = entry.shape
        row_bytes = width * entry.dtype.itemsize
        distinct = sorted(set(ids))
        if distinct and not 0 <= distinct[0] <= distinct[-1] < count:
            raise IndexError(f"{name} has rows 0 to {count - 1}")
        read = {i: self._read(entry, entry.start + i * row_bytes, row_bytes) for i in distinct}
        return torch.stack([read[i] for i in ids]) if ids else torch.empty(0, width)

    def _read(self, entry: TensorEntry, start: int, size: int) -> Tensor:
        if entry.dtype not in DTYPES.values():
            raise ModelError("checkpoint", field="model", reason="a tensor holds no floating-point numbers")
        try:
            data = bytearray(self.file.read(start, start + size))
        except OSError as error:
            raise ModelError("checkpoint", field="model", reason=error) from error
        return torch.frombuffer(data, dtype=entry.dtype).float() if data else torch.empty(0)


class MemoryTensors:
    """Tensors that are already in memory, behind the same door as a checkpoint."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = tensors

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return tuple(self.tensors[name].shape)

    def tensor(self, name: str) -> Tensor:
        """A whole tensor, float32."""
        return self.tensors[name].float()

    def rows(self, name: str, ids: Sequence[int]) -> Tensor:
        """Rows of a table, float32, `(len(ids), width)`.

        Raises:
            IndexError: an id is not a row of the table.
        """
        if any(i < 0 for i in ids):
            raise IndexError(f"{name} has no negative rows")
        return self.tensors[name][list(ids)].float()


def _read_header(file: File) -> dict[str, TensorEntry]:
    try:
        length = int.from_bytes(file.read(0, 8), "little")
        if length > MAX_HEADER:
            raise ValueError(f"header of {length} bytes")
        header = json.loads(file.read(8, 8 + length))
        header.pop("__metadata__", None)
        entries = {name: _entry(fields, 8 + length, file.size) for name, fields in header.items()}
        _check_coverage([fields["data_offsets"] for fields in header.values()], file.size - 8 - length)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError("checkpoint", field="model", reason=error) from error
    return entries


def _entry(fields: Mapping[str, Any], data_start: int, size: int) -> TensorEntry:
    """One entry of the header, checked against the size of the file; other dtypes are kept as bytes."""
    start, stop = fields["data_offsets"]
    shape = tuple(fields["shape"])
    numbers = (start, stop, *shape)
    if not all(type(n) is int and n >= 0 for n in numbers) or not start <= stop <= size - data_start:
        raise ValueError("a tensor lies outside the file")
    dtype = DTYPES.get(fields["dtype"])
    if dtype is None:
        return TensorEntry(torch.uint8, (stop - start,), data_start + start)
    if prod(shape) * dtype.itemsize != stop - start:
        raise ValueError("a tensor's shape contradicts its length")
    return TensorEntry(dtype, shape, data_start + start)


def _check_coverage(offsets: list[list[int]], size: int) -> None:
    """Tensors lie end to end and fill the file, as the format demands: no hole, no overlap, no rest."""
    end = 0
    for start, stop in sorted(offsets):
        if start != end:
            raise ValueError("tensors overlap or leave a hole")
        end = stop
    if end != size:
        raise ValueError("the file is longer than its tensors")

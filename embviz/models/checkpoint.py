"""Tensors out of weight files, whole or by rows, without reading the rest of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

import torch
from torch import Tensor

from embviz.errors import ModelError
from embviz.models.files import size_text
from embviz.models.index import Index, TensorEntry, dtype_name
from embviz.models.ranges import Piece, read_pieces
from embviz.models.row_cache import RowCache


class TensorSource(Protocol):
    """Named tensors of a model."""

    def __contains__(self, name: object) -> bool: ...

    def names(self) -> Collection[str]:
        """The names of all tensors, as the file has them."""

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, without reading it."""

    def dtype(self, name: str) -> str:
        """How the file stores a tensor, in torch's words ("float16"), without reading it."""

    def remote_bytes(self, names: Collection[str]) -> int:
        """How many bytes a network would have to bring for these tensors; 0 where they are on this machine."""

    def is_at_hand(self, name: str, ids: Sequence[int]) -> bool:
        """Whether these rows can be had without waiting for a network."""

    def tensor(self, name: str) -> Tensor:
        """A whole tensor, float32."""

    def rows(self, name: str, ids: Sequence[int]) -> Tensor:
        """Rows of a table, float32, `(len(ids), width)`."""

    def read(
        self,
        tensors: Iterable[str] = (),
        rows: Mapping[str, Sequence[int]] | None = None,
        *,
        whole: bool = False,
    ) -> dict[str, Tensor]:
        """Whole tensors, and rows of tables, in one round of parallel reads; float32, by name.

        Args:
            tensors: names of tensors to read as a whole.
            rows: for each table the rows wanted, in order; each distinct one is read once.
            whole: whether to read large tables as a whole too; without it they are refused, saying how large.

        Raises:
            ModelError: a tensor does not hold plain floating-point numbers, is too large to be read as a whole,
                or cannot be read.
            IndexError: an id is not a row of its table; nothing was read then.
        """


class Checkpoint:
    """The tensors of weight files, read by need.

    Args:
        index: what is in the files.
        whole_limit: a tensor of more bytes is read as a whole only where that is asked for by `whole=True`;
            None means no limit.
        hard_limit: a tensor of more bytes is never read as a whole; None means no limit.
    """

    def __init__(
        self,
        index: Index,
        whole_limit: int | None = None,
        hard_limit: int | None = None,
    ) -> None:
        self._index, self._whole_limit, self._hard_limit = index, whole_limit, hard_limit
        self._cache = RowCache()

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def names(self) -> Collection[str]:
        """The names of all tensors, as the file has them."""
        return self._index.names()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, without reading it."""
        return self._entry(name).shape

    def dtype(self, name: str) -> str:
        """How the file stores a tensor, in torch's words ("float16"), without reading it."""
        return self._entry(name).stored

    def remote_bytes(self, names: Collection[str]) -> int:
        """How many bytes a network would have to bring for these tensors; 0 where they are on this machine."""
        return sum(entry.nbytes for entry in self._index.entries(names).values() if entry.file.over_network)

    def is_at_hand(self, name: str, ids: Sequence[int]) -> bool:
        """Whether these rows can be had without waiting for a network."""
        return not self._entry(name).file.over_network or set(ids) <= self._cache.get(name, ids).keys()

    def tensor(self, name: str) -> Tensor:
        """A whole tensor, float32."""
        return self.read([name])[name]

    def rows(self, name: str, ids: Sequence[int]) -> Tensor:
        """Rows of a table, float32, `(len(ids), width)`."""
        return self.read(rows={name: ids})[name]

    def read(
        self,
        tensors: Iterable[str] = (),
        rows: Mapping[str, Sequence[int]] | None = None,
        *,
        whole: bool = False,
    ) -> dict[str, Tensor]:
        """Whole tensors, and rows of tables, in one round of parallel reads; float32, by name.

        Raises:
            ModelError: a tensor does not hold plain floating-point numbers, is too large to be read as a whole,
                or cannot be read.
            IndexError: an id is not a row of its table; nothing was read then.
        """
        tensors, rows = list(tensors), rows or {}
        entries = self._index.entries({*tensors, *rows})
        dtypes = {name: _float_dtype(name, entry) for name, entry in entries.items()}
        for name in tensors:
            self._check_size(name, entries[name], whole=whole)
        for name, ids in rows.items():
            _check_rows(name, entries[name], ids)
        known = {name: self._cache.get(name, ids) for name, ids in rows.items()}
        missing = {name: sorted(set(ids) - known[name].keys()) for name, ids in rows.items()}

        pieces = [entries[name].piece() for name in tensors]
        pieces += [entries[name].row(i) for name, ids in missing.items() for i in ids]
        read = _read(pieces)

        result: dict[str, Tensor] = {}
        for name in tensors:
            data = bytearray(read[entries[name].piece()])
            result[name] = _numbers(data, dtypes[name]).reshape(entries[name].shape)
        for name, ids in rows.items():
            new = {i: bytes(read[entries[name].row(i)]) for i in missing[name]}
            self._cache.put(name, new)
            data = bytearray().join({**known[name], **new}[i] for i in ids)
            result[name] = _numbers(data, dtypes[name]).reshape(len(ids), *entries[name].shape[1:])
        return result

    def _entry(self, name: str) -> TensorEntry:
        return self._index.entries([name])[name]

    def _check_size(self, name: str, entry: TensorEntry, *, whole: bool) -> None:
        if self._hard_limit is not None and entry.nbytes > self._hard_limit:
            limit = size_text(self._hard_limit)
            raise ModelError(
                "whole_too_large", field="model", name=name, size=size_text(entry.nbytes), limit=limit
            )
        if self._whole_limit is not None and entry.nbytes > self._whole_limit and not whole:
            raise ModelError("whole_table", field="model", name=name, size=size_text(entry.nbytes))


class MemoryTensors:
    """Tensors that are already in memory, behind the same door as a checkpoint."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self.tensors = tensors

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def names(self) -> Collection[str]:
        """The names of all tensors."""
        return self.tensors.keys()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return tuple(self.tensors[name].shape)

    def dtype(self, name: str) -> str:
        """How a tensor is stored, in torch's words ("float32")."""
        return dtype_name(self.tensors[name].dtype)

    def remote_bytes(self, names: Collection[str]) -> int:  # noqa: ARG002 - whatever they are called
        """0, since they are in memory."""
        return 0

    def is_at_hand(self, name: str, ids: Sequence[int]) -> bool:  # noqa: ARG002 - all of them are
        """Yes."""
        return True

    def tensor(self, name: str) -> Tensor:
        """A whole tensor, float32."""
        tensor = self.tensors[name]
        if not tensor.is_floating_point():
            raise ModelError("quantised", field="model", name=name, dtype=self.dtype(name))
        return tensor.float()

    def rows(self, name: str, ids: Sequence[int]) -> Tensor:
        """Rows of a table, float32, `(len(ids), width)`."""
        count = len(self.tensors[name])
        if not all(0 <= i < count for i in ids):
            raise IndexError(f"{name} has rows 0 to {count - 1}")
        return self.tensor(name)[list(ids)]

    def read(
        self,
        tensors: Iterable[str] = (),
        rows: Mapping[str, Sequence[int]] | None = None,
        *,
        whole: bool = False,  # noqa: ARG002 - nothing is read here, so nothing is too large
    ) -> dict[str, Tensor]:
        """Whole tensors, and rows of tables; float32, by name."""
        result = {name: self.tensor(name) for name in tensors}
        return result | {name: self.rows(name, ids) for name, ids in (rows or {}).items()}


def _float_dtype(name: str, entry: TensorEntry) -> torch.dtype:
    if entry.dtype is None:
        raise ModelError("quantised", field="model", name=name, dtype=entry.stored)
    return entry.dtype


def _check_rows(name: str, entry: TensorEntry, ids: Sequence[int]) -> None:
    if len(entry.shape) != 2:
        raise ModelError("not_a_table", field="model", name=name, shape=list(entry.shape))
    count = entry.shape[0]
    if not all(0 <= i < count for i in ids):
        raise IndexError(f"{name} has rows 0 to {count - 1}")


def _read(pieces: Sequence[Piece]) -> dict[Piece, memoryview]:
    try:
        return read_pieces(pieces)
    except OSError as error:
        names = ", ".join(sorted({piece.file.name for piece in pieces}))
        raise ModelError("checkpoint", field="model", file=names, reason=error) from error


def _numbers(data: bytearray, dtype: torch.dtype) -> Tensor:
    return torch.frombuffer(data, dtype=dtype).float() if data else torch.empty(0)

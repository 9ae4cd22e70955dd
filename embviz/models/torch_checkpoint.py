"""What is in a pytorch_model.bin: a zip file of a pickle and of the raw numbers, which is read in parts.

The zip's directory and the pickle are read; the pickle runs only under torch's `weights_only`, on a stand-in
zip whose records are empty, so that it learns names, shapes and places and no numbers. Files of PyTorch before
1.6 (2020) are no zip and have to be read as a whole.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from tempfile import TemporaryFile
from typing import IO, Any

import torch
from torch import Tensor

from embviz.errors import ModelError
from embviz.models.blocks import BLOCK, Blocks
from embviz.models.checkpoint import MemoryTensors
from embviz.models.files import File, KnownStart, LocalFile, size_text
from embviz.models.index import TensorEntry, dtype_name
from embviz.models.ranges import Piece, read_pieces
from embviz.models.safetensors_header import DTYPES, GIT_LFS

_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""Signature, and the lengths of the name and of the extra field (PKZIP APPNOTE 4.3.7)."""

_COPIED = 64_000_000
"""Bytes of a remote file that are in memory at once while it is copied."""

_FLOATS = frozenset(DTYPES.values())


def read_start(file: File) -> KnownStart:
    """The file with its first bytes known.

    Raises:
        ModelError: it is a pointer of Git LFS, or cannot be read.
    """
    try:
        known = KnownStart(file, file.read(0, min(BLOCK, file.size)))
    except OSError as error:
        raise ModelError("checkpoint", field="model", file=file.name, reason=error) from error
    if known.start.startswith(GIT_LFS):
        raise ModelError("git_lfs", field="model", file=file.name)
    return known


def is_zip(file: KnownStart) -> bool:
    """Whether a .bin file can be read in parts."""
    return file.start.startswith(b"PK\x03\x04")


@dataclass(frozen=True)
class _Record:
    """A tensor of the pickle: a view into a record of the zip."""

    record: zipfile.ZipInfo
    dtype: torch.dtype
    contiguous: bool
    shape: tuple[int, ...]
    offset: int


class TorchIndex:
    """What is in one pytorch_model.bin in zip form; its directory is read at the first question."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._starts: dict[str, int] = {}

    def names(self) -> Collection[str]:
        """The names of all tensors."""
        return self._records.keys()

    def entries(self, names: Collection[str]) -> Mapping[str, TensorEntry]:
        """Where these tensors lie; the local headers of their records are read in one round.

        Raises:
            ModelError: the file contradicts itself.
        """
        records = {name: self._records[name] for name in names}
        self._find([record.record for record in records.values()])
        return {name: self._entry(record) for name, record in records.items()}

    @cached_property
    def _records(self) -> Mapping[str, _Record]:
        try:
            return _read_directory(self.file)
        except _RefusedError as error:
            raise ModelError("pickle", field="model", file=self.file.name) from error
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, struct.error) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError("checkpoint", field="model", file=self.file.name, reason=error) from error

    def _find(self, records: Collection[zipfile.ZipInfo]) -> None:
        """Learns where the data of these records start: behind local headers whose lengths only they know."""
        new = {record.filename: record.header_offset for record in records}
        pieces = {
            name: Piece(self.file, at, at + _LOCAL_HEADER.size)
            for name, at in new.items()
            if name not in self._starts
        }
        try:
            read = read_pieces(pieces.values())
        except OSError as error:
            raise ModelError("checkpoint", field="model", file=self.file.name, reason=error) from error
        for name, piece in pieces.items():
            signature, name_length, extra_length = _LOCAL_HEADER.unpack(read[piece])
            if signature != b"PK\x03\x04":
                reason = f"there is no record at byte {piece.start:,}"
                raise ModelError("checkpoint", field="model", file=self.file.name, reason=reason)
            self._starts[name] = piece.stop + name_length + extra_length

    def _entry(self, record: _Record) -> TensorEntry:
        start = self._starts[record.record.filename]
        if start + record.record.file_size > self.file.size:
            reason = "a tensor lies outside the file"
            raise ModelError("checkpoint", field="model", file=self.file.name, reason=reason)
        readable = record.contiguous and record.dtype in _FLOATS
        return TensorEntry(
            file=self.file,
            dtype=record.dtype if readable else None,
            stored=dtype_name(record.dtype),
            shape=record.shape,
            start=start + record.offset,
        )


class _RefusedError(Exception):
    """The pickle wants more than tensors, or is broken."""


def _read_directory(file: File) -> dict[str, _Record]:
    """The tensors of a zip file by name."""
    blocks = Blocks(file)
    with zipfile.ZipFile(blocks) as archive:
        infos = archive.infolist()
        pickles = [info for info in infos if info.filename.endswith("/data.pkl")]
        if len(pickles) != 1 or any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise ValueError("it is no file of torch.save")
        pickle = archive.read(pickles[0])
        if _byteorder(archive) != b"little":
            raise ValueError("its numbers are big-endian")
    root = pickles[0].filename.removesuffix("data.pkl")
    records = [info for info in infos if info.filename.startswith(root + "data/")]
    state, at = _unpickle(pickle, records, root)
    tensors = {name: tensor for name, tensor in state.items() if isinstance(tensor, Tensor)}
    if not tensors or not all(isinstance(name, str) for name in tensors):
        raise ValueError("it holds no tensors by name")
    return {name: _record(tensor, at) for name, tensor in tensors.items()}


def _byteorder(archive: zipfile.ZipFile) -> bytes:
    """The order of the bytes; files that do not say it are little-endian."""
    names = [name for name in archive.namelist() if name.endswith("/byteorder")]
    return archive.read(names[0]) if names else b"little"


def _unpickle(
    pickle: bytes, records: Collection[zipfile.ZipInfo], root: str
) -> tuple[Mapping[str, Any], dict[int, zipfile.ZipInfo]]:
    """The state dict on the meta device, and the record of each offset in the stand-in."""
    stand_in, at = io.BytesIO(), {}
    with zipfile.ZipFile(stand_in, "w") as archive:
        archive.writestr(f"{root}data.pkl", pickle)
        archive.writestr(f"{root}version", b"3\n")
        archive.writestr(f"{root}byteorder", b"little")
        for record in records:
            archive.writestr(record.filename, b"")
            at[stand_in.tell()] = record
    stand_in.seek(0)
    try:
        state = torch.load(stand_in, map_location="meta", weights_only=True)
    except Exception as error:  # a broken pickle can make the unpickler raise anything
        raise _RefusedError(str(error)) from error
    return state if isinstance(state, Mapping) else {}, at


def _record(tensor: Tensor, at: Mapping[int, zipfile.ZipInfo]) -> _Record:
    """Where a tensor of the stand-in lies in the file.

    Raises:
        ValueError: it lies in no record, or not within it.
    """
    offset = getattr(tensor.untyped_storage(), "_checkpoint_offset", None)
    record = at.get(offset) if offset is not None else None
    if record is None:
        raise ValueError("a tensor has no place in it")
    start = int(tensor.storage_offset()) * tensor.dtype.itemsize
    if start + prod(tensor.shape) * tensor.dtype.itemsize > record.file_size:
        raise ValueError("a tensor is larger than its record")
    return _Record(record, tensor.dtype, tensor.is_contiguous(), tuple(tensor.shape), start)


def load_all(file: KnownStart, *, allow_download: bool, limit: int | None) -> MemoryTensors:
    """All tensors of a .bin file that is no zip, which can only be read as a whole.

    Args:
        file: the file.
        allow_download: whether that was asked for.
        limit: the most bytes that are read; None means no limit.

    Raises:
        ModelError: it was not asked for, the file is too large, or it holds more than tensors.
    """
    size = size_text(file.size)
    if limit is not None and file.size > limit:
        raise ModelError("old_too_large", field="model", file=file.name, size=size, limit=size_text(limit))
    if not allow_download:
        raise ModelError("old_format", field="model", file=file.name, size=size)
    try:
        with _on_disk(file) as stream:
            state = torch.load(stream, map_location="cpu", weights_only=True)
    except OSError as error:
        raise ModelError("checkpoint", field="model", file=file.name, reason=error) from error
    except ModelError:
        raise
    except Exception as error:
        raise ModelError("pickle", field="model", file=file.name) from error
    if not isinstance(state, Mapping) or not any(isinstance(tensor, Tensor) for tensor in state.values()):
        reason = "it holds no tensors by name"
        raise ModelError("checkpoint", field="model", file=file.name, reason=reason)
    return MemoryTensors({name: tensor for name, tensor in state.items() if isinstance(tensor, Tensor)})


@contextmanager
def _on_disk(file: KnownStart) -> Iterator[IO[bytes]]:
    """A file as a stream: the local one itself, or a copy of the remote one that is gone afterwards."""
    if isinstance(file.file, LocalFile):
        with file.file.path.open("rb") as stream:
            yield stream
        return
    with TemporaryFile(prefix="embviz-") as copy:
        for start in range(0, file.size, _COPIED):
            piece = Piece(file, start, min(start + _COPIED, file.size))
            copy.write(read_pieces([piece])[piece])
        copy.seek(0)
        yield copy

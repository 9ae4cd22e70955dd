"""The header of a safetensors file: what is in it, and where.

Format: 8 bytes little-endian length of the header, a JSON header `{name: {dtype, shape, data_offsets}}`, the
data; offsets count from the end of the header (https://huggingface.co/docs/safetensors).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from embviz.errors import ModelError
from embviz.models.files import File, KnownStart
from embviz.models.index import TensorEntry, dtype_name

MAX_HEADER = 25_000_000
FIRST_READ = 65_536
"""Bytes of the first read: the headers of BERT-large (45 kB) and of all smaller models fit in."""

GIT_LFS = b"version https://git-lfs"

DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
}  # fmt: skip


class SafetensorsIndex:
    """What is in one safetensors file; its header is read at the first question."""

    def __init__(self, file: File) -> None:
        self.file = file

    def names(self) -> Collection[str]:
        """The names of all tensors."""
        return self.all.keys()

    def entries(self, names: Collection[str]) -> Mapping[str, TensorEntry]:
        """Where these tensors lie."""
        return {name: self.all[name] for name in names}

    @cached_property
    def all(self) -> Mapping[str, TensorEntry]:
        """Where each tensor lies.

        Raises:
            ModelError: it is not a safetensors file, or it is cut off.
        """
        return read_header(self.file)


def read_header(file: File) -> dict[str, TensorEntry]:
    """Where each tensor of a safetensors file lies.

    Raises:
        ModelError: it is not a safetensors file, or it is cut off.
    """
    try:
        start = file.read(0, min(FIRST_READ, file.size))
        if start.startswith(GIT_LFS):
            raise ModelError("git_lfs", field="model", file=file.name)
        length = int.from_bytes(start[:8], "little")
        if length > min(MAX_HEADER, file.size - 8):
            raise ValueError("it is no safetensors file, or it is cut off")
        if len(start) < length + 8:
            start += file.read(len(start), length + 8)
        _check(start[: length + 8], file.size)
        header = json.loads(start[8 : length + 8], object_pairs_hook=_unique)
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError("checkpoint", field="model", file=file.name, reason=_reason(error)) from error
    header.pop("__metadata__", None)
    known = KnownStart(file, start)
    return {name: _entry(known, name, header, length + 8) for name in header}


def _check(header: bytes, size: int) -> None:
    """Lets the safetensors library check a header, on a stand-in without data that takes no room on the disk.

    Raises:
        SafetensorError: offsets, shapes, dtypes and the length of the file do not fit together.
    """
    with tempfile.TemporaryDirectory(prefix="embviz-") as folder:
        path = Path(folder, "header.safetensors")
        path.write_bytes(header)
        os.truncate(path, size)
        with safe_open(path, framework="pt"):
            pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys differ: what was checked must be what is used."""
    values = dict(pairs)
    if len(values) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"it names “{twice}” twice")
    return values


def _entry(file: File, name: str, header: Mapping[str, Any], data_start: int) -> TensorEntry:
    """One entry of a checked header."""
    fields = header[name]
    dtype = DTYPES.get(fields["dtype"])
    if dtype is not None and dtype.itemsize == 1 and any(scale in header for scale in _scales(name)):
        dtype = None  # the stored numbers are not the weights
    return TensorEntry(
        file=file,
        dtype=dtype,
        stored=fields["dtype"] if dtype is None else dtype_name(dtype),
        shape=tuple(fields["shape"]),
        start=data_start + fields["data_offsets"][0],
    )


def _scales(name: str) -> tuple[str, ...]:
    """What a quantised FP8 tensor's factors are called."""
    return (f"{name}_scale", f"{name}_scale_inv", f"{name.removesuffix('weight')}scale")


def _reason(error: Exception) -> str:
    return "its header is nested too deeply" if isinstance(error, RecursionError) else str(error)

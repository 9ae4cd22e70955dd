"""Which files of a repository hold the weights, and the index of their tensors."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import partial

from embviz.errors import ModelError
from embviz.models.checkpoint import Checkpoint, TensorSource
from embviz.models.index import Index, TensorEntry
from embviz.models.repository import MAX_INDEX, Repository, read_json
from embviz.models.safetensors_header import SafetensorsIndex
from embviz.models.torch_checkpoint import TorchIndex, is_zip, load_all, read_start
from embviz.models.watch import in_parallel

SAFETENSORS = "model.safetensors"
TORCH = "pytorch_model.bin"
SHARDED = {f"{SAFETENSORS}.index.json": ".safetensors", f"{TORCH}.index.json": ".bin"}

OTHERS = {
    "TensorFlow": r"tf_model.*\.h5|.*\.ckpt(\..*)?|saved_model\.pb|.*\.tf",
    "Flax": r".*\.msgpack",
    "ONNX": r".*\.onnx",
    "Rust": r"rust_model\.ot",
    "OpenVINO": r"openvino_.*",
    "Core ML": r".*\.mlmodel|.*\.mlpackage",
}
"""Formats that embviz does not read, and the files they are known by."""


def weight_file(repository: Repository) -> str:
    """The file to begin with: a safetensors file, its index, a pytorch_model.bin or its index.

    Raises:
        ModelError: there is none that embviz can read; the sentence says what is there instead.
    """
    sizes = repository.sizes
    index_file, index_bin = SHARDED
    found = next((name for name in (SAFETENSORS, index_file, TORCH, index_bin) if name in sizes), None)
    if found is not None:
        return found
    name, names = repository.name, sorted(sizes)
    if "adapter_config.json" in sizes:
        base = read_json(repository, "adapter_config.json").get("base_model_name_or_path") or "?"
        raise ModelError("adapter", field="model", ref=name, base=base)
    for file in names:
        if file.lower().endswith(".gguf"):
            raise ModelError("gguf", field="model", ref=name, file=file)
    for kind, pattern in OTHERS.items():
        for file in names:
            if re.fullmatch(pattern, file.rsplit("/", 1)[-1]):
                raise ModelError("other_format", field="model", ref=name, file=file, format=kind)
    listed = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
    raise ModelError("no_weights", field="model", ref=name, files=listed or "nothing")


def open_weights(
    repository: Repository, *, allow_download: bool, limits: tuple[int | None, int | None]
) -> TensorSource:
    """The tensors of a repository; headers are read, tables are not.

    Args:
        repository: where the files are.
        allow_download: whether a file that cannot be read in parts may be read as a whole.
        limits: the `whole_limit` and the `hard_limit` of `Checkpoint`.

    Raises:
        ModelError: there are no weights that embviz can read.
    """
    first = weight_file(repository)
    if first in SHARDED:
        return Checkpoint(ShardedIndex(repository, first), *limits)
    if first == TORCH and not is_zip(file := read_start(repository.open(first))):
        return load_all(file, allow_download=allow_download, limit=limits[1])
    index = SafetensorsIndex(repository.open(first)) if first == SAFETENSORS else TorchIndex(file)
    index.names()
    return Checkpoint(index, *limits)


class ShardedIndex:
    """What is in a sharded checkpoint; of the shards only those that hold a wanted tensor are opened.

    Args:
        repository: where the files are.
        index: the file that says which shard holds which tensor.

    Raises:
        ModelError: the index is not one, or names a file that is not there.
    """

    def __init__(self, repository: Repository, index: str) -> None:
        self._repository = repository
        weight_map = read_json(repository, index, MAX_INDEX).get("weight_map")
        if not isinstance(weight_map, dict):
            raise ModelError("file", field="model", file=index, reason="it has no weight_map")
        pattern = re.compile(rf"\w[\w.-]*{re.escape(SHARDED[index])}")
        for shard in set(map(str, weight_map.values())):
            if not pattern.fullmatch(shard) or shard not in repository.sizes:
                raise ModelError("shard", field="model", file=index, shard=shard)
        self._shard_of: Mapping[str, str] = weight_map
        self._shards: dict[str, Index] = {}

    def names(self) -> Collection[str]:
        """The names of all tensors."""
        return self._shard_of.keys()

    def entries(self, names: Collection[str]) -> Mapping[str, TensorEntry]:
        """Where these tensors lie; the headers of new shards are read side by side.

        Raises:
            ModelError: a shard cannot be read, or lacks what the index says that it holds.
        """
        wanted: dict[str, list[str]] = {}
        for name in names:
            wanted.setdefault(self._shard_of[name], []).append(name)
        found = in_parallel([partial(self._entries, shard, some) for shard, some in wanted.items()])
        return {name: entry for some in found for name, entry in some.items()}

    def _entries(self, shard: str, names: Collection[str]) -> Mapping[str, TensorEntry]:
        if shard not in self._shards:
            file = self._repository.open(shard)
            torch_file = shard.endswith(".bin")
            self._shards[shard] = TorchIndex(read_start(file)) if torch_file else SafetensorsIndex(file)
        index = self._shards[shard]
        for name in names:
            if name not in index.names():
                raise ModelError("missing_in_shard", field="model", name=name, shard=shard)
        return index.entries(names)

"""Numbers out of weight files: equal to a full load, bit by bit, in every format and dtype; or refused."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from embviz.errors import ModelError
from embviz.models.checkpoint import Checkpoint
from embviz.models.files import LocalFile, size_text
from embviz.models.ranges import GAP, Piece, read_pieces
from embviz.models.safetensors_header import SafetensorsIndex
from embviz.models.sources import open_model
from embviz.models.watch import watching
from tests.models.stand_ins import (
    POSITION,
    WORD,
    config,
    tensors,
    write_json,
    write_sparse,
    write_texts,
    write_tiny,
)

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip


def write_safetensors(folder: Path, weights: Mapping[str, Tensor]) -> None:
    save_file(dict(weights), folder / "model.safetensors")


def write_bin(folder: Path, weights: Mapping[str, Tensor]) -> None:
    torch.save(dict(weights), folder / "pytorch_model.bin")


def write_old_bin(folder: Path, weights: Mapping[str, Tensor]) -> None:
    torch.save(dict(weights), folder / "pytorch_model.bin", _use_new_zipfile_serialization=False)


def write_shards(folder: Path, weights: Mapping[str, Tensor], suffix: str = ".safetensors") -> None:
    stem = "model" if suffix == ".safetensors" else "pytorch_model"
    weight_map = {}
    for at, (name, tensor) in enumerate(weights.items()):
        shard = f"{stem}-{at + 1:05}-of-{len(weights):05}{suffix}"
        weight_map[name] = shard
        if suffix == ".safetensors":
            save_file({name: tensor}, folder / shard)
        else:
            torch.save({name: tensor}, folder / shard)
    write_json(folder / f"{stem}{suffix}.index.json", {"metadata": {}, "weight_map": weight_map})


def write_bin_shards(folder: Path, weights: Mapping[str, Tensor]) -> None:
    write_shards(folder, weights, ".bin")


FORMATS = [write_safetensors, write_bin, write_old_bin, write_shards, write_bin_shards]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("write", FORMATS)
def test_equals_a_full_load_bit_by_bit(
    write: Callable[[Path, Mapping[str, Tensor]], None], dtype: torch.dtype, tmp_path: Path
) -> None:
    if write is write_old_bin and dtype.itemsize == 1:
        pytest.skip("PyTorch had no such numbers when it wrote this format")
    truth = {name: tensor.to(dtype) for name, tensor in tensors(write_texts(tmp_path)).items()}
    write(tmp_path, truth)
    ids = [3, 0, 30, 3]

    source = open_model(str(tmp_path), allow_download=True).tensors
    read = source.read(truth)

    assert set(source.names()) == set(truth)
    assert source.dtype(WORD) == str(dtype).removeprefix("torch.")
    for name, tensor in truth.items():
        assert source.shape(name) == tuple(tensor.shape)
        assert torch.equal(read[name], tensor.float())
        assert read[name].dtype == torch.float32
    assert torch.equal(source.rows(WORD, ids), truth[WORD].float()[ids])


def test_pickle_equals_safetensors(tmp_path: Path) -> None:
    """EV152"""
    truth = tensors(config())
    for folder, write in ((tmp_path / "a", write_safetensors), (tmp_path / "b", write_bin)):
        write_texts(folder)
        write(folder, truth)
    first, second = (open_model(str(tmp_path / name)).tensors for name in "ab")
    for name in truth:
        assert torch.equal(first.tensor(name), second.tensor(name))


def test_views_into_a_shared_storage(tmp_path: Path) -> None:
    """Tied weights and slices of one storage are found; a transposed one is refused, not read wrongly."""
    write_texts(tmp_path)
    base = torch.randn(40, 8)
    truth = {WORD: base[5:36], "tied": base[5:36], "all": base, "turned": base.T}
    torch.save(truth, tmp_path / "pytorch_model.bin")

    source = open_model(str(tmp_path)).tensors

    for name in (WORD, "tied", "all"):
        assert torch.equal(source.tensor(name), truth[name])
    with pytest.raises(ModelError, match="turned"):
        source.tensor("turned")


def test_files_without_a_format_version(tmp_path: Path) -> None:
    """Files of PyTorch 1.6 to 2.6 do not say where their records are; each is asked."""
    import zipfile

    truth = tensors(write_texts(tmp_path))
    torch.save(truth, tmp_path / "new.bin")
    with (
        zipfile.ZipFile(tmp_path / "new.bin") as new,
        zipfile.ZipFile(tmp_path / "pytorch_model.bin", "w") as old,
    ):
        for info in new.infolist():
            if info.filename.split("/", 1)[1] in {"data.pkl", "version"} or "/data/" in info.filename:
                old.writestr(info.filename, new.read(info))

    source = open_model(str(tmp_path)).tensors

    for name, tensor in truth.items():
        assert torch.equal(source.tensor(name), tensor)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("write", FORMATS)
def test_whole_numbers_are_no_weights(
    write: Callable[[Path, Mapping[str, Tensor]], None], dtype: torch.dtype, tmp_path: Path
) -> None:
    truth = tensors(write_texts(tmp_path))
    truth[WORD] = torch.ones_like(truth[WORD]).to(dtype)
    write(tmp_path, truth)

    source = open_model(str(tmp_path), allow_download=True).tensors

    assert torch.equal(source.tensor(POSITION), truth[POSITION])
    with pytest.raises(ModelError, match="quantised"):
        source.rows(WORD, [1])


def test_fp8_with_factors_is_quantised(tmp_path: Path) -> None:
    truth = tensors(write_texts(tmp_path))
    truth[WORD] = truth[WORD].to(torch.float8_e4m3fn)
    write_safetensors(tmp_path, {**truth, f"{WORD}_scale_inv": torch.ones(1)})
    with pytest.raises(ModelError, match="quantised"):
        open_model(str(tmp_path)).tensors.tensor(WORD)


def test_bfloat16_model_is_shown_in_float32(tmp_path: Path) -> None:
    """EV104"""
    import embviz

    truth = {name: tensor.bfloat16() for name, tensor in tensors(write_texts(tmp_path)).items()}
    write_safetensors(tmp_path, truth)

    d = embviz.load_model(str(tmp_path)).decompose("my dog")

    assert d.output is not None
    assert str(d.output.dtype) == "float32"
    assert torch.equal(torch.tensor(d.token), truth[WORD].float()[torch.tensor(d.input_ids)])


@pytest.mark.parametrize("ids", [[31], [-1], [0, 10**9]])
def test_rows_outside_the_table_read_nothing(ids: list[int], tmp_path: Path) -> None:
    write_tiny(tmp_path)
    source = open_model(str(tmp_path)).tensors
    with watching() as watch, pytest.raises(IndexError, match="0 to 30"):
        source.rows(WORD, ids)
    assert watch.done == 0


@pytest.mark.parametrize("shape", [[], [0], [0, 8], [2, 3, 4]])
def test_strange_shapes(shape: list[int], tmp_path: Path) -> None:
    write_texts(tmp_path)
    write_safetensors(tmp_path, {WORD: torch.ones(shape)})
    source = open_model(str(tmp_path)).tensors
    assert source.tensor(WORD).shape == tuple(shape)
    with pytest.raises((ModelError, IndexError)):
        source.rows(WORD, [0])


def test_opening_does_not_read_a_large_file(tmp_path: Path) -> None:
    """1.34 GB, of which header, rows and tables are read."""
    shapes = [(WORD, (300_000, 1024)), (POSITION, (512, 1024)), ("rest", (27_000, 1024))]
    size = write_sparse(tmp_path, shapes)
    with watching() as watch:
        source = open_model(str(tmp_path)).tensors
        source.read([POSITION], {WORD: list(range(0, 300_000, 30_000))})
    assert size > 1_340_000_000
    assert watch.done < size / 300


def test_near_pieces_share_a_read_and_far_ones_do_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 1024)
    reads: list[tuple[int, int]] = []

    class Counting(LocalFile):
        def read(self, start: int, stop: int) -> bytes:
            reads.append((start, stop))
            return super().read(start, stop)

    file = Counting(path)
    pieces = [
        Piece(file, 0, 10),
        Piece(file, 5, 20),
        Piece(file, 20 + GAP, 30 + GAP),
        Piece(file, 200_000, 200_001),
    ]

    read = read_pieces(pieces)

    assert sorted(reads) == [(0, 30 + GAP), (200_000, 200_001)]
    for piece in pieces:
        assert read[piece] == path.read_bytes()[piece.start : piece.stop]


def test_rows_that_were_not_wanted_for_longest_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from embviz.models import row_cache

    monkeypatch.setattr(row_cache, "MAX_CACHED_ROWS", 3 * 32)  # three rows of eight float32
    truth = write_tiny(tmp_path)
    source = Checkpoint(SafetensorsIndex(LocalFile(tmp_path / "model.safetensors")))

    def moved(ids: list[int]) -> int:
        with watching() as watch:
            assert torch.equal(source.rows(WORD, ids), truth[WORD][ids])
        return watch.done

    monkeypatch.setattr("embviz.models.safetensors_header.FIRST_READ", 8)
    source.names()
    assert moved([1, 2, 3]) > 0
    assert moved([3, 1, 1]) == 0
    assert moved([4]) > 0
    assert moved([1, 3]) == 0
    assert moved([2]) > 0


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


FINE: dict[str, object] = {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]}
HEADERS: dict[str, bytes] = {
    "overlap": _json({"a": FINE, "b": FINE}),
    "hole": _json({"a": {**FINE, "data_offsets": [8, 40]}}),
    "reversed": _json({"a": {**FINE, "data_offsets": [32, 0]}}),
    "beyond": _json({"a": {"dtype": "F32", "shape": [9, 4], "data_offsets": [0, 144]}}),
    "shape": _json({"a": {**FINE, "shape": [3, 4]}}),
    "negative": _json({"a": {**FINE, "shape": [-2, -4]}}),
    "float": _json({"a": {**FINE, "shape": [2.0, 4]}}),
    "huge": _json({"a": {**FINE, "shape": [10**18] * 30}}),
    "dtype": _json({"a": {**FINE, "dtype": "F33"}}),
    "twice": _json({"a": FINE})[:-1] + b"," + _json({"a": FINE})[1:],
    "list": b"[]",
    "deep": b"[" * 50_000,
    "not utf-8": b'{"\xff\xfe":1}',
    "nothing": b"",
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_lie(name: str, tmp_path: Path) -> None:
    text = HEADERS[name]
    write_texts(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(32))
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read"):
        open_model(str(tmp_path))


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, 1000])
@pytest.mark.parametrize("write", [write_safetensors, write_bin, write_old_bin])
def test_files_that_are_cut_off(
    write: Callable[[Path, Mapping[str, Tensor]], None], length: int, tmp_path: Path
) -> None:
    write(tmp_path, tensors(write_texts(tmp_path)))
    name = "model.safetensors" if write is write_safetensors else "pytorch_model.bin"
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:length])
    with pytest.raises(ModelError, match=name):
        open_model(str(tmp_path), allow_download=True)


def test_a_file_that_shrinks_while_it_is_open(tmp_path: Path) -> None:
    write_tiny(tmp_path, vocab_size=100_000)
    source = open_model(str(tmp_path)).tensors
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(ModelError, match="cut off"):
        source.rows(WORD, [99_999])


def test_shard_that_lacks_what_the_index_promises(tmp_path: Path) -> None:
    truth = tensors(write_texts(tmp_path))
    write_shards(tmp_path, truth)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text(encoding="utf-8"))
    index["weight_map"][WORD] = index["weight_map"][POSITION]
    write_json(tmp_path / "model.safetensors.index.json", index)
    with pytest.raises(ModelError, match="promises"):
        open_model(str(tmp_path)).tensors.tensor(WORD)


def test_only_shards_with_wanted_tensors_are_opened(tmp_path: Path) -> None:
    truth = tensors(write_texts(tmp_path))
    write_shards(tmp_path, truth)
    names = sorted(truth)
    for at, name in enumerate(truth):
        if name not in {WORD, POSITION}:
            (tmp_path / f"model-{at + 1:05}-of-{len(names):05}.safetensors").write_bytes(b"rubbish")

    read = open_model(str(tmp_path)).tensors.read([POSITION], {WORD: [1]})

    assert torch.equal(read[POSITION], truth[POSITION])


def test_published_file_equals_its_full_load() -> None:
    """all-MiniLM-L6-v2, the file that everybody uses; it has a tensor of whole numbers that nobody wants."""
    from embviz.models.references import BUNDLED
    from embviz.models.sources import bundled_folder

    truth = load_file(bundled_folder() / "model.safetensors")
    source = open_model(BUNDLED).tensors
    assert set(source.names()) == set(truth)
    for name, tensor in truth.items():
        if tensor.is_floating_point():
            assert torch.equal(source.tensor(name), tensor.float())


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (12, "12 bytes"),
        (1500, "1.5 kB"),
        (90_868_376, "90.9 MB"),
        (437_951_328, "438 MB"),
        (1_340_000_000, "1.34 GB"),
    ],
)
def test_sizes_are_said_for_people(count: int, text: str) -> None:
    assert size_text(count) == text

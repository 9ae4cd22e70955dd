"""A checkpoint gives what safetensors' own reader gives, bit for bit, or says in one sentence that it cannot."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

import embviz
from embviz.models.checkpoint import Checkpoint, MemoryTensors
from embviz.models.files import LocalFile
from embviz.models.safetensors_header import SafetensorsIndex
from tests.reference import official

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def floats(dtype: torch.dtype, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    return (torch.randn(shape, generator=generator) * 3).to(dtype)


def write(path: Path, header: Any, data: bytes = b"") -> Path:
    """A file of a header, whatever it is, and data; the length of the header is right."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + data)
    return path


def entry(shape: Any, start: Any, stop: Any, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


def read_officially(path: Path) -> dict[str, Tensor]:
    with safe_open(str(path), framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping


class Counting(LocalFile):
    """A file that keeps the ranges that were read of it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ranges: list[tuple[int, int]] = []

    def read(self, start: int, stop: int) -> bytes:
        self.ranges.append((start, stop))
        return super().read(start, stop)


def open_file(path: Path) -> Checkpoint:
    """The checkpoint with its header read: it is read when it is first needed."""
    checkpoint = Checkpoint(SafetensorsIndex(LocalFile(path)))
    checkpoint.names()
    return checkpoint


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_tensors_and_rows_are_those_of_the_official_reader(dtype: torch.dtype, tmp_path: Path) -> None:
    tensors = {"table": floats(dtype, 9, 5), "gain": floats(dtype, 5), "cube": floats(dtype, 2, 3, 4)}
    tensors |= {"scalar": floats(dtype), "wide": floats(dtype, 1, 700)}
    path = tmp_path / "model.safetensors"
    save_file(tensors, path, metadata={"format": "pt"})
    checkpoint = open_file(path)

    expected = read_officially(path)

    assert set(checkpoint.names()) == set(expected)
    for name, tensor in expected.items():
        assert checkpoint.shape(name) == tuple(tensor.shape)
        assert checkpoint.tensor(name).dtype == torch.float32
        assert torch.equal(checkpoint.tensor(name), tensor.float()), name
    rows = [8, 0, 3, 3, 0]
    assert torch.equal(checkpoint.rows("table", rows), expected["table"][rows].float())
    assert "table" in checkpoint
    assert "__metadata__" not in checkpoint


def test_special_values_come_through(tmp_path: Path) -> None:
    values = torch.tensor([[float("nan"), float("inf"), -float("inf"), -0.0, 1e-45]])
    path = tmp_path / "model.safetensors"
    save_file({"table": values}, path)

    read = open_file(path).tensor("table")

    np.testing.assert_array_equal(read.numpy().view(np.uint32), values.numpy().view(np.uint32))


def test_the_bundled_weights_are_those_of_the_official_reader() -> None:
    checkpoint = open_file(official.bundled_folder() / "model.safetensors")
    ids = np.random.default_rng(0).integers(0, 30522, 200).tolist()

    with safe_open(str(official.bundled_folder() / "model.safetensors"), framework="pt") as file:
        names = [name for name in file.keys() if name in checkpoint]  # noqa: SIM118  # the reader is no mapping
        assert len(names) == len(checkpoint.names()) > 100
        for name in names:
            if name != "embeddings.position_ids":
                assert torch.equal(checkpoint.tensor(name), file.get_tensor(name)), name
        word = file.get_slice("embeddings.word_embeddings.weight")
        rows = checkpoint.rows("embeddings.word_embeddings.weight", ids)
        assert torch.equal(rows, torch.cat([word[i : i + 1] for i in ids]))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_a_tensor_without_numbers_is_empty(shape: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"empty": torch.zeros(shape)}, path)

    assert open_file(path).tensor("empty").shape == shape


@pytest.mark.parametrize("rows", [[9], [-1], [0, 100]])
def test_an_id_that_is_no_row_is_an_index_error(rows: list[int], tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"table": floats(torch.float32, 9, 5)}, path)

    for source in (open_file(path), MemoryTensors({"table": floats(torch.float32, 9, 5)})):
        with pytest.raises(IndexError):
            source.rows("table", rows)


def test_no_rows_are_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"table": floats(torch.float32, 9, 5)}, path)

    for source in (open_file(path), MemoryTensors({"table": floats(torch.float32, 9, 5)})):
        assert source.rows("table", []).shape == (0, 5)


def test_rows_read_only_their_own_bytes(tmp_path: Path) -> None:
    """Each distinct row once, and nothing else of the table; the rows lie behind what the header's read gave."""
    path = tmp_path / "model.safetensors"
    save_file({"table": floats(torch.float16, 90_000, 5)}, path)
    file = Counting(path)
    checkpoint = Checkpoint(SafetensorsIndex(file))
    checkpoint.names()
    file.ranges.clear()

    checkpoint.rows("table", [20_000, 80_000, 20_000, 20_000])

    assert [stop - start for start, stop in file.ranges] == [10, 10]


def test_memory_tensors_are_the_same_door() -> None:
    table = floats(torch.bfloat16, 9, 5)
    source = MemoryTensors({"table": table})

    assert "table" in source
    assert "other" not in source
    assert source.shape("table") == (9, 5)
    assert torch.equal(source.tensor("table"), table.float())
    assert torch.equal(source.rows("table", [8, 0, 8]), table[[8, 0, 8]].float())


# Files that are not what they should be.

BROKEN: dict[str, tuple[Any, bytes]] = {
    "not JSON": (b"{ this is not JSON", b""),
    "not UTF-8": (b'{"a\xff": 1}', b""),
    "a list": ([1, 2], b""),
    "a word": ("hello", b""),
    "a number": (1, b""),
    "nothing": (None, b""),
    "deeply nested": (b"[" * 100_000, b""),
    "an entry that is no object": ({"a": [0, 4]}, bytes(4)),
    "no dtype": ({"a": {"shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    "no shape": ({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, bytes(4)),
    "no offsets": ({"a": {"dtype": "F32", "shape": [1]}}, bytes(4)),
    "one offset": ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, bytes(4)),
    "offsets behind the end": ({"a": entry([2], 0, 8)}, bytes(4)),
    "a start behind the end": ({"a": entry([1], 400, 404)}, bytes(4)),
    "negative offsets": ({"a": entry([1], -4, 0)}, bytes(4)),
    "offsets turned round": ({"a": entry([1], 4, 0)}, bytes(4)),
    "offsets that are fractions": ({"a": entry([1], 0.0, 4.0)}, bytes(4)),
    "offsets that are words": ({"a": entry([1], "0", "4")}, bytes(4)),
    "offsets that are truths": ({"a": entry([1], False, 4)}, bytes(4)),
    "huge offsets": ({"a": entry([1], 0, 10**30)}, bytes(4)),
    "a shape for more bytes": ({"a": entry([2], 0, 4)}, bytes(4)),
    "a shape for fewer bytes": ({"a": entry([1], 0, 8)}, bytes(8)),
    "a negative shape": ({"a": entry([-1, -1], 0, 4)}, bytes(4)),
    "a shape of fractions": ({"a": entry([1.0], 0, 4)}, bytes(4)),
    "a shape that is a word": ({"a": entry("1", 0, 4)}, bytes(4)),
    "a shape that is a number": ({"a": entry(1, 0, 4)}, bytes(4)),
    "a shape without end": ({"a": entry([float("inf"), 0], 0, 0)}, b""),
    "a hole between tensors": ({"a": entry([1], 0, 4), "b": entry([1], 8, 12)}, bytes(12)),
    "tensors that overlap": ({"a": entry([2], 0, 8), "b": entry([1], 4, 8)}, bytes(8)),
    "bytes that belong to no tensor": ({"a": entry([1], 0, 4)}, bytes(5)),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_file_is_a_model_error(broken: str, tmp_path: Path) -> None:
    """One sentence at the field of the model; the official reader refuses each of these as well."""
    path = write(tmp_path / "model.safetensors", *BROKEN[broken])

    with pytest.raises(embviz.ModelError, match="model\\.safetensors cannot be read") as caught:
        open_file(path)

    assert caught.value.field == "model"
    assert "\n" not in str(caught.value)
    with pytest.raises(SafetensorError):
        read_officially(path)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, -1])
def test_a_file_that_is_cut_off_is_a_model_error(length: int, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"table": floats(torch.float32, 30, 5)}, path)
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(embviz.ModelError, match="model\\.safetensors cannot be read"):
        open_file(path)


@pytest.mark.parametrize("length", [25_000_001, 10**12, 2**64 - 1])
def test_a_header_that_is_too_long_is_refused_before_it_is_read(length: int, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + b"{}")
    file = Counting(path)

    with pytest.raises(embviz.ModelError, match=r"model\.safetensors cannot be read") as caught:
        Checkpoint(SafetensorsIndex(file)).names()

    assert caught.value.field == "model"
    assert file.ranges == [(0, 10)]


def test_a_header_over_the_limit_is_refused_before_it_is_read_though_the_file_holds_it(
    tmp_path: Path,
) -> None:
    """The first read is all that is taken of it; the file is sparse."""
    path = tmp_path / "model.safetensors"
    path.write_bytes((25_000_001).to_bytes(8, "little") + b"{}")
    os.truncate(path, 26_000_000)
    file = Counting(path)

    with pytest.raises(embviz.ModelError, match=r"model\.safetensors cannot be read"):
        Checkpoint(SafetensorsIndex(file)).names()

    assert sum(stop - start for start, stop in file.ranges) <= 65_536


def test_a_tensor_of_integers_is_no_hindrance_and_is_never_read_as_numbers(tmp_path: Path) -> None:
    """Old checkpoints hold `position_ids`."""
    path = tmp_path / "model.safetensors"
    save_file({"table": floats(torch.float32, 3, 5), "position_ids": torch.arange(5)}, path)
    checkpoint = open_file(path)

    assert torch.equal(checkpoint.tensor("table"), floats(torch.float32, 3, 5))
    with pytest.raises(embviz.ModelError, match="holds I64 numbers, which are quantised or not plain"):
        checkpoint.tensor("position_ids")


def test_a_file_that_shrinks_after_opening_is_a_model_error(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"table": floats(torch.float32, 30_000, 5)}, path)
    checkpoint = open_file(path)
    path.write_bytes(path.read_bytes()[:-4])

    with pytest.raises(embviz.ModelError, match=r"model\.safetensors cannot be read \(it ends at byte"):
        checkpoint.tensor("table")
    with pytest.raises(embviz.ModelError, match=r"model\.safetensors cannot be read \(it ends at byte"):
        checkpoint.rows("table", [29_999])


def original(path: Path) -> bytes:
    tensors = {
        "word": floats(torch.float32, 6, 4),
        "half": floats(torch.float16, 3, 4),
        "empty": torch.zeros(0, 4),
    }
    tensors |= {
        "brain": floats(torch.bfloat16, 2, 5),
        "double": floats(torch.float64, 3),
        "one": torch.ones(()),
    }
    tensors["ids"] = torch.arange(5)
    save_file(tensors, path, metadata={"format": "pt"})
    return path.read_bytes()


def flip_bit(data: bytearray, place: int, generator: random.Random) -> None:
    data[place] ^= 1 << generator.randrange(8)


def write_punctuation(data: bytearray, place: int, generator: random.Random) -> None:
    data[place] = generator.choice(b'0123456789,:[]{}"-.eE ')


def delete(data: bytearray, place: int, generator: random.Random) -> None:
    del data[place : place + generator.randint(1, 4)]


def insert(data: bytearray, place: int, generator: random.Random) -> None:
    data[place:place] = generator.randbytes(generator.randint(1, 4))


def change_digit(data: bytearray, place: int, generator: random.Random) -> None:
    for i in range(place, len(data)):
        if chr(data[i]).isdigit():
            data[i] = generator.choice(b"0123456789")
            return


def cut_off(data: bytearray, place: int, generator: random.Random) -> None:
    del data[max(place, generator.randrange(len(data))) :]


ACCIDENTS = [flip_bit, write_punctuation, delete, insert, change_digit, change_digit, change_digit, cut_off]


def mutate(data: bytes, generator: random.Random) -> bytes:
    """One to three small accidents, mostly in the header."""
    result = bytearray(data)
    header = 8 + int.from_bytes(data[:8], "little")
    for _ in range(generator.randint(1, 3)):
        end = min(header, len(result)) if generator.random() < 0.8 else len(result)
        if end:
            generator.choice(ACCIDENTS)(result, generator.randrange(end), generator)
    return bytes(result)


def describe_integers_as_bytes(path: Path) -> None:
    """Make one plain run of bytes of what holds no floats.

    embviz passes over such tensors, however damaged their dtype and shape are; the official reader would not
    open the file.
    """
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    for name, fields in header.items():
        if name != "__metadata__" and fields["dtype"] not in {"F64", "F32", "F16", "BF16"}:
            first, last = fields["data_offsets"]
            header[name] = entry([last - first], first, last, "U8")
    write(path, header, data[start:])


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_is_refused_or_read_as_the_official_reader_reads_it(seed: int, tmp_path: Path) -> None:
    """A hundred accidents each: ModelError and nothing else, or the very tensors of the official reader."""
    path = tmp_path / "model.safetensors"
    data, generator = original(path), random.Random(seed)  # no secret
    refused = 0
    for _ in range(100):
        mutated = mutate(data, generator)
        path.write_bytes(mutated)
        try:
            checkpoint = open_file(path)
            read = {name: checkpoint.tensor(name) for name in checkpoint.names() if name != "ids"}
        except embviz.ModelError:
            refused += 1
            continue
        describe_integers_as_bytes(path)
        official_tensors = read_officially(path)
        assert set(checkpoint.names()) == set(official_tensors), mutated
        for name, tensor in read.items():
            assert torch.equal(tensor.nan_to_num(), official_tensors[name].float().nan_to_num()), mutated
    assert 30 < refused < 100

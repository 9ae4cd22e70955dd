"""2,000 seeded mutations of headers, tables and tokenizer files: refused with our error, or equal to the truth."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from embviz.errors import EmbvizError
from embviz.models.checkpoint import Checkpoint
from embviz.models.files import LocalFile
from embviz.models.model import EmbeddingModel
from embviz.models.safetensors_header import SafetensorsIndex
from embviz.models.sources import open_model
from tests.models.stand_ins import tensors, write_texts, write_tiny

ROOT = Path(__file__).parents[2]
SAFETENSORS, TORCH, TOKENIZERS, CONFIGS = 800, 400, 600, 200


def mutate(data: bytes, rng: random.Random, within: int | None = None) -> bytes:
    """A copy with one thing wrong: flipped, zeroed, missing, doubled or new bytes, or another digit."""
    limit = min(len(data), within or len(data))
    at, length = rng.randrange(limit), rng.choice([1, 1, 2, 8, 40])
    part = data[at : at + length]
    digits = [i for i in range(limit) if data[i : i + 1].isdigit()]
    digit = rng.choice(digits) if digits else at
    changes = [
        lambda: data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :],
        lambda: data[:at] + bytes(len(part)) + data[at + length :],
        lambda: data[:at] + data[at + length :],
        lambda: data[:at] + part + data[at:],
        lambda: data[:at] + rng.randbytes(length) + data[at + length :],
        lambda: data[:at],
        lambda: (
            data[:digit]
            + rng.choice([b"9", b"0", b"-1", b"1e9", b"99999999999999999999"])
            + data[digit + 1 :]
        ),
    ]
    return rng.choice(changes)()


def same(ours: Tensor, truth: Tensor) -> bool:
    return ours.shape == truth.shape and torch.equal(ours.view(torch.int32), truth.float().view(torch.int32))


def test_safetensors(tmp_path: Path) -> None:
    """What opens gives the numbers that the safetensors library gives for the very same bytes."""
    write_tiny(tmp_path)
    data = (tmp_path / "model.safetensors").read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    path = tmp_path / "mutated.safetensors"
    opened = 0
    for seed in range(SAFETENSORS):
        rng = random.Random(seed)
        path.write_bytes(mutate(data, rng, header if seed % 4 else None))
        try:
            source = Checkpoint(SafetensorsIndex(LocalFile(path)))
            ours = source.read(source.names())
        except EmbvizError:
            continue
        opened += 1
        try:
            with safe_open(path, framework="pt") as truth:
                assert set(ours) == set(truth.keys()), seed
                for name, tensor in ours.items():
                    assert same(tensor, truth.get_tensor(name)), seed
        except SafetensorError:
            pytest.fail(f"seed {seed}: the library refuses this file")
    assert 50 < opened < SAFETENSORS


def test_pickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What opens gives the numbers that torch gives, where torch opens it."""
    monkeypatch.chdir(tmp_path)
    torch.save(tensors(write_texts(tmp_path)), tmp_path / "pytorch_model.bin")
    data = (tmp_path / "pytorch_model.bin").read_bytes()
    opened = 0
    for seed in range(TORCH):
        (tmp_path / "pytorch_model.bin").write_bytes(mutate(data, random.Random(seed)))
        try:
            source = open_model(str(tmp_path), allow_download=True).tensors
            ours = source.read(source.names())
        except EmbvizError:
            continue
        opened += 1
        try:
            truth = torch.load(tmp_path / "pytorch_model.bin", weights_only=True)
        except Exception:  # noqa: BLE001, S112 - torch refuses more: it checks sums over tables as a whole
            continue
        assert set(ours) == set(truth), seed
        for name, tensor in ours.items():
            assert same(tensor, truth[name]), seed
    assert 100 < opened < TORCH


TOKENIZER_RUN = """
import json, random, sys
import tokenizers
from embviz.errors import EmbvizError
from embviz.models.tokenizer import TextTokenizer
from embviz.models.tokenizer_vetting import load_tokenizer
from tests.models.test_mutations import mutate
from tests.models.stand_ins import tokenizer_json

data = json.dumps(tokenizer_json()).encode()
texts = ["My dog is cute.", "a" * 500, "", "字😀 [CLS] playing"]
opened = refused = 0
for seed in range(int(sys.argv[1])):
    mutated = mutate(data, random.Random(seed))
    try:
        ours = TextTokenizer(load_tokenizer(mutated), 64)
        encoded = [ours.encode(text, "the dog") for text in texts]
    except EmbvizError:
        refused += 1
        continue
    opened += 1
    spec = {**json.loads(mutated), "padding": None, "truncation": None, "decoder": None}
    truth = tokenizers.Tokenizer.from_str(json.dumps(spec))
    truth.enable_truncation(64)
    for text, ours in zip(texts, encoded, strict=True):
        right = truth.encode(text, "the dog")
        assert (ours.tokens, ours.input_ids.tolist()) == (tuple(right.tokens), right.ids), seed
print(json.dumps([opened, refused]))
"""


def test_tokenizers() -> None:
    """In a process of its own, which is still there at the end."""
    done = subprocess.run(
        [sys.executable, "-c", TOKENIZER_RUN, str(TOKENIZERS)],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    opened, refused = json.loads(done.stdout.splitlines()[-1])
    assert opened + refused == TOKENIZERS
    assert opened > 20
    assert refused > 200


def test_configs_and_whole_folders(tmp_path: Path) -> None:
    """A model that opens is shown, or refused by a sentence; never by anything else."""
    write_tiny(tmp_path)
    shown = 0
    for seed in range(CONFIGS):
        name = "config.json" if seed % 4 else "model.safetensors"
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(mutate(whole, random.Random(seed), 600))
        try:
            d = EmbeddingModel(str(tmp_path), open_model(str(tmp_path))).decompose("my dog", "is cute")
            shown += d.output is not None
        except EmbvizError:
            pass
        (tmp_path / name).write_bytes(whole)
    assert shown > 10

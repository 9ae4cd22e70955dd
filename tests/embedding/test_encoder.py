"""The layers on given vectors are those of an official model whose tables were really changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import embviz
from embviz.embedding.decomposition import Decomposition
from embviz.embedding.encoder import OfficialEncoder
from embviz.embedding.interventions import ComponentChanges
from embviz.embedding.layout import EmbeddingLayout
from embviz.embedding.layouts import LAYOUTS
from tests.embedding.architectures import CONFIGS, configs_of
from tests.embedding.official_models import TEXT, TEXT_PAIR, official_model, save

REFUSED = {
    "altclip": "no tensor text_model.roberta.encoder.layers",
    "embedding_gemma2_text": "not all layers of EmbeddingGemma2TextModel have one state of one width",
    "lxmert": "visual_feats",
}
"""Families whose layers are not run, and why: another name in the checkpoint than in the model, a last projection,
a picture that has to be there."""

LIKE_LLAMA = {name for name in LAYOUTS if name not in CONFIGS}
"""Decoders of one shape, whose word vectors enter as they are or multiplied; all were tried once."""
SOME = {
    "llama", "gemma", "gemma3_text", "gemma4_unified_text", "gpt_neox", "mixtral", "qwen3", "olmo2", "exaone", "esmc",
    "eurobert", "lfm2", "phi", "starcoder2",
}  # fmt: skip
FAMILIES = [name for name in LAYOUTS if name not in REFUSED and (name not in LIKE_LLAMA or name in SOME)]
DEEP: Mapping[str, Mapping[str, int]] = {
    "bert": {"num_hidden_layers": 3}, "albert": {"num_hidden_layers": 3}, "deberta-v2": {"num_hidden_layers": 3},
    "gpt2": {"n_layer": 3}, "openai-gpt": {"n_layer": 3}, "t5": {"num_layers": 3}, "bart": {"encoder_layers": 3},
    "xlnet": {"n_layer": 3}, "llama": {"num_hidden_layers": 3}, "xlm": {"n_layers": 3},
}  # fmt: skip
SHIFT, FACTOR = 3, 1.5


def opened(
    model_type: str, folder: Path, **changes: Any
) -> tuple[nn.Module, embviz.EmbeddingModel, Decomposition]:
    official = official_model(model_type, {**configs_of(model_type)[0], **changes})
    model = embviz.load_model(str(save(official, folder)))
    return official, model, model.decompose(TEXT, TEXT_PAIR)


def changed(model: embviz.EmbeddingModel, d: Decomposition) -> Decomposition:
    """Token vectors times `FACTOR`, positions `SHIFT` further, segments 0 and 1 swapped, as far as there are any."""
    segments, positions = d.token_type_ids, d.position_ids
    if model.card.type_vocab_size > 1:
        segments = 1 - segments
    if "position" in model.names:
        positions = positions + SHIFT
    return model.decompose_ids(d.encoded, segments, positions, factors(model))


def factors(model: embviz.EmbeddingModel) -> ComponentChanges:
    """No factor where a projection with a bias comes between the word table and the token part (MobileBERT)."""
    return ComponentChanges(factors={} if "before_bias" in model.names else {"token": FACTOR})


@torch.no_grad()
def really_change(reader: nn.Module, layout: EmbeddingLayout, model: embviz.EmbeddingModel) -> None:
    """The same done to the tables of the official model."""
    names = layout.tensors(layout.settings(model.config))
    parameters = dict(reader.named_parameters())

    def table(role: str) -> Tensor:
        return next(
            parameters[own]
            for name in names[role]
            for own in parameters
            if own == name or own.endswith(f".{name}")
        )

    table("token").mul_(factors(model).factors.get("token", 1.0))
    if model.card.type_vocab_size > 1:
        rows = table("segment")
        rows[:2] = rows[:2].flip(0).clone()
    if "position" in model.names:
        rows = table("position")
        rows[:-SHIFT] = rows[SHIFT:].clone()


@torch.no_grad()
def official_states(reader: nn.Module, layout: EmbeddingLayout, d: Decomposition) -> Sequence[Tensor]:
    """`hidden_states` of the official model, each `(seq_len, hidden_size)`."""
    ids, types = (torch.tensor(row)[None] for row in (d.input_ids, d.token_type_ids))
    given = {
        "input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": ids,
        "bbox": torch.zeros((*ids.shape, 4), dtype=torch.long),
    }  # fmt: skip
    if d.segment is not None or layout.reasons.get("segment") == "in_attention":
        columns = layout.segment_columns
        given["token_type_ids"] = (
            types if columns == 1 else nn.functional.pad(types[..., None], (0, columns - 1))
        )
    accepted = signature(reader.forward).parameters
    result = reader(
        **{name: value for name, value in given.items() if name in accepted}, output_hidden_states=True
    )
    states = getattr(result, "hidden_states", None) or result.encoder_hidden_states
    return [state[0] for state in states]


def assert_equal_at_every_layer(
    official: nn.Module, model: embviz.EmbeddingModel, d: Decomposition, what_if: Decomposition
) -> None:
    ours = model.encoder.states(d, what_if)
    reader = official.get_submodule("text_model") if model.layout.config_at else official
    before = official_states(reader, model.layout, d)
    really_change(reader, model.layout, model)
    after = official_states(reader, model.layout, d)
    for states, theirs in zip(ours, (before, after), strict=True):
        assert states.dtype == np.float32
        assert states.shape == (len(theirs), len(d), model.card.hidden_size)
        for layer, right in enumerate(theirs):
            np.testing.assert_allclose(states[layer], right.numpy(), atol=1e-5, rtol=1e-5, err_msg=str(layer))


@pytest.mark.parametrize("model_type", FAMILIES)
def test_layers_equal_a_model_whose_tables_were_really_changed(model_type: str, tmp_path: Path) -> None:
    official, model, d = opened(model_type, tmp_path, **DEEP.get(model_type, {}))
    what_if = changed(model, d)

    assert np.abs(what_if.output - d.output).max() > 0
    assert_equal_at_every_layer(official, model, d, what_if)
    if model_type in DEEP:
        assert len(model.encoder.states(d)[0]) == 4


def test_given_ids_equal_really_changed_tables(tmp_path: Path) -> None:
    """The same through the official arguments: position_ids and token_type_ids instead of other tables."""
    official, model, d = opened("bert", tmp_path, num_hidden_layers=3)
    what_if = model.decompose_ids(d.encoded, 1 - d.token_type_ids, d.position_ids + SHIFT)

    with torch.no_grad():
        theirs = official(
            input_ids=torch.tensor(d.input_ids)[None],
            token_type_ids=torch.tensor(1 - d.token_type_ids)[None],
            position_ids=torch.tensor(d.position_ids + SHIFT)[None],
            output_hidden_states=True,
        ).hidden_states

    for ours, right in zip(model.encoder.states(what_if)[0], theirs, strict=True):
        np.testing.assert_allclose(ours, right[0].numpy(), atol=1e-5)


def test_segments_enter_xlnet_in_its_attention(tmp_path: Path) -> None:
    """It looks only at whether two tokens are in the same one: swapping is nothing, a boundary less is something."""
    _, model, d = opened("xlnet", tmp_path)
    swapped = model.decompose_ids(d.encoded, 1 - d.token_type_ids, d.position_ids)
    one = model.decompose_ids(d.encoded, 0 * d.token_type_ids, d.position_ids)

    before, after, without = model.encoder.states(d, swapped, one)

    np.testing.assert_allclose(after, before, atol=1e-6)
    assert np.array_equal(without[0], before[0])
    assert np.abs(without[1] - before[1]).max() > 1e-3


@pytest.mark.parametrize("model_type", REFUSED)
def test_what_cannot_be_run_is_refused_with_the_reason(model_type: str, tmp_path: Path) -> None:
    _, model, d = opened(model_type, tmp_path)

    with pytest.raises(embviz.ModelError, match=REFUSED[model_type]):
        model.encoder.states(d)


def test_a_last_projection_to_another_width_is_refused(tmp_path: Path) -> None:
    model = embviz.load_model(str(save(official_model("opt", configs_of("opt")[1]), tmp_path)))

    with pytest.raises(embviz.ModelError, match="not all layers of OPTDecoder"):
        model.encoder.states(model.decompose(TEXT))


def test_threads_do_not_get_each_others_states(tmp_path: Path) -> None:
    _, model, d = opened("bert", tmp_path)
    inputs = [
        model.decompose_ids(
            d.encoded, d.token_type_ids, d.position_ids, ComponentChanges(factors={"token": 1 + i / 10})
        )
        for i in range(16)
    ]
    alone = [embviz.load_model(str(tmp_path)).encoder.states(one)[0] for one in inputs]
    model.encoder._states.clear()

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: model.encoder.states(one)[0], inputs))

    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_untrained_weights_are_the_same_while_another_thread_builds(tmp_path: Path) -> None:
    """Torch has one random generator for all threads, which every new module draws from."""
    _, model, d = opened("bert", tmp_path)
    deep = {**model.config, "num_hidden_layers": 8}
    alone = OfficialEncoder(model.layout, deep, seed=0).module.state_dict()
    ended, checks = Event(), 0

    def check() -> None:
        nonlocal checks
        while not ended.is_set():
            assert model.check(d)[0] is not None
            checks += 1

    with ThreadPoolExecutor(1) as pool:
        checking = pool.submit(check)
        try:
            for _ in range(5):
                seen = checks
                while checks == seen and not checking.done():
                    sleep(0.001)
                beside = OfficialEncoder(model.layout, deep, seed=0).module.state_dict()
                for name, weights in alone.items():
                    assert torch.equal(beside[name], weights), name
        finally:
            ended.set()
        checking.result()


def test_no_word_table_is_held() -> None:
    model = embviz.load_model()
    model.encoder.states(model.decompose("my dog is cute"))
    module = model.encoder._build().module

    held = {id(p.untyped_storage()): p.untyped_storage().nbytes() for p in module.parameters()}
    assert sum(held.values()) < 43_000_000  # 6 layers of 1,774,464 numbers, and nothing of 46.9 MB
    assert not module.training

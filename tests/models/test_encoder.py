"""The weights of the layers: where they are read from, what is not fetched unasked, and what is run only once."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel

import embviz
from embviz.analysis import through_encoder
from embviz.embedding.encoder import OfficialEncoder
from embviz.embedding.layers import mean_cosines
from embviz.errors import InputError, ModelError
from embviz.models import encoder, loading, sources
from embviz.models.model import EmbeddingModel
from tests.embedding.architectures import configs_of
from tests.embedding.official_models import TEXT, TEXT_PAIR, official_model, save
from tests.fake_hub import FakeHub, Repo

WEIGHTS = r"safetensors|^/[0-9a-f]{64}"
INPUT = "embeddings."
POOLER = "pooler."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny BERT of two layers with all weights random."""
    return save(
        official_model("bert", {**configs_of("bert")[0], "num_hidden_layers": 2}), tmp_path / "two-layers"
    )


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many inputs each run of the layers had."""
    counted: list[int] = []
    run = OfficialEncoder.run

    def counting(self: OfficialEncoder, outputs: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        counted.append(len(outputs))
        return run(self, outputs, types)

    monkeypatch.setattr(OfficialEncoder, "run", counting)
    return counted


def rewrite(folder: Path, change: Any) -> None:
    """Changes the tensors of a checkpoint; `change` gets and gives back a dict."""
    path = folder / "model.safetensors"
    tensors = change(load_file(path))
    save_file(tensors, path, metadata={"format": "pt"})


def states(ref: Path | str) -> np.ndarray:
    model = embviz.load_model(str(ref))
    found: np.ndarray = model.encoder.states(model.decompose(TEXT, TEXT_PAIR))[0]
    return found


# The Hub: nothing is fetched unasked


def test_layers_of_the_hub_come_only_when_allowed(hub: FakeHub, tmp_path: Path) -> None:
    """The size that is named is that of all tensors but the input layer's and the pooler's."""
    settings = {**configs_of("bert")[0], "num_hidden_layers": 2, "hidden_size": 128, "intermediate_size": 512}
    folder = save(official_model("bert", settings), tmp_path / "larger")
    hub.repos["org/two"] = Repo(folder)
    size = sum(
        4 * tensor.numel()
        for name, tensor in load_file(folder / "model.safetensors").items()
        if not name.startswith((INPUT, POOLER))
    )
    recipe = embviz.Recipe(TEXT, TEXT_PAIR, model="org/two", what_if=(embviz.SwapSegments(),))
    analysis = embviz.analyze(recipe)
    model, moved = embviz.load_model("org/two"), hub.sent(WEIGHTS)

    assert model.encoder.download_bytes == size
    with pytest.raises(
        ModelError, match=rf"org/two have to be fetched from the Hub first: {size / 1e6:.3g} MB"
    ) as refused:
        through_encoder(analysis)
    assert refused.value.key == "error.encoder_download"
    assert hub.sent(WEIGHTS) == moved

    movement = through_encoder(analysis, allow_download=True)

    fetched = hub.sent(WEIGHTS) - moved
    assert 0.9 * size <= fetched <= 1.01 * size  # the start of the file had been read with its header
    assert movement.before.shape == (3, len(analysis.before), 128)
    assert model.encoder.download_bytes == 0
    np.testing.assert_array_equal(through_encoder(analysis).after, movement.after)


def test_layers_that_cannot_be_run_are_refused_before_anything_is_fetched(
    hub: FakeHub, tmp_path: Path
) -> None:
    settings = {**configs_of("lxmert")[0], "hidden_size": 128, "intermediate_size": 512}
    hub.repos["org/picture"] = Repo(save(official_model("lxmert", settings), tmp_path / "picture"))
    analysis = embviz.analyze(embviz.Recipe(TEXT, model="org/picture"))
    moved = hub.sent(WEIGHTS)

    with pytest.raises(ModelError, match="visual_feats"):
        through_encoder(analysis)
    assert hub.sent(WEIGHTS) == moved


def test_what_the_hub_cache_holds_is_not_fetched(hub: FakeHub, folder: Path) -> None:
    from huggingface_hub import hf_hub_download

    hub.repos["org/two"] = Repo(folder)
    hf_hub_download("org/two", "model.safetensors")

    assert embviz.load_model("org/two").encoder.download_bytes == 0
    assert states("org/two").shape[0] == 3


def test_bundled_and_local_layers_are_there_at_once(folder: Path) -> None:
    assert embviz.load_model().encoder.download_bytes == 0
    assert embviz.load_model(str(folder)).encoder.download_bytes == 0
    assert states("bundled").shape[0] == 7
    assert states(folder).shape[0] == 3


def test_shared_server_holds_no_large_encoder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = embviz.load_model(str(folder))
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")
    monkeypatch.setattr(encoder, "PUBLIC_ENCODER", 10_000)

    with pytest.raises(ModelError, match=r"this server holds at most 10 kB"):
        model.encoder.states(model.decompose(TEXT))


def test_shared_server_refuses_a_large_encoder_before_it_is_built(
    folder: Path, monkeypatch: pytest.MonkeyPatch, runs: list[int]
) -> None:
    model = embviz.load_model(str(folder))
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")
    monkeypatch.setattr(encoder, "PUBLIC_ENCODER", 10_000)
    monkeypatch.setattr(encoder, "OfficialEncoder", None)

    for _ in range(2):
        with pytest.raises(ModelError, match=r"this server holds at most 10 kB"):
            model.encoder.states(model.decompose(TEXT))
    assert runs == []


def test_what_the_checkpoint_tells_is_never_more_than_the_layers_need(folder: Path) -> None:
    model = embviz.load_model(str(folder))

    least = model.encoder._least_size()

    assert least == 4 * model.encoder._build().size  # BERT: no weight but those of the layers


def test_a_decoder_that_is_not_built_is_not_counted(tmp_path: Path) -> None:
    model = embviz.load_model(str(save(official_model("t5", configs_of("t5")[0]), tmp_path)))
    rewrite(tmp_path, lambda tensors: {**tensors, "decoder.block.0.layer.0.wide.weight": torch.ones(999, 99)})
    loading._open.clear()
    again = embviz.load_model(str(tmp_path))

    assert 0 < again.encoder._least_size() == model.encoder._least_size() <= 4 * model.encoder._build().size


@pytest.mark.parametrize("with_estimate", [True, False])
def test_a_refused_encoder_is_neither_tried_nor_kept(
    hub: FakeHub, folder: Path, monkeypatch: pytest.MonkeyPatch, runs: list[int], *, with_estimate: bool
) -> None:
    hub.repos["org/two"] = Repo(folder)
    model = embviz.load_model("org/two")
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")
    monkeypatch.setattr(encoder, "PUBLIC_ENCODER", 10_000)
    if not with_estimate:
        monkeypatch.setattr(encoder.Encoder, "_least_size", lambda _: 0)
    d = model.decompose(TEXT)

    for allowed in (False, True):
        with pytest.raises(ModelError) as refused:
            model.encoder.states(d, allow_download=allowed)
        assert refused.value.key == "error.encoder_too_large"
    assert runs == []
    assert model.encoder._official is None


@pytest.mark.parametrize("layers", [201, 10**9, 1e300])
def test_a_config_that_asks_for_too_many_layers_is_refused_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, layers: float
) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": layers}), encoding="utf-8")
    monkeypatch.setattr(encoder, "OfficialEncoder", None)

    with pytest.raises(ModelError, match=f"{int(layers):,} layers, and embviz runs at most 200") as refused:
        states(folder)
    assert refused.value.key == "error.encoder_layers"


@pytest.mark.parametrize(
    ("config", "layers"),
    [
        ({}, 0),
        ({"n_layer": 12, "n_head": 999}, 12),
        ({"text_config": {"encoder_layers": 300}, "vision_config": {"num_hidden_layers": 2}}, 300),
        ({"block_sizes": [100, 100, 100], "num_hidden_groups": 1}, 300),
        ({"inner_group_num": 500, "num_hidden_layers": None}, 500),
        ({"num_hidden_layers": float("inf"), "layer_types": ["full"] * 500}, 0),
    ],
)
def test_layers_are_counted_whatever_the_config_calls_them(config: dict[str, Any], layers: int) -> None:
    assert encoder.most_layers(config) == layers


# What a checkpoint may look like


def test_a_missing_tensor_is_never_made_up(folder: Path) -> None:
    name = "encoder.layer.1.output.dense.weight"
    rewrite(folder, lambda tensors: {n: t for n, t in tensors.items() if n != name})

    with pytest.raises(ModelError, match=rf"no tensor {name}") as refused:
        states(folder)
    assert refused.value.key == "error.encoder_tensor"


def test_a_missing_tensor_of_experts_is_never_made_up(tmp_path: Path) -> None:
    """These are joined by transformers' own loader, which would draw what is missing."""
    save(official_model("mixtral", configs_of("mixtral")[0]), tmp_path)
    rewrite(tmp_path, lambda tensors: {n: t for n, t in tensors.items() if "experts" not in n})

    with pytest.raises(ModelError, match="the checkpoint has no tensor"):
        states(tmp_path)


def test_a_tensor_of_another_shape_is_refused(folder: Path) -> None:
    name = "encoder.layer.0.output.dense.weight"
    rewrite(folder, lambda tensors: {**tensors, name: tensors[name][:, :-1].contiguous()})

    with pytest.raises(ModelError, match=rf"{name} has the shape \[16, 23\], where \[16, 24\] fits"):
        states(folder)


def test_quantised_layers_are_refused(folder: Path) -> None:
    config = (folder / "config.json").read_text(encoding="utf-8").strip()
    changed = config[:-1].rstrip() + ', "quantization_config": {"quant_method": "fp8"}}'
    (folder / "config.json").write_text(changed, encoding="utf-8")

    with pytest.raises(ModelError, match="quantised"):
        states(folder)


def test_no_pooler_is_fine(folder: Path) -> None:
    whole = states(folder)
    rewrite(folder, lambda tensors: {n: t for n, t in tensors.items() if not n.startswith(POOLER)})
    loading._open.clear()

    np.testing.assert_array_equal(states(folder), whole)


def test_prefix_and_names_of_tensorflow_are_understood(folder: Path) -> None:
    whole = states(folder)

    def old(name: str) -> str:
        return "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        )

    rewrite(
        folder,
        lambda tensors: {**{old(n): t for n, t in tensors.items()}, "cls.predictions.bias": torch.ones(61)},
    )
    loading._open.clear()

    np.testing.assert_array_equal(states(folder), whole)


def test_half_precision_layers_run_in_float32(folder: Path) -> None:
    rewrite(folder, lambda tensors: {n: t.half() for n, t in tensors.items()})
    official = BertModel.from_pretrained(folder, dtype=torch.float32).eval()  # type: ignore[no-untyped-call]
    d = embviz.load_model(str(folder)).decompose(TEXT, TEXT_PAIR)

    with torch.no_grad():
        right = official(
            torch.tensor(d.input_ids)[None],
            token_type_ids=torch.tensor(d.token_type_ids)[None],
            output_hidden_states=True,
        ).hidden_states

    found = states(folder)
    assert found.dtype == np.float32
    for ours, theirs in zip(found, right, strict=True):
        np.testing.assert_allclose(ours, theirs[0].numpy(), atol=1e-5)


def test_untrained_layers_are_drawn_as_the_official_class_draws_them() -> None:
    """The weights of BertModel under the same seed; the numbers say that they are random."""
    config = {**sources.BERT_BASE, "num_hidden_layers": 2}
    model = EmbeddingModel("untrained:bert-base", sources.open_untrained(config=config))
    d = model.decompose("a dog")

    movement = model.through_encoder(d, d)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        official = BertModel(BertConfig(num_hidden_layers=2)).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        right = official.encoder(torch.tensor(d.output)[None]).last_hidden_state[0]
    assert movement.untrained
    assert movement.before.shape == (3, 4, 768)
    np.testing.assert_allclose(movement.before[-1], right.numpy(), atol=1e-5)
    assert model.encoder.download_bytes == 0


# What is run


def test_before_and_after_are_one_batch_and_before_is_run_once(folder: Path, runs: list[int]) -> None:
    def moved(k: int) -> np.ndarray:
        analysis = embviz.analyze(
            embviz.Recipe(TEXT, TEXT_PAIR, model=str(folder), what_if=(embviz.ShiftPositions(k),))
        )
        after: np.ndarray = through_encoder(analysis).after
        return after

    first = moved(1)
    assert runs == [2, *[1] * len(encoder.SAMPLE)]  # both at once, and the yardstick
    del runs[:]

    moved(2)
    assert runs == [1]
    np.testing.assert_array_equal(moved(1), first)  # the slider goes back
    moved(0)  # no change is no new input
    assert runs == [1]


def test_what_is_kept_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch, runs: list[int]) -> None:
    monkeypatch.setattr(encoder, "MAX_STATES", 1)
    model = embviz.load_model(str(folder))
    d = model.decompose(TEXT)
    other = model.decompose(TEXT_PAIR)

    for one in (d, other, d, d):
        model.encoder.states(one)

    assert runs == [1, 1, 1]
    assert len(model.encoder._states) == 1


def test_before_is_kept_where_not_both_can_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch, runs: list[int]
) -> None:
    """A slider on a long input: each step runs what is new, and nothing else."""
    monkeypatch.setattr(encoder, "MAX_STATES", 1)
    model = embviz.load_model(str(folder))
    before = model.decompose(TEXT, TEXT_PAIR)

    for k in (1, 2, 3):
        model.encoder.states(before, model.change(before, (embviz.ShiftPositions(k),)))

    assert runs == [2, 1, 1]


# The yardstick


def moved_by(
    model: EmbeddingModel, decompose: Any, *, allow_download: bool = False
) -> tuple[np.ndarray, int]:
    """The yardstick, and how many layers there are with the input."""
    (found,) = model.encoder.states(model.decompose(TEXT), allow_download=allow_download)
    return model.encoder.random_cosines(decompose), len(found)


def test_sample_texts_that_a_model_cannot_read_are_left_out(folder: Path) -> None:
    model = embviz.load_model(str(folder))

    def decompose(text: str) -> Any:
        if text in encoder.SAMPLE[2:]:
            raise InputError("ids", field="model", name="ids", found=99, largest=60)
        return model.decompose(text)

    found, _ = moved_by(model, decompose)
    texts = [model.encoder.states(model.decompose(text))[0] for text in encoder.SAMPLE[:2]]

    np.testing.assert_allclose(found, mean_cosines(texts), atol=1e-6)


def test_one_sample_text_makes_no_yardstick(folder: Path) -> None:
    model = embviz.load_model(str(folder))

    def decompose(text: str) -> Any:
        if text != encoder.SAMPLE[4]:
            raise InputError("ids", field="model", name="ids", found=99, largest=60)
        return model.decompose(text)

    found, count = moved_by(model, decompose)

    assert found.shape == (count,)
    assert np.isnan(found).all()


def test_a_network_that_fails_takes_the_yardstick_only_for_now(folder: Path) -> None:
    model = embviz.load_model(str(folder))
    asked = []

    def decompose(text: str) -> Any:
        asked.append(text)
        raise ModelError("checkpoint", field="model", file="a", reason="b")

    found, _ = moved_by(model, decompose)

    assert np.isnan(found).all()
    assert len(asked) == 1
    assert np.isfinite(model.encoder.random_cosines(model.decompose)).all()


def test_no_word_row_is_fetched_for_the_yardstick_before_that_is_allowed(
    hub: FakeHub, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the layers lie in the cache of the Hub and the word table, in another file, does not."""
    hub.repos["org/two"] = Repo(folder)
    model = embviz.load_model("org/two")
    with monkeypatch.context() as context:
        context.setattr(model.tensors, "remote_bytes", lambda _: 0)
        found, _ = moved_by(model, None)
    assert np.isnan(found).all()

    found, _ = moved_by(model, model.decompose, allow_download=True)
    assert np.isfinite(found).all()


def test_nothing_is_run_unless_it_is_asked_for(folder: Path, runs: list[int]) -> None:
    analysis = embviz.analyze(
        embviz.Recipe(TEXT, TEXT_PAIR, model=str(folder), what_if=(embviz.SwapSegments(),))
    )

    assert runs == []
    assert embviz.load_model(str(folder)).encoder._official is None
    assert analysis.layers is analysis.layers
    assert runs[0] == 2


def test_the_layers_go_with_their_model(folder: Path) -> None:
    states(folder)
    model = embviz.load_model(str(folder))
    module = weakref.ref(model.encoder._build().module)

    loading._open.clear()
    del model
    gc.collect()

    assert module() is None


def test_states_cannot_be_written_to(folder: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        states(folder)[0] = 0


def test_random_numbers_of_the_caller_stay_as_they_are(folder: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    states(folder)

    assert torch.equal(torch.rand(3), expected)

"""The verified mark: green on a right answer, red on a wrong one, silent where there is nothing to compare."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given

import embviz
from embviz.embedding.layouts import LAYOUTS, layout_of
from embviz.embedding.verification import TOLERANCE, OfficialInput
from tests.reference import official
from tests.reference.examples import examples
from tests.reference.random_ids import IdRows, decompose, id_rows

CAPITAL = "The capital of France is Paris."


def official_input(model: embviz.EmbeddingModel, **changes: object) -> OfficialInput:
    """The official class with all tensors of the checkpoint, the whole word table too."""
    tensors = {role: model.tensors.tensor(name) for role, name in model.names.items()}
    return OfficialInput(model.layout, {**model.config, **changes}, tensors)


@pytest.mark.parametrize("ref", ["bundled", "untrained:all-MiniLM-L6-v2", "untrained:bert-base"])
def test_every_model_is_verified(ref: str) -> None:
    d = embviz.load_model(ref).decompose("my dog is cute", "he likes playing")

    assert d.verified is not None
    assert d.verified <= 1e-6 < TOLERANCE == 1e-5
    assert "transformers.models.bert.modeling_bert.BertEmbeddings" in d.verified_note


@examples(20)
@given(rows=id_rows())
def test_any_ids_are_verified_and_really_equal(rows: IdRows) -> None:
    """The mark is what an official module with weights of safetensors' own reader says, too."""
    d = decompose(rows)
    expected = official.run(
        official.bundled_embeddings(),
        input_ids=torch.tensor([rows.input_ids]),
        token_type_ids=torch.tensor([rows.token_type_ids]),
        position_ids=torch.tensor([rows.position_ids]),
    )[0]
    difference = float(np.abs(expected.numpy() - d.output).max())

    assert difference <= 1e-6
    assert d.verified == pytest.approx(difference, abs=1e-9)


def test_the_module_of_the_mark_is_the_official_class_with_the_checkpoints_tensors() -> None:
    model = embviz.load_model()
    module = official_input(model).module
    theirs = official.bundled_embeddings()

    assert type(module) is type(theirs)
    assert not module.training
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(module.state_dict()[name], tensor), name


@pytest.mark.parametrize("wrong", [1e-5, 1e-3])
def test_a_wrong_value_shows_in_the_mark(wrong: float) -> None:
    """One entry off by `wrong` is a difference of `wrong`, not of zero."""
    model = embviz.load_model()
    d = model.decompose(CAPITAL)
    output = np.array(d.output)
    output[3, 77] += wrong

    assert replace(d, output=output).verified == pytest.approx(wrong, rel=0.05)


@pytest.mark.parametrize(("eps", "published"), [(1e-5, 0.00757), (1e-6, 0.00076), (1e-3, 0.64732)])
def test_a_wrong_eps_is_found(eps: float, published: float) -> None:
    """The differences that others measured for a LayerNorm with another eps on this model."""
    model = embviz.load_model()
    d = model.decompose(CAPITAL)
    step = d.layer_norm
    assert step is not None
    theirs = official_input(model, layer_norm_eps=eps)

    assert step.eps == 1e-12
    difference = theirs.difference(d)
    assert difference == pytest.approx(published, rel=0.01)
    assert difference > TOLERANCE


def test_scaled_components_are_not_compared_and_the_note_says_so() -> None:
    recipe = embviz.Recipe(CAPITAL, what_if=(embviz.Scale("segment", 2),))

    after = embviz.analyze(recipe).after

    assert after.verified is None
    assert "changes of components" in after.verified_note


def test_the_official_class_is_imported_only_when_the_mark_is_asked_for() -> None:
    """A drawing never waits for it."""
    code = (
        "import sys, embviz\n"
        "d = embviz.load_model().decompose('my dog is cute', 'he likes playing')\n"
        "assert 'transformers' not in sys.modules\n"
        "assert d.verified <= 1e-5\n"
        "assert 'transformers' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_each_layout_names_a_class_and_its_tensors() -> None:
    for model_type, layout in LAYOUTS.items():
        assert layout_of(model_type) is layout
        assert layout.model_type == model_type


def test_an_unknown_architecture_is_named_with_those_that_are_known() -> None:
    with pytest.raises(embviz.ModelError, match=r"rwkv.*bert") as caught:
        layout_of("rwkv")

    assert caught.value.field == "model"

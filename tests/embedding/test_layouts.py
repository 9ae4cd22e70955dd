"""Every row of the table is the official input layer: a tiny random checkpoint of each, on disk, opened by embviz."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import embviz
from embviz.embedding.decomposition import COMPONENTS, Decomposition
from embviz.embedding.layouts import BEST_KNOWN, LAYOUTS, REFUSED, layout_of
from embviz.embedding.metrics import layer_norm_attribution
from embviz.embedding.verification import TOLERANCE
from tests.embedding.architectures import CASES, CONFIGS, configs_of
from tests.embedding.conftest import COMPARED
from tests.embedding.official_models import (
    TEXT,
    TEXT_PAIR,
    as_batch,
    official_answers,
    official_model,
    padded_pairs,
    save,
)

NOT_CHECKED = {"led"}
"""Families whose official class does not run without layers: the page says so, and this file compares them."""


@dataclass(frozen=True, eq=False)
class Opened:
    """The same tiny checkpoint as transformers and as embviz opens it."""

    official: nn.Module
    model: embviz.EmbeddingModel
    tolerance: float

    def answers(self, ids: Tensor, segments: Tensor, mask: Tensor) -> list[Tensor]:
        """The official module's output and hidden_states[0], as far as this model has them."""
        rows = self.model.card.type_vocab_size
        given = segments.clamp(max=rows - 1) if rows else None
        return official_answers(self.official, self.model.layout, ids, given, mask)


def opened(model_type: str, variant: int, folder: Path) -> Opened:
    official = official_model(model_type, configs_of(model_type)[variant])
    model = embviz.load_model(str(save(official, folder)))
    terms = model.module.terms
    rounded = terms.scale != 1 or terms.projected or terms.projection
    return Opened(official, model, 1e-5 if rounded else 1e-6)


@pytest.mark.parametrize(("model_type", "variant"), CASES)
def test_row_equals_the_official_class(
    model_type: str, variant: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """On a padded batch of pairs and on one text; its parts add up, and the mark says the same."""
    case = opened(model_type, variant, tmp_path)

    ids, segments, mask = padded_pairs()
    batch = case.model.embed(ids, segments, mask).output
    d = case.model.decompose(TEXT, TEXT_PAIR)
    one, kinds = as_batch(d.input_ids, d.token_type_ids)
    for ours, answers in (
        (batch, case.answers(ids, segments, mask)),
        (torch.tensor(d.output)[None], case.answers(one, kinds, torch.ones_like(one))),
    ):
        assert answers
        for answer in answers:
            assert ours.shape == answer.shape
            assert (ours - answer).abs().max().item() <= case.tolerance
    parts_add_up(d)
    reasons_are_given(d)
    if model_type in NOT_CHECKED:
        assert d.verified is None
        assert d.verified_note.startswith("not checked here")
    else:
        assert d.verified is not None
        assert d.verified <= TOLERANCE
    request.config.stash[COMPARED].add(model_type)


def parts_add_up(d: Decomposition) -> None:
    """token + segment + position + constant is the sum, and the attribution adds up to the LayerNorm's result."""
    parts = [array.astype(np.float64) for name in COMPONENTS if (array := d.part(name)) is not None]
    np.testing.assert_allclose(sum(parts), d.summed, atol=2e-6)
    if d.normalized is not None:
        shares = layer_norm_attribution(d)
        np.testing.assert_allclose(sum(shares.values()), d.normalized, atol=2e-5)
    assert (d.normalized is None) == (d.layer_norm is None) == (layer_norm_attribution(d) == {})


def reasons_are_given(d: Decomposition) -> None:
    """What is missing has a sentence, what is there has a tensor, and nothing has both."""
    for part, role in (("segment", "segment"), ("position", "position"), ("normalized", "weight")):
        missing = getattr(d, part) is None
        assert missing == (part in d.absent), part
        if role not in d.tensors and not missing:
            assert any(note.key == "computed_positions" for note in d.notes), part
        assert not missing or d.absent[part].endswith((".", "none."))


# The table itself.


def test_every_config_belongs_to_a_row() -> None:
    assert set(CONFIGS) <= set(LAYOUTS)
    assert not set(LAYOUTS) & set(REFUSED)


@pytest.mark.parametrize("model_type", LAYOUTS)
def test_defaults_are_those_of_the_official_config(model_type: str) -> None:
    """A config.json may leave an entry out; the row then reads what the official class would."""
    layout = LAYOUTS[model_type]
    official: Any = CONFIG_MAPPING[model_type]()
    if layout.config_at is not None:
        official = getattr(official, layout.config_at)

    for key, value in layout.defaults.items():
        if not hasattr(official, key):
            continue  # the row that it was taken from reads it; this one does not, or takes it for another size
        wanted = getattr(official, key)
        size = official.hidden_size if key in ("embedding_size", "word_embed_proj_dim") else None
        assert (size if value is None else value) == (
            list(wanted) if isinstance(wanted, tuple) else wanted
        ), key


@pytest.mark.parametrize("model_type", LAYOUTS)
def test_a_row_needs_no_entry_that_it_has_no_default_for(model_type: str) -> None:
    layout = LAYOUTS[model_type]

    settings = layout.settings({})
    roles = layout.tensors(settings)
    assert "token" in roles
    assert layout.absent(roles).keys() <= {"segment", "position", "normalized"}


@pytest.mark.parametrize("model_type", REFUSED)
def test_what_is_no_sum_is_refused_by_name(model_type: str) -> None:
    with pytest.raises(embviz.ModelError, match=model_type):
        layout_of(model_type)


def test_the_best_known_have_rows() -> None:
    assert set(BEST_KNOWN) <= set(LAYOUTS)

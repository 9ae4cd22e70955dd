"""compare(recipe, other): one basis, one scale, and numbers that follow from both decompositions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from torch.nn.functional import cosine_similarity

import embviz
from embviz.comparison import Comparison

BANK = embviz.Recipe("The bank raised interest rates.", "We sat on the river bank.")
UNTRAINED = replace(BANK, model="untrained:all-MiniLM-L6-v2")
WIDER = replace(BANK, model="untrained:bert-base")
SWAPPED = replace(BANK, what_if=(embviz.SwapSegments(),))
WORDS = [*range(1, 7), *range(8, 15)]
"""The 13 tokens of the banks that are neither [CLS] nor [SEP]."""


@pytest.fixture(scope="module")
def trained_and_not() -> Comparison:
    return embviz.compare(BANK, UNTRAINED)


def sums(recipe: embviz.Recipe, name: str = "summed") -> Any:
    """What the library's own door for one input gives."""
    return getattr(embviz.analyze(recipe).after, name)


@pytest.mark.parametrize("name", ["summed", "normalized"])
def test_the_one_basis_is_scikit_learns_pca_of_both_together(name: Any, trained_and_not: Comparison) -> None:
    rows = np.concatenate([sums(BANK, name)[WORDS], sums(UNTRAINED, name)[WORDS]]).astype(np.float64)
    pca = PCA(n_components=10, svd_solver="full").fit(rows)
    ours = trained_and_not.this.projections[name]

    assert trained_and_not.common
    assert trained_and_not.other.projections is trained_and_not.this.projections
    assert ours.n_fitted == 26
    np.testing.assert_allclose(ours.mean, pca.mean_, atol=1e-9)
    np.testing.assert_allclose(ours.explained_variance_ratio, pca.explained_variance_ratio_, atol=1e-9)
    for mine, theirs in zip(ours.components[:2], pca.components_[:2], strict=True):
        np.testing.assert_allclose(mine * np.sign(mine @ theirs), theirs, atol=1e-6)


def test_special_tokens_are_in_the_basis_where_a_recipe_draws_them() -> None:
    comparison = embviz.compare(replace(BANK, special_tokens=True), UNTRAINED)

    assert comparison.this.projections["summed"].n_fitted == 16 + 13


def test_colours_end_at_the_same_number_on_both_sides(trained_and_not: Comparison) -> None:
    """The 99.5 % quantile of |value| over all parts and sums of both; LayerNorm has its own."""
    parts = [
        sums(recipe, name).ravel()
        for recipe in (BANK, UNTRAINED)
        for name in ("token", "segment", "position", "summed")
    ]
    normalized = [sums(recipe, "normalized").ravel() for recipe in (BANK, UNTRAINED)]
    expected = {
        "parts": np.quantile(np.abs(np.concatenate(parts)), 0.995),
        "normalized": np.quantile(np.abs(np.concatenate(normalized)), 0.995),
    }

    assert trained_and_not.this.limits == pytest.approx(expected, rel=1e-6)
    assert trained_and_not.other.limits == trained_and_not.this.limits


def test_models_of_different_widths_have_a_basis_and_a_scale_each() -> None:
    comparison = embviz.compare(BANK, WIDER)

    assert not comparison.common
    assert math.isnan(comparison.between)
    assert (comparison.pairs, dict(comparison.cosines)) == ((), {})
    for side, recipe in ((comparison.this, BANK), (comparison.other, WIDER)):
        rows = sums(recipe)[WORDS].astype(np.float64)
        pca = PCA(n_components=2, svd_solver="full").fit(rows)
        found = side.projections["summed"].explained_variance_ratio[:2]
        np.testing.assert_allclose(found, pca.explained_variance_ratio_, atol=1e-9)
        limit = np.quantile(np.abs(sums(recipe, "normalized")), 0.995)
        assert side.limits["normalized"] == pytest.approx(limit, rel=1e-6)


def test_an_untrained_layer_norm_gives_every_vector_one_length(trained_and_not: Comparison) -> None:
    """Gain 1 and bias 0: √384, which the trained one does not have (Ba et al. 2016)."""
    assert trained_and_not.other.mean_norms["normalized"] == pytest.approx(math.sqrt(384), rel=1e-4)
    assert trained_and_not.this.mean_norms["normalized"] < 10


def test_untrained_vectors_are_as_long_as_their_initialisation_says(trained_and_not: Comparison) -> None:
    """384 numbers from N(0, 0.02²): 0.02 √384 for one table, 0.02 √(3 · 384) for the sum of three."""
    norms = trained_and_not.other.mean_norms

    for name in ("token", "segment", "position"):
        assert norms[name] == pytest.approx(0.02 * math.sqrt(384), rel=0.06)
    assert norms["summed"] == pytest.approx(0.02 * math.sqrt(3 * 384), rel=0.06)


def test_mean_lengths_are_those_of_all_tokens(trained_and_not: Comparison) -> None:
    for side, recipe in ((trained_and_not.this, BANK), (trained_and_not.other, UNTRAINED)):
        for name, norm in side.mean_norms.items():
            expected = torch.linalg.vector_norm(torch.tensor(sums(recipe, name)).double(), dim=1).mean()
            assert norm == pytest.approx(float(expected), rel=1e-6)


def test_shares_are_of_the_tokens_on_the_map_and_add_up_to_one(trained_and_not: Comparison) -> None:
    for side, recipe in ((trained_and_not.this, BANK), (trained_and_not.other, UNTRAINED)):
        total = sums(recipe)[WORDS].astype(np.float64).var(axis=0).sum()
        token = sums(recipe, "token")[WORDS].astype(np.float64).var(axis=0).sum()
        assert side.variance_shares["token"] == pytest.approx(token / total, rel=1e-6)  # float32 sums
        assert sum(side.variance_shares.values()) == pytest.approx(1)


def test_between_is_what_the_two_centres_leave_of_the_variance(trained_and_not: Comparison) -> None:
    """Total variance = within + between, for two groups of one size."""
    groups = [sums(recipe)[WORDS].astype(np.float64) for recipe in (BANK, UNTRAINED)]
    within = sum(group.var(axis=0).sum() for group in groups) / 2
    total = np.concatenate(groups).var(axis=0).sum()

    assert trained_and_not.between == pytest.approx(1 - within / total, rel=1e-9)


def test_tokens_of_one_model_are_paired_at_their_places_and_compared() -> None:
    """Swapped segments leave token and position as they are."""
    comparison = embviz.compare(BANK, SWAPPED)

    assert comparison.pairs == tuple((i, i) for i in range(16))
    for name in ("token", "segment", "position", "summed", "normalized"):
        expected = cosine_similarity(
            torch.tensor(sums(BANK, name)).double(), torch.tensor(sums(SWAPPED, name)).double()
        )
        np.testing.assert_allclose(comparison.cosines[name], expected, atol=1e-9)
    # The facts of the model: the mean cosine distance of a swap is 0.0063 in the sum, 0.0122 after LayerNorm.
    assert 1 - comparison.cosines["summed"].mean() == pytest.approx(0.0063, abs=5e-5)
    assert 1 - comparison.cosines["normalized"].mean() == pytest.approx(0.0122, abs=5e-5)


def test_a_word_in_another_place_is_found_there() -> None:
    """[CLS] the dog bites the man [SEP] and [CLS] the man bites the dog [SEP]: places count first."""
    comparison = embviz.compare(
        embviz.Recipe("the dog bites the man"), embviz.Recipe("the man bites the dog")
    )

    assert comparison.pairs == ((0, 0), (1, 1), (2, 5), (3, 3), (4, 4), (5, 2), (6, 6))
    np.testing.assert_allclose(comparison.cosines["token"], 1)
    assert comparison.cosines["position"][2] < 0.999


def test_each_token_has_one_partner_at_most() -> None:
    comparison = embviz.compare(embviz.Recipe("the the the"), embviz.Recipe("a the"))

    assert comparison.pairs == ((0, 0), (2, 2), (4, 3))


def test_tokens_of_two_models_are_not_paired(trained_and_not: Comparison) -> None:
    """Their vectors have nothing in common but their number of dimensions."""
    assert not trained_and_not.same_model
    assert (trained_and_not.pairs, dict(trained_and_not.cosines)) == ((), {})


def test_an_input_beside_itself_differs_in_nothing() -> None:
    comparison = embviz.compare(BANK, BANK)

    assert comparison.between == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(comparison.cosines["summed"], 1)
    assert "no difference" in embviz.figures.beside_caption(comparison)


def test_two_points_are_enough_and_no_words_are_too() -> None:
    for recipe in (embviz.Recipe("hello"), embviz.Recipe("")):
        comparison = embviz.compare(recipe, BANK)
        assert comparison.common
        assert len(embviz.figures.beside(comparison)) == 1


def test_a_mistake_in_either_recipe_is_a_sentence() -> None:
    with pytest.raises(embviz.ModelError, match="choose one of"):
        embviz.compare(BANK, replace(BANK, model="untrained:nothing"))


# The figure.


def traces(comparison: Comparison, part: Any = "summed") -> dict[str, Any]:
    (spec,) = embviz.figures.beside_specs(comparison, part)
    return {trace["meta"]: trace for trace in spec["data"]}


def test_both_inputs_are_drawn_in_the_common_basis(trained_and_not: Comparison) -> None:
    """Filled for the one, open for the other, each point where scikit-learn's PCA has it, up to sign."""
    drawn = traces(trained_and_not)
    rows = np.concatenate([sums(BANK)[WORDS], sums(UNTRAINED)[WORDS]]).astype(np.float64)
    expected = PCA(n_components=2, svd_solver="full").fit_transform(rows)
    found = np.concatenate(
        [np.stack([drawn[side]["x"], drawn[side]["y"]], axis=1) for side in ("this", "other")]
    )
    signs = np.sign((found * expected).sum(axis=0))

    assert drawn.keys() == {"this", "other"}
    assert [drawn[side]["marker"]["symbol"] for side in ("this", "other")] == ["square", "square-open"]
    assert [drawn[side]["customdata"] for side in ("this", "other")] == [WORDS, WORDS]
    np.testing.assert_allclose(found * signs, expected, atol=1e-5)


def test_lines_lead_from_a_token_to_the_same_token() -> None:
    drawn = traces(embviz.compare(BANK, SWAPPED))

    for axis in "xy":
        np.testing.assert_array_equal(drawn["pairs"][axis][0::3], drawn["this"][axis])
        np.testing.assert_array_equal(drawn["pairs"][axis][1::3], drawn["other"][axis])
        assert np.isnan(drawn["pairs"][axis][2::3]).all()


def test_without_a_common_basis_there_are_two_figures() -> None:
    comparison = embviz.compare(BANK, WIDER)
    specs = embviz.figures.beside_specs(comparison)

    assert [[trace["meta"] for trace in spec["data"]] for spec in specs] == [["this"], ["other"]]
    sentence = embviz.figures.beside_caption(comparison)
    assert "384" in sentence
    assert "768" in sentence
    assert "no dimension is common" in sentence


def test_the_caption_names_the_least_alike_token() -> None:
    comparison = embviz.compare(BANK, SWAPPED)
    cosines = comparison.cosines["summed"]

    sentence = embviz.figures.beside_caption(comparison)

    assert f"{cosines.mean():.3f}" in sentence
    assert f"{cosines.min():.3f}" in sentence
    assert f"“{embviz.analyze(BANK).after.tokens[int(cosines.argmin())]}”" in sentence


def test_markup_in_a_sentence_is_no_markup_in_the_figure() -> None:
    drawn = traces(embviz.compare(embviz.Recipe("<b>bold</b>"), BANK))

    assert not [label for label in drawn["this"]["text"] if "<b" in label]

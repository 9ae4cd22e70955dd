"""analyze(recipe): one pipeline, whose every result follows from the Recipe and from nothing else."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.decomposition import PCA

import embviz
from embviz.analysis import Analysis
from embviz.embedding.interventions import Intervention
from embviz.embedding.module import InputEmbeddings
from embviz.embedding.projection import Projection, fit_projection
from embviz.models.recent import RecentDecompositions, _bytes
from embviz.models.tokenizer import TextTokenizer
from tests.reference import official

BANK = ("The bank raised interest rates.", "We sat on the river bank.")
ORDINARY = [*range(1, 7), *range(8, 15)]
"""The 13 tokens of the banks that are neither [CLS] nor [SEP]."""


def bank(**choices: Any) -> Analysis:
    return embviz.analyze(embviz.Recipe(*BANK, **choices))


def assert_fitted_on(projection: Projection, rows: NDArray[np.floating]) -> None:
    """scikit-learn's PCA of these rows, up to sign."""
    pca = PCA(n_components=min(10, len(rows) - 1), svd_solver="full").fit(np.asarray(rows, np.float64))
    count = len(pca.components_)
    assert projection.n_fitted == len(rows)
    np.testing.assert_allclose(projection.mean, pca.mean_, atol=1e-9)
    np.testing.assert_allclose(
        projection.explained_variance_ratio[:count], pca.explained_variance_ratio_, atol=1e-9
    )
    # Axes of nearly equal variance may turn against each other; the first two are far apart here.
    for ours, theirs in zip(projection.components[:2], pca.components_[:2], strict=True):
        np.testing.assert_allclose(ours * np.sign(ours @ theirs), theirs, atol=1e-6)


def test_without_changes_before_and_after_are_one() -> None:
    analysis = bank()

    assert analysis.before is analysis.after
    assert analysis.recipe == embviz.Recipe(*BANK)
    assert analysis.model is embviz.load_model().card


def test_nothing_is_computed_again_that_a_slider_did_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: a text is tokenized once, its words are read once, and of the tables only what moved is looked up."""
    counts: Counter[str] = Counter()

    def count(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def counted(*given: Any, **named: Any) -> Any:
            counts[name] += 1
            return original(*given, **named)

        monkeypatch.setattr(owner, name, counted)

    count(TextTokenizer, "encode")
    for name in ("token_vectors", "segment_vectors", "position_vectors", "combine"):
        count(InputEmbeddings, name)

    def fitted(*given: Any) -> Projection:
        counts["fit_projection"] += 1
        return fit_projection(*given)

    monkeypatch.setattr("embviz.analysis.fit_projection", fitted)
    texts = ("A sentence that was never asked for before.", "Nor was this one.")

    def asked(*what_if: Intervention) -> dict[str, int]:
        counts.clear()
        embviz.analyze(embviz.Recipe(*texts, what_if=what_if))
        return dict(counts)

    first = asked()
    assert first == {
        "encode": 1, "token_vectors": 1, "segment_vectors": 1, "position_vectors": 1, "combine": 1,
        "fit_projection": 2,
    }  # fmt: skip
    assert asked() == {}
    assert asked(embviz.ShiftPositions(0)) == {}
    assert asked(embviz.ShiftPositions(5)) == {"position_vectors": 1, "combine": 1}
    assert asked(embviz.SwapSegments()) == {"segment_vectors": 1, "combine": 1}
    assert asked(embviz.Scale("segment", 2), embviz.Scale("token", 0.5)) == {"combine": 1}
    assert asked(embviz.Dropout(0.1)) == {"combine": 1}
    assert asked(embviz.ReplaceToken(1, "the")) == {"token_vectors": 1, "combine": 1}


def test_before_is_the_same_object_while_a_slider_moves() -> None:
    """So is its verified mark, which takes seconds."""
    first, second = (bank(what_if=(embviz.ShiftPositions(k),)) for k in (1, 2))

    assert first.before is second.before
    assert first.lens_before is not second.lens_after


def test_only_so_many_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their bytes; the one that was not wanted for longest leaves."""
    recent = RecentDecompositions()
    answer = embviz.load_model().decompose("one")
    made: list[str] = []

    def ask(text: str) -> None:
        recent.get((text, None), lambda: made.append(text) or answer)  # type: ignore[func-returns-value]

    monkeypatch.setattr("embviz.models.recent.MAX_BYTES", 2 * _bytes(answer))
    for text in ("a", "b", "a", "c", "a", "b"):
        ask(text)

    assert made == ["a", "b", "c", "b"]


def test_a_model_that_nobody_uses_takes_its_answers_along() -> None:
    from embviz.models.sources import open_model

    model = embviz.EmbeddingModel("untrained:bert-base", open_model("untrained:bert-base", None))
    model.decompose("hello")
    gone = weakref.ref(model)
    del model
    gc.collect()

    assert gone() is None


def test_nothing_moved_where_nothing_was_asked() -> None:
    assert bank().moved is None
    moved = bank(what_if=(embviz.SwapSegments(), embviz.SwapSegments())).moved
    assert moved is not None
    assert not moved.changed


def test_the_same_recipe_gives_the_same_bits() -> None:
    what_if = (embviz.SwapSegments(), embviz.ShiftPositions(5, keep_first=True), embviz.Scale("segment", 0.0))
    first, second = bank(what_if=what_if), bank(what_if=what_if)

    for name in ("token", "segment", "position", "summed", "normalized", "output"):
        np.testing.assert_array_equal(getattr(first.after, name), getattr(second.after, name))
    np.testing.assert_array_equal(first.projection.components, second.projection.components)
    assert first.metrics.variance_shares == second.metrics.variance_shares


def test_metrics_are_about_the_input_after_the_changes() -> None:
    analysis = bank(what_if=(embviz.Scale("segment", 0),))

    assert analysis.metrics.variance_shares["segment"] == 0
    assert not analysis.metrics.norms["segment"].any()


@pytest.mark.parametrize("pca_fit", ["input", "parts", "positions", "vocabulary"])
def test_before_and_after_are_drawn_in_the_basis_of_before(pca_fit: Any) -> None:
    """The axes stand still while a slider moves, so that an arrow from before to after means something."""
    plain, changed = (
        bank(pca_fit=pca_fit, what_if=what_if)
        for what_if in ((), (embviz.Scale("segment", 0), embviz.ReplaceToken(0, "bank")))
    )

    np.testing.assert_array_equal(plain.projection.components, changed.projection.components)
    np.testing.assert_array_equal(plain.projection.mean, changed.projection.mean)
    np.testing.assert_array_equal(
        plain.normalized_projection.components, changed.normalized_projection.components
    )


@pytest.mark.parametrize(
    "what_if",
    [
        (),
        (embviz.SwapSegments(), embviz.ShiftPositions(50)),
        (embviz.Scale("segment", 20), embviz.Scale("position", -1.5)),
        (embviz.ScaleSegmentDifference(10), embviz.ReplaceToken(2, "river")),
        (embviz.NoLayerNorm(), embviz.Scale("token", 0)),
    ],
    ids=repr,
)
def test_arrows_end_on_the_sum(what_if: tuple[Intervention, ...]) -> None:
    """In the one basis, before and after: coordinates of token, plus those of the steps, are those of the sum."""
    analysis = bank(what_if=what_if)
    project = analysis.projection.transform

    for d in (analysis.before, analysis.after):
        assert d.segment is not None
        assert d.position is not None
        origin = project(np.zeros((1, 384)))
        steps = sum(project(part) - origin for part in (d.token, d.segment, d.position))
        np.testing.assert_allclose(origin + steps, project(d.summed), atol=1e-5)


def test_special_tokens_are_drawn_only_where_chosen() -> None:
    assert np.flatnonzero(bank().drawn).tolist() == ORDINARY
    assert bank(special_tokens=True).drawn.tolist() == [True] * 16


def test_special_tokens_are_drawn_where_there_is_nothing_else() -> None:
    assert embviz.analyze(embviz.Recipe("")).drawn.tolist() == [True, True]


def test_special_tokens_that_were_typed_are_drawn() -> None:
    """They are the user's own words."""
    assert embviz.analyze(embviz.Recipe("[CLS] hello [SEP]")).drawn.tolist() == [
        False,
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("special_tokens", [False, True])
def test_maps_are_fitted_on_what_is_drawn(special_tokens: bool) -> None:
    analysis = bank(special_tokens=special_tokens)
    rows = analysis.after

    assert rows.normalized is not None
    assert_fitted_on(analysis.projection, rows.summed[analysis.drawn])
    assert_fitted_on(analysis.normalized_projection, rows.normalized[analysis.drawn])


def test_a_fit_on_all_parts_has_the_three_stages_of_each_token() -> None:
    analysis = bank(pca_fit="parts")
    d = analysis.after
    assert d.segment is not None

    assert_fitted_on(
        analysis.projection,
        np.concatenate([rows[ORDINARY] for rows in (d.token, d.token + d.segment, d.summed)]),
    )


def test_a_fit_on_the_positions_is_that_of_the_whole_table() -> None:
    table = official.bundled_embeddings().state_dict()["position_embeddings.weight"].numpy()

    assert_fitted_on(bank(pca_fit="positions").projection, table)


def test_a_fit_on_the_vocabulary_is_about_that_of_the_whole_table() -> None:
    """A sample of 2,000 rows has the shares of the 30,522: .020 and .017 (measured without embviz)."""
    projection = bank(pca_fit="vocabulary").projection
    table = official.bundled_embeddings().state_dict()["word_embeddings.weight"].numpy().astype(np.float64)

    assert projection.n_fitted == 2_000
    np.testing.assert_allclose(projection.explained_variance_ratio[:2], [0.020, 0.017], rtol=0.15)
    # Its mean is within five standard errors of the table's, dimension by dimension.
    assert (np.abs(projection.mean - table.mean(axis=0)) < 5 * table.std(axis=0) / 2_000**0.5).all()


def test_tables_are_fitted_once_and_models_do_not_share_a_fit() -> None:
    untrained = embviz.Recipe(*BANK, model="untrained:bert-base", pca_fit="positions")

    assert bank(pca_fit="positions").projection is bank(pca_fit="positions", special_tokens=True).projection
    assert bank(pca_fit="vocabulary").projection is bank(pca_fit="vocabulary").projection
    assert embviz.analyze(untrained).projection.components.shape == (10, 768)


def test_stages_are_token_then_segment_then_sum() -> None:
    d = bank().after
    assert d.segment is not None
    assert d.position is not None

    start, middle, end = d.stages().values()

    np.testing.assert_array_equal(start, d.token)
    np.testing.assert_array_equal(middle, d.token + d.segment)
    np.testing.assert_array_equal(end, middle + d.position)


def test_visitors_at_once_get_their_own_answers() -> None:
    recipes = [
        embviz.Recipe(*BANK),
        embviz.Recipe(*BANK, pca_fit="positions"),
        embviz.Recipe(*BANK, model="untrained:bert-base"),
        embviz.Recipe("hello " * 600, "world", pca_fit="vocabulary"),
        embviz.Recipe("", what_if=(embviz.Scale("token", 0),)),
        embviz.Recipe(*BANK, what_if=(embviz.ShiftPositions(50), embviz.SwapSegments())),
    ]
    alone = [embviz.analyze(recipe) for recipe in recipes]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(embviz.analyze, recipes * 2))

    for left, right in zip(alone * 2, together, strict=True):
        np.testing.assert_array_equal(left.after.summed, right.after.summed)
        np.testing.assert_array_equal(left.after.output, right.after.output)
        np.testing.assert_array_equal(left.projection.components, right.projection.components)


@pytest.mark.parametrize(
    ("recipe", "field"),
    [
        ({"text": "x", "model": "no/such"}, "model"),
        ({"text": "x", "what_if": (embviz.ShiftPositions(510),)}, "what_if"),
    ],
)
def test_what_cannot_be_used_is_said_at_its_field(recipe: dict[str, Any], field: str) -> None:
    with pytest.raises(embviz.EmbvizError) as caught:
        embviz.analyze(embviz.Recipe(**recipe))

    assert caught.value.field == field
    assert "\n" not in str(caught.value)


# Facts about the pair of banks in all-MiniLM-L6-v2, measured without embviz.


def test_fact_the_first_axis_belongs_to_cls_where_special_tokens_are_drawn() -> None:
    """90 % of the variance along PC1 is the one point of [CLS]; dimension 99 carries it."""
    analysis = bank(special_tokens=True)
    along = analysis.projection.transform(analysis.after.summed)[:, 0]

    np.testing.assert_allclose(
        analysis.projection.explained_variance_ratio[:3], [0.347, 0.164, 0.104], atol=1e-3
    )
    assert along[0] ** 2 / (along**2).sum() == pytest.approx(0.90, abs=0.01)
    assert np.abs(analysis.projection.components[0]).argmax() == 99
    assert np.abs(analysis.projection.components[0, 99]) == pytest.approx(0.90, abs=0.01)


def test_fact_layer_norm_ends_the_reign_of_cls() -> None:
    analysis = bank(special_tokens=True)
    assert analysis.after.normalized is not None
    along = analysis.normalized_projection.transform(analysis.after.normalized)[:, 0]

    np.testing.assert_allclose(
        analysis.normalized_projection.explained_variance_ratio[:3], [0.220, 0.142, 0.111], atol=1e-3
    )
    assert along[0] ** 2 / (along**2).sum() < 0.02


@pytest.mark.parametrize(
    "pair",
    [("I ate a clock yesterday.", "It was very time consuming."), ("my dog is cute", "he likes playing")],
)
def test_fact_word_and_position_matter_and_the_segment_hardly_varies(pair: tuple[str, str]) -> None:
    """Ranges that were measured on four pairs: .62–.71, .21–.28, .0035–.0046, cross terms .07–.10."""
    shares = embviz.analyze(embviz.Recipe(*pair)).metrics.variance_shares

    assert 0.615 <= shares["token"] <= 0.715
    assert 0.205 <= shares["position"] <= 0.285
    assert 0.00345 <= shares["segment"] <= 0.00465
    assert 0.065 <= shares["cross"] <= 0.105
    assert sum(shares.values()) == pytest.approx(1)

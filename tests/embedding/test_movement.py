"""What moved: distances by NumPy's own words, laws that hold for any input, and facts measured without embviz."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import embviz
from embviz.embedding.decomposition import Decomposition
from embviz.embedding.interventions import Intervention
from embviz.embedding.movement import STAGES, Movement, StageMovement, movement, segment_lens
from tests.reference import official
from tests.reference.examples import examples
from tests.reference.random_ids import IdRows, decompose, id_rows

BANK = ("The bank raised interest rates.", "We sat on the river bank.")


def moved(*what_if: Intervention) -> Movement:
    found = embviz.analyze(embviz.Recipe(*BANK, what_if=what_if)).moved
    assert found is not None
    return found


def stages_of(found: Movement) -> list[StageMovement]:
    return [stage for name in STAGES if (stage := found.stage(name)) is not None]


# Numbers


@examples(20)
@given(before=id_rows(min_length=3, max_length=3), after=id_rows(min_length=3, max_length=3))
def test_distances_are_those_of_torch(before: IdRows, after: IdRows) -> None:
    left, right = decompose(before), decompose(after)

    found = movement(left, right)

    for name in STAGES:
        stage = found.stage(name)
        assert stage is not None
        a, b = (torch.tensor(getattr(d, name), dtype=torch.float64) for d in (left, right))
        turned = 1 - torch.nn.functional.cosine_similarity(a, b)
        np.testing.assert_allclose(stage.cosine_distance, turned.numpy(), atol=1e-12)
        np.testing.assert_allclose(stage.distance, torch.linalg.vector_norm(b - a, dim=1).numpy(), rtol=1e-12)
        assert stage.delta.dtype == np.float32
        np.testing.assert_allclose(stage.delta, (b - a).numpy(), atol=1e-6)
        assert stage.mean_cosine_distance == pytest.approx(float(turned.mean()))
        assert stage.mean_distance == pytest.approx(float((b - a).norm(dim=1).mean()))


@examples(20)
@given(rows=id_rows())
def test_what_did_not_move_has_moved_by_exactly_nothing(rows: IdRows) -> None:
    d = decompose(rows)

    found = movement(d, decompose(rows))

    assert not found.changed
    for stage in stages_of(found):
        assert not stage.delta.any()
        assert not stage.cosine_distance.any()
        assert not stage.distance.any()
        assert stage.most_moved is None
        assert stage.share_of_most_moved == 0
        assert stage.mean_had_it_stayed == 0
        assert stage.dimensions.size == 0


def test_only_the_token_that_was_moved_has_moved() -> None:
    stage = moved(embviz.MovePosition(2, 40)).summed
    assert stage is not None

    assert np.flatnonzero(stage.distance).tolist() == [2]
    assert np.flatnonzero(stage.cosine_distance).tolist() == [2]
    assert stage.most_moved == 2
    assert stage.share_of_most_moved == 1
    assert stage.mean_had_it_stayed == 0


def test_the_dimensions_that_changed_most_are_those_of_the_rows() -> None:
    """A swap moves every sum by ± the difference of the two rows of the segment table."""
    rows = next(iter(official.bundled_tensors("embeddings.token_type_embeddings.weight").values()))
    change = (rows[1] - rows[0]).abs()
    largest = torch.topk(change, 10)

    stage = moved(embviz.SwapSegments()).summed

    assert stage.dimensions.tolist() == largest.indices.tolist()
    np.testing.assert_allclose(stage.dimension_change, largest.values.numpy(), atol=1e-6)


def test_a_vector_of_zeros_has_no_direction() -> None:
    """Its cosine distance is NaN and does not count; its Euclidean distance is the length of what was there."""
    everything = [embviz.Scale(part, 0) for part in ("token", "segment", "position")]
    found = moved(*everything)

    assert np.isnan(found.summed.cosine_distance).all()
    assert np.isnan(found.summed.mean_cosine_distance)
    assert found.summed.most_moved is None
    before = embviz.load_model().decompose(*BANK).summed.astype(float)
    np.testing.assert_allclose(found.summed.distance, np.linalg.norm(before, axis=1), rtol=1e-6)
    assert found.normalized is not None
    assert np.isfinite(found.normalized.cosine_distance).all()


def test_what_is_not_a_number_does_not_count() -> None:
    d = embviz.load_model().decompose(*BANK)
    after = embviz.load_model().change(d, (embviz.ShiftPositions(1),))
    summed = after.summed.copy()
    summed[3, 7] = np.nan

    stage = movement(d, replace(after, summed=summed)).summed

    assert np.isnan(stage.distance[3])
    assert np.isnan(stage.cosine_distance[3])
    others = np.delete(movement(d, after).summed.cosine_distance, 3)
    assert stage.mean_cosine_distance == pytest.approx(others.mean())
    assert np.isfinite(stage.dimension_change).all()


def test_a_layer_norm_that_is_off_has_nothing_to_compare() -> None:
    found = moved(embviz.NoLayerNorm())

    assert found.normalized is None
    assert found.changed
    assert not found.summed.distance.any()
    assert found.output.distance.all()


@pytest.mark.parametrize("keep", ["summed", "normalized"])
@pytest.mark.parametrize("k", [1, 3, 50])
def test_had_the_first_token_stayed_is_what_keeping_it_gives(keep: str, k: int) -> None:
    everyone = moved(embviz.ShiftPositions(k)).stage(keep)  # type: ignore[arg-type]
    others = moved(embviz.ShiftPositions(k, keep_first=True)).stage(keep)  # type: ignore[arg-type]
    assert everyone is not None
    assert others is not None

    assert everyone.most_moved == 0
    assert everyone.mean_had_it_stayed == pytest.approx(others.mean_cosine_distance, rel=1e-9)


# The segment lens


def lens_of(d: Decomposition, rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Computed here, in other words."""
    line = (rows[1] - rows[0]).astype(float)
    along = d.summed.astype(float) @ line / np.sqrt((line**2).sum())
    a, b = (along[d.token_type_ids == segment] for segment in (0, 1))
    pooled = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    return along, (b.mean() - a.mean()) / pooled


@pytest.mark.parametrize(
    "what_if", [(), (embviz.SwapSegments(),), (embviz.ScaleSegmentDifference(10),), (embviz.MeanSegments(),)]
)
def test_the_lens_projects_on_the_line_between_the_segments(what_if: tuple[Intervention, ...]) -> None:
    analysis = embviz.analyze(embviz.Recipe(*BANK, what_if=what_if))
    rows = official.bundled_embeddings().state_dict()["token_type_embeddings.weight"].numpy()

    for lens, d in ((analysis.lens_before, analysis.before), (analysis.lens_after, analysis.after)):
        assert lens is not None
        along, separation = lens_of(d, rows)
        np.testing.assert_allclose(lens.projection, along, atol=1e-6)
        assert lens.separation == pytest.approx(separation, rel=1e-5)
        assert np.linalg.norm(lens.direction) == pytest.approx(1)
    assert analysis.lens_before is not None
    assert analysis.lens_after is not None
    np.testing.assert_array_equal(analysis.lens_before.direction, analysis.lens_after.direction)


def test_a_larger_difference_parts_the_segments_more() -> None:
    """Each token moves along the line by (k − 1)/2 of the distance of the rows, ± by segment."""
    analysis = embviz.analyze(embviz.Recipe(*BANK, what_if=(embviz.ScaleSegmentDifference(10),)))
    before, after = analysis.lens_before, analysis.lens_after
    assert before is not None
    assert after is not None

    sign = np.where(analysis.before.token_type_ids == 1, 1, -1)
    np.testing.assert_allclose(after.projection - before.projection, sign * 4.5 * 0.1620, atol=5e-4)
    assert after.separation > 3 * before.separation


@pytest.mark.parametrize("rows", [None, np.ones((1, 384), np.float32), np.ones((2, 384), np.float32)])
def test_there_is_no_lens_without_two_rows_that_differ(rows: np.ndarray | None) -> None:
    assert segment_lens(embviz.load_model().decompose(*BANK), rows) is None


def test_a_single_segment_has_no_separation() -> None:
    lens = embviz.analyze(embviz.Recipe(BANK[0])).lens_after
    assert lens is not None

    assert np.isnan(lens.separation)
    assert np.isnan(lens.mean(1))
    assert np.isfinite(lens.mean(0))


# Facts about all-MiniLM-L6-v2, measured without embviz.


def test_fact_the_segments_of_the_banks_lie_apart() -> None:
    """.109 ± .086 and .218 ± .045, d′ = 1.60."""
    lens = embviz.analyze(embviz.Recipe(*BANK)).lens_before
    assert lens is not None

    assert lens.mean(0) == pytest.approx(0.109, abs=5e-4)
    assert lens.spread(0) == pytest.approx(0.086, abs=5e-4)
    assert lens.mean(1) == pytest.approx(0.218, abs=5e-4)
    assert lens.spread(1) == pytest.approx(0.045, abs=5e-4)
    assert lens.separation == pytest.approx(1.60, abs=5e-3)


def test_fact_cls_makes_58_percent_of_a_shift_by_one() -> None:
    """With it kept at 0 the mean distance falls from 0.0265 to 0.011: (0.0265 − 0.011) / 0.0265."""
    stage = moved(embviz.ShiftPositions(1)).summed

    assert stage.mean_cosine_distance == pytest.approx(0.0265, abs=5e-5)
    assert stage.most_moved == 0
    assert stage.share_of_most_moved == pytest.approx(0.58, abs=0.01)
    assert stage.mean_had_it_stayed == pytest.approx(0.011, abs=5e-4)


@pytest.mark.parametrize(
    ("change", "summed", "normalized"),
    [
        (embviz.SwapSegments(), (0.0062, 0.0066), (0.012, 0.015)),
        (embviz.AllSegments(0), (0.003, 0.003), (0.005, 0.007)),
        (embviz.ShiftPositions(1), (0.026, 0.036), (0.054, 0.075)),
        (embviz.ShiftPositions(5), (0.043, 0.050), (0.087, 0.10)),
        (embviz.ShiftPositions(50), (0.097, 0.110), (0.175, 0.206)),
        (embviz.ShiftPositions(200), (0.091, 0.105), (0.16, 0.19)),
        (embviz.ShiftPositions(400), (0.133, 0.139), (0.23, 0.26)),
        (embviz.ShiftPositions(1, keep_first=True), (0.011, 0.011), (0.021, 0.024)),
        (embviz.ShiftPositions(50, keep_first=True), (0.081, 0.086), (0.14, 0.17)),
        (embviz.ReversePositions(), (0.075, 0.092), (0.13, 0.16)),
        (embviz.ConstantPosition(7), (0.046, 0.049), (0.09, 0.11)),
        (embviz.ConstantPosition(0), (0.40, 0.42), (0.45, 0.50)),
    ],
    ids=repr,
)
def test_fact_mean_distances_of_a_change(
    change: Intervention, summed: tuple[float, float], normalized: tuple[float, float]
) -> None:
    """Ranges over four pairs of sentences, of which the banks are one; as many digits as were printed."""
    found = moved(change)
    assert found.normalized is not None

    for stage, (least, most) in ((found.summed, summed), (found.normalized, normalized)):
        half = 0.5 * 10 ** -max(digits(least), digits(most)) + 5e-5  # rounded to four digits first
        assert least - half <= stage.mean_cosine_distance <= most + half


def digits(number: float) -> int:
    return len(f"{number:g}".partition(".")[2])


@examples(15)
@given(k=st.integers(0, 496), seed=st.integers(0, 2**32 - 1))
def test_a_shuffle_and_a_shift_move_no_vector_out_of_the_table(k: int, seed: int) -> None:
    """Whatever moves, the parts are rows of the tables, so that sums and distances stay finite."""
    found = moved(embviz.ShufflePositions(seed), embviz.ShiftPositions(k))

    for stage in stages_of(found):
        assert np.isfinite(stage.cosine_distance).all()
        assert ((stage.cosine_distance >= 0) & (stage.cosine_distance <= 2)).all()

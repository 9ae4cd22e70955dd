"""What if: changes that undo each other, limits that are said, and effects that were measured elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import embviz
from embviz.embedding.decomposition import Decomposition
from embviz.embedding.interventions import Intervention, TokenIds, change_ids, component_changes
from embviz.embedding.metrics import cosine
from tests.reference import official
from tests.reference.examples import examples
from tests.reference.random_ids import IdRows, decompose, id_rows

BANK = ("The bank raised interest rates.", "We sat on the river bank.")
CLOCK = ("I ate a clock yesterday.", "It was very time consuming.")
CAPITAL = ("The capital of France is Paris.", None)

PARTS = ("token", "segment", "position", "summed", "normalized", "output")


def with_and_without(
    texts: tuple[str, str | None], *what_if: Intervention
) -> tuple[Decomposition, Decomposition]:
    """Before and after the changes, through the pipeline."""
    analysis = embviz.analyze(embviz.Recipe(*texts, what_if=what_if))
    return analysis.before, analysis.after


def token_ids(rows: IdRows) -> TokenIds:
    return TokenIds(np.array(rows.token_type_ids), np.array(rows.position_ids), 2, 512)


def assert_same_ids(left: TokenIds, right: TokenIds) -> None:
    np.testing.assert_array_equal(left.token_type_ids, right.token_type_ids)
    np.testing.assert_array_equal(left.position_ids, right.position_ids)


# Pure functions over ids.


@examples(50)
@given(rows=id_rows())
def test_swapping_twice_is_the_identity(rows: IdRows) -> None:
    ids = token_ids(rows)
    once = embviz.SwapSegments().on_ids(ids)

    np.testing.assert_array_equal(once.token_type_ids, 1 - ids.token_type_ids)
    assert_same_ids(embviz.SwapSegments().on_ids(once), ids)


@examples(50)
@given(rows=id_rows(), keep_first=st.booleans())
def test_a_shift_by_nothing_is_the_identity(rows: IdRows, keep_first: bool) -> None:
    ids = token_ids(rows)

    assert_same_ids(embviz.ShiftPositions(0, keep_first=keep_first).on_ids(ids), ids)


@examples(50)
@given(rows=id_rows(), data=st.data())
def test_a_shift_moves_every_token_and_its_negative_moves_it_back(rows: IdRows, data: st.DataObject) -> None:
    ids = token_ids(rows)
    k = data.draw(st.integers(-int(ids.position_ids.min()), 511 - int(ids.position_ids.max())))

    moved = embviz.ShiftPositions(k).on_ids(ids)

    np.testing.assert_array_equal(moved.position_ids, ids.position_ids + k)
    assert_same_ids(change_ids(ids, (embviz.ShiftPositions(k), embviz.ShiftPositions(-k))), ids)


def test_a_shift_can_leave_the_first_token_where_it_is() -> None:
    ids = TokenIds(np.zeros(4, np.int64), np.arange(4), 2, 512)

    moved = embviz.ShiftPositions(5, keep_first=True).on_ids(ids)

    assert moved.position_ids.tolist() == [0, 6, 7, 8]


def test_changes_do_not_touch_the_ids_that_they_were_given() -> None:
    ids = TokenIds(np.array([0, 1, 0]), np.arange(3), 2, 512)

    change_ids(ids, (embviz.SwapSegments(), embviz.ShiftPositions(5, keep_first=True), embviz.SwapSegments()))

    assert ids.token_type_ids.tolist() == [0, 1, 0]
    assert ids.position_ids.tolist() == [0, 1, 2]


def test_factors_of_one_component_multiply() -> None:
    what_if = (
        embviz.Scale("segment", 3),
        embviz.SwapSegments(),
        embviz.Scale("segment", -0.5),
        embviz.Scale("token", 0),
    )

    assert component_changes(what_if).factors == {"segment": -1.5, "token": 0.0}
    assert component_changes((embviz.SwapSegments(),)).factors == {}


# Through the whole pipeline, bit for bit.


@pytest.mark.parametrize(
    "what_if",
    [
        (embviz.SwapSegments(), embviz.SwapSegments()),
        (embviz.ShiftPositions(0),),
        (embviz.ShiftPositions(7), embviz.ShiftPositions(-7)),
        (embviz.Scale("token", 1), embviz.Scale("segment", 1.0), embviz.Scale("position", 1)),
        (embviz.Scale("position", 4), embviz.Scale("position", 0.25)),
    ],
    ids=["swap twice", "shift 0", "there and back", "scale 1", "times 4 times 1/4"],
)
def test_changes_that_cancel_give_the_same_bits(what_if: tuple[Intervention, ...]) -> None:
    before, after = with_and_without(CLOCK, *what_if)

    for part in PARTS:
        np.testing.assert_array_equal(getattr(before, part), getattr(after, part), err_msg=part)


@examples(20)
@given(rows=id_rows())
def test_without_all_components_only_the_bias_is_left(rows: IdRows) -> None:
    """LayerNorm of zeros is its bias, exactly; nothing is NaN."""
    d = decompose(rows, {"token": 0.0, "segment": 0.0, "position": 0.0})

    np.testing.assert_array_equal(d.summed, np.zeros_like(d.summed))
    assert d.layer_norm is not None
    assert d.normalized is not None
    np.testing.assert_array_equal(d.normalized, np.broadcast_to(d.layer_norm.bias, d.normalized.shape))
    assert np.isfinite(d.layer_norm.std).all()


@examples(20)
@given(rows=id_rows(), factor=st.floats(-100, 100, allow_nan=False))
def test_a_scaled_component_is_multiplied_before_the_sum(rows: IdRows, factor: float) -> None:
    """Computed by torch from the unscaled parts."""
    plain, scaled = decompose(rows), decompose(rows, {"segment": factor})
    token, segment, position = (
        torch.from_numpy(np.array(part)) for part in (plain.token, plain.segment, plain.position)
    )
    state = official.bundled_embeddings().state_dict()

    summed = (token + segment * factor) + position
    expected = torch.nn.functional.layer_norm(
        summed, (384,), state["LayerNorm.weight"], state["LayerNorm.bias"], 1e-12
    )

    assert scaled.normalized is not None
    np.testing.assert_array_equal(scaled.summed, summed.numpy())
    np.testing.assert_allclose(scaled.normalized, expected.numpy(), atol=1e-6)


def test_a_change_leaves_the_picture_before_it_alone() -> None:
    model = embviz.load_model()
    fresh = {part: np.array(getattr(model.decompose(*BANK), part)) for part in PARTS}

    before, after = with_and_without(
        BANK,
        embviz.Scale("token", 0),
        embviz.SwapSegments(),
        embviz.ShiftPositions(3),
        embviz.Scale("position", 50),
    )

    for part in PARTS:
        np.testing.assert_array_equal(getattr(before, part), fresh[part])
        np.testing.assert_array_equal(getattr(model.decompose(*BANK), part), fresh[part])
    np.testing.assert_array_equal(after.token, np.zeros_like(after.token))
    assert before.position_ids.tolist() == list(range(16))
    assert before.token_type_ids.tolist() == [0] * 8 + [1] * 8


def test_changed_ids_equal_the_official_module_on_these_ids() -> None:
    _, after = with_and_without(BANK, embviz.SwapSegments(), embviz.ShiftPositions(5, keep_first=True))

    expected = official.run(
        official.bundled_embeddings(),
        input_ids=torch.tensor(after.input_ids)[None],
        token_type_ids=torch.tensor([[1] * 8 + [0] * 8]),
        position_ids=torch.tensor([[0, *range(6, 21)]]),
    )

    np.testing.assert_allclose(after.output, expected[0].numpy(), atol=1e-6)
    assert after.verified is not None
    assert after.verified <= 1e-5


# What cannot be done is said in one sentence.


@pytest.mark.parametrize("k", [497, -1, 10**30])
def test_a_shift_out_of_the_table_names_the_limits(k: int) -> None:
    with pytest.raises(embviz.InputError, match=r"16 tokens .* 0 to 496") as caught:
        with_and_without(BANK, embviz.ShiftPositions(k))

    assert caught.value.field == "what_if"


def test_a_model_with_one_segment_has_nothing_to_swap() -> None:
    ids = TokenIds(np.zeros(3, np.int64), np.arange(3), 1, 512)

    with pytest.raises(embviz.InputError, match="nothing to swap"):
        embviz.SwapSegments().on_ids(ids)


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), 101, -100.5, "2", None, True])
def test_a_factor_is_a_finite_number_within_limits(factor: Any) -> None:
    with pytest.raises(embviz.InputError, match="factor must be a finite number between"):
        embviz.Scale("token", factor)


@pytest.mark.parametrize("k", [1.5, "1", None, True])
def test_a_shift_is_a_whole_number(k: Any) -> None:
    with pytest.raises(embviz.InputError, match="k must be a"):
        embviz.ShiftPositions(k)


@pytest.mark.parametrize("component", ["summed", "normalized", "", "Token"])
def test_only_components_can_be_scaled(component: Any) -> None:
    with pytest.raises(embviz.InputError, match="token, segment, position"):
        embviz.Scale(component, 2)


# Facts about all-MiniLM-L6-v2, measured without embviz.


def mean_distances(texts: tuple[str, str | None], *what_if: Intervention) -> tuple[float, float]:
    """Mean cosine distance over the tokens that the changes make, at the sum and after LayerNorm."""
    before, after = with_and_without(texts, *what_if)
    assert before.normalized is not None
    assert after.normalized is not None
    return (
        1 - float(cosine(before.summed, after.summed).mean()),
        1 - float(cosine(before.normalized, after.normalized).mean()),
    )


def test_fact_swapping_the_segments_of_the_banks() -> None:
    summed, normalized = mean_distances(BANK, embviz.SwapSegments())

    assert summed == pytest.approx(0.0063, abs=5e-5)
    assert normalized == pytest.approx(0.0122, abs=5e-5)


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0265), (5, 0.0431), (50, 0.0966)])
def test_fact_shifting_the_banks(k: int, expected: float) -> None:
    assert mean_distances(BANK, embviz.ShiftPositions(k))[0] == pytest.approx(expected, abs=5e-5)


def test_fact_most_of_a_shift_by_one_is_the_first_token_leaving_position_0() -> None:
    shifted, normalized = mean_distances(BANK, embviz.ShiftPositions(1))
    kept, kept_normalized = mean_distances(BANK, embviz.ShiftPositions(1, keep_first=True))

    assert kept == pytest.approx(0.011, abs=1e-3)
    assert 0.021 - 1e-3 <= kept_normalized <= 0.024 + 1e-3
    assert kept < shifted / 2
    assert kept_normalized < normalized / 2


def test_fact_swapping_the_segments_of_the_clock() -> None:
    """Case EV164: each sum moves by exactly the difference of the two rows of the segment table."""
    before, after = with_and_without(CLOCK, embviz.SwapSegments())
    rows = official.bundled_tensors("embeddings.token_type_embeddings.weight").popitem()[1].numpy()
    cosines = [
        0.9963, 0.9821, 0.9923, 0.9771, 0.9927, 0.9925, 0.9837, 0.9831, 0.9837, 0.9825, 0.991, 0.9879, 0.9912,
        0.9835, 0.9824,
    ]  # fmt: skip

    assert before.normalized is not None
    assert after.normalized is not None
    direction = np.where(before.token_type_ids == 0, 1, -1)[:, None]
    np.testing.assert_allclose(after.summed - before.summed, direction * (rows[1] - rows[0]), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(after.summed - before.summed, axis=1), 0.162, atol=2e-4)
    np.testing.assert_allclose(cosine(before.normalized, after.normalized), cosines, atol=2e-4)
    assert np.abs(after.normalized - before.normalized).max() == pytest.approx(0.5295, abs=2e-4)


def test_fact_shifting_the_clock() -> None:
    """Case EV166: one step changes the normalized values by up to 2.35; the last shift that fits is 497."""
    before, after = with_and_without(CLOCK, embviz.ShiftPositions(1))

    assert before.normalized is not None
    assert after.normalized is not None
    assert np.abs(after.normalized - before.normalized).max() == pytest.approx(2.3525, abs=1e-3)
    assert with_and_without(CLOCK, embviz.ShiftPositions(497))[1].position_ids.tolist() == list(
        range(497, 512)
    )
    with pytest.raises(
        embviz.InputError, match=r"by 498 leaves the position table: .* 15 tokens .* 0 to 497"
    ):
        with_and_without(CLOCK, embviz.ShiftPositions(498))


@pytest.mark.parametrize(
    ("component", "expected"),
    [
        ("token", [0.8007, 0.4148, 0.1626, 0.3235, 0.1897, 0.2933, 0.2304, 0.2702, 0.3557]),
        ("segment", [0.9891, 0.9324, 0.9755, 0.9271, 0.9737, 0.9286, 0.974, 0.944, 0.9404]),
        ("position", [0.4226, 0.8345, 0.9576, 0.87, 0.9581, 0.8697, 0.9598, 0.9046, 0.891]),
    ],
)
def test_fact_dropping_one_component(component: Any, expected: list[float]) -> None:
    """Case EV168: cosines of the LayerNorm's rows with the full result."""
    before, after = with_and_without(CAPITAL, embviz.Scale(component, 0))

    assert before.normalized is not None
    assert after.normalized is not None
    np.testing.assert_allclose(cosine(before.normalized, after.normalized), expected, atol=2e-4)
    assert not np.array(getattr(after, component)).any()

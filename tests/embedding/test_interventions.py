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


# Laws.


def ids_after(ids: TokenIds, *what_if: Intervention) -> tuple[list[int], list[int]]:
    after = change_ids(ids, what_if)
    return after.token_type_ids.tolist(), after.position_ids.tolist()


@examples(30)
@given(rows=id_rows(), data=st.data())
def test_what_undoes_itself_twice_is_the_identity(rows: IdRows, data: st.DataObject) -> None:
    ids = token_ids(rows)
    index = data.draw(st.integers(0, len(ids) - 1))
    keep = data.draw(st.booleans())

    for change in (embviz.FlipSegment(index), embviz.SwapSegments(), embviz.ReversePositions(keep)):
        assert ids_after(ids, change, change) == ids_after(ids)


@examples(30)
@given(rows=id_rows(), seed=st.integers(0, 2**32 - 1), keep=st.booleans())
def test_a_shuffle_is_a_permutation_and_depends_on_its_seed_alone(
    rows: IdRows, seed: int, keep: bool
) -> None:
    ids = token_ids(rows)
    once, again = (ids_after(ids, embviz.ShufflePositions(seed, keep_first=keep))[1] for _ in range(2))

    assert once == again
    assert sorted(once) == sorted(rows.position_ids)
    if keep:
        assert once[0] == rows.position_ids[0]


@examples(30)
@given(rows=id_rows())
def test_setting_what_is_there_changes_nothing(rows: IdRows) -> None:
    ids = token_ids(rows)

    there = (embviz.SetSegments(rows.token_type_ids), embviz.SetPositions(rows.position_ids))
    assert ids_after(ids, *there) == ids_after(ids)
    at_0 = embviz.MovePosition(0, rows.position_ids[0])
    assert ids_after(ids, at_0) == ids_after(ids)


def test_changes_of_ids_apply_in_the_order_given() -> None:
    ids = TokenIds(np.zeros(3, np.int64), np.arange(3), 2, 512)

    assert ids_after(ids, embviz.AllSegments(1), embviz.FlipSegment(0))[0] == [0, 1, 1]
    assert ids_after(ids, embviz.FlipSegment(0), embviz.AllSegments(1))[0] == [1, 1, 1]
    assert ids_after(ids, embviz.ConstantPosition(7), embviz.ShiftPositions(2))[1] == [9, 9, 9]
    assert ids_after(ids, embviz.ShiftPositions(2), embviz.ConstantPosition(7))[1] == [7, 7, 7]


@pytest.mark.parametrize(
    "what_if",
    [
        (),
        (embviz.SwapSegments(), embviz.SwapSegments()),
        (embviz.FlipSegment(3), embviz.FlipSegment(3)),
        (embviz.SetSegments((0,) * 8 + (1,) * 7),),
        (
            embviz.ShiftPositions(0),
            embviz.ShiftPositions(5, keep_first=True),
            embviz.ShiftPositions(-5, True),
        ),
        (embviz.ReversePositions(), embviz.ReversePositions()),
        (embviz.SetPositions(tuple(range(15))),),
        (embviz.Scale("token", 1), embviz.Scale("segment", 2), embviz.Scale("segment", 0.5)),
        (embviz.ScaleSegmentDifference(4), embviz.ScaleSegmentDifference(0.25)),
        (embviz.LayerNormEps(1e-12),),
        (embviz.Dropout(0, 3),),
        (embviz.ReplaceToken(1, "i"),),
        (embviz.ReplaceToken(1, "dog"), embviz.ReplaceToken(1, "i")),
    ],
    ids=repr,
)
def test_changes_that_cancel_leave_the_very_same_answer(what_if: tuple[Intervention, ...]) -> None:
    analysis = embviz.analyze(embviz.Recipe(*CLOCK, what_if=what_if))

    assert analysis.after is analysis.before
    assert analysis.lens_after is analysis.lens_before
    assert (analysis.moved is None) == (what_if == ())
    assert analysis.moved is None or not analysis.moved.changed


def test_what_a_change_leaves_alone_is_the_very_same_array() -> None:
    before, after = with_and_without(BANK, embviz.SwapSegments())
    assert after.token is before.token
    assert after.position is before.position
    assert after.segment is not before.segment

    before, after = with_and_without(BANK, embviz.Dropout(0.1))
    for part in ("token", "segment", "position", "summed", "normalized"):
        assert getattr(after, part) is getattr(before, part)


@pytest.mark.parametrize("p", [0.1, 0.5, 1])
def test_dropout_is_that_of_torch(p: float) -> None:
    """The official module in train mode under the same seed, bit for bit."""
    _, after = with_and_without(BANK, embviz.Dropout(p, seed=11))
    torch.manual_seed(11)
    expected = torch.nn.functional.dropout(torch.tensor(after.normalized), p, training=True)

    np.testing.assert_array_equal(after.output, expected.numpy())
    module = official.bundled_embeddings()
    dropout = module.dropout
    assert isinstance(dropout, torch.nn.Dropout)
    kept, dropout.p = dropout.p, p
    module.train()
    torch.manual_seed(11)
    theirs = official.run(
        module,
        input_ids=torch.tensor(after.input_ids)[None],
        token_type_ids=torch.tensor(after.token_type_ids)[None],
    )
    module.eval()
    dropout.p = kept
    np.testing.assert_allclose(after.output, theirs[0].numpy(), atol=2e-6)


def test_dropout_leaves_the_callers_random_numbers_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with_and_without(BANK, embviz.Dropout(0.5, seed=2))

    assert torch.equal(torch.rand(3), expected)


@examples(20)
@given(rows=id_rows(), eps=st.floats(1e-20, 100))
def test_another_eps_is_that_of_torch(rows: IdRows, eps: float) -> None:
    plain = decompose(rows)
    model = embviz.load_model()
    after = model.change(plain, (embviz.LayerNormEps(eps),))
    state = official.bundled_embeddings().state_dict()

    expected = torch.nn.functional.layer_norm(
        torch.tensor(plain.summed), (384,), state["LayerNorm.weight"], state["LayerNorm.bias"], eps
    )

    assert after.normalized is not None
    assert after.layer_norm is not None
    np.testing.assert_allclose(after.normalized, expected.numpy(), atol=1e-6)
    assert after.layer_norm.eps == eps


@pytest.mark.parametrize("eps", [1e-20, 1e-12, 100])
def test_without_all_components_no_eps_makes_nan(eps: float) -> None:
    everything = (embviz.Scale("token", 0), embviz.Scale("segment", 0), embviz.Scale("position", 0))
    _, after = with_and_without(BANK, *everything, embviz.LayerNormEps(eps))

    assert after.layer_norm is not None
    np.testing.assert_array_equal(after.output, np.broadcast_to(after.layer_norm.bias, after.output.shape))


def test_removed_words_are_gone_even_where_they_are_no_numbers() -> None:
    from embviz.embedding.arithmetic import scaled

    assert torch.equal(scaled(torch.tensor([float("nan"), float("inf")]), 0.0), torch.zeros(2))


def test_the_mean_of_the_segments_is_a_difference_of_nothing() -> None:
    _, mean = with_and_without(BANK, embviz.MeanSegments())
    _, nothing = with_and_without(BANK, embviz.ScaleSegmentDifference(0))
    rows = official.bundled_embeddings().state_dict()["token_type_embeddings.weight"]

    assert mean.segment is not None
    np.testing.assert_array_equal(mean.segment, nothing.segment)
    np.testing.assert_array_equal(mean.segment, rows.mean(0).expand(16, -1).numpy())


def test_a_replaced_token_is_looked_up_like_a_typed_one() -> None:
    """`cat` in place of `dog`: the numbers of the sentence that has it."""
    model = embviz.load_model()
    before = model.decompose("my dog is cute", "he likes playing")
    typed = model.decompose("my cat is cute", "he likes playing")

    after = model.change(before, (embviz.ReplaceToken(2, "cat"),))

    for part in PARTS:
        np.testing.assert_array_equal(getattr(after, part), getattr(typed, part))
    assert after.tokens == typed.tokens
    assert after.verified is not None
    assert after.verified <= 1e-5
    assert any("cat" in str(note) and note.token == 2 for note in after.notes)
    assert not any(note.token == 2 for note in before.notes)


def test_a_replaced_special_token_counts_as_typed() -> None:
    model = embviz.load_model()
    before = model.decompose("my dog")

    word = model.change(before, (embviz.ReplaceToken(0, "bank"),))
    mask = model.change(before, (embviz.ReplaceToken(1, "[MASK]"),))

    assert word.special_tokens_mask.tolist() == [0, 0, 0, 1]
    assert word.encoded.typed_special == (False,) * 4
    assert mask.encoded.typed_special == (False, True, False, False)


# The mark, and what is said.


@pytest.mark.parametrize(
    "change",
    [
        embviz.SwapSegments(), embviz.FlipSegment(1), embviz.AllSegments(1), embviz.ShiftPositions(100),
        embviz.ShufflePositions(1), embviz.MovePosition(0, 511), embviz.ReplaceToken(3, "[PAD]"),
    ],
    ids=repr,
)  # fmt: skip
def test_other_ids_are_still_compared_with_the_official_module(change: Intervention) -> None:
    _, after = with_and_without(BANK, change)

    assert after.verified is not None
    assert after.verified <= 1e-5


@pytest.mark.parametrize(
    "change",
    [
        embviz.Scale("token", 2), embviz.MeanSegments(), embviz.ScaleSegmentDifference(3), embviz.NoLayerNorm(),
        embviz.LayerNormEps(0.1), embviz.Dropout(0.1),
    ],
    ids=repr,
)  # fmt: skip
def test_what_the_official_module_does_not_do_is_not_compared_with_it(change: Intervention) -> None:
    _, after = with_and_without(BANK, change)

    assert after.verified is None
    assert "not checked" in after.verified_note
    said = [str(note) for note in after.notes if note.about == "model"] + list(after.absent.values())
    assert said


def test_a_single_sentence_in_segment_1_is_not_said_to_be_in_segment_0() -> None:
    before, after = with_and_without(CAPITAL, embviz.AllSegments(1))

    assert any("segment 0" in str(note) for note in before.notes)
    assert not any("segment 0" in str(note) for note in after.notes)


# What cannot be done is said in one sentence.


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (embviz.SetSegments((0, 1)), "one id a token, 16 here, not 2"),
        (embviz.SetSegments((2,) * 16), "segment 2 is not a row of its table; the largest is 1"),
        (embviz.SetSegments((10**30,) * 16), "is not a row of its table"),
        (embviz.FlipSegment(16), r"no token 16: this input has 16, 0 to 15"),
        (embviz.AllSegments(2), "segment 2 is not a row"),
        (embviz.ConstantPosition(512), "position 512 is not a row of its table; the largest is 511"),
        (embviz.SetPositions((0,) * 15), "one id a token, 16 here, not 15"),
        (embviz.SetPositions((*range(15), 512)), "position 512 is not a row"),
        (embviz.MovePosition(16, 0), "no token 16"),
        (embviz.MovePosition(0, 10**30), "is not a row"),
        (embviz.ReplaceToken(16, "the"), "no token 16"),
        (embviz.ReplaceToken(1, "Bank"), "“Bank” is not a piece .* bank"),
        (embviz.ReplaceToken(1, "\ud800"), "not a piece"),
    ],
    ids=repr,
)
def test_what_does_not_fit_the_input_or_the_model_is_refused(change: Intervention, sentence: str) -> None:
    with pytest.raises(embviz.InputError, match=sentence) as caught:
        with_and_without(BANK, change)

    assert caught.value.field == "what_if"


WRONG: dict[type[Intervention], list[tuple[Any, ...]]] = {
    embviz.SetSegments: [("01",), ([0, -1],), ([True],), ([0.0],), ([0] * 8_193,), (None,)],
    embviz.FlipSegment: [(-1,), (True,), (1.0,)],
    embviz.AllSegments: [(-1,), ("0",)],
    embviz.ScaleSegmentDifference: [(float("nan"),), (101,), (False,)],
    embviz.ReversePositions: [(1,)],
    embviz.ShiftPositions: [(1, None)],
    embviz.ShufflePositions: [(-1,), (2**32,), (0.5,), (0, "no")],
    embviz.ConstantPosition: [(-1,), (None,)],
    embviz.SetPositions: [({0: 1},), ([0, "1"],)],
    embviz.MovePosition: [(0, -1), (0, False), (-1, 0)],
    embviz.LayerNormEps: [(0,), (-1,), (float("inf"),), (True,)],
    embviz.Dropout: [(-0.1,), (1.1,), (float("nan"),), (0.5, 1.5), (0.5, -1)],
    embviz.ReplaceToken: [(0, ""), (0, 7), (-1, "the"), (0, "x" * 1_001)],
}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        pytest.param(kind, values, id=f"{kind.__name__}-{i}")
        for kind, rows in WRONG.items()
        for i, values in enumerate(rows)
    ],
)
def test_values_are_checked_where_they_are_given(kind: Any, values: tuple[Any, ...]) -> None:
    with pytest.raises(embviz.InputError) as caught:
        kind(*values)

    assert caught.value.field == "what_if"
    assert str(caught.value).endswith(".")


def test_factors_that_multiply_out_of_bounds_are_refused() -> None:
    with pytest.raises(embviz.InputError, match="factor must be a finite number between"):
        with_and_without(BANK, *[embviz.Scale("token", 100)] * 32)


def test_a_change_is_a_key_whatever_list_it_was_made_of() -> None:
    assert {embviz.SetSegments([0, 1]): 1}[embviz.SetSegments((0, 1))] == 1  # type: ignore[arg-type]


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

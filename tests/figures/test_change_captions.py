"""The sentences under the figures of a what-if: true of the numbers on screen, beside the facts in science.md."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import embviz
from embviz.figures import bars_spec
from embviz.figures.change_captions import bars_caption, delta_caption, lens_caption
from tests.figures.test_changes import SHIFT_1, SWAP, changed, cosine_distances


def test_the_lens_says_the_separation_of_the_facts() -> None:
    """science.md §3.5: .109 ± .086 against .218 ± .045, d′ = 1.60."""
    caption = lens_caption(changed(SWAP))

    assert "1.60 before" in caption
    assert "3.13 after" not in lens_caption(changed(embviz.NoLayerNorm()))
    assert "alike" in lens_caption(changed(embviz.NoLayerNorm()))


def test_one_segment_has_no_separation_and_says_so() -> None:
    assert "no gap" in lens_caption(changed(SHIFT_1, pair=False))


def test_the_first_token_owns_a_shift_by_one() -> None:
    """science.md §0.8 and §3.6: .0265, and .011 with [CLS] kept at 0."""
    caption = bars_caption(changed(SHIFT_1))
    kept = changed(embviz.ShiftPositions(1, keep_first=True)).moved

    found = re.search(
        r"“\[CLS\]” \(token 0\) alone makes (\d+)%.* would be (\S+) instead of (\S+)\.", caption
    )
    assert found
    assert int(found[1]) in (58, 59)
    assert float(found[3]) == 0.0265
    assert kept is not None
    assert float(found[2]) == pytest.approx(kept.summed.mean_cosine_distance, abs=5e-5)
    assert round(float(found[2]), 3) == 0.011


def test_a_single_flip_names_the_only_token_that_moved() -> None:
    analysis = changed(embviz.FlipSegment(3))
    distance = cosine_distances(analysis.before.summed, analysis.after.summed)[3]

    assert bars_caption(analysis).startswith(
        f"Only “raised” (token 3) moved: by a cosine distance of {distance:.4f} in the sum. The other 15 stayed"
    )


def test_where_all_move_the_least_and_the_most_are_named() -> None:
    analysis = changed(SWAP)
    distances = cosine_distances(analysis.before.summed, analysis.after.summed)
    caption = bars_caption(analysis)

    assert "0.0063 on average" in caption
    assert f"from {distances.min():.4f} (“[CLS]”, token 0)" in caption
    assert f"to {distances.max():.4f} (“.”, token {distances.argmax()})" in caption
    assert "In the LayerNorm the mean is 0.0122." in caption


def test_a_sum_of_nothing_has_no_direction_and_no_number_is_made_up() -> None:
    nothing = tuple(embviz.Scale(part, 0.0) for part in ("token", "segment", "position"))
    analysis = changed(*nothing)

    assert "zero vector" in bars_caption(analysis)
    assert "nan" not in bars_caption(analysis) + delta_caption(analysis) + lens_caption(analysis)
    assert set(bars_spec(analysis)["data"][0]["text"]) == {"–"}


def test_longer_vectors_of_the_same_direction_did_not_turn() -> None:
    double = tuple(embviz.Scale(part, 2.0) for part in ("token", "segment", "position"))

    assert "No vector turned" in bars_caption(changed(*double))


def test_changes_that_change_nothing_say_so() -> None:
    for caption in (bars_caption, delta_caption):
        assert "change nothing" in caption(changed(embviz.ShiftPositions(0)))


def test_the_dimensions_that_changed_most_are_named() -> None:
    """After a shift by one it is dimension 99, where [CLS] loses position 0 (science.md §3.1)."""
    analysis = changed(SHIFT_1)
    delta = (analysis.after.summed - analysis.before.summed).astype(np.float64)
    mean = np.abs(delta).mean(axis=0)
    first, second = np.argsort(-mean)[:2]

    assert first == 99
    assert f"{first} ({mean[first]:.2g}), {second} ({mean[second]:.2g})" in delta_caption(analysis)
    assert f"−{abs(delta[0, 99]):.3g}, “[CLS]” (token 0) in dimension 99" in delta_caption(analysis)


def test_segments_without_any_spread_are_not_said_to_lack_tokens() -> None:
    analysis = changed(SWAP)
    assert analysis.lens_before is not None
    flat = replace(analysis.lens_before, projection=np.zeros(16))
    few = replace(flat, token_type_ids=np.zeros(16, np.int64))

    for before, after, said in (
        (flat, flat, "not all at one place"),
        (few, flat, "not all at one place"),
        (few, few, "Neither before nor after are two tokens in each segment"),
    ):
        assert said in lens_caption(replace(analysis, lens_before=before, lens_after=after))


def test_a_token_that_only_grew_has_moved_too() -> None:
    """Twice the sum turns no vector, but no token stayed where it was."""
    double = tuple(embviz.Scale(part, 2.0) for part in ("token", "segment", "position"))
    caption = bars_caption(changed(*double, embviz.FlipSegment(3)))

    assert "stayed where they were" not in caption
    assert "“raised” (token 3) alone makes 100% of this movement of the sum" in caption


def test_a_token_alone_in_the_sum_is_not_alone_after_dropout() -> None:
    caption = bars_caption(changed(embviz.FlipSegment(3), embviz.Dropout(0.1, 0)))

    assert "stayed where they were" not in caption
    assert "In the output the mean is" in caption


def test_dropout_of_everything_leaves_zero_vectors_and_says_so() -> None:
    caption = bars_caption(changed(embviz.Dropout(1.0)))

    assert caption.startswith("The sum is the same as before. The output is a zero vector before or after")
    assert "turned" not in caption
    assert "nan" not in caption

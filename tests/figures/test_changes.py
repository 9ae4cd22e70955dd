"""What changed: bars, changed numbers and the segment lens as data, beside torch and the facts in science.md."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import embviz
from embviz.analysis import Analysis
from embviz.embedding.interventions import Intervention
from embviz.figures import bars_spec, changes, delta_spec, deltas, lens, lens_spec
from embviz.figures.change_captions import bars_caption, delta_caption, lens_caption
from embviz.figures.changes import delta_stages, distance_text, shown_stages
from embviz.models.loading import load_model

PAIR = ("The bank raised interest rates.", "We sat on the river bank.")
SHIFT_1, SWAP = embviz.ShiftPositions(1), embviz.SwapSegments()


@lru_cache
def changed(*what_if: Intervention, pair: bool = True) -> Analysis:
    return embviz.analyze(embviz.Recipe(PAIR[0], PAIR[1] if pair else None, what_if=what_if))


def cosine_distances(before: NDArray[np.float32], after: NDArray[np.float32]) -> NDArray[np.float64]:
    """By torch, in double precision."""
    old, new = (torch.tensor(rows, dtype=torch.float64) for rows in (before, after))
    distances: NDArray[np.float64] = (1 - torch.nn.functional.cosine_similarity(old, new)).numpy()
    return distances


def test_each_bar_is_the_cosine_distance_of_its_token() -> None:
    analysis = changed(SHIFT_1)
    spec = bars_spec(analysis)

    assert [trace["meta"] for trace in spec["data"]] == ["summed", "normalized"]
    for trace in spec["data"]:
        before, after = (d.part(trace["meta"]) for d in (analysis.before, analysis.after))
        assert before is not None
        assert after is not None
        assert np.allclose(trace["x"], cosine_distances(before, after), atol=1e-6)
        assert list(trace["y"]) == list(range(16))


@pytest.mark.parametrize(
    ("change", "summed", "normalized"),
    [(SWAP, 0.0063, 0.0122), (SHIFT_1, 0.0265, None), (embviz.ShiftPositions(5), 0.0431, None)],
)
def test_the_mean_above_the_bars_is_that_of_the_facts(
    change: Intervention, summed: float, normalized: float | None
) -> None:
    """science.md §5, at the printed precision."""
    titles = [note["text"] for note in bars_spec(changed(change))["layout"]["annotations"]]

    assert titles[0] == f"sum<br>mean {summed:.4f}"
    if normalized is not None:
        assert titles[1] == f"LayerNorm<br>mean {normalized:.4f}"


def test_all_bars_share_one_scale_and_have_their_number_beside_them() -> None:
    spec = bars_spec(changed(SHIFT_1))
    layout = spec["layout"]

    assert layout["xaxis"]["range"] == layout["xaxis2"]["range"]
    assert layout["xaxis"]["domain"][1] < layout["xaxis2"]["domain"][0]
    largest = max(float(max(trace["x"])) for trace in spec["data"])
    assert layout["xaxis"]["range"][1] > largest
    for trace in spec["data"]:
        assert [float(label) for label in trace["text"]] == pytest.approx(list(trace["x"]), abs=5e-5)


def test_rows_are_named_by_piece_and_index_and_two_banks_stay_two() -> None:
    ticks = bars_spec(changed(SHIFT_1))["layout"]["yaxis"]["ticktext"]

    assert ticks[2] == "bank · 2"
    assert ticks[13] == "bank · 13"
    assert len(set(ticks)) == 16


def test_markup_in_a_piece_stays_text() -> None:
    analysis = embviz.analyze(embviz.Recipe("a < b", what_if=(SHIFT_1,)))

    assert "&lt; · 2" in bars_spec(analysis)["layout"]["yaxis"]["ticktext"]


def test_a_window_has_the_rows_of_its_tokens_only() -> None:
    analysis = changed(SHIFT_1)
    for spec in (bars_spec(analysis, 4, 7), lens_spec(analysis, 4, 7)):
        assert spec["layout"]["yaxis"]["tickvals"] == [4, 5, 6]
        assert spec["layout"]["yaxis"]["range"] == [6.5, 3.5]
    assert [len(trace["x"]) for trace in bars_spec(analysis, 4, 7)["data"]] == [3, 3]
    assert delta_spec(analysis, 4, 7)["data"][0]["y0"] == 4
    assert delta_spec(analysis, 4, 7)["data"][0]["z"].shape == (3, 384)


def test_the_output_has_bars_of_its_own_only_where_it_moved_in_another_way() -> None:
    moved = {
        change: changed(change).moved for change in (SHIFT_1, embviz.Dropout(0.1, 0), embviz.NoLayerNorm())
    }
    stages = {type(change).__name__: list(shown_stages(one)) for change, one in moved.items() if one}

    assert stages == {
        "ShiftPositions": ["summed", "normalized"],
        "Dropout": ["summed", "normalized", "output"],
        "NoLayerNorm": ["summed", "output"],
    }


def test_the_heatmaps_show_after_minus_before_each_on_a_scale_round_zero_of_its_own() -> None:
    analysis = changed(SHIFT_1)
    spec = delta_spec(analysis)

    assert [trace["coloraxis"] for trace in spec["data"]] == ["coloraxis", "coloraxis2"]
    for trace in spec["data"]:
        before, after = (d.part(trace["meta"]) for d in (analysis.before, analysis.after))
        assert before is not None
        assert after is not None
        assert np.allclose(trace["z"], after - before, atol=1e-6)
        axis = spec["layout"][trace["coloraxis"]]
        assert axis["cmax"] == pytest.approx(np.quantile(np.abs(after - before), 0.995), rel=1e-4)
        assert axis["cmin"] == -axis["cmax"]


def test_a_stage_without_a_changed_number_has_no_heatmap() -> None:
    moved = changed(embviz.Dropout(0.1, 0)).moved

    assert moved is not None
    assert list(delta_stages(moved)) == ["output"]


def test_the_lens_is_the_projection_on_the_difference_of_the_segment_rows() -> None:
    """Open marks before, filled ones after; the shape is that of the segment."""
    analysis = changed(SWAP)
    rows = load_model("bundled").table("segment").astype(np.float64)
    direction = (rows[1] - rows[0]) / np.linalg.norm(rows[1] - rows[0])
    traces = {trace["meta"]: trace for trace in lens_spec(analysis)["data"]}

    for when, d in (("before", analysis.before), ("after", analysis.after)):
        assert np.allclose(traces[when]["x"], d.summed.astype(np.float64) @ direction, atol=1e-6)
        symbols = traces[when]["marker"]["symbol"]
        assert [symbol.startswith("square") for symbol in symbols] == [s == 1 for s in d.token_type_ids]
        assert {symbol.endswith("-open") for symbol in symbols} == {when == "before"}


def test_the_lens_says_the_separation_of_the_facts() -> None:
    """science.md §3.5: .109 ± .086 against .218 ± .045, d′ = 1.60."""
    caption = lens_caption(changed(SWAP))

    assert "1.60 before" in caption
    assert "3.13 after" not in lens_caption(changed(embviz.NoLayerNorm()))
    assert "alike" in lens_caption(changed(embviz.NoLayerNorm()))


def test_one_segment_has_no_separation_and_says_so() -> None:
    assert "no gap" in lens_caption(changed(SHIFT_1, pair=False))


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


def test_a_model_without_two_segments_has_no_lens_but_a_reason() -> None:
    analysis = replace(changed(SHIFT_1), lens_before=None, lens_after=None)

    assert lens_spec(analysis)["data"] == []
    assert lens_spec(analysis)["layout"]["annotations"][0]["text"] == lens_caption(analysis)
    assert "no two segments" in lens_caption(analysis)


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


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (1e-9, "0"), (0.0265, "0.0265"), (1.5, "1.5000"), (np.nan, "–"), (2e-5, "2e-05")],
)
def test_a_distance_is_written_to_be_compared(value: float, shown: str) -> None:
    assert distance_text(value) == shown


def test_plotly_takes_the_figures_as_they_are() -> None:
    analysis = changed(SHIFT_1)

    assert [trace.type for trace in changes(analysis).data] == ["bar", "bar"]
    assert [trace.type for trace in deltas(analysis).data] == ["heatmap", "heatmap"]
    assert {trace.type for trace in lens(analysis).data} == {"scatter"}


def test_without_a_what_if_the_figures_say_that_nothing_is_changed() -> None:
    analysis = changed()

    for figure in (changes(analysis), deltas(analysis)):
        assert figure.layout.annotations[0].text == "Nothing is changed."

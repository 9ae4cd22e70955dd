"""`changes` of the page's JSON: the keys of the document, and the differences bit for bit."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import embviz
from embviz.analysis import Analysis
from embviz.embedding.interventions import Intervention
from embviz.ui.payload import WINDOW, parts_json
from tests.ui.test_payload import floats, promised, read, rows_of

PAIR = ("The bank raised interest rates.", "We sat on the river bank.")


@lru_cache
def analysis_of(*what_if: Intervention) -> Analysis:
    return embviz.analyze(embviz.Recipe(*PAIR, what_if=what_if))


def changes_of(analysis: Analysis, start: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = read(parts_json(analysis, start))["changes"]
    return found


def test_without_a_what_if_there_are_none() -> None:
    assert changes_of(analysis_of()) is None


def test_changes_have_the_keys_of_the_document_and_no_others() -> None:
    assert changes_of(analysis_of(embviz.ShiftPositions(1))).keys() == promised("changes")


def test_changes_that_cancel_say_that_nothing_changed() -> None:
    swapped_twice = changes_of(analysis_of(embviz.SwapSegments(), embviz.SwapSegments()))

    assert swapped_twice["changed"] is False
    assert "change nothing" in swapped_twice["sentences"]["nothing"]


@pytest.mark.parametrize("change", [embviz.ShiftPositions(1), embviz.SwapSegments(), embviz.FlipSegment(3)])
def test_the_rows_are_after_minus_before(change: Intervention) -> None:
    analysis = analysis_of(change)
    rows = changes_of(analysis)["rows"]

    for name in ("summed", "normalized"):
        before, after = (d.part(name) for d in (analysis.before, analysis.after))
        assert np.array_equal(rows_of(rows[name], 384), after - before)  # type: ignore[operator]


def test_the_row_of_tokens_that_stayed_is_sent_once() -> None:
    index = changes_of(analysis_of(embviz.FlipSegment(3)))["rows"]["summed"]["index"]

    assert index == [0] * 3 + [1] + [0] * 12


def test_the_order_by_change_begins_with_what_changed_most() -> None:
    """After a shift by one that is dimension 99 (science.md §3.1)."""
    analysis = analysis_of(embviz.ShiftPositions(1))
    order = changes_of(analysis)["order"]
    change = np.abs(analysis.after.summed - analysis.before.summed).astype(np.float64).mean(axis=0)

    assert sorted(order) == list(range(384))
    assert order[0] == 99
    assert (np.diff(change[order]) <= 1e-9).all()


def test_where_only_the_output_changed_its_dimensions_are_ordered() -> None:
    analysis = analysis_of(embviz.NoLayerNorm())
    assert analysis.before.normalized is not None
    change = np.abs(analysis.after.output - analysis.before.normalized).mean(axis=0)

    assert changes_of(analysis)["order"][0] == change.argmax()


def test_a_long_input_sends_the_differences_of_its_window() -> None:
    recipe = embviz.Recipe("the dog bites the man . " * 20, what_if=(embviz.ShiftPositions(1),))
    analysis = embviz.analyze(recipe)
    sent = changes_of(analysis, 30)

    assert len(sent["rows"]["summed"]["index"]) == WINDOW
    assert np.array_equal(
        rows_of(sent["rows"]["summed"], 384),
        (analysis.after.summed - analysis.before.summed)[30 : 30 + WINDOW],
    )
    assert len(floats(sent["distances"]["summed"])) == WINDOW
    assert sent["figures"]["bars"]["layout"]["yaxis"]["tickvals"][0] == 30


def test_a_removed_everything_can_be_sent() -> None:
    """Its sums have no direction: JSON has no NaN, the arrays do."""
    nothing = tuple(embviz.Scale(part, 0.0) for part in ("token", "segment", "position"))
    sent = changes_of(analysis_of(*nothing))

    assert np.isnan(floats(sent["distances"]["summed"])).all()
    assert json.dumps(sent, allow_nan=False)

"""What the page is sent about a what-if: limits, words, what was there before, and how far it moved."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

import embviz
from embviz.embedding.interventions import INTERVENTIONS, Intervention
from embviz.ui import handlers
from embviz.ui.change_words import describe
from embviz.ui.payload import parts_json

BANK = ("The bank raised interest rates.", "We sat on the river bank.")


def sent(*what_if: Intervention, start: int = 0, text: tuple[str, str] = BANK) -> dict[str, Any]:
    """The `parts` that the page gets."""
    parts: dict[str, Any] = json.loads(
        parts_json(embviz.analyze(embviz.Recipe(*text, what_if=what_if)), start)
    )
    return parts


def rows(part: dict[str, Any], width: int = 384) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(part["rows"]), "<f4").reshape(-1, width)
    chosen: np.ndarray = values[part["index"]]
    return chosen


def floats(packed: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed), "<f4")


def test_without_changes_only_the_limits_are_sent() -> None:
    what_if = sent()["what_if"]

    assert (what_if["changes"], what_if["before"], what_if["moved"], what_if["changed"]) == (
        [],
        None,
        None,
        False,
    )
    assert what_if["refused"] == {}


def test_the_limit_of_a_shift_is_the_table_s() -> None:
    """The slider of EV166: of 512 rows, fifteen tokens can move 497 places; without the first, one to the left too."""
    parts = sent(text=("The bank raised interest rates today, they said to me all.", ""))

    assert len(parts["tokens"]) == 15
    assert (parts["what_if"]["shift"], parts["what_if"]["rows"]) == ([0, 497], 512)
    assert parts["what_if"]["shift_kept"] == [-1, 497]


def test_what_was_there_before_is_what_is_there_without_the_changes() -> None:
    """The vectors and operands before are those of the page without a what-if; equal parts are not sent twice."""
    plain, swapped = sent(), sent(embviz.SwapSegments())
    before = swapped["what_if"]["before"]

    assert set(before["parts"]) == {"segment", "summed", "normalized"}
    for name in before["parts"]:
        np.testing.assert_array_equal(rows(before["parts"][name]), rows(plain["parts"][name]))
    for name in ("mean", "std", "weight", "bias", "eps"):
        assert before[name] == plain[name]
    assert [token["segment"] for token in before["tokens"]] == [token["segment"] for token in plain["tokens"]]
    assert [token["segment"] for token in swapped["tokens"]] == [
        1 - token["segment"] for token in plain["tokens"]
    ]


def test_how_far_tokens_moved_are_the_measured_distances() -> None:
    """science.md §5: swapping the segments of the bank pair moves the sum 0.0063 and the LayerNorm 0.0122."""
    moved = sent(embviz.SwapSegments())["what_if"]["moved"]

    assert moved["summed"]["mean"] == pytest.approx(0.0063, abs=5e-5)
    assert moved["normalized"]["mean"] == pytest.approx(0.0122, abs=5e-5)
    assert floats(moved["summed"]["cosine"]).mean() == pytest.approx(moved["summed"]["mean"], rel=1e-5)


def test_changes_that_cancel_are_said_to_change_nothing() -> None:
    what_if = sent(embviz.SwapSegments(), embviz.SwapSegments())["what_if"]

    assert len(what_if["changes"]) == 2
    assert not what_if["changed"]
    assert what_if["before"]["parts"] == {}


def test_dropout_has_a_row_of_its_own() -> None:
    """What enters the encoder is then another than the LayerNorm's result, and is sent beside it."""
    parts = sent(embviz.Dropout(0.5, 1))["parts"]
    kept = rows(parts["output"]) != 0

    np.testing.assert_allclose(rows(parts["output"])[kept], 2 * rows(parts["normalized"])[kept], rtol=1e-6)
    assert "output" not in sent()["parts"]


def test_a_window_of_a_long_input_has_its_own_rows() -> None:
    text = ("one two three four five " * 30, "")
    plain, shifted = sent(text=text, start=64), sent(embviz.ShiftPositions(3), text=text, start=64)

    before = shifted["what_if"]["before"]
    np.testing.assert_array_equal(rows(before["parts"]["position"]), rows(plain["parts"]["position"]))
    assert len(floats(shifted["what_if"]["moved"]["output"]["cosine"])) == plain["stop"] - plain["start"]
    assert len(before["tokens"]) == plain["total"]


CHANGES: dict[str, Intervention] = {
    "positions + 5, [CLS] kept in place": embviz.ShiftPositions(5, keep_first=True),
    "raised (3) in segment B": embviz.FlipSegment(3),
    "segment removed": embviz.Scale("segment", 0),
    "position × 2": embviz.Scale("position", 2),
    "bank (2) → river": embviz.ReplaceToken(2, "river"),
    "all tokens in segment B": embviz.AllSegments(1),
    "bank (2) at position 40": embviz.MovePosition(2, 40),
    "dropout 0.1 (seed 3)": embviz.Dropout(0.1, 3),
    "LayerNorm with eps 0.001": embviz.LayerNormEps(1e-3),
}


@pytest.mark.parametrize("phrase", CHANGES)
def test_a_change_is_said_in_words(phrase: str) -> None:
    assert sent(CHANGES[phrase])["what_if"]["changes"][0] == phrase


def test_every_kind_of_change_has_words() -> None:
    """No kind is without a phrase in the catalogue."""
    arguments: dict[str, tuple[Any, ...]] = {
        "SetSegments": ((0,) * 16,), "SetPositions": (tuple(range(16)),), "FlipSegment": (1,), "AllSegments": (0,),
        "ScaleSegmentDifference": (2,), "ShiftPositions": (1,), "ConstantPosition": (7,), "MovePosition": (1, 2),
        "Scale": ("token", 2), "LayerNormEps": (1e-3,), "Dropout": (0.1,), "ReplaceToken": (2, "river"),
    }  # fmt: skip
    d = embviz.load_model().decompose(*BANK)
    for name, kind in INTERVENTIONS.items():
        assert describe(kind(*arguments.get(name, ())), d)


def test_a_flip_is_said_as_it_is_at_its_turn_whatever_follows() -> None:
    flip, moved = embviz.FlipSegment(2), embviz.ShiftPositions(1)

    for what_if, said in (
        ((flip, embviz.AllSegments(0)), ["bank (2) in segment B", "all tokens in segment A"]),
        ((flip, moved, flip), ["bank (2) in segment B", "positions + 1", "bank (2) in segment A"]),
        ((embviz.AllSegments(1), flip), ["all tokens in segment B", "bank (2) in segment A"]),
    ):
        assert sent(*what_if)["what_if"]["changes"] == said


def test_a_refused_change_is_said_at_its_control_and_keeps_the_view() -> None:
    shown = handlers.change(embviz.Recipe(*BANK).to_query(), [{"type": "ShiftPositions", "k": 600}])

    assert shown.parts is None
    assert "496" in shown.messages["what_if"]
    assert shown.failed


def test_changes_that_do_not_fit_another_text_are_left_out_and_said() -> None:
    """A shift that fits ten tokens may not fit five hundred: the text is shown without it."""
    shown = handlers.show("word " * 400, "", "bundled", what_if=[{"type": "ShiftPositions", "k": 400}])

    assert shown.parts is not None
    assert json.loads(shown.parts)["recipe"]["what_if"] == []
    assert "left out" in shown.messages["what_if"]

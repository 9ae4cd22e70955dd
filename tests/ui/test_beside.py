"""Two inputs side by side as the page gets them: the keys of docs/payload.md, the vectors' own bits, or a sentence."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import embviz
from embviz.models import loading
from embviz.models.limits import OPENING_SECONDS
from embviz.ui.beside import beside
from embviz.ui.handlers import EXAMPLE
from embviz.ui.payload import WINDOW
from embviz.ui.suggestions import choices

DOCUMENT = (Path(__file__).parents[2] / "docs" / "payload.md").read_text(encoding="utf-8")
UNTRAINED = replace(EXAMPLE, model="untrained:all-MiniLM-L6-v2")


def ask(recipe: embviz.Recipe, other: embviz.Recipe) -> dict[str, Any]:
    """As strictly as a browser: it knows no NaN."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    answer: dict[str, Any] = json.loads(beside(recipe.to_query(), other.to_query()), parse_constant=refuse)
    return answer


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    return ask(EXAMPLE, UNTRAINED)


def rows_of(side: dict[str, Any], name: str) -> NDArray[np.float32]:
    part = side["parts"][name]
    rows = np.frombuffer(base64.b64decode(part["rows"]), "<f4").reshape(-1, side["width"])
    found: NDArray[np.float32] = rows[part["index"]]
    return found


def test_the_answer_has_the_keys_of_the_document_and_no_others(answer: dict[str, Any]) -> None:
    section = DOCUMENT.split("\n## `beside`", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    promised = {key for line in lines for key in re.findall(r"`(\w+)`", line.split("|")[1])}
    (of_a_side,) = [line.split("|")[2] for line in lines if line.startswith("| `this`")]

    assert answer.keys() == promised
    assert answer["this"].keys() == answer["other"].keys()
    assert answer["this"].keys() <= set(re.findall(r"`(\w+)`", of_a_side))


@pytest.mark.parametrize(("side", "recipe"), [("this", EXAMPLE), ("other", UNTRAINED)])
def test_each_strip_gets_the_vectors_own_bits(
    side: str, recipe: embviz.Recipe, answer: dict[str, Any]
) -> None:
    d = embviz.analyze(recipe).after

    assert [token["piece"] for token in answer[side]["tokens"]] == list(d.tokens)
    for name in ("token", "segment", "position", "summed", "normalized"):
        assert rows_of(answer[side], name).tobytes() == getattr(d, name).tobytes()


def test_the_numbers_are_those_of_the_comparison(answer: dict[str, Any]) -> None:
    comparison = embviz.compare(EXAMPLE, UNTRAINED)
    sides = (comparison.this, comparison.other)

    assert answer["common"]
    assert answer["this"]["limits"] == answer["other"]["limits"] == comparison.this.limits
    assert answer["norms"] == [
        [name, *(side.mean_norms[name] for side in sides)] for name, *_ in answer["norms"]
    ]
    assert answer["shares"] == [
        [name, *(side.variance_shares[name] for side in sides)] for name, *_ in answer["shares"]
    ]
    assert [name for name, *_ in answer["shares"]] == ["token", "segment", "position", "cross"]


def test_a_point_on_the_map_is_where_its_marker_is(answer: dict[str, Any]) -> None:
    for part in ("summed", "normalized"):
        (spec,) = answer["maps"][part]
        for trace in spec["data"]:
            x = np.frombuffer(base64.b64decode(trace["x"]["bdata"]), "<f4")
            points = answer[trace["meta"]]["points"][part]
            np.testing.assert_array_equal(x, [points[i][0] for i in trace["customdata"]])


def test_a_part_that_one_side_lacks_is_a_gap() -> None:
    """NoLayerNorm leaves nothing to measure there, and the rest stays."""
    other = replace(EXAMPLE, what_if=(embviz.NoLayerNorm(),))

    answer = ask(EXAMPLE, other)

    norms = {name: values for name, *values in answer["norms"]}
    assert norms["normalized"][1] is None
    assert norms["summed"][0] == norms["summed"][1]
    assert "absent" in answer["other"]["parts"]["normalized"]
    assert answer["other"]["points"]["normalized"] == []
    assert answer["other"]["changed"]
    assert not answer["this"]["changed"]
    assert "normalized" not in answer["cosines"]


def test_of_a_long_input_one_window_is_sent() -> None:
    long = embviz.Recipe("the dog bites the man . " * 60)

    answer = ask(long, EXAMPLE)

    assert (answer["this"]["start"], answer["this"]["stop"]) == (0, WINDOW)
    assert answer["this"]["total"] > WINDOW
    assert len(answer["this"]["points"]["summed"]) == answer["this"]["total"]


def test_a_map_that_is_fitted_on_a_table_can_be_compared_too() -> None:
    """The comparison has a basis of its own, whatever the page's map is fitted on."""
    assert "error" not in ask(replace(EXAMPLE, pca_fit="positions"), replace(UNTRAINED, pca_fit="vocabulary"))


@pytest.mark.parametrize(
    ("query", "other", "field"),
    [
        ("text=a", "text=b&model=untrained:nothing", "model"),
        ("text=a", "text=b&model=nobody/nothing", "model"),
        ("text=a", "text=" + "b" * 10_001, "text"),
        ("text=a", "text=b&what_if=[", "what_if"),
        ("text=a&pca_components=0,1", "text=b", "pca_components"),
        ("text=a", "text=%ff", None),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(query: str, other: str, field: str | None) -> None:
    answer = json.loads(beside(query, other))

    assert answer.keys() == {"error", "field", "asked"}
    assert answer["error"].endswith(".")
    assert (answer["field"], answer["asked"]) == (field, other)


def test_opening_has_the_time_that_every_opening_has(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(ref: str, revision: str | None) -> embviz.EmbeddingModel:
        from embviz.models.watch import current_watch

        seen.append(current_watch().stoppable)
        return really(ref, revision)

    really = loading.load_model
    monkeypatch.setattr(loading, "load_model", watched)

    ask(EXAMPLE, UNTRAINED)

    assert OPENING_SECONDS == 60
    assert seen == [True, True]


def test_folders_are_refused_on_a_shared_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")

    answer = json.loads(beside("text=a", embviz.Recipe("b", model=str(tmp_path)).to_query()))

    assert answer["field"] == "model"


def test_the_menu_has_both_untrained_models() -> None:
    refs = [ref for _, ref in choices()]

    assert refs[:3] == ["bundled", "untrained:all-MiniLM-L6-v2", "untrained:bert-base"]

"""What the page is drawn from: the keys that docs/payload.md promises, and the decomposition's own bits."""

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
from embviz.analysis import Analysis
from embviz.ui.handlers import EXAMPLE
from embviz.ui.payload import WINDOW, map_json, parts_json

DOCUMENT = (Path(__file__).parents[2] / "docs" / "payload.md").read_text(encoding="utf-8")
PARTS = ("token", "segment", "position", "summed", "normalized")
LONG = embviz.Recipe("the dog bites the man and the man bites the dog . " * 15)


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return embviz.analyze(EXAMPLE)


@pytest.fixture(scope="module")
def parts(analysis: Analysis) -> dict[str, Any]:
    return read(parts_json(analysis))


@pytest.fixture(scope="module")
def long() -> Analysis:
    return embviz.analyze(LONG)


def read(sent: str) -> dict[str, Any]:
    """As strictly as a browser: it knows no NaN."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    answer: dict[str, Any] = json.loads(sent, parse_constant=refuse)
    return answer


def promised(heading: str) -> set[str]:
    """The keys in the first column of the table under a heading of the document."""
    section = DOCUMENT.split(f"\n## `{heading}`", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])}


def floats(sent: str) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(sent, validate=True), "<f4")


def rows_of(part: dict[str, Any], width: int) -> NDArray[np.float32]:
    rows: NDArray[np.float32] = floats(part["rows"]).reshape(-1, width)[part["index"]]
    return rows


def assert_same_bits(found: NDArray[np.float32], expected: NDArray[np.float32] | None) -> None:
    assert expected is not None
    assert found.shape == expected.shape
    assert found.tobytes() == np.ascontiguousarray(expected, "<f4").tobytes()


def test_parts_has_the_keys_of_the_document_and_no_others(parts: dict[str, Any]) -> None:
    assert parts.keys() == promised("parts")


def test_map_has_the_keys_of_the_document_and_no_others(analysis: Analysis) -> None:
    assert read(map_json(analysis)).keys() == promised("map")


def test_a_token_has_the_keys_of_the_document(parts: dict[str, Any]) -> None:
    keys = {"piece", "id", "segment", "position", "special", "typed", "source", "sentence"}

    assert all(keys <= token.keys() <= keys | {"note"} for token in parts["tokens"])


def test_the_rows_are_those_of_the_decomposition_bit_by_bit(
    analysis: Analysis, parts: dict[str, Any]
) -> None:
    assert tuple(parts["parts"]) == PARTS
    for name in PARTS:
        assert_same_bits(rows_of(parts["parts"][name], parts["width"]), getattr(analysis.after, name))


def test_the_operands_of_the_layer_norm_are_those_of_the_decomposition(
    analysis: Analysis, parts: dict[str, Any]
) -> None:
    step = analysis.after.layer_norm
    assert step is not None

    for name in ("mean", "std", "weight", "bias"):
        assert_same_bits(floats(parts[name]), getattr(step, name))
    assert parts["eps"] == step.eps


def test_the_numbers_that_are_sent_add_up_as_the_page_says(parts: dict[str, Any]) -> None:
    token, segment, position, summed, normalized = (
        rows_of(parts["parts"][name], parts["width"]).astype(np.float64) for name in PARTS
    )
    mean, std = floats(parts["mean"])[:, None], floats(parts["std"])[:, None]

    assert np.allclose(token + segment + position, summed, atol=1e-6)
    assert np.allclose(summed.mean(axis=1, keepdims=True), mean, atol=1e-6)
    assert np.allclose(np.sqrt(summed.var(axis=1, keepdims=True) + parts["eps"]), std, rtol=1e-5)
    scaled = (summed - mean) / std
    assert np.allclose(scaled * floats(parts["weight"]) + floats(parts["bias"]), normalized, atol=1e-5)


def test_a_row_that_repeats_is_sent_once(parts: dict[str, Any]) -> None:
    """Two segments are two rows, however many tokens there are."""
    assert len(floats(parts["parts"]["segment"]["rows"])) == 2 * parts["width"]
    assert parts["parts"]["segment"]["index"] == [token["segment"] for token in parts["tokens"]]


def test_a_part_that_the_model_lacks_is_a_reason_in_place_of_rows(analysis: Analysis) -> None:
    after = replace(analysis.after, segment=None, absent={"segment": "It has none."})
    sent = read(parts_json(replace(analysis, after=after)))

    assert sent["parts"]["segment"] == {"absent": "It has none."}
    assert "segment" not in {trace["meta"] for trace in sent["heatmap"]["data"]}


def test_without_a_layer_norm_its_operands_are_null(analysis: Analysis) -> None:
    after = replace(
        analysis.after, normalized=None, layer_norm=None, absent={"normalized": "It has none."}, tensors={}
    )
    sent = read(parts_json(replace(analysis, after=after)))

    assert [sent[name] for name in ("mean", "std", "eps", "weight", "bias")] == [None] * 5
    assert sent["parts"]["normalized"] == {"absent": "It has none."}


@pytest.mark.parametrize(
    ("asked", "start"), [(0, 0), (1, 1), (64, 64), (100, 100), (10**9, -64), (-5, 0), (-(10**9), 0)]
)
def test_the_window_begins_where_it_is_asked_for_and_stays_within_the_input(
    long: Analysis, asked: int, start: int
) -> None:
    length = len(long.after)
    assert length > 100 + WINDOW
    expected = start if start >= 0 else length + start

    sent = read(parts_json(long, asked))

    assert (sent["total"], sent["start"], sent["stop"]) == (length, expected, expected + 64)
    assert len(sent["tokens"]) == length
    for name in PARTS:
        rows = rows_of(sent["parts"][name], sent["width"])
        assert_same_bits(rows, getattr(long.after, name)[expected : expected + 64])
    assert len(floats(sent["mean"])) == len(floats(sent["std"])) == 64


def test_an_input_shorter_than_the_window_is_sent_whole(parts: dict[str, Any], analysis: Analysis) -> None:
    assert (parts["start"], parts["stop"], parts["total"]) == (0, len(analysis.after), len(analysis.after))


def test_the_scale_is_that_of_the_whole_input_in_every_window(long: Analysis) -> None:
    first, last = (read(parts_json(long, start))["scale"] for start in (0, 10**9))
    d = long.after
    values = np.stack([d.token, d.segment, d.position, d.summed])  # type: ignore[list-item]

    assert first == last
    assert first["parts"]["limit"] == pytest.approx(np.quantile(np.abs(values), 0.995), rel=1e-6)
    assert first["parts"]["min"] == values.min()
    assert first["parts"]["max"] == values.max()


def test_dimensions_are_ordered_by_the_variance_of_the_sum(analysis: Analysis, parts: dict[str, Any]) -> None:
    order = parts["order"]["variance"]
    variance = analysis.after.summed.astype(np.float64).var(axis=0)

    assert sorted(order) == list(range(384))
    assert (np.diff(variance[order]) < 1e-9).all()


def test_the_heatmap_points_at_parts_and_repeats_no_number(parts: dict[str, Any]) -> None:
    assert [trace["z"] for trace in parts["heatmap"]["data"]] == [{"part": name} for name in PARTS]


def test_the_heatmaps_of_the_first_example_cost_little_more_than_their_cells(parts: dict[str, Any]) -> None:
    """Base64 alone is 1.33 times the bytes."""
    cells = 4 * parts["width"] * sum(len(parts["parts"][name]["index"]) for name in PARTS)
    sent = json.dumps([parts["parts"], parts["heatmap"]], separators=(",", ":")).encode()

    assert cells == 4 * 384 * 5 * parts["total"]
    assert len(sent) <= 1.4 * cells


@pytest.mark.parametrize("components", [(1, 2), (1, 2, 3)])
def test_the_coordinates_are_those_of_the_points_that_are_drawn(components: tuple[int, ...]) -> None:
    analysis = embviz.analyze(replace(EXAMPLE, pca_components=components))
    sent = read(map_json(analysis))
    drawn = {trace["meta"]: trace for trace in sent["parts"]["data"] if trace["mode"].startswith("markers")}

    assert sent["coordinates"]["parts"].keys() == {"token", "segment", "summed"}
    assert sent["coordinates"]["normalized"].keys() == {"normalized"}
    for role in ("token", "summed"):
        table = floats(sent["coordinates"]["parts"][role]).reshape(-1, len(components))
        points = [floats(drawn[role][axis]["bdata"]) for axis in "xyz"[: len(components)]]
        assert len(table) == len(analysis.after)
        assert np.array_equal(table[analysis.drawn], np.stack(points, axis=1))
    assert len(sent["axes"]["parts"]) == len(components)


def test_the_query_leads_back_to_the_recipe(analysis: Analysis, parts: dict[str, Any]) -> None:
    assert embviz.Recipe.from_query(parts["query"]) == EXAMPLE == embviz.Recipe.from_dict(parts["recipe"])
    assert read(map_json(analysis))["query"] == parts["query"]


def test_hostile_words_arrive_as_they_were_typed() -> None:
    text = "</script><img src=x onerror=alert(1)> \u2028 \x00 \u202ex"
    sent = read(parts_json(embviz.analyze(embviz.Recipe(text))))

    assert sent["recipe"]["text"] == text
    assert any(token["source"] == "<" for token in sent["tokens"])

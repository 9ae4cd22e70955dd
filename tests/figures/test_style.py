"""Colours, scales, labels and JSON that all figures share; what is expected comes from numpy, struct and Unicode."""

from __future__ import annotations

import base64
import html
import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import embviz
from embviz.figures.style import COLORS, COLORSCALE, MAX_LABEL, VIK, color_limit, escape_label, to_json

STATIC = Path(embviz.__file__).parent / "ui" / "static"


@pytest.mark.parametrize(
    "piece", ["<b>", "&amp;", "<img src=x onerror=alert(1)>", "a < b & c > d", "[CLS]", "##ing"]
)
def test_a_label_shows_exactly_the_letters_of_its_piece(piece: str) -> None:
    label = escape_label(piece)

    assert not re.search(r"<|>|&(?!\w+;|#\d+;)", label)
    shown = piece.replace(" ", "␣")
    assert html.unescape(label) == (shown if len(shown) <= MAX_LABEL else shown[: MAX_LABEL - 1] + "…")


def test_a_label_has_no_dollar_that_mathjax_could_take_for_tex() -> None:
    assert "$" not in escape_label("$x^2$")
    assert html.unescape(escape_label("$x^2$")) == "$x^2$"


@pytest.mark.parametrize("control", ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\ud800"])
def test_a_control_character_is_visible(control: str) -> None:
    label = escape_label(f"a{control}b")

    assert control not in label
    assert len(label) == 3


def test_white_space_is_visible() -> None:
    assert escape_label(" \t\n\u00a0") == "␣␣␣␣"


@pytest.mark.parametrize("piece", ["שלום", "سلام", "a\u202eb", "a\u2067b"])
def test_a_label_that_runs_from_right_to_left_is_isolated(piece: str) -> None:
    """Between FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE nothing outside is reordered."""
    assert escape_label(piece) == f"\u2068{piece}\u2069"


def test_a_label_that_runs_from_left_to_right_is_not_isolated() -> None:
    assert escape_label("私は") == "私は"


def test_a_long_label_is_cut_before_it_is_escaped() -> None:
    """A cut within `&amp;` would show letters that are not there."""
    label = escape_label("&" * 100)

    assert label == "&amp;" * (MAX_LABEL - 1) + "…"
    assert len(html.unescape(escape_label("x" * MAX_LABEL))) == MAX_LABEL


def test_the_colour_limit_is_the_quantile_of_the_magnitudes() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(7, 30)), 3 * rng.normal(size=(5, 11))]

    expected = np.quantile(np.abs(np.concatenate([array.ravel() for array in arrays])), 0.995)

    assert color_limit(list(arrays)) == pytest.approx(expected, rel=1e-12)


def test_what_is_no_number_does_not_move_the_colour_limit() -> None:
    numbers = np.linspace(-2, 1, 50)
    strange = np.concatenate([numbers, [np.nan, np.inf, -np.inf]])

    assert color_limit([strange]) == color_limit([numbers])


@pytest.mark.parametrize("arrays", [[], [np.zeros((2, 3))], [np.full(4, np.nan)], [np.zeros(0)]])
def test_the_colour_limit_is_one_where_there_is_nothing_but_zero(arrays: list[Any]) -> None:
    assert color_limit(arrays) == 1.0


def test_the_colour_limit_is_the_largest_magnitude_where_nearly_all_is_zero() -> None:
    values = np.zeros(10_000)
    values[17] = -0.25

    assert color_limit([values]) == 0.25


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_an_array_in_json_is_the_same_float32(shape: tuple[int, ...]) -> None:
    values = [0.1, -1e-30, 3.4e38, float("nan"), float("-inf"), -0.0]

    sent = json.loads(to_json({"x": np.array(values, np.float32).reshape(shape)}))["x"]

    assert sent["dtype"] == "f4"
    assert base64.b64decode(sent["bdata"]) == struct.pack("<6f", *values)
    assert sent.get("shape") == (None if len(shape) == 1 else "2, 3")


@pytest.mark.parametrize("array", [np.arange(12.0).reshape(3, 4).T, np.arange(12, dtype=">f4")[::2]])
def test_an_array_in_json_is_row_major_and_little_endian(array: np.ndarray[Any, Any]) -> None:
    sent = json.loads(to_json(array))
    flat = [float(value) for row in array for value in np.atleast_1d(row)]

    assert list(struct.unpack(f"<{len(flat)}f", base64.b64decode(sent["bdata"]))) == flat


def test_whole_numbers_in_json_stay_whole() -> None:
    sent = json.loads(to_json(np.array([1, -2, 2**31 - 1])))

    assert sent["dtype"] == "i4"
    assert base64.b64decode(sent["bdata"]) == struct.pack("<3i", 1, -2, 2**31 - 1)


def test_plotly_keeps_an_array_of_our_json_as_numpy_wrote_it() -> None:
    from plotly.graph_objects import Figure

    array = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
    figure = Figure(json.loads(to_json({"data": [{"type": "heatmap", "z": array}]})))

    kept = json.loads(figure.to_json())["data"][0]["z"]

    assert np.array_equal(np.frombuffer(base64.b64decode(kept["bdata"]), "<f4").reshape(3, 5), array)
    assert kept["shape"] == "3, 5"


@pytest.mark.parametrize("value", [float("nan"), {1}, object()])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        to_json({"x": value})


def anchors_in_javascript(name: str) -> list[tuple[int, ...]]:
    script = (STATIC / "colours.js").read_text(encoding="utf-8")
    found = re.search(rf"const {name} = (\[.*?\n\]);", script, re.DOTALL)
    assert found is not None
    return [tuple(rgb) for rgb in json.loads(re.sub(r",\s*\]", "]", found.group(1)))]


def test_the_page_has_the_same_scale_as_the_figures() -> None:
    assert anchors_in_javascript("VIK") == list(VIK)


def test_zero_is_the_middle_of_both_scales() -> None:
    """The lightest of the light scale, the darkest of the dark one."""
    light, dark = ([sum(rgb) for rgb in anchors_in_javascript(name)] for name in ("VIK", "BERLIN"))

    assert len(light) == len(dark) == 17
    assert light.index(max(light)) == dark.index(min(dark)) == 8


def test_the_scale_of_plotly_runs_evenly_from_0_to_1() -> None:
    assert [place for place, _ in COLORSCALE] == pytest.approx(np.linspace(0, 1, len(VIK)))
    assert COLORSCALE[8] == [0.5, "rgb(236, 229, 225)"]


@pytest.mark.parametrize("part", COLORS)
def test_the_style_sheet_has_the_colour_of_the_figures(part: str) -> None:
    sheet = (STATIC / "embviz.css").read_text(encoding="utf-8")
    light = sheet[: sheet.index(".dark")]

    assert re.findall(rf"--ev-{part}: (#[0-9a-f]{{6}});", light) == [COLORS[part].lower()]


def test_no_two_parts_have_one_colour() -> None:
    assert len({color.lower() for color in COLORS.values()}) == len(COLORS)


def colours(theme: str) -> dict[str, str]:
    """The colours of a theme by name; the dark one is written as what it changes."""
    light, dark = (STATIC / "embviz.css").read_text(encoding="utf-8").split(".dark", 1)
    found = re.findall(r"--ev-([a-z-]+): (#[0-9a-f]{3,6});", light if theme == "light" else dark)
    return {
        name: value if len(value) == 7 else "#" + "".join(2 * c for c in value[1:]) for name, value in found
    }


def contrast(one: str, other: str) -> float:
    """Of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_grey_of_the_constant_is_seen_and_its_name_can_be_read(theme: str) -> None:
    """WCAG 2.2: 3 for what is drawn, 4.5 for text."""
    named = colours(theme)

    assert contrast(named["constant"], named["panel"]) >= 3
    assert contrast(named["constant-text"], named["panel"]) >= 4.5
    assert named["constant"] != named["mute"]

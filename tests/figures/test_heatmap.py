"""The heatmaps: a row a token and a column a dimension, each part with its own panel and the sum's scale."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import embviz
from embviz.analysis import Analysis
from embviz.figures import heatmap, heatmap_spec
from embviz.figures.style import Spec

PARTS = ["token", "segment", "position", "summed", "normalized"]
TWICE = embviz.Recipe("the dog bites the man", special_tokens=True)
TOKENS = "[CLS] the dog bites the man [SEP]".split()


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return embviz.analyze(TWICE)


@pytest.fixture(scope="module")
def spec(analysis: Analysis) -> Spec:
    return heatmap_spec(analysis)


def narrow(analysis: Analysis, width: int) -> Analysis:
    """The same with the first so many dimensions only."""
    d = analysis.after
    cut = {name: getattr(d, name)[:, :width] for name in PARTS}
    return replace(analysis, after=replace(d, **cut))


def test_each_panel_has_the_numbers_of_its_part(analysis: Analysis, spec: Spec) -> None:
    assert [trace["meta"] for trace in spec["data"]] == PARTS
    for trace in spec["data"]:
        assert np.array_equal(trace["z"], getattr(analysis.after, trace["meta"]))


def test_rows_are_told_apart_by_index_and_named_by_their_piece(spec: Spec) -> None:
    """On an axis of categories the two “the” would fall on one row."""
    for number in ("", 2, 3, 4, 5):
        axis = spec["layout"][f"yaxis{number}"]
        assert axis["type"] == "linear"
        assert axis["autorange"] == "reversed"
        assert list(axis["tickvals"]) == list(range(7))
        assert list(axis["ticktext"]) == TOKENS


def test_a_window_keeps_the_index_of_its_tokens(analysis: Analysis) -> None:
    spec = heatmap_spec(analysis, 2, 5)

    assert list(spec["layout"]["yaxis"]["tickvals"]) == [2, 3, 4]
    assert list(spec["layout"]["yaxis"]["ticktext"]) == TOKENS[2:5]
    assert spec["data"][0]["y0"] == 2
    assert np.array_equal(spec["data"][0]["z"], analysis.after.token[2:5])


def test_of_many_tokens_not_each_is_named_and_the_names_stay_at_their_rows() -> None:
    analysis = embviz.analyze(embviz.Recipe("one two three four five " * 20, special_tokens=True))
    axis = heatmap_spec(analysis)["layout"]["yaxis"]

    assert len(axis["tickvals"]) <= 40
    assert list(axis["ticktext"]) == [analysis.after.tokens[i] for i in axis["tickvals"]]


@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 31, 64, 100, 129, 384])
def test_the_first_and_the_last_dimension_are_named_and_at_most_forty(analysis: Analysis, width: int) -> None:
    ticks = list(heatmap_spec(narrow(analysis, width))["layout"]["xaxis"]["tickvals"])

    assert ticks[0] == 0
    assert ticks[-1] == width - 1
    assert len(ticks) <= 40
    assert ticks == sorted(set(ticks))


def test_a_part_that_the_model_does_not_have_has_no_panel(analysis: Analysis) -> None:
    without = replace(
        analysis,
        after=replace(
            analysis.after, segment=None, normalized=None, layer_norm=None, absent={"segment": "none"}
        ),
    )
    spec = heatmap_spec(without)

    assert [trace["meta"] for trace in spec["data"]] == ["token", "position", "summed"]
    assert "yaxis4" not in spec["layout"]
    assert "coloraxis2" not in spec["layout"]


def test_parts_and_sum_share_one_scale_round_zero_and_the_layer_norm_has_its_own(
    analysis: Analysis, spec: Spec
) -> None:
    d = analysis.after
    limits = [
        np.quantile(np.abs(np.stack([d.token, d.segment, d.position, d.summed])), 0.995),  # type: ignore[list-item]
        np.quantile(np.abs(d.normalized), 0.995),  # type: ignore[arg-type]
    ]

    assert [trace["coloraxis"] for trace in spec["data"]] == ["coloraxis"] * 4 + ["coloraxis2"]
    for name, limit in zip(("coloraxis", "coloraxis2"), limits, strict=True):
        axis = spec["layout"][name]
        assert axis["cmax"] == pytest.approx(limit, rel=1e-6)
        assert axis["cmin"] == -axis["cmax"]
        assert axis["cmid"] == 0


def test_panels_stand_below_each_other_and_do_not_overlap(spec: Spec) -> None:
    domains = [spec["layout"][f"yaxis{number}"]["domain"] for number in ("", 2, 3, 4, 5)]

    assert all(0 <= bottom < top <= 1 for bottom, top in domains)
    assert all(upper[0] > lower[1] for upper, lower in pairwise(domains))


def test_plotly_takes_the_figure_as_it_is(analysis: Analysis) -> None:
    figure = heatmap(analysis)

    assert [trace.type for trace in figure.data] == ["heatmap"] * 5

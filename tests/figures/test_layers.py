"""Layers: each token in each layer, the mean beside its yardstick, and the facts of science.md on depth."""

from __future__ import annotations

import re

import numpy as np
import pytest

import embviz
from embviz.analysis import through_encoder
from embviz.embedding.layers import LayerMovement, measure_layers
from embviz.figures import layers, layers_spec
from embviz.figures.change_captions import layers_caption

TOKENS = ("[CLS]", "a", "<b>", "[SEP]")


@pytest.fixture(scope="module")
def made() -> LayerMovement:
    """Four tokens, an input and two layers; in layer 1 token 2 turns round, in layer 2 token 1 by a right angle."""
    before = np.tile(np.array([1.0, 0.0], np.float32), (3, 4, 1))
    after = before.copy()
    after[1, 2] = [-1, 0]
    after[2, 1] = [0, 1]
    return measure_layers(before, after, np.array([0.1, 0.2, 0.4]))


def test_rows_are_tokens_and_columns_are_the_input_and_the_layers(made: LayerMovement) -> None:
    heatmap = layers_spec(made, TOKENS)["data"][2]

    assert np.allclose(heatmap["z"], [[0, 0, 0], [0, 0, 1], [0, 2, 0], [0, 0, 0]])
    assert layers_spec(made, TOKENS)["layout"]["xaxis"]["ticktext"] == ["input", "1", "2"]
    assert layers_spec(made, TOKENS)["layout"]["yaxis"]["ticktext"][2] == "&lt;b&gt; · 2"


def test_the_mean_stands_beside_how_far_apart_two_random_tokens_are(made: LayerMovement) -> None:
    yardstick, mean, _ = layers_spec(made, TOKENS)["data"]

    assert np.allclose(mean["y"], [0, 0.5, 0.25])
    assert np.allclose(yardstick["y"], [0.9, 0.8, 0.6])
    assert yardstick["meta"] == "yardstick"


def test_the_colours_begin_at_zero_and_end_at_the_largest(made: LayerMovement) -> None:
    axis = layers_spec(made, TOKENS)["layout"]["coloraxis"]

    assert (axis["cmin"], axis["cmax"]) == (0, pytest.approx(2))


def test_a_window_has_the_rows_of_its_tokens_only(made: LayerMovement) -> None:
    spec = layers_spec(made, TOKENS, 1, 3)

    assert spec["data"][2]["y0"] == 1
    assert np.allclose(spec["data"][2]["z"], [[0, 0, 1], [0, 2, 0]])
    assert spec["layout"]["yaxis"]["tickvals"] == [1, 2]
    assert np.allclose(spec["data"][1]["y"], [0, 0.5, 0.25])  # the mean is that of the whole text


def test_the_caption_says_where_the_change_is_largest(made: LayerMovement) -> None:
    caption = layers_caption(made)

    assert "0 at the input, most in layer 1 (0.5000), and 0.2500 in the last of 2 layers" in caption
    assert "0.60 in the last layer" in caption
    assert f"cosine of {3 / np.sqrt(10):.3f}" in caption


def test_where_no_token_turned_no_layer_is_named() -> None:
    states = np.ones((3, 4, 2), np.float32)

    assert "No token turned" in layers_caption(measure_layers(states, 2 * states, np.full(3, 0.1)))


@pytest.mark.parametrize(
    ("change", "cosine"), [(embviz.ShiftPositions(50), "0.842"), (embviz.SwapSegments(), "0.997")]
)
def test_the_sentence_cosine_is_that_of_the_facts(change: embviz.ShiftPositions, cosine: str) -> None:
    """science.md §5 and §3.7."""
    recipe = embviz.Recipe("The bank raised interest rates.", "We sat on the river bank.", what_if=(change,))

    assert f"a cosine of {cosine} to the one before" in layers_caption(
        through_encoder(embviz.analyze(recipe))
    )


def test_a_shift_stays_level_with_depth_and_another_order_grows() -> None:
    """science.md §3.6: the ranges of four pairs; a shift by one in layer 3, .061 to .096, reversed .25 to .35."""
    pair = ("The bank raised interest rates.", "We sat on the river bank.")
    for change, low, high in (
        (embviz.ShiftPositions(1), 0.061, 0.096),
        (embviz.ReversePositions(), 0.2, 0.35),
    ):
        analysis = embviz.analyze(embviz.Recipe(*pair, what_if=(change,)))
        mean = layers_spec(through_encoder(analysis), analysis.after.tokens)["data"][1]["y"]
        assert low <= mean[3] <= high


def test_plotly_takes_the_figure_as_it_is(made: LayerMovement) -> None:
    figure = layers(made, TOKENS)

    assert [trace.type for trace in figure.data] == ["scatter", "scatter", "heatmap"]
    assert re.search("different texts", figure.data[0].name)

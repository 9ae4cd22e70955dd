"""The map: arrows that end on the sum, axes that say what they show, colours that mean what was chosen."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import embviz
from embviz.analysis import Analysis
from embviz.embedding.projection import fit_projection
from embviz.figures import normalized_pca, normalized_spec, pca, pca_spec
from embviz.figures.style import COLORS, SEGMENT_COLORS, Spec

PAIR = embviz.Recipe("The bank raised interest rates.", "We sat on the river bank.")


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return embviz.analyze(PAIR)


def trace_of(spec: Spec, role: str, mode: str = "markers") -> dict[str, Any]:
    """The points, or with "lines" the arrows, of a role."""
    found = [trace for trace in spec["data"] if trace["meta"] == role and trace["mode"].startswith(mode)]
    assert len(found) == 1
    return dict(found[0])


def points_of(trace: dict[str, Any]) -> NDArray[np.float64]:
    return np.stack([np.asarray(trace[axis], np.float64) for axis in "xyz" if axis in trace], axis=1)


def expected(analysis: Analysis, rows: NDArray[np.float32], count: int = 2) -> NDArray[np.float64]:
    """Where a singular value decomposition of the drawn sums puts the drawn rows, up to the sign of an axis."""
    fitted = analysis.after.summed[analysis.drawn].astype(np.float64)
    _, _, axes = np.linalg.svd(fitted - fitted.mean(axis=0), full_matrices=False)
    places: NDArray[np.float64] = (rows[analysis.drawn] - fitted.mean(axis=0)) @ axes[:count].T
    return places


@pytest.mark.parametrize("components", [(1, 2), (1, 2, 3), (2, 4)])
@pytest.mark.parametrize("fit", ["input", "parts", "positions"])
def test_the_arrows_end_on_the_points_of_the_sum(components: tuple[int, ...], fit: Any) -> None:
    spec = pca_spec(embviz.analyze(replace(PAIR, pca_components=components, pca_fit=fit)))
    token, segment, position = (
        points_of(trace_of(spec, "token")),
        points_of(trace_of(spec, "segment", "lines")),
        points_of(trace_of(spec, "position", "lines")),
    )

    assert token.shape[1] == len(components)
    assert np.array_equal(segment[0::3], token)
    assert np.array_equal(position[0::3], segment[1::3])
    assert np.allclose(position[1::3], points_of(trace_of(spec, "summed")), atol=1e-5)
    assert np.isnan(segment[2::3]).all()
    assert np.isnan(position[2::3]).all()


def test_points_lie_where_a_singular_value_decomposition_puts_them(analysis: Analysis) -> None:
    spec = pca_spec(analysis)

    for role in ("token", "summed"):
        places, drawn = expected(analysis, getattr(analysis.after, role)), points_of(trace_of(spec, role))
        assert np.allclose(np.abs(drawn), np.abs(places), atol=1e-4)


def test_an_axis_says_which_share_of_the_variance_it_shows(analysis: Analysis) -> None:
    sums = analysis.after.summed[analysis.drawn].astype(np.float64)
    values = np.linalg.svd(sums - sums.mean(axis=0), compute_uv=False) ** 2
    layout = pca_spec(analysis)["layout"]

    for number, axis in enumerate(("xaxis", "yaxis")):
        share = f"{values[number] / values.sum():.0%}"
        assert layout[axis]["title"]["text"] == f"PC{number + 1} ({share})"


def test_both_axes_have_one_unit(analysis: Analysis) -> None:
    """Otherwise distances on the map would not be distances."""
    axis = pca_spec(analysis)["layout"]["yaxis"]

    assert (axis["scaleanchor"], axis["scaleratio"]) == ("x", 1)


def test_special_tokens_are_drawn_only_where_they_are_asked_for(analysis: Analysis) -> None:
    length = len(analysis.after)
    special = np.flatnonzero(analysis.after.special_tokens_mask).tolist()
    asked = pca_spec(embviz.analyze(replace(PAIR, special_tokens=True)))

    assert trace_of(pca_spec(analysis), "summed")["customdata"] == [
        i for i in range(length) if i not in special
    ]
    assert trace_of(asked, "summed")["customdata"] == list(range(length))


def test_equal_token_vectors_are_counted_at_the_first_of_them(analysis: Analysis) -> None:
    """“the” and “bank” stand there twice, each on one point."""
    trace = trace_of(pca_spec(analysis), "token")
    pieces = [analysis.after.tokens[i] for i in trace["customdata"]]
    counted = {pieces[i] for i, label in enumerate(trace["text"]) if label}

    assert counted == {piece for piece in pieces if pieces.count(piece) > 1} == {"the", "bank", "."}
    assert [label for label in trace["text"] if label] == ["×2", "×2", "×2"]


def test_by_segment_a_point_has_the_colour_and_the_fill_of_its_segment() -> None:
    analysis = embviz.analyze(replace(PAIR, color_by="segment"))
    marker = trace_of(pca_spec(analysis), "summed")["marker"]
    segments = analysis.after.token_type_ids[analysis.drawn].tolist()

    assert set(segments) == {0, 1}
    assert marker["color"] == [SEGMENT_COLORS[segment] for segment in segments]
    assert [symbol.endswith("-open") for symbol in marker["symbol"]] == [segment == 1 for segment in segments]


def test_by_segment_the_legend_names_each_segment_that_is_drawn() -> None:
    for recipe, count in ((PAIR, 2), (embviz.Recipe("my dog is cute"), 1)):
        spec = pca_spec(embviz.analyze(replace(recipe, color_by="segment")))
        assert [trace["name"] for trace in spec["data"] if trace["meta"] == "legend"] == [
            f"segment {i}" for i in range(count)
        ]


def test_by_position_a_point_has_the_number_of_its_position() -> None:
    analysis = embviz.analyze(replace(PAIR, color_by="position"))
    marker = trace_of(pca_spec(analysis), "summed")["marker"]

    assert marker["color"] == np.flatnonzero(analysis.drawn).tolist()
    assert marker["showscale"]


def test_by_component_a_point_has_the_colour_of_its_part(analysis: Analysis) -> None:
    spec = pca_spec(analysis)

    assert trace_of(spec, "token")["marker"]["color"] == COLORS["token"]
    assert trace_of(spec, "summed")["marker"]["color"] == COLORS["summed"]
    assert trace_of(spec, "position", "lines")["line"]["color"] == COLORS["position"]


def test_three_axes_are_drawn_where_three_have_something_to_show() -> None:
    spec = pca_spec(embviz.analyze(replace(PAIR, pca_components=(1, 2, 3))))

    assert {trace["type"] for trace in spec["data"]} == {"scatter3d"}
    assert spec["layout"]["scene"]["zaxis"]["title"]["text"].startswith("PC3 (")


def test_two_axes_are_drawn_where_a_third_has_nothing_to_show() -> None:
    """Three points lie on a plane."""
    analysis = embviz.analyze(embviz.Recipe("the dog bites", pca_components=(1, 2, 3)))
    spec = pca_spec(analysis)

    assert analysis.drawn.sum() == 3
    assert {trace["type"] for trace in spec["data"]} == {"scatter"}
    assert "scene" not in spec["layout"]
    assert len(points_of(trace_of(spec, "summed"))) == 3


def test_a_single_point_stands_at_the_origin_of_axes_that_are_not_defined() -> None:
    spec = pca_spec(embviz.analyze(embviz.Recipe("dog")))

    assert points_of(trace_of(spec, "summed")).tolist() == [[0, 0]]
    assert spec["layout"]["xaxis"]["title"]["text"] == "PC1 (not defined)"


def test_a_part_that_is_not_added_has_no_arrow_and_the_others_still_end_on_the_sum(
    analysis: Analysis,
) -> None:
    d = analysis.after
    assert d.position is not None
    after = replace(d, segment=None, summed=d.token + d.position)
    projection = fit_projection(after.summed[analysis.drawn])
    spec = pca_spec(replace(analysis, after=after, projection=projection))

    assert not [trace for trace in spec["data"] if trace["meta"] == "segment"]
    tips = points_of(trace_of(spec, "position", "lines"))[1::3]
    assert np.allclose(tips, points_of(trace_of(spec, "summed")), atol=1e-5)


def test_the_results_of_the_layer_norm_have_points_and_no_arrows(analysis: Analysis) -> None:
    spec = normalized_spec(analysis)

    assert not [trace for trace in spec["data"] if trace["mode"].startswith("lines")]
    assert len(points_of(trace_of(spec, "normalized"))) == analysis.drawn.sum()


def test_without_a_layer_norm_only_the_empty_ring_is_left(analysis: Analysis) -> None:
    spec = normalized_spec(replace(analysis, after=replace(analysis.after, normalized=None)))

    assert [trace["meta"] for trace in spec["data"]] == ["selection"]


def test_a_hover_says_how_much_of_a_vector_is_not_on_the_plane(analysis: Analysis) -> None:
    d = analysis.after
    sums = d.summed[analysis.drawn].astype(np.float64)
    lengths = ((sums - sums.mean(axis=0)) ** 2).sum(axis=1)
    seen = (expected(analysis, d.summed) ** 2).sum(axis=1)
    hovers = trace_of(pca_spec(analysis), "summed")["hovertext"]

    for hover, share in zip(hovers, 1 - seen / lengths, strict=True):
        said = float(hover.rsplit("<br>", 1)[1].split("%")[0])
        assert math.isclose(said, 100 * share, abs_tol=0.51)


def test_a_hostile_piece_is_text_in_hovers_and_labels() -> None:
    spec = pca_spec(embviz.analyze(embviz.Recipe("< b > $ & x")))
    points = trace_of(spec, "summed")

    for words in (*points["text"], *points["hovertext"]):
        rest = words
        for markup in ("<sub>", "</sub>", "<b>", "</b>", "<br>"):
            rest = rest.replace(markup, "")
        assert not set(rest) & set("<>$")


def test_plotly_takes_the_figures_as_they_are() -> None:
    for components in ((1, 2), (1, 2, 3)):
        for color_by in ("component", "segment", "position"):
            recipe = replace(PAIR, pca_components=components, color_by=color_by)
            drawn = embviz.analyze(recipe)
            assert pca(drawn).data
            assert normalized_pca(drawn).data

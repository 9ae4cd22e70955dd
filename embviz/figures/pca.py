"""The map: token → + segment → + position, tip to tail in one PCA; the LayerNorm's results in their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.projection import Projection
from embviz.figures.drawable import Drawable
from embviz.figures.labels import place_labels
from embviz.figures.style import COLORS, MOVED, SEGMENT_COLORS, SEGMENT_SYMBOLS, Spec, escape_label
from embviz.i18n import text

Points = NDArray[np.float64]
Trace = dict[str, Any]


def shown_components(analysis: Drawable, projection: Projection) -> tuple[int, ...]:
    """The principal components on the axes, from 0; two where a third has nothing to show."""
    shown = tuple(component - 1 for component in analysis.recipe.pca_components)
    return shown if len(shown) == 2 or projection.explained_variance_ratio[shown[2]] > 0 else shown[:2]


def axis_titles(projection: Projection, shown: Sequence[int]) -> list[str]:
    """`PC1 (23 %)`, the share of the variance of the fitted vectors."""
    if not projection.defined:
        return [text("figure.axis_undefined", number=component + 1) for component in shown]
    shares = projection.explained_variance_ratio
    return [text("figure.axis", number=component + 1, share=shares[component]) for component in shown]


def pca_spec(analysis: Drawable) -> Spec:
    """Token, + segment and + position of each drawn token as points and arrows in one basis."""
    d = analysis.after
    plane = _Plane(analysis, analysis.projection)
    points = {role: plane.coordinates(vectors) for role, vectors in d.stages().items()}
    traces = [_arrows(role, points[start], points[role]) for start, role in pairwise(points)]
    repeats = _repeats(d.token[plane.drawn])
    traces.append({**plane.points("token", d.token), "text": repeats, "textposition": "bottom center"})
    traces += _moves(plane, "summed", analysis.before.summed, d.summed)
    traces.append({**plane.points("summed", d.summed), **plane.labels(plane.coordinates(d.summed))})
    return _figure([*traces, *_segment_legend(analysis, plane)], plane.titles)


def normalized_spec(analysis: Drawable) -> Spec:
    """The LayerNorm's results as points in their own basis: LayerNorm is not a sum and has no arrows.

    Empty where the model has no LayerNorm here.
    """
    rows = analysis.after.normalized
    plane = _Plane(analysis, analysis.normalized_projection)
    if rows is None:
        return _figure([], plane.titles)
    points = {**plane.points("normalized", rows), **plane.labels(plane.coordinates(rows))}
    moves = _moves(plane, "normalized", analysis.before.normalized, rows)
    return _figure([*moves, points, *_segment_legend(analysis, plane)], plane.titles)


def _moves(
    plane: _Plane, role: str, before: NDArray[np.float32] | None, after: NDArray[np.float32]
) -> list[Trace]:
    """Where the points of a what-if were before, hollow, and an arrow from there; nothing where all stayed."""
    if before is None or before is after or np.array_equal(before[plane.drawn], after[plane.drawn]):
        return []
    tails = plane.coordinates(before)
    arrows = _arrows("moved", tails, plane.coordinates(after))
    flat = tails.shape[1] == 2
    hollow = {
        "size": 9 if flat else 5,
        "symbol": "square-open",
        "color": COLORS[role],
        "line": {"width": 1.6},
    }
    ghosts = {
        **_trace("before", tails.astype(np.float32)), "mode": "markers", "hoverinfo": "skip", "marker": hollow,
        "name": text("figure.point_before", part=text(f"part.{role}")),
    }  # fmt: skip
    return [{**arrows, "name": text("figure.moved")}, ghosts]


class _Plane:
    """The drawn tokens on the chosen principal components of one projection."""

    def __init__(self, analysis: Drawable, projection: Projection) -> None:
        self.analysis, self.projection = analysis, projection
        self.shown = shown_components(analysis, projection)
        self.titles = axis_titles(projection, self.shown)
        self.drawn = np.flatnonzero(analysis.drawn)

    def coordinates(self, rows: NDArray[np.float32]) -> Points:
        """Where the drawn tokens' rows lie, `(n, 2 or 3)`."""
        return self.projection.transform(rows[self.drawn])[:, self.shown]

    def points(self, role: str, rows: NDArray[np.float32]) -> Trace:
        """The drawn tokens' rows as markers that know their token and say how much of them is not seen."""
        points = self.coordinates(rows)
        return {
            **_trace(role, points.astype(np.float32)),
            "mode": "markers+text",
            "name": text(f"part.{role}"),
            "customdata": self.drawn.tolist(),
            "hovertext": self._hover(role, rows),
            "hovertemplate": "%{hovertext}<extra></extra>",
            "marker": _marker(self.analysis, role, self.drawn, flat=points.shape[1] == 2),
        }

    def labels(self, points: Points) -> Trace:
        """The pieces at their points, placed beside each other; one that stands twice has its index."""
        tokens = self.analysis.after.tokens
        drawn = [tokens[i] for i in self.drawn]
        texts, places = place_labels(points[:, :2], [escape_label(piece) for piece in drawn])
        named = [
            label_beside(f"{label} <sub>{i}</sub>" if label and drawn.count(piece) > 1 else label, place)
            for i, piece, label, place in zip(self.drawn, drawn, texts, places, strict=True)
        ]
        return {"text": named, "textposition": places}

    def _hover(self, role: str, rows: NDArray[np.float32]) -> list[str]:
        tokens, what = self.analysis.after.tokens, text(f"part.{role}")
        off = self.projection.off_plane(rows[self.drawn], self.shown)
        return [
            text("figure.map_hover", piece=escape_label(tokens[i]), index=i, part=what, off=share)
            for i, share in zip(self.drawn.tolist(), off, strict=True)
        ]


def _repeats(vectors: NDArray[np.float32]) -> list[str]:
    """`×3` at the first of three equal token vectors, which lie on one point."""
    values = [vector.tobytes() for vector in vectors]
    return [
        f"×{values.count(value)}" if values.count(value) > 1 and values.index(value) == i else ""
        for i, value in enumerate(values)
    ]


def label_beside(label: str, place: str) -> str:
    """A label that leaves room for the ring of a selected point, which would cover its first letter."""
    if not label or "middle" not in place:
        return label
    return f"\u2002{label}" if place.endswith("right") else f"{label}\u2002"


def _arrows(role: str, tails: Points, tips: Points) -> Trace:
    """One trace for all arrows of a component: tail, tip, gap, …; in 3-D plain lines."""
    n, axes = tails.shape
    path = np.full((3 * n, axes), np.nan, np.float32)
    path[0::3], path[1::3] = tails, tips
    trace = _trace(role, path)
    name = "" if role == "moved" else f"+ {text(f'part.{role}')}"
    trace |= {"mode": "lines", "hoverinfo": "skip", "name": name}
    color = COLORS.get(role, MOVED)
    trace["line"] = {"color": color, "width": 4 if axes == 3 else 1.6}
    if axes == 2:
        heads = np.zeros(3 * n, np.float32)
        heads[1::3] = 10
        marker = {"symbol": "arrow", "angleref": "previous", "size": heads, "color": color}
        trace |= {"mode": "lines+markers", "marker": {**marker, "line": {"width": 0}}}
    return trace


def _marker(analysis: Drawable, role: str, drawn: NDArray[np.intp], flat: bool) -> dict[str, Any]:
    d, color_by = analysis.after, analysis.recipe.color_by
    marker: dict[str, Any] = {"size": 9 if flat else 5, "symbol": "circle" if role == "token" else "square"}
    if color_by == "segment":
        segments = [int(segment) % len(SEGMENT_COLORS) for segment in d.token_type_ids[drawn]]
        marker["color"] = [SEGMENT_COLORS[segment] for segment in segments]
        marker["symbol"] = [marker["symbol"] + SEGMENT_SYMBOLS[segment] for segment in segments]
    elif color_by == "position":
        bar = {"title": {"text": text("part.position")}, "thickness": 10, "len": 0.6}
        scale = {"colorscale": "Cividis", "showscale": role != "token", "colorbar": bar}
        marker |= {"color": d.position_ids[drawn].tolist(), **scale}
    else:
        marker["color"] = COLORS[role]
    return marker


def _segment_legend(analysis: Drawable, plane: _Plane) -> list[Trace]:
    """Traces without points that say in the legend which colour and fill is which segment."""
    if analysis.recipe.color_by != "segment":
        return []
    nothing = np.full((1, len(plane.shown)), np.nan, np.float32)
    segments = sorted({int(segment) for segment in analysis.after.token_type_ids[plane.drawn]})
    return [
        {
            **_trace("legend", nothing),
            "mode": "markers",
            "name": text("figure.segment", segment=segment),
            "marker": {
                "symbol": "circle" + SEGMENT_SYMBOLS[segment % 2],
                "color": SEGMENT_COLORS[segment % 2],
                "size": 9,
            },
        }
        for segment in segments
    ]


def _trace(role: str, points: NDArray[np.float32]) -> Trace:
    """A scatter trace; `meta` names its role, by which the page recolours it."""
    flat = points.shape[1] == 2
    axes = dict(zip("xyz", points.T, strict=False))
    return {"type": "scatter" if flat else "scatter3d", "meta": role, **axes}


def _figure(traces: list[Trace], titles: list[str]) -> Spec:
    """Traces and the empty ring that the page moves to the selected token."""
    flat = len(titles) == 2
    ring = _trace("selection", np.empty((0, len(titles)), np.float32))
    ring |= {"mode": "markers", "hoverinfo": "skip", "showlegend": False}
    ring["marker"] = {
        "symbol": "circle-open",
        "size": 18 if flat else 12,
        "line": {"width": 2.5},
        "color": "#111827",
    }
    axes = {
        f"{letter}axis": {"title": {"text": title}, "zeroline": False}
        for letter, title in zip("xyz", titles, strict=False)
    }
    layout: dict[str, Any] = {
        "template": "none",
        "hovermode": "closest",
        "margin": {"l": 56, "r": 12, "t": 8, "b": 48},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    if flat:
        axes["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
        layout |= axes
    else:
        layout["scene"] = {**axes, "aspectmode": "data"}
        layout["margin"] = {"l": 0, "r": 0, "t": 8, "b": 0}
    return {"data": [*traces, ring], "layout": layout}

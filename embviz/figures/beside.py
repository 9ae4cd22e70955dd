"""The map of two inputs side by side: filled markers for the one, open ones for the other, and the sentence below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from embviz.embedding.decomposition import Floats, Part
from embviz.figures.labels import place_labels
from embviz.figures.pca import axis_titles, label_beside
from embviz.figures.style import COLORS, Spec, escape_label
from embviz.i18n import DEFAULT_LANGUAGE, text

if TYPE_CHECKING:
    from embviz.comparison import Comparison, Side

SIDES = ("this", "other")
ROOM = 0.14
"""Of the spread of the points, on either side of them."""
SYMBOLS = {"this": "square", "other": "square-open"}


def beside_specs(comparison: Comparison, part: Part = "summed") -> tuple[Spec, ...]:
    """One spec in the common basis, or one for each side in its own; a trace's `meta` is its side.

    Args:
        comparison: of what.
        part: "summed" or "normalized".
    """
    sides = list(zip(SIDES, (comparison.this, comparison.other), strict=True))
    if not comparison.common:
        return tuple(_spec(comparison, [one], part) for one in sides)
    return (_spec(comparison, sides, part),)


def points_of(comparison: Comparison, side: Side, part: Part) -> Floats:
    """Where every token of a side stands on its map, `(seq_len, 2)`; nothing where it lacks the part."""
    rows = side.analysis.after.part(part)
    if rows is None:
        return np.zeros((0, 2), np.float32)
    return side.projections[part].transform(rows)[:, _shown(comparison)].astype(np.float32)


def beside_caption(comparison: Comparison, language: str = DEFAULT_LANGUAGE) -> str:
    """What the two inputs have in common and what not, in numbers."""
    this, other = comparison.this, comparison.other
    here, there = this.analysis.after, other.analysis.after
    norms = {"norm": this.mean_norms["summed"], "other_norm": other.mean_norms["summed"]}
    if not comparison.common:
        names = {"this": this.analysis.model.name, "other": other.analysis.model.name}
        widths = {"width": here.summed.shape[1], "other_width": there.summed.shape[1]}
        return text("caption.beside_widths", language, **names, **widths, **norms)
    if here.tokens == there.tokens and _same(here.summed, there.summed) and _same(here.output, there.output):
        return text("caption.beside_equal", language)
    if not comparison.same_model:
        added = {"added": _added(this), "other_added": _added(other)}
        return text("caption.beside_models", language, **added, **norms, between=comparison.between)
    cosines = comparison.cosines["summed"]
    if not np.isfinite(cosines).any():
        return text("caption.beside_apart", language, between=comparison.between)
    least = int(np.nanargmin(cosines))
    place, other_place = comparison.pairs[least]
    values: dict[str, Any] = {
        "count": len(comparison.pairs), "summed": float(np.nanmean(cosines)), "piece": here.tokens[place],
        "place": place, "other_place": other_place, "least": float(cosines[least]),
    }  # fmt: skip
    if "normalized" not in comparison.cosines:
        return text("caption.beside_pairs_sum", language, **values)
    return text(
        "caption.beside_pairs",
        language,
        normalized=float(np.nanmean(comparison.cosines["normalized"])),
        **values,
    )


def _added(side: Side) -> float:
    """The share of the variance of the sum that is not the words' own, overlaps left out."""
    return sum(side.variance_shares.get(name, 0.0) for name in ("segment", "position"))


def _same(a: Floats, b: Floats) -> bool:
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def _shown(comparison: Comparison) -> tuple[int, int]:
    """The components on the axes, from 0; always two, and those of the first Recipe."""
    first, second = comparison.this.analysis.recipe.pca_components[:2]
    return first - 1, second - 1


def _spec(comparison: Comparison, sides: list[tuple[str, Side]], part: Part) -> Spec:
    traces = [_points(comparison, name, part) for name, _ in sides]
    _label(traces, [side for _, side in sides])
    titles = axis_titles(sides[0][1].projections[part], _shown(comparison))
    axes: dict[str, Any] = {
        f"{letter}axis": {"title": {"text": title}, "zeroline": False}
        for letter, title in zip("xy", titles, strict=True)
    }
    axes["yaxis"] |= {"scaleanchor": "x", "scaleratio": 1}
    for letter in "xy":
        axes[f"{letter}axis"] |= _range(np.concatenate([trace[letter] for trace in traces]))
    layout: dict[str, Any] = {
        "template": "none", "hovermode": "closest", "margin": {"l": 56, "r": 12, "t": 8, "b": 48},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}, "showlegend": True, **axes,
    }  # fmt: skip
    lines = _joined(comparison, part) if comparison.common else []
    return {"data": [*lines, *traces], "layout": layout}


def _points(comparison: Comparison, name: str, part: Part) -> dict[str, Any]:
    side = comparison.this if name == "this" else comparison.other
    d, drawn = side.analysis.after, np.flatnonzero(side.analysis.drawn)
    points = points_of(comparison, side, part)
    if not len(points):
        drawn = drawn[:0]
    rows = d.part(part)
    off = np.zeros(0) if rows is None else side.projections[part].off_plane(rows[drawn], _shown(comparison))
    label = text(f"beside.{name}")
    return {
        "type": "scatter",
        "meta": name,
        "name": label,
        "x": points[drawn, 0],
        "y": points[drawn, 1],
        "mode": "markers+text",
        "customdata": drawn.tolist(),
        "hovertext": [
            text(
                "figure.beside_hover", piece=escape_label(d.tokens[i]), index=i, side=label,
                part=text(f"part.{part}"), off=share,
            )
            for i, share in zip(drawn.tolist(), off, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "size": 9, "symbol": SYMBOLS[name], "color": COLORS[part],
            "line": {"width": 1.8 if name == "other" else 0},
        },
    }  # fmt: skip


def _label(traces: list[dict[str, Any]], sides: list[Side]) -> None:
    """Names beside the points of all traces at once, so that those of one side do not lie on the other's."""
    pieces = [
        escape_label(side.analysis.after.tokens[i])
        for side, trace in zip(sides, traces, strict=True)
        for i in trace["customdata"]
    ]
    points = np.concatenate([np.stack([trace["x"], trace["y"]], axis=1) for trace in traces])
    texts, places = place_labels(points, pieces, crowded=0)
    repeated = _repeated(sides, traces)
    labels = [
        label_beside(f"{label} <sub>{i}</sub>" if label and i is not None else label, place)
        for label, i, place in zip(texts, repeated, places, strict=True)
    ]
    start = 0
    for trace in traces:
        stop = start + len(trace["customdata"])
        trace["text"], trace["textposition"] = labels[start:stop], places[start:stop]
        start = stop


def _range(values: Floats) -> dict[str, Any]:
    """Room at both ends, where the names of the outermost points stand; Plotly's own where nothing is spread."""
    if not values.size or not np.ptp(values):
        return {}
    room = ROOM * float(np.ptp(values))
    return {"range": [float(values.min()) - room, float(values.max()) + room]}


def _repeated(sides: list[Side], traces: list[dict[str, Any]]) -> list[int | None]:
    """For each drawn token its index where its piece stands twice on its side, else None."""
    indices: list[int | None] = []
    for side, trace in zip(sides, traces, strict=True):
        pieces = [side.analysis.after.tokens[i] for i in trace["customdata"]]
        indices += [
            i if pieces.count(piece) > 1 else None
            for i, piece in zip(trace["customdata"], pieces, strict=True)
        ]
    return indices


def _joined(comparison: Comparison, part: Part) -> list[dict[str, Any]]:
    """Thin lines from a token here to the same token there, where both are drawn."""
    this, other = comparison.this, comparison.other
    here, there = points_of(comparison, this, part), points_of(comparison, other, part)
    drawn = [
        (a, b)
        for a, b in comparison.pairs
        if this.analysis.drawn[a] and other.analysis.drawn[b] and len(here) and len(there)
    ]
    if not drawn:
        return []
    path = np.full((3 * len(drawn), 2), np.nan, np.float32)
    path[0::3], path[1::3] = here[[a for a, _ in drawn]], there[[b for _, b in drawn]]
    line = {"color": "#8C8C8C", "width": 1}
    trace = {"type": "scatter", "meta": "pairs", "mode": "lines", "hoverinfo": "skip", "line": line}
    return [{**trace, "name": text("figure.beside_pairs"), "x": path[:, 0], "y": path[:, 1]}]

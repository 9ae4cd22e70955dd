"""What a what-if moved: bars of how far each token turned, the changed numbers, and the segment lens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.movement import STAGES, Movement, SegmentLens, Stage, StageMovement
from embviz.figures.drawable import Compared
from embviz.figures.heatmap import MANY_ROWS, Panel, color_axis, panel_title, stacked_spec
from embviz.figures.style import (
    COLORS,
    SEGMENT_COLORS,
    SEGMENT_SYMBOLS,
    Spec,
    color_limit,
    escape_label,
)
from embviz.i18n import text

ROW, SMALL_ROW = 20, 14
"""Height of a token's row in pixels, and where there are many."""
COLUMN_GAP = 0.07
"""Between two panels that stand side by side, as a share of the width."""
LABEL_ROOM = 1.28
"""How much longer than the longest bar the axis is: its number stands beside it."""
OUTPUT_COLOR = "#5D6675"
ROUNDING = 1e-7
"""A cosine distance below this is none: float32 vectors of one direction differ by as much."""
SYMBOLS = ("circle", "square")
"""Of segment 0 and segment 1, so that colour is not alone."""


def shown_stages(moved: Movement) -> dict[Stage, StageMovement]:
    """The stages worth a panel of their own: the output only where it moved in another way than the others."""
    found = {name: stage for name in STAGES if (stage := moved.stage(name)) is not None}
    others = [stage.delta for name, stage in found.items() if name != "output"]
    if any(np.array_equal(moved.output.delta, delta, equal_nan=True) for delta in others):
        del found["output"]
    return found


def bars_spec(analysis: Compared, start: int = 0, stop: int | None = None) -> Spec:
    """Per token the cosine distance before to after, one panel a stage side by side, all on one scale.

    Args:
        analysis: of a what-if.
        start: the first token.
        stop: the token after the last; None means all.
    """
    if analysis.moved is None:
        return message_spec(text("changes.nothing"))
    d = analysis.after
    stop = len(d) if stop is None else min(stop, len(d))
    stages = shown_stages(analysis.moved)
    longest = max(float(np.nanmax(stage.cosine_distance, initial=0.0)) for stage in stages.values())
    spec: Spec = {"data": [], "layout": row_layout(d.tokens, (start, stop))}
    width = (1 - COLUMN_GAP * (len(stages) - 1)) / len(stages)
    for column, (name, stage) in enumerate(stages.items()):
        suffix = "" if column == 0 else str(column + 1)
        left = column * (width + COLUMN_GAP)
        values = stage.cosine_distance[start:stop]
        spec["data"].append(
            {
                "type": "bar", "orientation": "h", "meta": name, "name": text(f"part.{name}"),
                "x": values.astype(np.float32), "y": np.arange(start, stop), "xaxis": f"x{suffix}",
                "marker": {"color": COLORS.get(name, OUTPUT_COLOR)}, "cliponaxis": False,
                "text": [distance_text(value) for value in values.tolist()], "textposition": "outside",
                "constraintext": "none", "textfont": {"size": 12 if stop - start <= MANY_ROWS else 10},
                "hovertemplate": text("figure.distance_hover"),
            }
        )  # fmt: skip
        spec["layout"][f"xaxis{suffix}"] = {
            "domain": [left, left + width], "range": [0, (longest or 1.0) * LABEL_ROOM], "anchor": "y",
            "nticks": 4, "zeroline": True, "title": {"text": text("figure.distance")},
        }  # fmt: skip
        title = text(
            "figure.stage_mean", part=text(f"part.{name}"), mean=distance_text(stage.mean_cosine_distance)
        )
        spec["layout"]["annotations"].append({**panel_title(title, 1), "x": left, "align": "left"})
    spec["layout"]["showlegend"] = False
    spec["layout"]["bargap"] = 0.35
    return spec


def delta_spec(analysis: Compared, start: int = 0, stop: int | None = None) -> Spec:
    """Token × dimension of after − before, one panel a stage, each with a zero-centred scale of its own.

    Args:
        analysis: of a what-if.
        start: the first token.
        stop: the token after the last; None means all.
    """
    if analysis.moved is None:
        return message_spec(text("changes.nothing"))
    stages = delta_stages(analysis.moved)
    names = [f"coloraxis{'' if row == 0 else row + 1}" for row in range(len(stages))]
    height = 1 / len(stages)
    scales = {
        axis: color_axis(
            color_limit([stage.delta]), f"Δ {text(f'part.{name}')}", 0.8 * height, 1 - (row + 0.5) * height
        )
        for row, (axis, (name, stage)) in enumerate(zip(names, stages.items(), strict=True))
    }
    panels = [
        Panel(name, stage.delta, axis) for axis, (name, stage) in zip(names, stages.items(), strict=True)
    ]
    return stacked_spec(panels, scales, analysis.after.tokens, (start, stop))


def delta_stages(moved: Movement) -> dict[Stage, StageMovement]:
    """Of `shown_stages` those that changed and have the dimensions of the sum: a projection may lead to others."""
    width = moved.summed.delta.shape[1]
    fitting = {name: stage for name, stage in shown_stages(moved).items() if stage.delta.shape[1] == width}
    return {name: stage for name, stage in fitting.items() if len(stage.dimensions)} or fitting


def lens_spec(analysis: Compared, start: int = 0, stop: int | None = None) -> Spec:
    """Each token's sum on the line from segment 0 to segment 1: an open mark before, a filled one after.

    Args:
        analysis: of a what-if, or of none: then both marks lie on each other.
        start: the first token.
        stop: the token after the last; None means all.
    """
    before, after = analysis.lens_before, analysis.lens_after
    if before is None or after is None:
        return message_spec(text("caption.lens_none"))
    d = analysis.after
    stop = len(d) if stop is None else min(stop, len(d))
    rows = np.arange(start, stop)
    paths = np.full((3 * len(rows), 2), np.nan, np.float32)
    paths[0::3, 0], paths[1::3, 0] = before.projection[rows], after.projection[rows]
    paths[0::3, 1] = paths[1::3, 1] = rows
    line = {
        "type": "scatter", "mode": "lines", "meta": "path", "x": paths[:, 0], "y": paths[:, 1],
        "line": {"color": OUTPUT_COLOR, "width": 1}, "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip
    layout = row_layout(d.tokens, (start, stop), legend=True)
    layout["xaxis"] = {"title": {"text": text("figure.lens_axis")}, "zeroline": False, "nticks": 6}
    marks = [_marks("before", before, rows), _marks("after", after, rows)]
    return {"data": [line, *marks, *_legend(before, after)], "layout": layout}


def _marks(when: str, lens: SegmentLens, rows: NDArray[np.int64]) -> dict[str, Any]:
    is_open = when == "before"
    segments = [int(segment) % len(SYMBOLS) for segment in lens.token_type_ids[rows]]
    return {
        "type": "scatter", "mode": "markers", "meta": when, "showlegend": False,
        "x": lens.projection[rows].astype(np.float32), "y": rows,
        "marker": {
            "symbol": [SYMBOLS[segment] + SEGMENT_SYMBOLS[is_open] for segment in segments],
            "color": [SEGMENT_COLORS[segment] for segment in segments],
            "size": 13 if is_open else 8, "line": {"width": 2 if is_open else 0},
        },
        "hovertemplate": text("figure.lens_hover", when=text(f"figure.{when}")),
    }  # fmt: skip


def _legend(*lenses: SegmentLens) -> Iterator[dict[str, Any]]:
    """Traces without points: which colour and shape is which segment, and which mark is before."""
    nothing = np.full(1, np.nan, np.float32)
    empty = {"type": "scatter", "mode": "markers", "meta": "legend", "x": nothing, "y": nothing}
    for segment in sorted({int(one) for lens in lenses for one in lens.token_type_ids}):
        mark = {"symbol": SYMBOLS[segment % 2], "color": SEGMENT_COLORS[segment % 2], "size": 9}
        yield {**empty, "name": text("figure.segment", segment=segment), "marker": mark}
    for when in ("before", "after"):
        mark = {"symbol": f"circle{SEGMENT_SYMBOLS[when == 'before']}", "color": OUTPUT_COLOR, "size": 9}
        yield {**empty, "meta": "times", "name": text(f"figure.{when}"), "marker": mark}


def row_layout(tokens: tuple[str, ...], window: tuple[int, int], *, legend: bool = False) -> dict[str, Any]:
    """A layout with one row a token, named by piece and index; whatever lies in a row belongs to its token."""
    start, stop = window
    rows = stop - start
    top = 34 if legend else 42
    names = [f"{escape_label(tokens[i])} · {i}" for i in range(start, stop)]
    layout: dict[str, Any] = {
        "template": "none",
        "height": rows * (ROW if rows <= MANY_ROWS else SMALL_ROW) + top + 46,
        "margin": {"l": 96, "r": 12, "t": top, "b": 46},
        "hovermode": "y",
        "hoverdistance": -1,
        "yaxis": {
            "type": "linear", "range": [stop - 0.5, start - 0.5], "tickmode": "array",
            "tickvals": list(range(start, stop)), "ticktext": names, "showgrid": False, "zeroline": False,
        },
        "annotations": [],
    }  # fmt: skip
    if legend:
        layout["legend"] = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    return layout


def message_spec(sentence: str) -> Spec:
    """A figure with nothing to draw, which says why."""
    axis = {"visible": False}
    note = {"text": sentence, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
    layout = {"template": "none", "xaxis": axis, "yaxis": axis, "annotations": [note]}
    return {"data": [], "layout": layout}


def distance_text(value: float) -> str:
    """A cosine distance to read beside others: four decimals, a dash where there is none, 0 where it is rounding."""
    if np.isnan(value):
        return "–"
    return "0" if value < ROUNDING else f"{value:.4f}" if value >= 0.00005 else f"{value:.0e}"


def moved_span(stage: StageMovement) -> tuple[int, int]:
    """The token that turned least and the one that turned most, of those that have a distance."""
    order = np.argsort(
        np.where(np.isnan(stage.cosine_distance), np.inf, stage.cosine_distance), kind="stable"
    )
    counted = int(np.isfinite(stage.cosine_distance).sum())
    return int(order[0]), int(order[max(0, counted - 1)])

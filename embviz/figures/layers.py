"""What a change does in every layer: the mean of each with its yardstick, and tokens × layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embviz.embedding.layers import LayerMovement
from embviz.figures.changes import row_layout
from embviz.figures.heatmap import MANY_ROWS, panel_title
from embviz.figures.style import VIK, Spec
from embviz.i18n import text

LINE_HEIGHT, GAP, LONGEST_BAR = 130, 58, 260
"""Of the panel with the means, below it, and of the bar of colours, in pixels."""
MANY_LAYERS = 14
"""With more columns than this, numbers have no room in their cells."""
RISING = [[i / 8, f"rgb{color}"] for i, color in enumerate(VIK[8:])]
"""The upper half of the values' scale: a distance is never below zero."""
MEAN_COLOR, YARDSTICK_COLOR = "#1B1F24", "#5D6675"


def layers_spec(
    movement: LayerMovement, tokens: Sequence[str], start: int = 0, stop: int | None = None
) -> Spec:
    """Above, the mean cosine distance of each layer beside its yardstick; below, each token in each layer.

    The yardstick is 1 − the mean cosine of two tokens out of different texts: how far apart any two tokens are;
    without numbers it is left out.

    Args:
        movement: of a what-if.
        tokens: the pieces of all tokens.
        start: the first token that is drawn.
        stop: the token after the last; None means all.
    """
    stop = len(tokens) if stop is None else min(stop, len(tokens))
    layout = row_layout(tuple(tokens), (start, stop))
    top, bottom = layout["margin"]["t"], layout["margin"]["b"]
    rows = layout["height"] - top - bottom
    inner = LINE_HEIGHT + GAP + rows
    count = len(movement.mean_distances)
    columns = np.arange(count)
    names = [text("figure.layer_input"), *(str(layer) for layer in range(1, count))]
    yardstick = 1 - movement.random_cosines
    layout |= {
        "height": top + inner + bottom,
        "xaxis": {
            "tickvals": columns.tolist(), "ticktext": names, "range": [-0.5, count - 0.5], "anchor": "y",
            "showgrid": False, "zeroline": False, "title": {"text": text("figure.layer")},
        },
        "yaxis2": {
            "domain": [1 - LINE_HEIGHT / inner, 1], "anchor": "x", "nticks": 4, "rangemode": "tozero",
            "zeroline": False,
        },
        "coloraxis": {
            "colorscale": RISING, "cmin": 0, "cmax": _limit(movement),
            "colorbar": {"title": {"text": text("figure.distance")}, "thickness": 10, "y": rows / inner,
                         "yanchor": "top", "lenmode": "pixels", "len": min(rows, LONGEST_BAR)},
        },
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
    }  # fmt: skip
    layout["yaxis"]["domain"] = [0, rows / inner]
    layout["annotations"].append(panel_title(text("figure.layers_tokens"), rows / inner))
    small = stop - start <= MANY_ROWS and count <= MANY_LAYERS
    distances = movement.distances.T[start:stop].clip(0).astype(np.float32)
    has_yardstick = bool(np.isfinite(yardstick).any())
    line = {"type": "scatter", "mode": "lines+markers", "yaxis": "y2", "x": columns}
    return {
        "data": [
            *([{
                **line, "meta": "yardstick", "name": text("figure.yardstick"), "y": yardstick.astype(np.float32),
                "line": {"dash": "dot", "color": YARDSTICK_COLOR}, "marker": {"symbol": "diamond-open"},
                "hovertemplate": "%{y:.4f}<extra></extra>",
            }] if has_yardstick else []),
            {
                **line, "meta": "mean", "name": text("figure.layer_mean"),
                "y": movement.mean_distances.clip(0).astype(np.float32),
                "line": {"color": MEAN_COLOR}, "hovertemplate": "%{y:.4f}<extra></extra>",
            },
            {
                "type": "heatmap", "meta": "tokens", "z": distances, "y0": start, "dy": 1,
                "coloraxis": "coloraxis", "hovertemplate": text("figure.layers_hover"),
                **({"texttemplate": f"%{{z:.{_decimals(movement)}f}}"} if small else {}),
            },
        ],
        "layout": layout,
    }  # fmt: skip


def _limit(movement: LayerMovement) -> float:
    """The end of the colour range: the largest distance, and never so small that rounding gets colours."""
    return max(1e-6, float(np.nanmax(movement.distances, initial=0.0)))


def _decimals(movement: LayerMovement) -> int:
    """Three where two would make most numbers 0.00."""
    return 2 if _limit(movement) >= 0.1 else 3

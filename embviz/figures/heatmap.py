"""The heatmaps: token × dimension for each part, one zero-centred scale for parts and sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embviz.embedding.decomposition import ALL_PARTS, COMPONENTS, Floats
from embviz.figures.drawable import Drawable
from embviz.figures.style import COLORSCALE, Spec, color_limit, escape_label
from embviz.i18n import text

ROW_HEIGHT, SMALL_ROW_HEIGHT, PANEL_GAP = 12, 7, 34
MANY_ROWS = 32
"""With more rows than this, rows are small and not every token is named."""
MARGINS = (4, 44)
"""Above and below the panels, in pixels."""
MIN_PANEL = 64
MAX_TOKEN_TICKS = MANY_ROWS


@dataclass(frozen=True, eq=False)
class Panel:
    """One heatmap of a stack.

    Attributes:
        name: which part or stage it is.
        rows: the numbers of all tokens, `(seq_len, size)`.
        scale: its colour axis in the layout.
    """

    name: str
    rows: Floats
    scale: str


def heatmap_spec(analysis: Drawable, start: int = 0, stop: int | None = None) -> Spec:
    """One panel a part, all dimensions, one row a token; tokens are named by index, so that equal ones stay.

    Args:
        analysis: what is drawn.
        start: the first token.
        stop: the token after the last; None means all.
    """
    d = analysis.after
    panels = [
        Panel(name, array, "coloraxis2" if name == "normalized" else "coloraxis")
        for name in ALL_PARTS
        if (array := d.part(name)) is not None
    ]
    limit = color_limit([array for name in (*COMPONENTS, "summed") if (array := d.part(name)) is not None])
    scales = {"coloraxis": color_axis(limit, text("figure.parts_scale"), 0.79, 0.6)}
    if d.normalized is not None:
        scales["coloraxis2"] = color_axis(color_limit([d.normalized]), text("part.normalized"), 0.17, 0.085)
    return stacked_spec(panels, scales, d.tokens, (start, stop))


def stacked_spec(
    panels: Sequence[Panel],
    scales: dict[str, dict[str, Any]],
    tokens: Sequence[str],
    window: tuple[int, int | None],
) -> Spec:
    """Panels below each other over the same dimensions, the rows of a window of tokens in each.

    Args:
        panels: from top to bottom, at least one.
        scales: the colour axes of the layout by name.
        tokens: the pieces of all tokens.
        window: the first token, and the one after the last or None for all.
    """
    start, stop = window[0], len(tokens) if window[1] is None else min(window[1], len(tokens))
    rows = stop - start
    panel = max(MIN_PANEL, (ROW_HEIGHT if rows <= MANY_ROWS else SMALL_ROW_HEIGHT) * rows)
    height = len(panels) * (panel + PANEL_GAP)
    labels = [escape_label(piece) for piece in tokens[start:stop]]
    layout = _layout(panels[0].rows.shape[1], height + MARGINS[0] + MARGINS[1]) | scales
    spec: Spec = {"data": [], "layout": layout}
    for row, one in enumerate(panels):
        suffix = "" if row == 0 else str(row + 1)
        top = 1 - row * (panel + PANEL_GAP) / height - PANEL_GAP / height
        spec["data"].append(
            {
                "type": "heatmap",
                "meta": one.name,
                "name": text(f"part.{one.name}"),
                "z": one.rows[start:stop],
                "y0": start,
                "dy": 1,
                "yaxis": f"y{suffix}",
                "coloraxis": one.scale,
                "hovertemplate": text("figure.heatmap_hover"),
            }
        )
        layout[f"yaxis{suffix}"] = token_axis(labels, start, [top - panel / height, top])
        layout["annotations"].append(panel_title(text(f"part.{one.name}"), top))
    return spec


def _layout(width: int, height: int) -> dict[str, Any]:
    last = width - 1
    step = max(1, -(-(last + 1) // 16 // 8) * 8) if last >= 16 else 1
    ticks = [*range(0, last - step // 2, step), last]
    return {
        "template": "none",
        "height": height,
        "margin": {"l": 84, "r": 12, "t": MARGINS[0], "b": MARGINS[1]},
        "xaxis": {
            "title": {"text": text("figure.dimension")}, "tickvals": ticks, "showgrid": False, "zeroline": False,
            "anchor": "free", "position": 0,
        },
        "annotations": [],
    }  # fmt: skip


def color_axis(limit: float, title: str, length: float, y: float) -> dict[str, Any]:
    """A colour axis from −limit to +limit with zero in the middle, and where its bar stands."""
    bar = {"title": {"text": title}, "thickness": 10, "len": length, "y": y}
    return {"colorscale": COLORSCALE, "cmin": -limit, "cmax": limit, "cmid": 0, "colorbar": bar}


def token_axis(labels: list[str], start: int, domain: list[float]) -> dict[str, Any]:
    """Rows by index with the pieces as tick text: a category axis would merge equal pieces."""
    step = -(-len(labels) // MAX_TOKEN_TICKS)
    return {
        "type": "linear", "autorange": "reversed", "domain": [max(0.0, edge) for edge in domain],
        "tickmode": "array", "tickvals": list(range(start, start + len(labels), step)),
        "ticktext": labels[::step], "showgrid": False, "zeroline": False,
    }  # fmt: skip


def panel_title(title: str, top: float) -> dict[str, Any]:
    """The name of a panel, above its left corner."""
    return {
        "text": title, "xref": "paper", "yref": "paper", "x": 0, "y": top, "xanchor": "left",
        "yanchor": "bottom", "showarrow": False,
    }  # fmt: skip

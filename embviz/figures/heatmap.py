"""The heatmaps: token × dimension for each part, one zero-centred scale for parts and sum."""

from __future__ import annotations

from typing import Any

from embviz.embedding.decomposition import ALL_PARTS, COMPONENTS
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


def heatmap_spec(analysis: Drawable, start: int = 0, stop: int | None = None) -> Spec:
    """One panel a part, all dimensions, one row a token; tokens are named by index, so that equal ones stay.

    Args:
        analysis: what is drawn.
        start: the first token.
        stop: the token after the last; None means all.
    """
    d = analysis.after
    stop = len(d) if stop is None else min(stop, len(d))
    present = [(name, array) for name in ALL_PARTS if (array := d.part(name)) is not None]
    rows = stop - start
    panel = max(MIN_PANEL, (ROW_HEIGHT if rows <= MANY_ROWS else SMALL_ROW_HEIGHT) * rows)
    height = len(present) * (panel + PANEL_GAP)
    labels = [escape_label(piece) for piece in d.tokens[start:stop]]
    spec: Spec = {"data": [], "layout": _layout(analysis, height + MARGINS[0] + MARGINS[1])}
    for row, (name, array) in enumerate(present):
        suffix = "" if row == 0 else str(row + 1)
        top = 1 - row * (panel + PANEL_GAP) / height - PANEL_GAP / height
        spec["data"].append(
            {
                "type": "heatmap",
                "meta": name,
                "name": text(f"part.{name}"),
                "z": array[start:stop],
                "y0": start,
                "dy": 1,
                "yaxis": f"y{suffix}",
                "coloraxis": "coloraxis2" if name == "normalized" else "coloraxis",
                "hovertemplate": text("figure.heatmap_hover"),
            }
        )
        spec["layout"][f"yaxis{suffix}"] = _token_axis(labels, start, [top - panel / height, top])
        spec["layout"]["annotations"].append(_panel_title(text(f"part.{name}"), top))
    return spec


def _layout(analysis: Drawable, height: int) -> dict[str, Any]:
    d = analysis.after
    limit = color_limit([array for name in (*COMPONENTS, "summed") if (array := d.part(name)) is not None])
    last = d.summed.shape[1] - 1
    step = max(1, -(-(last + 1) // 16 // 8) * 8) if last >= 16 else 1
    ticks = [*range(0, last - step // 2, step), last]
    layout: dict[str, Any] = {
        "template": "none",
        "height": height,
        "margin": {"l": 84, "r": 12, "t": MARGINS[0], "b": MARGINS[1]},
        "xaxis": {
            "title": {"text": text("figure.dimension")}, "tickvals": ticks, "showgrid": False, "zeroline": False,
            "anchor": "free", "position": 0,
        },
        "coloraxis": _color_axis(limit, text("figure.parts_scale"), 0.79, 0.6),
        "annotations": [],
    }  # fmt: skip
    if d.normalized is not None:
        layout["coloraxis2"] = _color_axis(color_limit([d.normalized]), text("part.normalized"), 0.17, 0.085)
    return layout


def _color_axis(limit: float, title: str, length: float, y: float) -> dict[str, Any]:
    bar = {"title": {"text": title}, "thickness": 10, "len": length, "y": y}
    return {"colorscale": COLORSCALE, "cmin": -limit, "cmax": limit, "cmid": 0, "colorbar": bar}


def _token_axis(labels: list[str], start: int, domain: list[float]) -> dict[str, Any]:
    """Rows by index with the pieces as tick text: a category axis would merge equal pieces."""
    step = -(-len(labels) // MAX_TOKEN_TICKS)
    return {
        "type": "linear", "autorange": "reversed", "domain": [max(0.0, edge) for edge in domain],
        "tickmode": "array", "tickvals": list(range(start, start + len(labels), step)),
        "ticktext": labels[::step], "showgrid": False, "zeroline": False,
    }  # fmt: skip


def _panel_title(title: str, top: float) -> dict[str, Any]:
    return {
        "text": title, "xref": "paper", "yref": "paper", "x": 0, "y": top, "xanchor": "left",
        "yanchor": "bottom", "showarrow": False,
    }  # fmt: skip

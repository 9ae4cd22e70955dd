"""What leaves embviz: JSON, npz, csv, one HTML file, a PNG. Each function makes the content; `save` writes it.

plotly and kaleido are used here and nowhere else in this room.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from embviz.errors import EmbvizError
from embviz.exports.data import explain_dict, model_line, notes, table, to_csv, to_npz, verified_line
from embviz.exports.files import save
from embviz.exports.glyphs import replace_missing
from embviz.exports.html import build_page

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from embviz.analysis import Analysis

__all__ = [
    "explain_dict", "model_line", "notes", "save", "table", "to_csv", "to_html", "to_npz", "to_png", "verified_line",
]  # fmt: skip

PNG_WIDTH, PNG_HEIGHT, PNG_SCALE = 1000, 700, 2
"""Size of a figure that has none of its own, in CSS pixels, and how many real pixels each of them gets."""


def to_html(analysis: Analysis, figures: Mapping[str, Figure]) -> bytes:
    """One file that opens without a network, with plotly.js inside; what was typed appears as text only.

    Args:
        analysis: what the page is about.
        figures: by the heading above each.
    """
    from plotly.offline import get_plotlyjs

    return build_page(analysis, {name: figure.to_json() for name, figure in figures.items()}, get_plotlyjs())


def to_png(figures: Sequence[Figure]) -> tuple[bytes, str]:
    """The figures below each other as a PNG, and the characters that no installed font has.

    Such a character is drawn as its code point, `U+6771`, instead of an empty box.

    Raises:
        EmbvizError: kaleido is not installed, finds no Chrome or Chromium that starts, or cannot draw with it.
    """
    replaced = [replace_missing(figure.to_plotly_json()) for figure in figures]
    with ThreadPoolExecutor(1) as thread:  # a notebook's own event loop is left alone
        pictures = thread.submit(asyncio.run, _render([spec for spec, _ in replaced])).result()
    return _stacked(pictures), "".join(sorted({*"".join(missing for _, missing in replaced)}))


async def _render(specs: list[dict[str, Any]]) -> list[bytes]:
    """Each figure as a PNG, all with one browser that reaches no network."""
    try:
        from kaleido import Kaleido
        from kaleido.errors import BrowserFailedError, ChromeNotFoundError, JavascriptError, KaleidoError
    except ImportError as error:
        raise EmbvizError("export_kaleido") from error
    # plotly.js comes from the installed plotly; MathJax would come from a stranger's server and make formulas of
    # what was typed. The browser itself asks for hosts of its maker: no proxy answers on the discard port.
    settings: dict[str, Any] = {"mathjax": False, "proxy_server": "http://127.0.0.1:9"}
    try:
        async with Kaleido(**settings) as browser:
            return [await browser.calc_fig(spec, opts=_size(spec)) for spec in specs]
    except (ChromeNotFoundError, BrowserFailedError) as error:
        raise EmbvizError("export_chrome") from error
    except (JavascriptError, KaleidoError, TimeoutError) as error:
        raise EmbvizError("export_draw", reason=str(error) or type(error).__name__) from error


def _size(spec: dict[str, Any]) -> dict[str, Any]:
    layout = spec.get("layout", {})
    width, height = layout.get("width") or PNG_WIDTH, layout.get("height") or PNG_HEIGHT
    return {"format": "png", "width": width, "height": height, "scale": PNG_SCALE}


def _stacked(pictures: list[bytes]) -> bytes:
    from PIL import Image

    images = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    sheet = Image.new("RGB", (max(i.width for i in images), sum(i.height for i in images)), "white")
    top = 0
    for image in images:
        sheet.paste(image, (0, top))
        top += image.height
    file = io.BytesIO()
    sheet.save(file, "PNG")
    return file.getvalue()

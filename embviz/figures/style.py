"""Colours, scales and labels that all figures share."""

from __future__ import annotations

import base64
import json
import unicodedata
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

Spec = dict[str, Any]
"""A Plotly figure as plain values: `{"data": […], "layout": {…}}`; arrays are numpy float32."""

COLORS: Mapping[str, str] = {
    "token": "#0072B2",
    "segment": "#E69F00",
    "position": "#009E73",
    "constant": "#6B7280",
    "summed": "#D55E00",
    "normalized": "#CC79A7",
}
"""Okabe and Ito's colour-blind safe colours and a grey, one a component, used for nothing else."""

MOVED = "#374151"
"""Of arrows from before to after a what-if, which belong to no component."""

SEGMENT_COLORS = ("#56B4E9", "#8E6FC1")
SEGMENT_SYMBOLS = ("", "-open")
"""What is appended to a marker's symbol: segment 0 is filled, segment 1 is open, so that colour is not alone."""

VIK = (
    (0, 18, 97), (2, 43, 113), (3, 68, 129), (12, 94, 146), (47, 124, 166), (96, 157, 188),
    (146, 189, 210), (197, 219, 229), (236, 229, 225), (233, 203, 185), (220, 171, 143), (207, 142, 104),
    (195, 114, 67), (179, 83, 31), (147, 46, 6), (116, 21, 6), (89, 0, 8),
)  # fmt: skip
"""Seventeen points of Fabio Crameri's `vik` (Scientific colour maps, MIT): blue, white at zero, red."""

COLORSCALE = [[i / (len(VIK) - 1), f"rgb{color}"] for i, color in enumerate(VIK)]
CLIP_QUANTILE = 0.995
MAX_LABEL = 24

_BIDI_STRONG = {"R", "AL", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI", "PDF", "PDI"}


def escape_label(piece: str) -> str:
    """A piece as a Plotly label that shows exactly these letters.

    Plotly reads labels as pseudo-HTML, and as TeX between dollars where MathJax is loaded: both are escaped.
    Right-to-left pieces are isolated, so that they do not reorder what stands beside them; control
    characters become visible.
    """
    visible = "".join(_visible(char) for char in piece)
    if len(visible) > MAX_LABEL:
        visible = visible[: MAX_LABEL - 1] + "…"
    label = escape(visible, quote=False).replace("$", "&#36;")
    if any(unicodedata.bidirectional(char) in _BIDI_STRONG for char in visible):
        return f"\u2068{label}\u2069"
    return label


def _visible(char: str) -> str:
    if char.isspace():
        return "␣"
    return "�" if unicodedata.category(char) in ("Cc", "Cs") else char


def color_limit(arrays: list[NDArray[np.floating]]) -> float:
    """The end of a zero-centred colour range: the 99.5 % quantile of |value| over all arrays, never 0.

    The largest values alone would white out all others: [CLS] of all-MiniLM-L6-v2 has one of 2.9 where most
    are below 0.1.
    """
    values = np.abs(np.concatenate([array.ravel() for array in arrays])) if arrays else np.zeros(0)
    values = values[np.isfinite(values)]
    limit = float(np.quantile(values, CLIP_QUANTILE)) if values.size else 0.0
    return limit or float(values.max(initial=0.0)) or 1.0


def to_json(spec: object) -> str:
    """A spec as JSON; arrays as plotly.js reads typed arrays, `{"dtype", "bdata", "shape"}` in float32."""
    return json.dumps(spec, default=_typed_array, allow_nan=False, separators=(",", ":"))


def _typed_array(array: object) -> object:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{type(array).__name__} has no place in a figure")
    kind, dtype = ("i4", "<i4") if array.dtype.kind in "iub" else ("f4", "<f4")
    data = base64.b64encode(np.ascontiguousarray(array, dtype).tobytes()).decode()
    if array.ndim == 1:
        return {"dtype": kind, "bdata": data}
    return {"dtype": kind, "bdata": data, "shape": ", ".join(map(str, array.shape))}

"""Arrays as the page gets them: little-endian float32 in base64, repeated rows once, and the range of their colours."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embviz.figures.style import color_limit


def pack(array: NDArray[np.floating]) -> str:
    """The numbers of an array, row-major."""
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()


def pack_rows(rows: NDArray[np.floating]) -> dict[str, Any]:
    """The distinct rows of an array, `(n, size)`, and the row of each: a segment row is sent once."""
    places: dict[bytes, int] = {}
    index = [places.setdefault(row.tobytes(), len(places)) for row in np.ascontiguousarray(rows, "<f4")]
    return {"rows": base64.b64encode(b"".join(places)).decode(), "index": index}


def value_range(arrays: list[NDArray[np.floating]]) -> dict[str, float]:
    """The end of the colour range, and the least and the largest of all numbers; what is none has no colour."""
    limit = color_limit(arrays)
    numbers = [array[np.isfinite(array)] for array in arrays]
    return {
        "limit": limit,
        "min": float(min((array.min() for array in numbers if array.size), default=0.0)),
        "max": float(max((array.max() for array in numbers if array.size), default=0.0)),
    }

"""Arrays as the page gets them: little-endian float32 in base64, repeated rows once."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(array: NDArray[np.floating]) -> str:
    """The numbers of an array, row-major."""
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()


def pack_rows(rows: NDArray[np.floating]) -> dict[str, Any]:
    """The distinct rows of an array, `(n, size)`, and the row of each: a segment row is sent once."""
    places: dict[bytes, int] = {}
    index = [places.setdefault(row.tobytes(), len(places)) for row in np.ascontiguousarray(rows, "<f4")]
    return {"rows": base64.b64encode(b"".join(places)).decode(), "index": index}

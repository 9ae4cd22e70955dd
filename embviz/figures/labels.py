"""Where the names of points go, so that they do not lie on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 600.0, 420.0
"""The size in pixels that a map is laid out for; a larger one only leaves more room."""
LETTER, LINE, GAP, MARK = 7.5, 15.0, 7.0, 5.0
CROWDED = 40
"""With more points than this, a name without room is left out: hovering shows it."""

MAX_LABELLED = 128
"""With more points than this there is no room for any name."""

_PLACES = {
    "middle right": (1, 0), "top center": (0, 1), "bottom center": (0, -1), "middle left": (-1, 0),
    "top right": (1, 1), "bottom right": (1, -1), "top left": (-1, 1), "bottom left": (-1, -1),
}  # fmt: skip
_SIDES = np.array(list(_PLACES.values()), np.float64)

Boxes = NDArray[np.float64]
"""`(n, 4)`: left, bottom, right, top in pixels."""


def place_labels(
    points: NDArray[np.floating], labels: list[str], crowded: int = CROWDED
) -> tuple[list[str], list[str]]:
    """The labels to draw and the `textposition` of each, first come first served.

    Args:
        points: `(n, 2)`, drawn with equal aspect.
        labels: the text of each point.
        crowded: with more points than this, names without room are left out.

    Returns:
        The labels, "" for those that are left out, and Plotly's words for their positions.
    """
    n = len(labels)
    if n > MAX_LABELLED:
        return [""] * n, ["middle right"] * n
    pixels = _to_pixels(points)
    half = np.stack(
        [LETTER * np.maximum([len(label) for label in labels], 1) / 2, np.full(n, LINE / 2)], axis=1
    )
    obstacles = np.zeros((2 * n, 4))  # the marks of all points, then the labels that are placed
    obstacles[:n] = _around(pixels, np.full((n, 2), MARK))
    texts, positions = list(labels), []
    for i in range(n):
        sides = pixels[i] + _SIDES * (half[i] + (GAP, GAP / 2))
        boxes = _around(sides, np.broadcast_to(half[i], sides.shape))
        covered = _overlap(boxes, np.delete(obstacles[: n + i], i, axis=0)).sum(axis=1)
        best = int(covered.argmin())
        positions.append(list(_PLACES)[best])
        if covered[best] < LINE * LETTER or n <= crowded:
            obstacles[n + i] = boxes[best]
        else:
            texts[i] = ""
    return texts, positions


def _to_pixels(points: NDArray[np.floating]) -> NDArray[np.float64]:
    spread = np.ptp(points, axis=0) if len(points) else np.zeros(2)
    scale = min(WIDTH / (spread[0] or 1), HEIGHT / (spread[1] or 1))
    return np.asarray(points, np.float64) * scale


def _around(centres: NDArray[np.float64], half: NDArray[np.float64]) -> Boxes:
    """Boxes of half the given width and height round each centre."""
    return np.concatenate([centres - half, centres + half], axis=1)


def _overlap(boxes: Boxes, others: Boxes) -> NDArray[np.float64]:
    """The area that each box shares with each other, `(len(boxes), len(others))`."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    area: NDArray[np.float64] = (high - low).clip(min=0).prod(axis=2)
    return area

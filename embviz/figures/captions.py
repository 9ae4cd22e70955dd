"""One sentence under each figure that says what to see, computed from the numbers on screen."""

from __future__ import annotations

import numpy as np

from embviz.embedding.metrics import cosine
from embviz.embedding.projection import axis_owner
from embviz.figures.drawable import Drawable
from embviz.i18n import DEFAULT_LANGUAGE, text


def map_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """What the map shows: of a repeated word how far segment and position part its places, else the shares."""
    d, drawn = analysis.after, analysis.drawn
    if drawn.sum() < 2 or not analysis.projection.defined:
        return text("caption.map_one", language, count=int(drawn.sum()))
    group = _repeated_word(analysis)
    if group is None:
        shares = {"token": 0.0, "segment": 0.0, "position": 0.0, **analysis.metrics.variance_shares}
        return text("caption.map_shares", language, **shares)
    a, b = group
    values = {"piece": d.tokens[a], "first": a, "second": b, "distance": _distance(d.summed, a, b)}
    moved = {name: _distance(rows, a, b) for name, rows in (("segment", d.segment), ("position", d.position))}
    key = "caption.map_repeated" if moved["segment"] else "caption.map_repeated_same_segment"
    return text(key, language, **values, **moved)


def left_out_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """Why special tokens are left out, "" where they are not: how much of the first axis one would own."""
    left_out = np.flatnonzero(~analysis.drawn)
    if not left_out.size:
        return ""
    owner, share = axis_owner(analysis.after.summed)
    if owner in left_out:
        piece = analysis.after.tokens[owner]
        return text("caption.left_out_owner", language, count=left_out.size, piece=piece, share=share)
    return text("caption.left_out", language, count=left_out.size)


def normalized_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """What LayerNorm did: lengths before and after, or that there is nothing to compare."""
    d, drawn = analysis.after, analysis.drawn
    if drawn.sum() < 2 or not analysis.normalized_projection.defined:
        return text("caption.map_one", language, count=int(drawn.sum()))
    before, after = (analysis.metrics.norms[name][drawn] for name in ("summed", "normalized"))
    group = _repeated_word(analysis)
    if group is None:
        return text("caption.normalized", language, **_range("before", before), **_range("after", after))
    a, b = group
    return text(
        "caption.normalized_repeated", language, piece=d.tokens[a],
        before=float(cosine(d.summed[a], d.summed[b])), after=float(cosine(d.normalized[a], d.normalized[b])),
    )  # fmt: skip


def heatmap_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """Where the largest number of the sum is, and what the LayerNorm's gain does to it."""
    d = analysis.after
    token, dimension = np.unravel_index(np.nanargmax(np.abs(d.summed)), d.summed.shape)
    gain = d.layer_norm.weight
    return text(
        "caption.heatmap", language, value=float(d.summed[token, dimension]), piece=d.tokens[token],
        token=int(token), dimension=int(dimension), normalized=float(d.normalized[token, dimension]),
        gain=float(gain[dimension]), mean_gain=float(gain.mean()),
    )  # fmt: skip


def strip_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """How long the vectors are that are added: their average lengths by part."""
    norms = {name: float(values.mean()) for name, values in analysis.metrics.norms.items()}
    return text("caption.strip", language, **{"segment": 0.0, "position": 0.0, **norms})


def _repeated_word(analysis: Drawable) -> tuple[int, int] | None:
    """The first two places of the longest piece that stands twice, if it has a letter."""
    groups = [group for group in analysis.metrics.repeated if analysis.drawn[list(group)].all()]
    tokens = analysis.after.tokens
    wordy = [group for group in groups if any(char.isalnum() for char in tokens[group[0]])]
    if not wordy:
        return None
    group = max(wordy, key=lambda places: len(tokens[places[0]]))
    return group[0], group[1]


def _distance(rows: np.ndarray | None, a: int, b: int) -> float:
    return 0.0 if rows is None else float(np.linalg.norm(rows[a].astype(np.float64) - rows[b]))


def _range(name: str, values: np.ndarray) -> dict[str, float]:
    return {f"{name}_min": float(values.min()), f"{name}_max": float(values.max())}

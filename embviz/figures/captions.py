"""One sentence under each figure that says what to see, computed from the numbers on screen."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.decomposition import Decomposition, Part
from embviz.embedding.metrics import cosine, variance_shares
from embviz.embedding.projection import axis_owner
from embviz.figures.drawable import Drawable
from embviz.i18n import DEFAULT_LANGUAGE, text

ADDED: tuple[Part, ...] = ("position", "segment")
"""In the order in which the caption names them."""

MAX_OWNED = 128
"""Of longer inputs nobody asks which token owns the first axis, and finding out is another large PCA."""


def map_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """What the map shows: of a repeated word how far segment and position part its places, else the shares."""
    d, drawn = analysis.after, analysis.drawn
    if drawn.sum() < 2 or not analysis.projection.defined:
        return text("caption.map_one", language, count=int(drawn.sum()))
    group = _repeated_word(analysis)
    if group is None or _distance(d.token, *group):
        return _shares_caption(d, variance_shares(d, drawn), language)
    a, b = group
    more = d.input_ids[drawn].tolist().count(int(d.input_ids[a])) - 2
    places = text("caption.places_more" if more else "caption.places", language, first=a, second=b, more=more)
    values = {"piece": d.tokens[a], "places": places, "distance": _distance(d.summed, a, b)}
    moved = {name: _distance(rows, a, b) for name, rows in (("segment", d.segment), ("position", d.position))}
    if not any(moved.values()):
        key = "caption.map_repeated_words"
    elif moved["segment"]:
        key = "caption.map_repeated"
    else:
        key = f"caption.map_repeated_{'no' if d.segment is None else 'same'}_segment"
    return text(key, language, **values, **moved)


def _shares_caption(d: Decomposition, shares: Mapping[str, float], language: str) -> str:
    """Who makes how much of the variance, of the parts that are there; a constant makes none."""
    added = [name for name in ADDED if d.part(name) is not None]
    if not added:
        return text("caption.map_words", language)
    others = ", ".join(text(f"caption.share_{name}", language, share=shares[name]) for name in added)
    return text("caption.map_shares", language, token=shares["token"], others=others, cross=shares["cross"])


def left_out_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """Which tokens the map does not show and why; of special tokens how much of the first axis one would own."""
    d = analysis.after
    special, strange = d.finite & ~analysis.drawn, ~d.finite
    sentences = []
    if special.any():
        sentences.append(_special_left_out(d, special, language))
    if strange.any():
        sentences.append(text("caption.left_out_strange", language, count=int(strange.sum())))
    return " ".join(sentences)


def _special_left_out(d: Decomposition, special: NDArray[np.bool_], language: str) -> str:
    count, finite = int(special.sum()), np.flatnonzero(d.finite)
    if len(finite) <= MAX_OWNED:
        place, share = axis_owner(d.summed[finite])
        if special[finite[place]] and share > 0:
            piece = d.tokens[finite[place]]
            return text("caption.left_out_owner", language, count=count, piece=piece, share=share)
    return text("caption.left_out", language, count=count)


def normalized_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """What LayerNorm did: lengths before and after, or that there is nothing to compare."""
    d, drawn = analysis.after, analysis.drawn
    if d.normalized is None:
        return d.absent["normalized"]
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
    if not d.finite.any():
        return text("caption.heatmap_none", language)
    sizes = np.where(d.finite[:, None], np.abs(d.summed), -1)
    token, dimension = np.unravel_index(sizes.argmax(), sizes.shape)
    if not sizes[token, dimension]:
        return text("caption.heatmap_zero", language)
    place = {
        "value": float(d.summed[token, dimension]), "piece": d.tokens[token], "token": int(token),
        "dimension": int(dimension),
    }  # fmt: skip
    if d.normalized is None or d.layer_norm is None:
        return text("caption.heatmap_sum", language, **place)
    gain = d.layer_norm.weight
    return text(
        "caption.heatmap", language, **place, normalized=float(d.normalized[token, dimension]),
        gain=float(gain[dimension]), mean_gain=float(gain.mean()),
    )  # fmt: skip


def strip_caption(analysis: Drawable, language: str = DEFAULT_LANGUAGE) -> str:
    """How long the vectors are that are added: their average lengths by part."""
    finite = analysis.after.finite
    if not finite.any():
        return text("caption.heatmap_none", language)
    lengths = [
        text(
            "caption.strip_part",
            language,
            part=text(f"part.{name}", language),
            length=float(values[finite].mean()),
        )
        for name, values in analysis.metrics.norms.items()
    ]
    return text("caption.strip", language, lengths=", ".join(lengths))


def _repeated_word(analysis: Drawable) -> tuple[int, int] | None:
    """Two places of the longest piece that stands twice, if it has a letter; in different segments if it can be."""
    groups = [group for group in analysis.metrics.repeated if analysis.drawn[list(group)].all()]
    tokens, segments = analysis.after.tokens, analysis.after.token_type_ids
    wordy = [group for group in groups if any(char.isalnum() for char in tokens[group[0]])]
    if not wordy:
        return None
    first, *others = max(wordy, key=lambda places: len(tokens[places[0]]))
    across = [place for place in others if segments[place] != segments[first]]
    return first, (across or others)[0]


def _distance(rows: np.ndarray | None, a: int, b: int) -> float:
    return 0.0 if rows is None else float(np.linalg.norm(rows[a].astype(np.float64) - rows[b]))


def _range(name: str, values: np.ndarray) -> dict[str, float]:
    return {f"{name}_min": float(values.min()), f"{name}_max": float(values.max())}

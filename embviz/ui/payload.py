"""The two JSON strings that the page is drawn from; docs/payload.md says what is in them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embviz.analysis import Analysis, stages
from embviz.embedding.decomposition import ALL_PARTS, COMPONENTS, Decomposition
from embviz.figures.captions import (
    heatmap_caption,
    left_out_caption,
    map_caption,
    normalized_caption,
    strip_caption,
)
from embviz.figures.heatmap import heatmap_spec
from embviz.figures.pca import axis_titles, normalized_spec, pca_spec, shown_components
from embviz.figures.style import color_limit, to_json

WINDOW = 64
"""The most tokens whose vectors are sent at once; a long input is shown in windows of this size."""


def window_of(length: int, start: int) -> tuple[int, int]:
    """The window of tokens that begins at `start`, moved so that it lies within the input."""
    start = max(0, min(start, length - WINDOW))
    return start, min(length, start + WINDOW)


def parts_json(analysis: Analysis, start: int = 0) -> str:
    """The decomposition as the page gets it, `parts` of docs/payload.md.

    Args:
        analysis: what is shown.
        start: the first token whose vectors are sent.
    """
    d = analysis.after
    start, stop = window_of(len(d), start)
    step = d.layer_norm
    return to_json(
        {
            "query": analysis.recipe.to_query(),
            "recipe": analysis.recipe.to_dict(),
            "model": analysis.model.as_dict(),
            "notes": [note.sentence() for note in d.notes if note.about == "model" and note.token is None],
            **strip_values(d, start, stop),
            "mean": None if step is None else _base64(step.mean[start:stop]),
            "std": None if step is None else _base64(step.std[start:stop]),
            "eps": None if step is None else step.eps,
            "weight": None if step is None else _base64(step.weight),
            "bias": None if step is None or "bias" not in d.tensors else _base64(step.bias),
            "scale": _scales(d),
            "tensors": dict(d.tensors),
            "order": {"variance": _by_variance(d)},
            "sentences": {"strip": strip_caption(analysis), "heatmap": heatmap_caption(analysis)},
            "heatmap": _heatmap(analysis, start, stop),
        }
    )


def strip_values(d: Decomposition, start: int, stop: int) -> dict[str, Any]:
    """What a strip is painted from: the tokens, and the vectors of a window of them."""
    present = [name for name in ALL_PARTS if name in d.absent or d.part(name) is not None]
    return {
        "total": len(d),
        "start": start,
        "stop": stop,
        "tokens": _tokens(d),
        "width": d.summed.shape[1],
        "parts": {name: _part(d, name, start, stop) for name in present},
    }


def map_json(analysis: Analysis) -> str:
    """The projection as the page gets it, `map` of docs/payload.md."""
    d = analysis.after
    token, middle, summed = stages(d)
    path = {"token": token, "segment": middle, "summed": summed}
    if d.constant is not None:
        path = {"token": token, "segment": middle, "position": summed - d.constant, "summed": summed}
    normalized = {} if d.normalized is None else {"normalized": d.normalized}
    coordinates: dict[str, dict[str, str]] = {"parts": {}, "normalized": {}}
    axes = {}
    for name, projection, rows in (
        ("parts", analysis.projection, path),
        ("normalized", analysis.normalized_projection, normalized),
    ):
        shown = shown_components(analysis, projection)
        axes[name] = axis_titles(projection, shown)
        for role, vectors in rows.items():
            coordinates[name][role] = _base64(projection.transform(vectors)[:, shown])
    return to_json(
        {
            "query": analysis.recipe.to_query(),
            "parts": pca_spec(analysis),
            "normalized": normalized_spec(analysis),
            "sentences": {"parts": map_caption(analysis), "normalized": normalized_caption(analysis)},
            "left_out": left_out_caption(analysis),
            "coordinates": coordinates,
            "axes": axes,
        }
    )


def _by_variance(d: Decomposition) -> list[int]:
    rows = d.summed[d.finite]
    variance = rows.var(axis=0) if len(rows) else np.zeros(d.summed.shape[1])
    order: list[int] = np.argsort(-variance, kind="stable").tolist()
    return order


def _tokens(d: Decomposition) -> list[dict[str, Any]]:
    notes: dict[int, str] = {}
    for note in d.notes:
        if note.token is not None:
            notes[note.token] = f"{notes.get(note.token, '')} {note.sentence()}".strip()
    tokens = []
    for i, piece in enumerate(d.tokens):
        sentence = d.encoded.sentences[i]
        token: dict[str, Any] = {
            "piece": piece,
            "id": int(d.input_ids[i]),
            "segment": int(d.token_type_ids[i]),
            "position": int(d.position_ids[i]),
            "special": bool(d.special_tokens_mask[i]),
            "typed": d.encoded.typed_special[i],
            "source": d.encoded.source(i),
            "sentence": None if sentence is None else "ab"[sentence],
        }
        tokens.append({**token, "note": notes[i]} if i in notes else token)
    return tokens


def _part(d: Decomposition, name: str, start: int, stop: int) -> dict[str, Any]:
    """The distinct rows of a part's window and the row of each token: a segment row is sent once."""
    array: NDArray[np.float32] | None = getattr(d, name)
    if array is None:
        return {"absent": d.absent[name]}
    places: dict[bytes, int] = {}
    index = [places.setdefault(row.tobytes(), len(places)) for row in array[start:stop]]
    return {"rows": base64.b64encode(b"".join(places)).decode(), "index": index}


def _scales(d: Decomposition) -> dict[str, dict[str, float]]:
    """The colour range of the parts and the sum, and the LayerNorm's own, over the whole input."""
    arrays = [array for name in (*COMPONENTS, "summed") if (array := d.part(name)) is not None]
    return {"parts": _scale(arrays), "normalized": _scale([] if d.normalized is None else [d.normalized])}


def _scale(arrays: list[NDArray[np.float32]]) -> dict[str, float]:
    """Of all numbers; what is not a number has no colour."""
    limit = color_limit(list(arrays))
    numbers = [array[np.isfinite(array)] for array in arrays]
    return {
        "limit": limit,
        "min": float(min((array.min() for array in numbers if array.size), default=0.0)),
        "max": float(max((array.max() for array in numbers if array.size), default=0.0)),
    }


def _heatmap(analysis: Analysis, start: int, stop: int) -> dict[str, Any]:
    """The heatmap's spec without its numbers, which the page has already."""
    spec = heatmap_spec(analysis, start, stop)
    for trace in spec["data"]:
        trace["z"] = {"part": trace["meta"]}
    return spec


def _base64(array: NDArray[np.floating]) -> str:
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()

"""The two JSON strings that the page is drawn from; docs/payload.md says what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embviz.analysis import Analysis
from embviz.embedding.decomposition import ALL_PARTS, COMPONENTS, Decomposition
from embviz.embedding.interventions import Dropout
from embviz.figures.captions import (
    heatmap_caption,
    left_out_caption,
    map_caption,
    normalized_caption,
    strip_caption,
)
from embviz.figures.change_captions import bars_caption
from embviz.figures.heatmap import heatmap_spec
from embviz.figures.pca import axis_titles, normalized_spec, pca_spec, shown_components
from embviz.figures.style import to_json
from embviz.ui.changes_payload import changes_json
from embviz.ui.packing import pack, pack_rows, value_range
from embviz.ui.what_if_payload import what_if_json

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
            **_strip(analysis, start, stop),
            "mean": None if step is None else pack(step.mean[start:stop]),
            "std": None if step is None else pack(step.std[start:stop]),
            "eps": None if step is None else step.eps,
            "weight": None if step is None else pack(step.weight),
            "bias": None if step is None or "bias" not in d.tensors else pack(step.bias),
            "scale": _scales(d),
            "tensors": dict(d.tensors),
            "order": {"variance": _by_variance(d)},
            "sentences": {"strip": _strip_sentence(analysis), "heatmap": heatmap_caption(analysis)},
            "heatmap": _heatmap(analysis, start, stop),
            "what_if": what_if_json(analysis, start, stop),
            "changes": changes_json(analysis, start, stop),
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
    reached = d.stages()
    path = {"token": d.token, "segment": reached.get("segment", d.token), "summed": d.summed}
    if d.constant is not None:
        path["position"] = reached.get("position", path["segment"])
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
            coordinates[name][role] = pack(projection.transform(vectors)[:, shown])
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


def _strip_sentence(analysis: Analysis) -> str:
    """How far a what-if moved the tokens, and how long the vectors are."""
    moved = f"{bars_caption(analysis)} " if analysis.moved else ""
    return moved + strip_caption(analysis)


def _strip(analysis: Analysis, start: int, stop: int) -> dict[str, Any]:
    """What the strip is painted from, and what enters the encoder where dropout makes that another."""
    d = analysis.after
    values = strip_values(d, start, stop)
    dropped = any(isinstance(change, Dropout) for change in analysis.recipe.what_if)
    if dropped and d.output.shape == d.summed.shape:
        values["parts"]["output"] = pack_rows(d.output[start:stop])
    return values


def _part(d: Decomposition, name: str, start: int, stop: int) -> dict[str, Any]:
    array: NDArray[np.float32] | None = getattr(d, name)
    if array is None:
        return {"absent": d.absent[name]}
    return pack_rows(array[start:stop])


def _scales(d: Decomposition) -> dict[str, dict[str, float]]:
    """The colour range of the parts and the sum, and the LayerNorm's own, over the whole input."""
    arrays = [array for name in (*COMPONENTS, "summed") if (array := d.part(name)) is not None]
    return {
        "parts": value_range(arrays),
        "normalized": value_range([] if d.normalized is None else [d.normalized]),
    }


def _heatmap(analysis: Analysis, start: int, stop: int) -> dict[str, Any]:
    """The heatmap's spec without its numbers, which the page has already."""
    spec = heatmap_spec(analysis, start, stop)
    for trace in spec["data"]:
        trace["z"] = {"part": trace["meta"]}
    return spec

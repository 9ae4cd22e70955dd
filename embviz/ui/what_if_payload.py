"""`what_if` of docs/payload.md: what can be changed in an input, what is changed, and what stood there before."""

from __future__ import annotations

from typing import Any

import numpy as np

from embviz.analysis import Analysis
from embviz.embedding.decomposition import ALL_PARTS, Decomposition
from embviz.embedding.interventions import TokenIds, shift_limits
from embviz.embedding.movement import STAGES
from embviz.ui.change_words import describe_all
from embviz.ui.packing import pack, pack_rows


def what_if_json(analysis: Analysis, start: int, stop: int) -> dict[str, Any]:
    """What can be changed in this input, what is changed, and what stood there before.

    Args:
        analysis: what is shown.
        start: the first token of the window whose vectors are sent.
        stop: where it ends.
    """
    changes = analysis.recipe.what_if
    return {
        "refused": dict(analysis.refused),
        **_limits(analysis),
        "changes": describe_all(changes, analysis.before),
        "changed": bool(analysis.moved and analysis.moved.changed),
        "before": _before(analysis, start, stop) if changes else None,
        "moved": _moved(analysis, start, stop),
    }


def _limits(analysis: Analysis) -> dict[str, Any]:
    """How far positions can be shifted, and the first and the last row of their table that a token may get."""
    card, ids = analysis.model, analysis.before
    if not card.max_position_embeddings:
        return {"shift": None, "shift_kept": None, "rows": None}
    tables = TokenIds(
        ids.token_type_ids, ids.position_ids, card.type_vocab_size, card.max_position_embeddings
    )
    return {
        "shift": shift_limits(tables),
        "shift_kept": shift_limits(tables, keep_first=True),
        "rows": card.max_position_embeddings,
    }


def _before(analysis: Analysis, start: int, stop: int) -> dict[str, Any]:
    """The ids of all tokens, the window's rows of the parts that are other ones now, and the LayerNorm's operands."""
    before, after = analysis.before, analysis.after
    step = before.layer_norm
    return {
        "tokens": [
            {"piece": piece, "id": token_id, "segment": segment, "position": position}
            for piece, token_id, segment, position in zip(
                before.tokens,
                before.input_ids.tolist(),
                before.token_type_ids.tolist(),
                before.position_ids.tolist(),
                strict=True,
            )
        ],
        "parts": {
            name: pack_rows(array[start:stop])
            for name in ALL_PARTS
            if (array := before.part(name)) is not None and _differs(before, after, name)
        },
        "mean": None if step is None else pack(step.mean[start:stop]),
        "std": None if step is None else pack(step.std[start:stop]),
        "eps": None if step is None else step.eps,
        "weight": None if step is None else pack(step.weight),
        "bias": None if step is None or "bias" not in before.tensors else pack(step.bias),
    }


def _differs(before: Decomposition, after: Decomposition, name: Any) -> bool:
    old, new = before.part(name), after.part(name)
    return old is not new and (old is None or new is None or not np.array_equal(old, new, equal_nan=True))


def _moved(analysis: Analysis, start: int, stop: int) -> dict[str, Any] | None:
    """How far each token of the window moved in the sum and in what enters the encoder."""
    moved = analysis.moved
    if moved is None:
        return None
    return {
        name: {"cosine": pack(stage.cosine_distance[start:stop]), "mean": _number(stage.mean_cosine_distance)}
        for name in STAGES
        if (stage := moved.stage(name)) is not None
    }


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None

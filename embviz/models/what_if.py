"""A text's answer after changes: which tokens, which ids and which components, in the stated order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from embviz.embedding.decomposition import Decomposition, EncodedText, Note, read_only_ids
from embviz.embedding.interventions import (
    INTERVENTIONS,
    NORM_CHANGES,
    POSITION_CHANGES,
    SEGMENT_CHANGES,
    ComponentChanges,
    Intervention,
    LayerNormEps,
    MeanSegments,
    NoLayerNorm,
    ReplaceToken,
    Scale,
    ScaleSegmentDifference,
    TokenIds,
    change_ids,
    check_index,
    component_changes,
)
from embviz.errors import InputError
from embviz.i18n import text

if TYPE_CHECKING:
    from embviz.models.model import EmbeddingModel


def change(model: EmbeddingModel, before: Decomposition, what_if: tuple[Intervention, ...]) -> Decomposition:
    """The answer to the same text after changes; `before` itself where together they change nothing.

    Raises:
        InputError: a change does not fit the text, or means nothing for this model.
    """
    for one in what_if:
        _check_meaning(model, one)
    encoded = _with_tokens(model, before.encoded, what_if)
    ids = change_ids(token_ids(model, before, encoded), what_if)
    changes = _effective(model, component_changes(what_if))
    same_types = np.array_equal(ids.token_type_ids, before.token_type_ids)
    same_positions = np.array_equal(ids.position_ids, before.position_ids)
    if encoded is before.encoded and same_types and same_positions and changes.nothing:
        return before
    if not same_types:  # what is said about the segments is no longer so
        notes = tuple(note for note in encoded.notes if note.key != "single")
        encoded = replace(encoded, notes=notes)
    return model.decompose_ids(encoded, ids.token_type_ids, ids.position_ids, changes, before)


def token_ids(model: EmbeddingModel, before: Decomposition, encoded: EncodedText | None = None) -> TokenIds:
    """The ids that changes of ids start from, with the sizes of this model's tables.

    Args:
        model: whose tables.
        before: the answer to the text as it is.
        encoded: the same text where tokens of it were replaced; positions are then counted anew.
    """
    same = encoded is None or encoded is before.encoded
    positions = before.position_ids if same or encoded is None else model.default_positions(encoded)
    return TokenIds(
        before.token_type_ids,
        positions,
        model.card.type_vocab_size,
        model.card.max_position_embeddings,
        reasons(model),
    )


def reasons(model: EmbeddingModel) -> dict[str, str]:
    """For segment, position, normalized and eps where nothing of it can be changed in this model, the reason."""
    found = dict(model.absent)
    if model.card.type_vocab_size == 1:
        found["segment"] = text("reason.one_segment_row", name=model.card.architecture)
    if model.module.terms.norm == "affine":
        found["eps"] = text("reason.no_eps", name=model.card.architecture)
    elif "normalized" in found:
        found["eps"] = found["normalized"]
    return found


def refused_changes(model: EmbeddingModel) -> dict[str, str]:
    """The interventions that mean nothing for this model, by name, each with the reason.

    `Scale` is there by component, as `Scale.segment` and `Scale.position`.
    """
    found = reasons(model)
    kinds = {
        "segment": SEGMENT_CHANGES, "position": POSITION_CHANGES, "normalized": NORM_CHANGES, "eps": (LayerNormEps,),
    }  # fmt: skip
    refused = {
        name: found[part]
        for part, members in kinds.items()
        if part in found
        for name, kind in INTERVENTIONS.items()
        if kind in members
    }
    scales = {f"Scale.{part}": model.absent[part] for part in ("segment", "position") if part in model.absent}
    return refused | scales


def _check_meaning(model: EmbeddingModel, one: Intervention) -> None:
    """Nothing; an InputError where a change of components means nothing for this model."""
    if isinstance(one, Scale) and one.component in model.absent:
        reason = model.absent[one.component]
        raise InputError("no_part", field="what_if", part=one.component, reason=reason)
    part = "eps" if isinstance(one, LayerNormEps) else "normalized"
    if isinstance(one, NoLayerNorm | LayerNormEps) and part in (found := reasons(model)):
        raise InputError("no_layer_norm", field="what_if", reason=found[part])
    if isinstance(one, MeanSegments | ScaleSegmentDifference) and model.card.type_vocab_size < 2:
        raise InputError("no_segments", field="what_if", reason=reasons(model)["segment"])


def _effective(model: EmbeddingModel, changes: ComponentChanges) -> ComponentChanges:
    """The changes without an eps that is the model's own."""
    return replace(changes, eps=None) if changes.eps == model.card.layer_norm_eps else changes


def _with_tokens(
    model: EmbeddingModel, encoded: EncodedText, what_if: tuple[Intervention, ...]
) -> EncodedText:
    """The text with its replaced tokens; the very same where nothing is replaced."""
    wanted: dict[int, str] = {}
    for one in what_if:
        if isinstance(one, ReplaceToken):
            check_index(one.index, len(encoded))
            wanted[one.index] = one.piece
    changed = encoded
    for index, piece in wanted.items():
        token_id = model.tokenizer.piece_id(piece)
        if token_id is None:
            raise InputError("piece", field="what_if", piece=piece, pieces=model.tokenizer.pieces(piece))
        if token_id != encoded.input_ids[index]:
            changed = _replaced(changed, index, piece, token_id, model.tokenizer.is_special(token_id))
    return changed


def _replaced(encoded: EncodedText, index: int, piece: str, token_id: int, special: bool) -> EncodedText:
    """The text with one other token. It is the reader's own choice, so that it counts as typed."""
    tokens, typed = list(encoded.tokens), list(encoded.typed_special)
    input_ids, added = encoded.input_ids.copy(), encoded.special_tokens_mask.copy()
    note = Note("replaced", {"piece": piece, "was": tokens[index]}, index)
    tokens[index], typed[index], input_ids[index], added[index] = piece, special, token_id, 0
    return replace(
        encoded,
        tokens=tuple(tokens),
        typed_special=tuple(typed),
        input_ids=read_only_ids(input_ids),
        special_tokens_mask=read_only_ids(added),
        notes=(*(old for old in encoded.notes if old.token != index), note),
    )

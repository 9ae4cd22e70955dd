"""What a Recipe changes, in words: one short phrase a change, for the banner above the strip."""

from __future__ import annotations

from embviz.embedding.decomposition import Decomposition
from embviz.embedding.interventions import (
    AllSegments,
    FlipSegment,
    Intervention,
    MovePosition,
    ReplaceToken,
    ReversePositions,
    Scale,
    ShiftPositions,
    ShufflePositions,
)
from embviz.i18n import DEFAULT_LANGUAGE, text


def describe(
    change: Intervention, before: Decomposition, after: Decomposition, language: str = DEFAULT_LANGUAGE
) -> str:
    """One change as a phrase, like “positions + 5, the first token kept”.

    Args:
        change: what is changed.
        before: the input as encoded, whose tokens are named.
        after: the same after all changes.
        language: of the catalogue.
    """
    values: dict[str, object] = {name: value for name, value in vars(change).items() if name != "ids"}
    if isinstance(change, FlipSegment | MovePosition | ReplaceToken) and change.index < len(before):
        values["was"] = before.tokens[change.index]
    if isinstance(change, FlipSegment) and change.index < len(before):
        values["segment"] = segment_letter(int(after.token_type_ids[change.index]))
    if isinstance(change, AllSegments):
        values["segment"] = segment_letter(change.k)
    key = f"change.{type(change).__name__}"
    if isinstance(change, Scale):
        key = "change.removed" if not change.factor else key
        values["part"] = text(f"part.{change.component}", language)
    if isinstance(change, ShiftPositions):
        key = f"change.ShiftPositions.{'left' if change.k < 0 else 'right'}"
        values["k"] = abs(change.k)
    phrase = text(key, language, **values)
    if isinstance(change, ShiftPositions | ReversePositions | ShufflePositions) and change.keep_first:
        return text("change.kept", language, change=phrase, first=before.tokens[0] if len(before) else "")
    return phrase


def segment_letter(segment: int) -> str:
    """A and B as in the BERT paper; further segments have their number."""
    return "AB"[segment] if segment < 2 else str(segment)

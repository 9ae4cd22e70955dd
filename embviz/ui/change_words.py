"""What a Recipe changes, in words: one short phrase a change, for the banner above the strip."""

from __future__ import annotations

import numpy as np

from embviz.embedding.decomposition import Decomposition
from embviz.embedding.interventions import (
    SEGMENT_CHANGES,
    AllSegments,
    FlipSegment,
    Intervention,
    MovePosition,
    ReplaceToken,
    ReversePositions,
    Scale,
    ShiftPositions,
    ShufflePositions,
    TokenIds,
    change_ids,
)
from embviz.i18n import DEFAULT_LANGUAGE, text


def describe_all(
    changes: tuple[Intervention, ...], before: Decomposition, language: str = DEFAULT_LANGUAGE
) -> list[str]:
    """Each change as a phrase, in their order; they fit the input, see `describe`."""
    return [describe(change, before, changes[:i], language) for i, change in enumerate(changes)]


def describe(
    change: Intervention,
    before: Decomposition,
    earlier: tuple[Intervention, ...] = (),
    language: str = DEFAULT_LANGUAGE,
) -> str:
    """One change as a phrase, like “positions + 5, the first token kept”.

    Args:
        change: what is changed.
        before: the input as encoded, whose tokens are named.
        earlier: the changes before it, which say what a flipped segment was.
        language: of the catalogue.
    """
    values: dict[str, object] = {name: value for name, value in vars(change).items() if name != "ids"}
    if isinstance(change, FlipSegment | MovePosition | ReplaceToken) and change.index < len(before):
        values["was"] = before.tokens[change.index]
    if isinstance(change, FlipSegment) and change.index < len(before):
        values["segment"] = segment_letter(_flipped(change, before, earlier))
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


def _flipped(change: FlipSegment, before: Decomposition, earlier: tuple[Intervention, ...]) -> int:
    """The segment of the token right after the flip, whatever follows."""
    of_segments = (*(one for one in earlier if isinstance(one, SEGMENT_CHANGES)), change)
    unlimited = np.iinfo(np.int64).max
    ids = TokenIds(before.token_type_ids, before.position_ids, unlimited, unlimited)
    return int(change_ids(ids, of_segments).token_type_ids[change.index])


def segment_letter(segment: int) -> str:
    """A and B as in the BERT paper; further segments have their number."""
    return "AB"[segment] if segment < 2 else str(segment)

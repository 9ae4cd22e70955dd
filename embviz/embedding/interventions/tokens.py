"""Another token: one piece of the input stands for another one of the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

from embviz.embedding.interventions.checks import check_whole
from embviz.errors import InputError

MAX_PIECE = 1_000
"""Characters; the longest pieces of known vocabularies have a few hundred."""


@dataclass(frozen=True)
class ReplaceToken:
    """One token is replaced by another piece of the vocabulary.

    Positions are then counted anew: where they skip padding, a piece that is or was padding moves the others.

    Attributes:
        index: the token, from 0.
        piece: as the tokenizer has it (`##ing`, `Ġthe`).
    """

    index: int
    piece: str

    def __post_init__(self) -> None:
        check_whole("index", self.index, 0)
        if not isinstance(self.piece, str):
            raise InputError("not_text", field="what_if", name="piece", kind=type(self.piece).__name__)
        if not 0 < len(self.piece) <= MAX_PIECE:
            raise InputError("piece_length", field="what_if", length=len(self.piece), limit=MAX_PIECE)
        # A pair of surrogates is one character, as JSON reads it.
        joined = self.piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        object.__setattr__(self, "piece", joined)

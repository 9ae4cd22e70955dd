"""The ids that are looked up, and what the model's tables allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from embviz.embedding.decomposition import Ids
from embviz.errors import InputError
from embviz.i18n import text


@dataclass(frozen=True, eq=False)
class TokenIds:
    """The ids that are looked up, each `(seq_len,)`, and the sizes of their tables.

    Attributes:
        token_type_ids: rows of the token type table.
        position_ids: rows of the position table.
        type_vocab_size: rows of the token type table; 0 where there is none.
        max_position_embeddings: rows of the position table; 0 where no position is added.
        absent: for a part that the model does not have, the reason.
    """

    token_type_ids: Ids
    position_ids: Ids
    type_vocab_size: int
    max_position_embeddings: int
    absent: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.token_type_ids)

    def with_segments(self, token_type_ids: Ids) -> TokenIds:
        """The same with other segments, `(seq_len,)`.

        Raises:
            InputError: there is not one a token, or one is not a row of its table, or the model has fewer than
                two segments.
        """
        self.need_segments()
        _check("segment", token_type_ids, len(self), self.type_vocab_size)
        return replace(self, token_type_ids=token_type_ids)

    def with_positions(self, position_ids: Ids) -> TokenIds:
        """The same with other positions, `(seq_len,)`.

        Raises:
            InputError: there is not one a token, or one is not a row of its table, or the model adds none.
        """
        self.need_positions()
        _check("position", position_ids, len(self), self.max_position_embeddings)
        return replace(self, position_ids=position_ids)

    def need_segments(self) -> None:
        """Nothing; an InputError with the reason where the model has fewer than two segments."""
        if self.type_vocab_size < 2:
            reason = self.absent.get("segment", text("reason.one_segment"))
            raise InputError("no_segments", field="what_if", reason=reason)

    def need_positions(self) -> None:
        """Nothing; an InputError with the reason where the model adds no positions."""
        if not self.max_position_embeddings:
            reason = self.absent.get("position", text("reason.no_position"))
            raise InputError("no_positions", field="what_if", reason=reason)

    def need_token(self, index: int) -> None:
        """Nothing; an InputError where there is no such token."""
        check_index(index, len(self))


def check_index(index: int, length: int) -> None:
    """Nothing; an InputError where an input of this length has no token of this index."""
    if not 0 <= index < length:
        raise InputError("token_index", field="what_if", index=index, length=length, last=length - 1)


def _check(name: str, ids: Ids, length: int, rows: int) -> None:
    if np.shape(ids) != (length,):
        raise InputError("ids_length", field="what_if", name=name, found=len(ids), length=length)
    outside = ids[(ids < 0) | (ids >= rows)]
    if outside.size:
        raise InputError("ids", field="what_if", name=name, found=int(outside[0]), largest=rows - 1)

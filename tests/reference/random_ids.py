"""Random tokens, segments and positions for the bundled model, for hypothesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import embviz
from embviz.embedding.decomposition import Decomposition, EncodedText
from embviz.embedding.interventions import ComponentChanges

VOCABULARY, SEGMENTS, POSITIONS = 30522, 2, 512


@dataclass(frozen=True)
class IdRows:
    """Ids of equally many tokens, segments and positions."""

    input_ids: tuple[int, ...]
    token_type_ids: tuple[int, ...]
    position_ids: tuple[int, ...]


@st.composite
def id_rows(draw: st.DrawFn, min_length: int = 1, max_length: int = 24) -> IdRows:
    """Any ids that the bundled model's tables have, in any order."""
    length = draw(st.integers(min_length, max_length))
    columns = [
        tuple(draw(st.lists(st.integers(0, rows - 1), min_size=length, max_size=length)))
        for rows in (VOCABULARY, SEGMENTS, POSITIONS)
    ]
    return IdRows(*columns)


def encoded(input_ids: tuple[int, ...]) -> EncodedText:
    """A text that has these ids, whatever it may be."""
    n = len(input_ids)
    return EncodedText(
        text="",
        text_pair=None,
        tokens=tuple(map(str, input_ids)),
        input_ids=np.array(input_ids, np.int64),
        token_type_ids=np.zeros(n, np.int64),
        special_tokens_mask=np.zeros(n, np.int64),
        typed_special=(False,) * n,
        offsets=((0, 0),) * n,
        sentences=(0,) * n,
        word_ids=tuple(range(n)),
    )


def decompose(rows: IdRows, factors: dict[str, float] | None = None) -> Decomposition:
    """The bundled model's answer to these ids."""
    return embviz.load_model().decompose_ids(
        encoded(rows.input_ids),
        np.array(rows.token_type_ids),
        np.array(rows.position_ids),
        ComponentChanges(factors=factors or {}),
    )

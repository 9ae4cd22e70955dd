"""Other positions: which row of the position table each token gets.

Positions are rows of the position table as `Decomposition.position_ids` has them: the first token of BERT is at 0,
that of RoBERTa at 2, since its table keeps row 1 for padding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embviz.embedding.decomposition import Ids
from embviz.embedding.interventions.checks import MAX_SEED, check_switch, check_whole, checked_ids
from embviz.embedding.interventions.token_ids import TokenIds
from embviz.errors import InputError

LARGEST = np.iinfo(np.int64).max
"""What does not fit into 64 bits is no row of any table."""


@dataclass(frozen=True)
class ShiftPositions:
    """Every token moves `k` positions to the right; negative is to the left.

    Attributes:
        k: how far, in positions.
        keep_first: whether the first token stays where it is ([CLS] at 0 has a vector like no other).
    """

    k: int
    keep_first: bool = False

    def __post_init__(self) -> None:
        check_switch("keep_first", self.keep_first)
        check_whole("k", self.k)

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids after the shift.

        Raises:
            InputError: a token would leave the position table; the message names the limits. Or the model adds
                no positions.
        """
        smallest, largest = shift_limits(ids, self.keep_first)
        if not smallest <= self.k <= largest:
            raise InputError(
                "shift", field="what_if", k=self.k, length=len(ids), smallest=smallest, largest=largest
            )
        positions = ids.position_ids.copy()
        positions[_moving(self.keep_first)] += self.k
        return ids.with_positions(positions)


def shift_limits(ids: TokenIds, keep_first: bool = False) -> tuple[int, int]:
    """The smallest and the largest shift that leave every token in the position table; (0, 0) where none moves.

    Raises:
        InputError: the model adds no positions.
    """
    ids.need_positions()
    moved = ids.position_ids[_moving(keep_first)]
    if not moved.size:
        return 0, 0
    return -int(moved.min()), ids.max_position_embeddings - 1 - int(moved.max())


@dataclass(frozen=True)
class ReversePositions:
    """The last token gets the first position and the first the last; twice is as before.

    Attributes:
        keep_first: whether the first token stays where it is, and only the others turn round.
    """

    keep_first: bool = False

    def __post_init__(self) -> None:
        check_switch("keep_first", self.keep_first)

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids with the positions in reverse; an InputError where the model adds none."""
        positions = ids.position_ids.copy()
        positions[_moving(self.keep_first)] = positions[_moving(self.keep_first)][::-1].copy()
        return ids.with_positions(positions)


@dataclass(frozen=True)
class ShufflePositions:
    """The tokens exchange their positions by chance.

    Attributes:
        seed: the same seed gives the same order (NumPy's `default_rng`), 0 to 4,294,967,295.
        keep_first: whether the first token stays where it is.
    """

    seed: int = 0
    keep_first: bool = False

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0, MAX_SEED)
        check_switch("keep_first", self.keep_first)

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids with the positions in another order; an InputError where the model adds none."""
        positions, moving = ids.position_ids.copy(), _moving(self.keep_first)
        positions[moving] = np.random.default_rng(self.seed).permutation(positions[moving])
        return ids.with_positions(positions)


@dataclass(frozen=True)
class ConstantPosition:
    """Every token gets the same position.

    Attributes:
        k: the row of the position table.
    """

    k: int

    def __post_init__(self) -> None:
        check_whole("k", self.k, 0)

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids with one position; an InputError where the table has no such row."""
        return ids.with_positions(_rows((self.k,) * len(ids)))


@dataclass(frozen=True)
class SetPositions:
    """Every token gets the position that is given.

    Attributes:
        ids: rows of the position table, one a token.
    """

    ids: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", checked_ids("ids", self.ids))

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids with these positions; an InputError where they do not fit the input or the table."""
        return ids.with_positions(_rows(self.ids))


@dataclass(frozen=True)
class MovePosition:
    """One token gets another position, and the others stay where they are.

    Attributes:
        index: the token, from 0.
        position: the row of the position table.
    """

    index: int
    position: int

    def __post_init__(self) -> None:
        check_whole("index", self.index, 0)
        check_whole("position", self.position, 0)

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids after the move; an InputError where there is no such token or no such row."""
        ids.need_positions()
        ids.need_token(self.index)
        positions = ids.position_ids.copy()
        positions[self.index] = min(self.position, LARGEST)
        return ids.with_positions(positions)


def _moving(keep_first: bool) -> slice:
    return slice(1, None) if keep_first else slice(None)


def _rows(ids: tuple[int, ...]) -> Ids:
    return np.array([min(i, LARGEST) for i in ids], np.int64)

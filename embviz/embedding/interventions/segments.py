"""Other segments: which of the rows of the token type table each token gets, and what the first two rows are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embviz.embedding.decomposition import Ids
from embviz.embedding.interventions.checks import MAX_FACTOR, check_number, check_whole, checked_ids
from embviz.embedding.interventions.token_ids import TokenIds


@dataclass(frozen=True)
class SetSegments:
    """Every token gets the segment that is given.

    Attributes:
        ids: rows of the token type table, one a token.
    """

    ids: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", checked_ids("ids", self.ids))

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids with these segments; an InputError where they do not fit the input or the table."""
        return ids.with_segments(_rows(self.ids))


@dataclass(frozen=True)
class FlipSegment:
    """One token changes its segment: 0 becomes 1, and any other becomes 0.

    Attributes:
        index: the token, from 0.
    """

    index: int

    def __post_init__(self) -> None:
        check_whole("index", self.index, 0)

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids after the flip; an InputError where there is no such token or no second segment."""
        ids.need_segments()
        ids.need_token(self.index)
        flipped = ids.token_type_ids.copy()
        flipped[self.index] = int(flipped[self.index] == 0)
        return ids.with_segments(flipped)


@dataclass(frozen=True)
class SwapSegments:
    """Segment 0 becomes 1 and 1 becomes 0; twice is as before."""

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids after the swap; an InputError where the model has fewer than two segments."""
        ids.need_segments()
        swapped = np.select(
            [ids.token_type_ids == 0, ids.token_type_ids == 1], [1, 0], default=ids.token_type_ids
        )
        return ids.with_segments(swapped)


@dataclass(frozen=True)
class AllSegments:
    """Every token gets the same segment.

    Attributes:
        k: the row of the token type table.
    """

    k: int

    def __post_init__(self) -> None:
        check_whole("k", self.k, 0)

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids with one segment; an InputError where the table has no such row."""
        ids.need_segments()
        return ids.with_segments(_rows((self.k,) * len(ids)))


@dataclass(frozen=True)
class MeanSegments:
    """Rows 0 and 1 of the token type table are both replaced by their mean."""

    @property
    def difference(self) -> float:
        """What the difference of the two rows is multiplied by."""
        return 0.0


@dataclass(frozen=True)
class ScaleSegmentDifference:
    """Rows 0 and 1 of the token type table move apart about their mean; not the model's own values.

    Attributes:
        k: what s1 − s0 is multiplied by, from -100 to 100; 1 changes nothing, 0 is `MeanSegments`.
    """

    k: float

    def __post_init__(self) -> None:
        check_number("k", self.k, -MAX_FACTOR, MAX_FACTOR)

    @property
    def difference(self) -> float:
        """What the difference of the two rows is multiplied by."""
        return float(self.k)


def _rows(ids: tuple[int, ...]) -> Ids:
    # Whatever does not fit into 64 bits is no row of any table.
    return np.array([min(i, np.iinfo(np.int64).max) for i in ids], np.int64)

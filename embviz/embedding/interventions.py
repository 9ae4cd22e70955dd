"""What if: changes to segments, positions and components, pure and composable.

A change of ids comes before the look-ups, a change of components after them; within each kind they apply in
the order given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from embviz.embedding.decomposition import Ids
from embviz.errors import InputError

MAX_FACTOR = 100.0


@dataclass(frozen=True, eq=False)
class TokenIds:
    """The ids that are looked up, each `(seq_len,)`, and the sizes of their tables."""

    token_type_ids: Ids
    position_ids: Ids
    type_vocab_size: int
    max_position_embeddings: int


@dataclass(frozen=True)
class SwapSegments:
    """Segment 0 becomes 1 and 1 becomes 0; twice is as before."""

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids after the swap.

        Raises:
            InputError: the model has fewer than two segments.
        """
        if ids.type_vocab_size < 2:
            raise InputError("no_segments", field="what_if")
        swapped = np.select(
            [ids.token_type_ids == 0, ids.token_type_ids == 1], [1, 0], default=ids.token_type_ids
        )
        return replace(ids, token_type_ids=swapped)


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
        if not isinstance(self.keep_first, bool):
            raise InputError(
                "choice", field="what_if", name="keep_first", found=self.keep_first, known="True, False"
            )
        if not isinstance(self.k, int) or isinstance(self.k, bool):
            raise InputError("whole_number", field="what_if", name="k", found=self.k)

    def on_ids(self, ids: TokenIds) -> TokenIds:
        """The ids after the shift.

        Raises:
            InputError: a token would leave the position table; the message names the limits. Or the model adds
                no positions.
        """
        if not ids.max_position_embeddings:
            raise InputError("no_positions", field="what_if")
        moving = slice(1, None) if self.keep_first else slice(None)
        positions = ids.position_ids.copy()
        moved = positions[moving]
        if not moved.size:
            return ids
        smallest, largest = -int(moved.min()), ids.max_position_embeddings - 1 - int(moved.max())
        if not smallest <= self.k <= largest:
            raise InputError(
                "shift", field="what_if", k=self.k, length=len(positions), smallest=smallest, largest=largest
            )
        positions[moving] = moved + self.k
        return replace(ids, position_ids=positions)


@dataclass(frozen=True)
class Scale:
    """One component is multiplied by a factor before the sum; 0 removes it.

    Attributes:
        component: "token", "segment" or "position".
        factor: from -100 to 100; 1 changes nothing.
    """

    component: Literal["token", "segment", "position"]
    factor: float

    COMPONENTS: ClassVar[tuple[str, ...]] = ("token", "segment", "position")

    def __post_init__(self) -> None:
        if self.component not in self.COMPONENTS:
            known = ", ".join(self.COMPONENTS)
            raise InputError("choice", field="what_if", name="component", found=self.component, known=known)
        number = isinstance(self.factor, int | float) and not isinstance(self.factor, bool)
        if not number or not abs(self.factor) <= MAX_FACTOR:  # so that NaN is refused too
            raise InputError(
                "number", field="what_if", name="factor", found=self.factor,
                smallest=-MAX_FACTOR, largest=MAX_FACTOR,
            )  # fmt: skip


Intervention = SwapSegments | ShiftPositions | Scale
INTERVENTIONS: dict[str, type[Intervention]] = {
    kind.__name__: kind for kind in (SwapSegments, ShiftPositions, Scale)
}


def change_ids(ids: TokenIds, what_if: tuple[Intervention, ...]) -> TokenIds:
    """The ids after all changes of ids, in their order."""
    for change in what_if:
        if not isinstance(change, Scale):
            ids = change.on_ids(ids)
    return ids


def component_factors(what_if: tuple[Intervention, ...]) -> dict[str, float]:
    """What each component is multiplied by after all changes; components that are not scaled are left out."""
    factors: dict[str, float] = {}
    for change in what_if:
        if isinstance(change, Scale):
            factors[change.component] = factors.get(change.component, 1.0) * change.factor
    return factors

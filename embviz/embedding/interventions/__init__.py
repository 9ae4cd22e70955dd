"""What if: changes to tokens, segments, positions, components, LayerNorm and dropout, pure and composable.

The stated order, whatever the order in which they are given:

    replaced tokens → ids of segments and of positions → look-ups → segment rows (mean, difference)
    → factors of the components → sum → LayerNorm (off, eps) → dropout → projection

Within each step they apply in the order given. Each is a small frozen dataclass of plain values: it checks on
construction what it can, and what depends on the model when it is applied.
"""

from __future__ import annotations

from embviz.embedding.interventions.checks import MAX_FACTOR, check_number
from embviz.embedding.interventions.components import (
    ComponentChanges,
    Dropout,
    LayerNormEps,
    NoLayerNorm,
    Scale,
)
from embviz.embedding.interventions.positions import (
    ConstantPosition,
    MovePosition,
    ReversePositions,
    SetPositions,
    ShiftPositions,
    ShufflePositions,
    shift_limits,
)
from embviz.embedding.interventions.segments import (
    AllSegments,
    FlipSegment,
    MeanSegments,
    ScaleSegmentDifference,
    SetSegments,
    SwapSegments,
)
from embviz.embedding.interventions.token_ids import TokenIds, check_index
from embviz.embedding.interventions.tokens import ReplaceToken

__all__ = [
    "INTERVENTIONS",
    "NORM_CHANGES",
    "POSITION_CHANGES",
    "SEGMENT_CHANGES",
    "AllSegments",
    "ComponentChanges",
    "ConstantPosition",
    "Dropout",
    "FlipSegment",
    "Intervention",
    "LayerNormEps",
    "MeanSegments",
    "MovePosition",
    "NoLayerNorm",
    "ReplaceToken",
    "ReversePositions",
    "Scale",
    "ScaleSegmentDifference",
    "SetPositions",
    "SetSegments",
    "ShiftPositions",
    "ShufflePositions",
    "SwapSegments",
    "TokenIds",
    "change_ids",
    "check_index",
    "component_changes",
    "shift_limits",
]

SegmentIdChange = SetSegments | FlipSegment | SwapSegments | AllSegments
SegmentRowChange = MeanSegments | ScaleSegmentDifference
PositionChange = (
    ShiftPositions | ReversePositions | ShufflePositions | ConstantPosition | SetPositions | MovePosition
)
NormChange = NoLayerNorm | LayerNormEps
Intervention = (
    ReplaceToken | SegmentIdChange | SegmentRowChange | PositionChange | Scale | NormChange | Dropout
)

SEGMENT_CHANGES: tuple[type[Intervention], ...] = (
    SetSegments, FlipSegment, SwapSegments, AllSegments, MeanSegments, ScaleSegmentDifference,
)  # fmt: skip
POSITION_CHANGES: tuple[type[Intervention], ...] = (
    ShiftPositions, ReversePositions, ShufflePositions, ConstantPosition, SetPositions, MovePosition,
)  # fmt: skip
NORM_CHANGES: tuple[type[Intervention], ...] = (NoLayerNorm, LayerNormEps)

INTERVENTIONS: dict[str, type[Intervention]] = {
    kind.__name__: kind
    for kind in (ReplaceToken, *SEGMENT_CHANGES, *POSITION_CHANGES, Scale, *NORM_CHANGES, Dropout)
}


def change_ids(ids: TokenIds, what_if: tuple[Intervention, ...]) -> TokenIds:
    """The ids after all changes of segment and position ids, in their order.

    Raises:
        InputError: one does not fit the input or the model.
    """
    for change in what_if:
        if isinstance(change, SegmentIdChange | PositionChange):
            ids = change.on_ids(ids)
    return ids


def component_changes(what_if: tuple[Intervention, ...]) -> ComponentChanges:
    """All changes that come after the look-ups, together: factors of one component multiply.

    Raises:
        InputError: a product of factors is out of bounds.
    """
    factors: dict[str, float] = {}
    difference, eps, dropouts = 1.0, None, []
    for change in what_if:
        if isinstance(change, Scale):
            factors[change.component] = factors.get(change.component, 1.0) * change.factor
            check_number("factor", factors[change.component], -MAX_FACTOR, MAX_FACTOR)
        elif isinstance(change, SegmentRowChange):
            difference *= change.difference
            check_number("k", difference, -MAX_FACTOR, MAX_FACTOR)
        elif isinstance(change, LayerNormEps):
            eps = change.eps
        elif isinstance(change, Dropout):
            dropouts.append(change)
    return ComponentChanges(
        segment_difference=difference,
        factors=factors,
        layer_norm=not any(isinstance(change, NoLayerNorm) for change in what_if),
        eps=eps,
        dropouts=tuple(dropouts),
    )

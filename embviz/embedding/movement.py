"""What a what-if moved: how far each token went, which numbers changed, and where the segments lie."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.decomposition import Decomposition, Floats, Ids
from embviz.embedding.metrics import cosine

Stage = Literal["summed", "normalized", "output"]
STAGES: tuple[Stage, ...] = ("summed", "normalized", "output")

MAX_DIMENSIONS = 10
"""How many of the dimensions that changed most are named."""


@dataclass(frozen=True, eq=False)
class StageMovement:
    """How far each token moved at one stage.

    A token is left out of means and shares where its vector is not a number throughout, or, of cosines, where it
    is zero before or after: its distance is NaN.

    Attributes:
        delta: after − before, float32, `(seq_len, size)`.
        cosine_distance: 1 − cos(before, after), 0 to 2, `(seq_len,)`; exactly 0 where both are the same, else NaN
            where one of them is zero.
        distance: Euclidean length of `delta`, `(seq_len,)`.
        dimensions: those that changed most, the largest mean |delta| over the tokens first, at most 10; none
            that did not change at all.
        dimension_change: their mean |delta|.
    """

    delta: Floats
    cosine_distance: NDArray[np.float64]
    distance: NDArray[np.float64]
    dimensions: Ids
    dimension_change: NDArray[np.float64]

    @property
    def mean_cosine_distance(self) -> float:
        """Mean of the cosine distances that are numbers; NaN where none is."""
        return _mean(self.cosine_distance)

    @property
    def mean_distance(self) -> float:
        """Mean of the Euclidean distances that are numbers; NaN where none is."""
        return _mean(self.distance)

    @cached_property
    def most_moved(self) -> int | None:
        """The token with the largest cosine distance; None where no token turned."""
        numbers = np.nan_to_num(self.cosine_distance)
        return int(numbers.argmax()) if numbers.any() else None

    @property
    def share_of_most_moved(self) -> float:
        """Its share of the sum of all cosine distances, 0 to 1; 0 where no token turned."""
        if self.most_moved is None:
            return 0.0
        return float(self.cosine_distance[self.most_moved] / np.nansum(self.cosine_distance))

    @property
    def mean_had_it_stayed(self) -> float:
        """What `mean_cosine_distance` would be, had `most_moved` not turned at all.

        Tokens do not see each other before the encoder (but for MobileBERT and ESM), so that this is what keeping
        that token back gives.
        """
        return self.mean_cosine_distance * (1 - self.share_of_most_moved)


@dataclass(frozen=True, eq=False)
class Movement:
    """What a what-if moved, stage by stage.

    Attributes:
        summed: of token + segment + position.
        normalized: of the LayerNorm's result; None where there is none before or none after.
        output: of what enters the encoder.
        changed: whether any number of these stages is another one, or a stage is gone.
    """

    summed: StageMovement
    normalized: StageMovement | None
    output: StageMovement
    changed: bool

    def stage(self, name: Stage) -> StageMovement | None:
        """One of `STAGES` by its name."""
        found: StageMovement | None = getattr(self, name)
        return found


def movement(before: Decomposition, after: Decomposition) -> Movement:
    """How the vectors of a text moved from one decomposition to another with equally many tokens."""
    normalized = None
    if before.normalized is not None and after.normalized is not None:
        normalized = _moved(before.normalized, after.normalized)
    return Movement(
        summed=_moved(before.summed, after.summed),
        normalized=normalized,
        output=_moved(before.output, after.output),
        changed=not all(_same(getattr(before, name), getattr(after, name)) for name in STAGES),
    )


def _moved(before: Floats, after: Floats) -> StageMovement:
    old, new = np.asarray(before, np.float64), np.asarray(after, np.float64)
    with np.errstate(invalid="ignore"):  # where a checkpoint holds infinities
        delta = new - old
        turned = (1 - cosine(old, new)).clip(0, 2)
    finite: NDArray[np.bool_] = np.isfinite(delta).all(axis=1)  # type: ignore[assignment]
    stayed = finite & ~delta.any(axis=1)
    change = np.abs(delta[finite]).mean(axis=0) if finite.any() else np.zeros(delta.shape[1])
    largest = np.argsort(-change, kind="stable")[:MAX_DIMENSIONS]
    largest = largest[change[largest] > 0]
    return StageMovement(
        delta=delta.astype(np.float32),
        cosine_distance=np.where(stayed, 0.0, np.where(finite, turned, np.nan)),
        distance=np.where(finite, np.linalg.norm(np.where(finite[:, None], delta, 0), axis=1), np.nan),
        dimensions=largest,
        dimension_change=change[largest],
    )


def _same(before: Floats | None, after: Floats | None) -> bool:
    if before is None or after is None:
        return before is after
    return before is after or np.array_equal(before, after, equal_nan=True)


def _mean(values: NDArray[np.float64]) -> float:
    numbers = values[~np.isnan(values)]
    return float(numbers.mean()) if numbers.size else float("nan")


@dataclass(frozen=True, eq=False)
class SegmentLens:
    """Every token on the line from segment 0 to segment 1, where a PCA does not part them.

    Attributes:
        direction: the unit vector along s1 − s0, `(embedding_size,)`.
        projection: the sum of each token along it, `(seq_len,)`.
        token_type_ids: the segment of each token, `(seq_len,)`.
    """

    direction: NDArray[np.float64]
    projection: NDArray[np.float64]
    token_type_ids: Ids

    def of(self, segment: int) -> NDArray[np.float64]:
        """The projections of the tokens of a segment, those that are numbers."""
        counted = (self.token_type_ids == segment) & np.isfinite(self.projection)
        rows: NDArray[np.float64] = self.projection[counted]
        return rows

    def mean(self, segment: int) -> float:
        """Mean projection of a segment's tokens; NaN where it has none."""
        return _mean(self.of(segment))

    def spread(self, segment: int) -> float:
        """Standard deviation of a segment's projections (n − 1); NaN with fewer than two tokens."""
        rows = self.of(segment)
        return float(rows.std(ddof=1)) if len(rows) > 1 else float("nan")

    @property
    def separation(self) -> float:
        """d′ = (mean of segment 1 − mean of segment 0) / root mean square of their standard deviations.

        Green & Swets 1966. NaN where a segment has fewer than two tokens, or neither has any spread.
        """
        spread = float(np.sqrt((self.spread(0) ** 2 + self.spread(1) ** 2) / 2))
        return (self.mean(1) - self.mean(0)) / spread if spread else float("nan")


def segment_lens(decomposition: Decomposition, rows: Floats | None) -> SegmentLens | None:
    """Where the tokens lie along s1 − s0; None where the model has no two rows that differ.

    Args:
        decomposition: before or after changes.
        rows: the model's own token type table as it is added, `(type_vocab_size, embedding_size)`, so that before
            and after lie on one line; None where the model has none.
    """
    if rows is None or len(rows) < 2:
        return None
    first, second = np.asarray(rows[:2], np.float64)
    length = float(np.linalg.norm(second - first))
    if not length or not np.isfinite(length):
        return None
    direction = (second - first) / length
    with np.errstate(invalid="ignore"):
        projection = np.asarray(decomposition.summed, np.float64) @ direction
    return SegmentLens(direction, projection, decomposition.token_type_ids)

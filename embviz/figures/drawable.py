"""What a figure needs to know of an analysis: arrays and labels, no model in sight."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.decomposition import Decomposition
from embviz.embedding.metrics import Metrics
from embviz.embedding.movement import Movement, SegmentLens
from embviz.embedding.projection import Projection


class Choices(Protocol):
    """The choices of a Recipe that concern drawing."""

    @property
    def pca_fit(self) -> str:
        """See `embviz.Recipe`."""

    @property
    def pca_components(self) -> tuple[int, ...]:
        """See `embviz.Recipe`."""

    @property
    def color_by(self) -> str:
        """See `embviz.Recipe`."""


class Drawable(Protocol):
    """The attributes of `embviz.Analysis` that figures read; their meaning is written there."""

    @property
    def recipe(self) -> Choices:
        """See `embviz.Analysis`."""

    @property
    def before(self) -> Decomposition:
        """See `embviz.Analysis`."""

    @property
    def after(self) -> Decomposition:
        """See `embviz.Analysis`."""

    @property
    def metrics(self) -> Metrics:
        """See `embviz.Analysis`."""

    @property
    def drawn(self) -> NDArray[np.bool_]:
        """See `embviz.Analysis`."""

    @property
    def projection(self) -> Projection:
        """See `embviz.Analysis`."""

    @property
    def normalized_projection(self) -> Projection:
        """See `embviz.Analysis`."""


class Compared(Protocol):
    """The attributes of `embviz.Analysis` that figures of a what-if read; their meaning is written there."""

    @property
    def before(self) -> Decomposition:
        """See `embviz.Analysis`."""

    @property
    def after(self) -> Decomposition:
        """See `embviz.Analysis`."""

    @property
    def moved(self) -> Movement | None:
        """See `embviz.Analysis`."""

    @property
    def lens_before(self) -> SegmentLens | None:
        """See `embviz.Analysis`."""

    @property
    def lens_after(self) -> SegmentLens | None:
        """See `embviz.Analysis`."""

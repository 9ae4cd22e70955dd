"""Other components and another LayerNorm: what is changed after the look-ups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from embviz.embedding.interventions.checks import MAX_FACTOR, MAX_SEED, check_number, check_whole
from embviz.errors import InputError

MIN_EPS, MAX_EPS = 1e-20, 100.0
"""An eps of 0 would make NaN of a sum of zeros."""


@dataclass(frozen=True)
class Scale:
    """One component is multiplied by a factor before the sum; 0 removes it.

    Attributes:
        component: "token", "segment" or "position", as it enters the sum.
        factor: from -100 to 100; 1 changes nothing.
    """

    component: Literal["token", "segment", "position"]
    factor: float

    COMPONENTS: ClassVar[tuple[str, ...]] = ("token", "segment", "position")

    def __post_init__(self) -> None:
        if self.component not in self.COMPONENTS:
            known = ", ".join(self.COMPONENTS)
            raise InputError("choice", field="what_if", name="component", found=self.component, known=known)
        check_number("factor", self.factor, -MAX_FACTOR, MAX_FACTOR)


@dataclass(frozen=True)
class NoLayerNorm:
    """The sum enters what comes after the LayerNorm as it is."""


@dataclass(frozen=True)
class LayerNormEps:
    """The LayerNorm adds another eps to the variance; the last one of several counts.

    Attributes:
        eps: from 1e-20 to 100.
    """

    eps: float

    def __post_init__(self) -> None:
        check_number("eps", self.eps, MIN_EPS, MAX_EPS)


@dataclass(frozen=True)
class Dropout:
    """Each number of the LayerNorm's result becomes 0 by chance, and the others grow to make up for it.

    Where the official class has it in training, `torch.nn.functional.dropout` after `torch.manual_seed(seed)`: of the
    sum where there is no LayerNorm, and before a projection that follows (ALBERT, ELECTRA); but FNet drops after its
    projection, and BigBird before its LayerNorm.

    Attributes:
        p: the probability, 0 to 1; 0 changes nothing.
        seed: the same seed drops the same numbers, 0 to 4,294,967,295.
    """

    p: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("p", self.p, 0, 1)
        check_whole("seed", self.seed, 0, MAX_SEED)


@dataclass(frozen=True)
class ComponentChanges:
    """All that is changed after the look-ups, in the order in which it is done.

    Attributes:
        segment_difference: what the difference of the first two segment rows is multiplied by.
        factors: what each component is multiplied by; a component that is not named stays as it is.
        layer_norm: whether there is a LayerNorm.
        eps: the LayerNorm's eps; None means the model's own.
        dropouts: each in its turn, where the model drops.
    """

    segment_difference: float = 1.0
    factors: Mapping[str, float] = field(default_factory=dict)
    layer_norm: bool = True
    eps: float | None = None
    dropouts: tuple[Dropout, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether all of it together leaves every number as it is."""
        return (
            self.segment_difference == 1
            and all(factor == 1 for factor in self.factors.values())
            and self.layer_norm
            and self.eps is None
            and not any(dropout.p for dropout in self.dropouts)
        )

"""embviz takes a language model's input layer apart: token + segment + position = sum → LayerNorm.

Floors, top to bottom, nothing imports upward:
app > cli > ui > comparison > analysis > figures | exports | models | recipe > embedding > errors > i18n
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embviz import figures
    from embviz.analysis import Analysis, analyze
    from embviz.comparison import Comparison, compare
    from embviz.embedding.decomposition import Decomposition
    from embviz.embedding.interventions import (
        AllSegments,
        ConstantPosition,
        Dropout,
        FlipSegment,
        LayerNormEps,
        MeanSegments,
        MovePosition,
        NoLayerNorm,
        ReplaceToken,
        ReversePositions,
        Scale,
        ScaleSegmentDifference,
        SetPositions,
        SetSegments,
        ShiftPositions,
        ShufflePositions,
        SwapSegments,
    )
    from embviz.embedding.movement import Movement, SegmentLens
    from embviz.errors import EmbvizError, InputError, ModelError
    from embviz.models.loading import EmbeddingModel, load_model
    from embviz.recipe import Recipe

_HOMES = {
    "AllSegments": "embviz.embedding.interventions",
    "Analysis": "embviz.analysis",
    "analyze": "embviz.analysis",
    "compare": "embviz.comparison",
    "Comparison": "embviz.comparison",
    "ConstantPosition": "embviz.embedding.interventions",
    "Decomposition": "embviz.embedding.decomposition",
    "Dropout": "embviz.embedding.interventions",
    "EmbeddingModel": "embviz.models.loading",
    "EmbvizError": "embviz.errors",
    "FlipSegment": "embviz.embedding.interventions",
    "InputError": "embviz.errors",
    "LayerNormEps": "embviz.embedding.interventions",
    "load_model": "embviz.models.loading",
    "MeanSegments": "embviz.embedding.interventions",
    "ModelError": "embviz.errors",
    "Movement": "embviz.embedding.movement",
    "MovePosition": "embviz.embedding.interventions",
    "NoLayerNorm": "embviz.embedding.interventions",
    "Recipe": "embviz.recipe",
    "ReplaceToken": "embviz.embedding.interventions",
    "ReversePositions": "embviz.embedding.interventions",
    "Scale": "embviz.embedding.interventions",
    "ScaleSegmentDifference": "embviz.embedding.interventions",
    "SegmentLens": "embviz.embedding.movement",
    "SetPositions": "embviz.embedding.interventions",
    "SetSegments": "embviz.embedding.interventions",
    "ShiftPositions": "embviz.embedding.interventions",
    "ShufflePositions": "embviz.embedding.interventions",
    "SwapSegments": "embviz.embedding.interventions",
}

__all__ = [
    "AllSegments",
    "Analysis",
    "Comparison",
    "ConstantPosition",
    "Decomposition",
    "Dropout",
    "EmbeddingModel",
    "EmbvizError",
    "FlipSegment",
    "InputError",
    "LayerNormEps",
    "MeanSegments",
    "ModelError",
    "MovePosition",
    "Movement",
    "NoLayerNorm",
    "Recipe",
    "ReplaceToken",
    "ReversePositions",
    "Scale",
    "ScaleSegmentDifference",
    "SegmentLens",
    "SetPositions",
    "SetSegments",
    "ShiftPositions",
    "ShufflePositions",
    "SwapSegments",
    "analyze",
    "compare",
    "figures",
    "load_model",
]


def __getattr__(name: str) -> Any:
    """Public names arrive when they are first used, so that `import embviz` stays instant."""
    if name == "figures":
        return import_module("embviz.figures")
    if name == "__version__":
        try:
            return version("embviz")
        except PackageNotFoundError:  # run from a checkout that is not installed
            return "0"
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

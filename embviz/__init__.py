"""embviz takes a language model's input layer apart: token + segment + position = sum → LayerNorm.

Floors, top to bottom, nothing imports upward:
app > cli > ui > analysis > figures | exports | models | recipe > embedding > errors > i18n
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embviz import figures
    from embviz.analysis import Analysis, analyze
    from embviz.embedding.decomposition import Decomposition
    from embviz.embedding.interventions import Scale, ShiftPositions, SwapSegments
    from embviz.errors import EmbvizError, InputError, ModelError
    from embviz.models.loading import EmbeddingModel, load_model
    from embviz.recipe import Recipe

_HOMES = {
    "Analysis": "embviz.analysis",
    "analyze": "embviz.analysis",
    "Decomposition": "embviz.embedding.decomposition",
    "EmbeddingModel": "embviz.models.loading",
    "EmbvizError": "embviz.errors",
    "InputError": "embviz.errors",
    "ModelError": "embviz.errors",
    "Recipe": "embviz.recipe",
    "Scale": "embviz.embedding.interventions",
    "ShiftPositions": "embviz.embedding.interventions",
    "SwapSegments": "embviz.embedding.interventions",
    "load_model": "embviz.models.loading",
}

__all__ = [
    "Analysis",
    "Decomposition",
    "EmbeddingModel",
    "EmbvizError",
    "InputError",
    "ModelError",
    "Recipe",
    "Scale",
    "ShiftPositions",
    "SwapSegments",
    "analyze",
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

"""Figures of an `Analysis`: arrays and labels in, Plotly figures out, one file a figure.

Inside, a figure is a plain dict ("spec"), which is many times cheaper than `plotly.graph_objects`; the
functions here wrap it for library users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from embviz.figures.beside import beside_caption, beside_specs
from embviz.figures.drawable import Drawable
from embviz.figures.heatmap import heatmap_spec
from embviz.figures.pca import normalized_spec, pca_spec
from embviz.figures.style import Spec

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from embviz.comparison import Comparison

__all__ = [
    "beside",
    "beside_caption",
    "beside_specs",
    "heatmap",
    "heatmap_spec",
    "normalized_pca",
    "normalized_spec",
    "pca",
    "pca_spec",
]


def pca(analysis: Drawable) -> Figure:
    """The map of token → + segment → + position as a `plotly.graph_objects.Figure`."""
    return _figure(pca_spec(analysis))


def normalized_pca(analysis: Drawable) -> Figure:
    """The map of the LayerNorm's results as a `plotly.graph_objects.Figure`."""
    return _figure(normalized_spec(analysis))


def heatmap(analysis: Drawable) -> Figure:
    """Token × dimension heatmaps of all parts as a `plotly.graph_objects.Figure`."""
    return _figure(heatmap_spec(analysis))


def beside(comparison: Comparison) -> tuple[Figure, ...]:
    """The map of the sums of two inputs: one figure in a common basis, or one each where there is none."""
    return tuple(_figure(spec) for spec in beside_specs(comparison))


def _figure(spec: Spec) -> Figure:
    from plotly.graph_objects import Figure

    return Figure(spec)

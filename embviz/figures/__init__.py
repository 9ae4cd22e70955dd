"""Figures of an `Analysis`: arrays and labels in, Plotly figures out, one file a figure.

Inside, a figure is a plain dict ("spec"), which is many times cheaper than `plotly.graph_objects`; the
functions here wrap it for library users.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from embviz.figures.beside import beside_caption, beside_specs
from embviz.figures.changes import bars_spec, delta_spec, lens_spec
from embviz.figures.drawable import Compared, Drawable
from embviz.figures.heatmap import heatmap_spec
from embviz.figures.layers import layers_spec
from embviz.figures.pca import normalized_spec, pca_spec
from embviz.figures.style import Spec

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from embviz.comparison import Comparison
    from embviz.embedding.layers import LayerMovement

__all__ = [
    "bars_spec",
    "beside",
    "beside_caption",
    "beside_specs",
    "changes",
    "delta_spec",
    "deltas",
    "heatmap",
    "heatmap_spec",
    "layers",
    "layers_spec",
    "lens",
    "lens_spec",
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


def changes(analysis: Compared) -> Figure:
    """How far each token turned by a what-if, as a `plotly.graph_objects.Figure`."""
    return _figure(bars_spec(analysis))


def deltas(analysis: Compared) -> Figure:
    """Heatmaps of after − before, as a `plotly.graph_objects.Figure`."""
    return _figure(delta_spec(analysis))


def lens(analysis: Compared) -> Figure:
    """Each token between segment 0 and segment 1, before and after, as a `plotly.graph_objects.Figure`."""
    return _figure(lens_spec(analysis))


def layers(movement: LayerMovement, tokens: Sequence[str]) -> Figure:
    """How far each token moved in every layer, as a `plotly.graph_objects.Figure`.

    Args:
        movement: what `embviz.analysis.through_encoder` gives.
        tokens: the pieces, `analysis.after.tokens`.
    """
    return _figure(layers_spec(movement, tokens))


def beside(comparison: Comparison) -> tuple[Figure, ...]:
    """The map of the sums of two inputs: one figure in a common basis, or one each where there is none."""
    return tuple(_figure(spec) for spec in beside_specs(comparison))


def _figure(spec: Spec) -> Figure:
    from plotly.graph_objects import Figure

    return Figure(spec)

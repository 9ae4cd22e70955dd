"""compare(recipe, other): two inputs side by side, in one basis and on one colour scale where there can be one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embviz.analysis import Analysis, analyze
from embviz.embedding.decomposition import ALL_PARTS, COMPONENTS, Decomposition, Floats, Part
from embviz.embedding.metrics import cosine, variance_shares
from embviz.embedding.projection import Projection, fit_projection
from embviz.figures.style import color_limit
from embviz.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two inputs.

    Attributes:
        analysis: everything that follows from its Recipe.
        projections: the bases of "summed" and "normalized"; where the comparison has a common basis, both sides hold
            the very same ones. That of "normalized" is fitted on nothing where there is no LayerNorm.
        limits: the end of the colour range of "parts" (parts and sum) and of "normalized", by the same rule.
        mean_norms: mean length of the vectors of each part over all tokens whose vectors are numbers.
        variance_shares: see `metrics.variance_shares`, over the tokens on the map.
    """

    analysis: Analysis
    projections: Mapping[Part, Projection]
    limits: Mapping[str, float]
    mean_norms: Mapping[Part, float]
    variance_shares: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two inputs side by side.

    Attributes:
        this: the first.
        other: the second.
        common: whether both have vectors of one width, and so one basis and one colour scale. Vectors of different
            widths have no dimension in common, and one of the same length has smaller numbers where it is wider:
            each side then has a basis with shares of its own, and a colour scale of its own, since the same colour
            in both would say something that is not so.
        same_model: whether both Recipes name one model at one revision.
        between: share of the variance of both sums together that lies between the centres of the two, 0 to 1; NaN
            without a common basis, or where nothing differs.
        pairs: tokens that both inputs have, `(index, index)`: first those of one id at one place, then those of one
            id wherever they stand, in the order of both. None of two models.
        cosines: by part that both have, the cosine of the two vectors of each pair, `(len(pairs),)`; none of two
            models.
    """

    this: Side
    other: Side
    common: bool
    same_model: bool
    between: float
    pairs: tuple[tuple[int, int], ...]
    cosines: Mapping[Part, NDArray[np.float64]]


def compare(recipe: Recipe, other: Recipe) -> Comparison:
    """Both inputs analysed, in one basis: a PCA of both sums together, of the tokens that each Recipe draws.

    What a Recipe's own map is fitted on (`pca_fit`) plays no part here. What is compared is the input after the
    changes of each Recipe.

    Raises:
        EmbvizError: something in one of the Recipes cannot be used; one plain sentence says what.
    """
    analyses = (analyze(recipe), analyze(other))
    widths = {one.after.summed.shape[1] for one in analyses}
    common = len(widths) == 1
    if common:  # the very same bases, not equal ones
        basis = _basis(analyses)
        this, that = (_side(one, basis) for one in analyses)
    else:
        this, that = (_side(one, _basis((one,))) for one in analyses)
    same_model = (recipe.model, recipe.revision) == (other.model, other.revision)
    pairs = _pairs(analyses[0].after, analyses[1].after) if same_model else ()
    return Comparison(
        this=this,
        other=that,
        common=common,
        same_model=same_model,
        between=_between(*analyses) if common else float("nan"),
        pairs=pairs,
        cosines=_cosines(analyses[0].after, analyses[1].after, pairs) if same_model else {},
    )


def _basis(group: tuple[Analysis, ...]) -> tuple[dict[Part, Projection], dict[str, float]]:
    """The projections and the limits of colours of inputs that share them."""
    width = group[0].after.summed.shape[1]
    projections: dict[Part, Projection] = {
        name: fit_projection(np.concatenate([np.zeros((0, width)), *_drawn(group, name)]))
        for name in ("summed", "normalized")
    }
    names: dict[str, tuple[Part, ...]] = {"parts": (*COMPONENTS, "summed"), "normalized": ("normalized",)}
    limits = {
        scale: color_limit(
            [rows for one in group for name in parts if (rows := one.after.part(name)) is not None]
        )
        for scale, parts in names.items()
    }
    return projections, limits


def _side(analysis: Analysis, basis: tuple[Mapping[Part, Projection], Mapping[str, float]]) -> Side:
    finite = analysis.after.finite
    norms = {
        name: float(values[finite].mean()) if finite.any() else float("nan")
        for name, values in analysis.metrics.norms.items()
    }
    return Side(analysis, *basis, norms, variance_shares(analysis.after, analysis.drawn))


def _drawn(group: tuple[Analysis, ...], name: Part) -> list[Floats]:
    """The rows of a part that are on the map, of each input that has it."""
    return [rows[one.drawn] for one in group if (rows := one.after.part(name)) is not None]


def _between(this: Analysis, other: Analysis) -> float:
    """Of the variance of both sums together, the share between the two centres: Σ n_i ‖m_i − m‖² / Σ ‖x − m‖²."""
    groups = [np.asarray(rows, np.float64) for rows in _drawn((this, other), "summed")]
    everything = np.concatenate(groups)
    if not all(map(len, groups)):
        return float("nan")
    centre = everything.mean(axis=0)
    total = float(((everything - centre) ** 2).sum())
    between = sum(len(rows) * float(((rows.mean(axis=0) - centre) ** 2).sum()) for rows in groups)
    return between / total if total else float("nan")


def _pairs(this: Decomposition, other: Decomposition) -> tuple[tuple[int, int], ...]:
    """Tokens of one id: at one place first, the rest from the left."""
    ids, theirs = this.input_ids.tolist(), other.input_ids.tolist()
    placed = {i: i for i in range(min(len(ids), len(theirs))) if ids[i] == theirs[i]}
    free: dict[int, list[int]] = {}
    for place, token_id in enumerate(theirs):
        if place not in placed:
            free.setdefault(token_id, []).append(place)
    for place, token_id in enumerate(ids):
        if place not in placed and free.get(token_id):
            placed[place] = free[token_id].pop(0)
    return tuple(sorted(placed.items()))


def _cosines(
    this: Decomposition, other: Decomposition, pairs: tuple[tuple[int, int], ...]
) -> dict[Part, NDArray[np.float64]]:
    here, there = np.array(pairs, np.intp).reshape(-1, 2).T
    both = ((name, this.part(name), other.part(name)) for name in ALL_PARTS)
    return {name: cosine(a[here], b[there]) for name, a, b in both if a is not None and b is not None}

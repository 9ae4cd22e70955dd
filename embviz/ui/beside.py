"""Two inputs side by side, as the page asks for them: two queries in, one JSON out (docs/payload.md, `beside`)."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from embviz.embedding.decomposition import ALL_PARTS, Decomposition, Part
from embviz.errors import EmbvizError
from embviz.models.limits import OPENING_SECONDS
from embviz.models.watch import watching
from embviz.recipe import Recipe
from embviz.ui.handlers import unopened

if TYPE_CHECKING:
    from embviz.comparison import Comparison, Side

MAX_PAIRS = 128
"""The most pairs of tokens that are listed."""

MAPPED: tuple[Part, ...] = ("summed", "normalized")
"""What there is a map of."""


def beside(query: str, other: str) -> str:
    """The comparison of two Recipes as JSON, or `{"error", "field", "asked"}` with the sentence why there is none.

    A model that is not open is opened here, which has the time that every opening has on a shared server.

    Args:
        query: the Recipe of the page.
        other: the one that it is compared with.
    """
    from embviz.comparison import compare
    from embviz.figures.style import to_json
    from embviz.models.loading import load_model

    try:
        # Only a map of its own can be fitted on a table; and not every model has a position table.
        recipes = [replace(Recipe.from_query(one), pca_fit="input") for one in (query, other)]
        with watching(seconds=OPENING_SECONDS):
            for recipe in recipes:
                load_model(recipe.model, recipe.revision)
            return to_json(_values(compare(*recipes), asked=other))
    except EmbvizError as error:
        return json.dumps({"error": str(error), "field": error.field, "asked": other})


def _values(comparison: Comparison, asked: str) -> dict[str, Any]:
    from embviz.figures.beside import beside_caption, beside_specs

    sides = {"this": comparison.this, "other": comparison.other}
    names = [name for name in ALL_PARTS if any(name in side.mean_norms for side in sides.values())]
    shares = [
        name for name in (*names, "cross") if any(name in side.variance_shares for side in sides.values())
    ]
    return {
        "asked": asked,
        "common": comparison.common,
        "same_model": comparison.same_model,
        **{name: _side(comparison, side) for name, side in sides.items()},
        "maps": {part: beside_specs(comparison, part) for part in MAPPED},
        "norms": [[name, *(_number(side.mean_norms.get(name)) for side in sides.values())] for name in names],
        "shares": [
            [name, *(_number(side.variance_shares.get(name)) for side in sides.values())] for name in shares
        ],
        "pairs": comparison.pairs[:MAX_PAIRS],
        "cosines": {
            name: [_number(value) for value in values[:MAX_PAIRS]]
            for name, values in comparison.cosines.items()
        },
        "sentence": beside_caption(comparison),
    }


def _side(comparison: Comparison, side: Side) -> dict[str, Any]:
    from embviz.figures.beside import points_of
    from embviz.ui.payload import strip_values, window_of

    analysis = side.analysis
    d: Decomposition = analysis.after
    return {
        "query": analysis.recipe.to_query(),
        "ref": unopened(analysis.recipe),
        "changed": bool(analysis.recipe.what_if),
        "model": analysis.model.as_dict(),
        **strip_values(d, *window_of(len(d), 0)),
        "limits": side.limits,
        "points": {
            part: [[_number(x), _number(y)] for x, y in points_of(comparison, side, part).tolist()]
            for part in MAPPED
        },
    }


def _number(value: float | None) -> float | None:
    """A number that JSON knows; None where there is none."""
    return None if value is None or not math.isfinite(value) else float(value)

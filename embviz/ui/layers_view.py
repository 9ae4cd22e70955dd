"""What the tab "Layers" asks for: how far each token moved in every layer, or what has to be fetched first."""

from __future__ import annotations

from typing import Any

from embviz.analysis import analyze, through_encoder
from embviz.errors import EmbvizError, ModelError
from embviz.figures.change_captions import layers_caption
from embviz.figures.layers import layers_spec
from embviz.figures.style import to_json
from embviz.i18n import text
from embviz.models.files import size_text
from embviz.models.limits import OPENING_SECONDS, is_public
from embviz.models.loading import is_at_hand, load_model
from embviz.models.watch import watching
from embviz.recipe import Recipe
from embviz.ui.handlers import unopened
from embviz.ui.payload import window_of


def layers(query: str, start: int = 0, *, download: bool = False) -> str:
    """The answer of the tab as JSON, docs/payload.md.

    Weights that are fetched have the time that every opening has on a shared server.

    Args:
        query: the Recipe.
        start: the first token that is drawn.
        download: whether the weights of a model of the Hub may be fetched.
    """
    start = start if type(start) is int else 0
    try:
        with watching(seconds=OPENING_SECONDS if is_public() else None):
            answer = _answer(Recipe.from_query(query), start, download)
    except EmbvizError as error:
        answer = {"state": "none", "text": str(error)}
    return to_json({"query": query, "start": start, **answer})


def _answer(recipe: Recipe, start: int, download: bool) -> dict[str, Any]:
    # Who waits here for numbers must not open a model: that has its own place, and its own progress.
    if not is_at_hand(recipe.model, recipe.revision, recipe.text, recipe.text_pair):
        raise ModelError("layers_closed", field="model", ref=unopened(recipe))
    analysis = analyze(recipe)
    if analysis.moved is None or not analysis.moved.changed:
        key = "changes.nothing" if analysis.moved is None else "changes.nothing_moved"
        return {"state": "none", "text": text(key)}
    model = load_model(recipe.model, recipe.revision)
    try:
        movement = through_encoder(analysis, allow_download=download)
    except ModelError as error:
        if error.key != "error.encoder_download":
            raise
        size = size_text(model.encoder.download_bytes)
        return {"state": "ask", "size": size, "text": text("layers.ask", name=model.card.name, size=size)}
    tokens = analysis.after.tokens
    first, last = window_of(len(tokens), start)
    numbers = movement.distances.T[first:last].clip(0).astype("f4")
    return {
        "state": "ok",
        "figure": layers_spec(movement, tokens, first, last),
        "sentence": layers_caption(movement),
        "distances": numbers.ravel(),
        "means": movement.mean_distances.clip(0),
        "yardstick": 1 - movement.random_cosines,
    }

"""analyze(recipe): the one pipeline, from what a user chose to everything that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.decomposition import Decomposition, Floats
from embviz.embedding.layers import LayerMovement
from embviz.embedding.metrics import Metrics, measure
from embviz.embedding.movement import Movement, SegmentLens, movement, segment_lens
from embviz.embedding.projection import Projection, fit_projection
from embviz.errors import InputError
from embviz.models.loading import EmbeddingModel, ModelCard, load_model
from embviz.models.what_if import refused_changes
from embviz.recipe import Recipe

VOCABULARY_SAMPLE = 2_000
VOCABULARY_RUN = 50
VOCABULARY_SEED = 0


@dataclass(frozen=True, eq=False)
class Analysis:
    """Everything that follows from a Recipe.

    Attributes:
        recipe: what was chosen.
        model: the model card.
        before: the input layer's answer as encoded.
        after: the same after the changes of `recipe.what_if`; the very same object where there are none.
        moved: how far each token moved from before to after; None where nothing was asked.
        lens_before: every token of `before` along the difference of the two segments; None where the model has
            no two that differ.
        lens_after: the same of `after`, on the same line.
        refused: the interventions that mean nothing for this model, by name, each with the reason; `Scale` by
            component, as `Scale.segment`.
        metrics: numbers about `after`.
        drawn: which tokens the map shows, bool, `(seq_len,)`; special tokens are left out unless chosen,
            or where nothing else is there, and so are tokens whose vectors are not numbers.
        projection: one PCA for token, token + segment and sum, before and after alike. What it is fitted on of
            this input is always taken from `before`: the axes stand still while a slider moves, and arrows from
            before to after have one meaning.
        normalized_projection: a PCA of its own for the LayerNorm's results, which are not a sum, fitted on those
            of `before`; of nothing where the model has no LayerNorm here.
    """

    recipe: Recipe
    model: ModelCard
    before: Decomposition
    after: Decomposition
    moved: Movement | None
    lens_before: SegmentLens | None
    lens_after: SegmentLens | None
    refused: Mapping[str, str]
    metrics: Metrics
    drawn: NDArray[np.bool_]
    projection: Projection
    normalized_projection: Projection

    @cached_property
    def layers(self) -> LayerMovement:
        """What the changes do in every layer, see `through_encoder`; computed when it is first asked for.

        Raises:
            ModelError: the layers cannot be run, or have to be fetched first.
        """
        return through_encoder(self)


def analyze(recipe: Recipe) -> Analysis:
    """Load, encode, change, look up, measure and project.

    Raises:
        EmbvizError: something in the Recipe cannot be used; one plain sentence says what.
    """
    before, after = decompose(recipe)
    model = load_model(recipe.model, recipe.revision)
    fitted = _drawn(before, recipe.special_tokens)
    rows = model.table("segment") if before.segment is not None else None
    lens = segment_lens(before, rows)
    return Analysis(
        recipe=recipe,
        model=model.card,
        before=before,
        after=after,
        moved=movement(before, after) if recipe.what_if else None,
        lens_before=lens,
        lens_after=lens if after is before else segment_lens(after, rows),
        refused=refused_changes(model),
        metrics=measure(after),
        drawn=_drawn(after, recipe.special_tokens),
        projection=_fit(model, before, recipe, fitted),
        normalized_projection=_fit_normalized(before, fitted),
    )


def decompose(recipe: Recipe) -> tuple[Decomposition, Decomposition]:
    """The first half of the pipeline: the input layer's answer before and after the changes of the Recipe.

    Raises:
        EmbvizError: something in the Recipe cannot be used; one plain sentence says what.
    """
    model = load_model(recipe.model, recipe.revision)
    before = model.decompose(recipe.text, recipe.text_pair)
    return before, model.change(before, recipe.what_if) if recipe.what_if else before


def _drawn(decomposition: Decomposition, special_tokens: bool) -> NDArray[np.bool_]:
    words = (decomposition.special_tokens_mask == 0) & decomposition.finite
    return decomposition.finite if special_tokens or not words.any() else words


def _fit(
    model: EmbeddingModel, decomposition: Decomposition, recipe: Recipe, drawn: NDArray[np.bool_]
) -> Projection:
    if recipe.pca_fit == "positions":
        if not model.card.max_position_embeddings:
            raise InputError("no_position_fit", field="pca_fit", name=model.card.architecture)
        return _table_fit(model, "positions", lambda: model.table("position"))
    if recipe.pca_fit == "vocabulary":
        return _table_fit(model, "vocabulary", lambda: _vocabulary_sample(model))
    if recipe.pca_fit == "parts":
        return _input_fit(
            decomposition, "parts", drawn,
            lambda: np.concatenate([stage[drawn] for stage in decomposition.stages().values()]),
        )  # fmt: skip
    return _input_fit(decomposition, "summed", drawn, lambda: decomposition.summed[drawn])


def _fit_normalized(decomposition: Decomposition, drawn: NDArray[np.bool_]) -> Projection:
    normalized = decomposition.normalized
    rows = decomposition.summed[:0] if normalized is None else normalized[drawn]
    return _input_fit(decomposition, "normalized", drawn, lambda: rows)


def _table_fit(model: EmbeddingModel, name: str, rows: Callable[[], Floats]) -> Projection:
    """A fit on a whole table, which is the same for every input and kept as long as the model is open."""
    with _table_lock:
        fits = _table_fits.setdefault(model, {})
        if name not in fits:
            fits[name] = fit_projection(rows())
        return fits[name]


def _input_fit(
    decomposition: Decomposition, name: str, drawn: NDArray[np.bool_], rows: Callable[[], Floats]
) -> Projection:
    """A fit on an input, kept as long as its decomposition is: a slider does not move what it was fitted on."""
    key = (name, drawn.tobytes())
    with _input_lock:
        fits = _input_fits.setdefault(decomposition, {})
        if key in fits:
            return fits[key]
    fit = fit_projection(rows())  # without the lock: of a long input it takes a second
    with _input_lock:
        return fits.setdefault(key, fit)


_table_lock, _input_lock = Lock(), Lock()
_table_fits: WeakKeyDictionary[EmbeddingModel, dict[str, Projection]] = WeakKeyDictionary()
_input_fits: WeakKeyDictionary[Decomposition, dict[tuple[str, bytes], Projection]] = WeakKeyDictionary()


def _vocabulary_sample(model: EmbeddingModel) -> Floats:
    """Word rows from all over the table, in runs of neighbours: a Hub is asked once a run."""
    size = model.card.vocab_size
    runs = VOCABULARY_SAMPLE // VOCABULARY_RUN
    if size <= VOCABULARY_SAMPLE:
        return model.token_rows(np.arange(size))
    starts = np.random.default_rng(VOCABULARY_SEED).choice(size // VOCABULARY_RUN, runs, replace=False)
    ids = np.sort(starts)[:, None] * VOCABULARY_RUN + np.arange(VOCABULARY_RUN)
    return model.token_rows(ids.ravel())


def through_encoder(analysis: Analysis, *, allow_download: bool = False) -> LayerMovement:
    """What the changes of a Recipe do in every layer of the model; computed only when it is asked for.

    Args:
        analysis: of the Recipe.
        allow_download: whether the weights of a model of the Hub may be fetched.

    Raises:
        ModelError: the layers cannot be run, or have to be fetched first; the sentence says how large they are.
    """
    model = load_model(analysis.recipe.model, analysis.recipe.revision)
    return model.through_encoder(analysis.before, analysis.after, allow_download=allow_download)

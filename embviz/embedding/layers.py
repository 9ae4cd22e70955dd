"""How far each token moved in every layer, and how much that is for these layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.decomposition import Floats
from embviz.embedding.metrics import cosine

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LayerMovement:
    """What a change at the input does in every layer; row 0 is what enters the encoder.

    Attributes:
        before: the states as encoded, `(layers + 1, seq_len, hidden_size)`.
        after: the states after the change, the same shape; the very same object where nothing changed.
        distances: cosine distance of each token before and after, 0 to 2, `(layers + 1, seq_len)`; NaN where a
            vector is zero or no number.
        mean_distances: its mean over all tokens, special ones too, `(layers + 1,)`; without those that are NaN.
        sentence_cosine: cosine before and after of the mean of all tokens in the last layer, which is the
            sentence vector of sentence-transformers' mean pooling (the bundled model's).
        random_cosines: the yardstick, mean cosine of two tokens out of different texts in each layer,
            `(layers + 1,)`; see `mean_cosines`.
        untrained: whether the layers are random ones.
    """

    before: Floats
    after: Floats
    distances: Numbers
    mean_distances: Numbers
    sentence_cosine: float
    random_cosines: Numbers
    untrained: bool = False


def measure_layers(
    before: Floats, after: Floats, random_cosines: Numbers, *, untrained: bool = False
) -> LayerMovement:
    """The numbers of two runs through the encoder, each `(layers + 1, seq_len, hidden_size)`."""
    distances = 1 - cosine(before, after)
    counted = np.isfinite(distances)
    with np.errstate(invalid="ignore"):
        means: Numbers = np.where(counted, distances, 0.0).sum(axis=1) / counted.sum(axis=1)
    pooled = [np.asarray(states[-1], np.float64).mean(axis=0) for states in (before, after)]
    return LayerMovement(
        before=before,
        after=after,
        distances=distances,
        mean_distances=means,
        sentence_cosine=float(cosine(*pooled)),
        random_cosines=random_cosines,
        untrained=untrained,
    )


def mean_cosines(texts: Sequence[Floats]) -> Numbers:
    """The mean cosine of all pairs of tokens that stand in different texts, in each layer, `(layers + 1,)`.

    Layers differ in how alike all their vectors are (Ethayarajh 2019, "How contextual are contextualized word
    representations?"); a distance is large or small beside this.

    Args:
        texts: the states of each, `(layers + 1, seq_len, hidden_size)`; two texts or more.
    """
    directions = []
    for states in texts:
        vectors = np.asarray(states, np.float64)
        directions.append(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
    sums = np.stack([unit.sum(axis=1) for unit in directions])
    counts = np.array([unit.shape[1] for unit in directions])
    across = (sums.sum(axis=0) ** 2).sum(axis=-1) - (sums**2).sum(axis=(0, 2))
    means: Numbers = across / (counts.sum() ** 2 - (counts**2).sum())
    return means

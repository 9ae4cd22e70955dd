"""Numbers that say what a picture shows: norms, cosines, shares, and who made which part of the LayerNorm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from embviz.embedding.decomposition import ALL_PARTS, COMPONENTS, Decomposition, Floats, Part


def cosine(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
    """Cosine of the angle between vectors, row by row, -1 to 1; NaN where a vector is zero.

    Args:
        a: `(..., embedding_size)`.
        b: `(..., embedding_size)`, broadcast against `a`.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: NDArray[np.float64] = (a * b).sum(axis=-1) / lengths
    return result


def present_components(decomposition: Decomposition) -> dict[Part, Floats]:
    """The parts that this model adds up, by name, each `(seq_len, embedding_size)`."""
    arrays = {name: decomposition.part(name) for name in COMPONENTS}
    return {name: array for name, array in arrays.items() if array is not None}


def variance_shares(
    decomposition: Decomposition, tokens: NDArray[np.bool_] | None = None
) -> dict[str, float]:
    """How the variance of the sum over the tokens splits, shares that add up to 1.

    `Var(w + s + p) = Var(w) + Var(s) + Var(p) + 2 Cov(w, s) + 2 Cov(w, p) + 2 Cov(s, p)`, traces over the
    dimensions. `cross` is the sum of the covariance terms; it can be negative. All NaN for a single token.

    Args:
        decomposition: of which input.
        tokens: which tokens count, bool, `(seq_len,)`; None means all. One that is not a number never does.
    """
    counted = decomposition.finite if tokens is None else tokens & decomposition.finite
    centred = {}
    for name, array in present_components(decomposition).items():
        rows = np.asarray(array[counted], np.float64)
        centred[name] = rows - rows.mean(axis=0) if len(rows) else rows
    return _shares(centred)


def energy_shares(decomposition: Decomposition) -> dict[str, float]:
    """How the squared length of the sum splits, not centred, shares that add up to 1; `cross` as above."""
    finite = decomposition.finite
    parts = present_components(decomposition)
    return _shares({name: np.asarray(array[finite], np.float64) for name, array in parts.items()})


def _shares(arrays: Mapping[Part, NDArray[np.float64]]) -> dict[str, float]:
    own: dict[str, float] = {name: float((array**2).sum()) for name, array in arrays.items()}
    cross = 2 * sum(float((arrays[a] * arrays[b]).sum()) for a, b in combinations(arrays, 2))
    total = sum(own.values()) + cross
    own["cross"] = cross
    return {name: value / total if total else float("nan") for name, value in own.items()}


def layer_norm_attribution(decomposition: Decomposition) -> dict[str, NDArray[np.float64]]:
    """What each component contributes to the LayerNorm's result, exactly: parts and bias add up to it.

    With C = I − 11ᵀ/d and σ of the sum: `normalized = γ⊙(C w)/σ + γ⊙(C s)/σ + γ⊙(C p)/σ + β`. It is linear
    only for this σ, which depends on all parts; the LayerNorms of the parts alone do not add up.

    Returns:
        The parts that are added up and bias, each `(seq_len, embedding_size)`; nothing where the model has no
        LayerNorm here.
    """
    step = decomposition.layer_norm
    if step is None:
        return {}
    gain = np.asarray(step.weight, np.float64) / np.asarray(step.std, np.float64)[:, None]
    shares: dict[str, NDArray[np.float64]] = {}
    for name, array in present_components(decomposition).items():
        rows = np.asarray(array, np.float64)
        shares[name] = gain * (rows - (rows.mean(axis=1, keepdims=True) if step.centred else 0))
    shares["bias"] = np.broadcast_to(np.asarray(step.bias, np.float64), decomposition.summed.shape)
    return shares


@dataclass(frozen=True, eq=False)
class Metrics:
    """Numbers about one decomposition.

    Attributes:
        norms: Euclidean length of each token's vector by part, `(seq_len,)`; without the absent parts.
        variance_shares: see `variance_shares`.
        energy_shares: see `energy_shares`.
        repeated: groups of token indices with the same piece, special tokens left out.
    """

    norms: Mapping[Part, NDArray[np.float64]]
    variance_shares: Mapping[str, float]
    energy_shares: Mapping[str, float]
    repeated: tuple[tuple[int, ...], ...]


def measure(decomposition: Decomposition) -> Metrics:
    """The numbers of a decomposition."""
    arrays = {name: decomposition.part(name) for name in ALL_PARTS}
    norms = {
        name: np.linalg.norm(np.asarray(array, np.float64), axis=1)
        for name, array in arrays.items()
        if array is not None
    }
    places: dict[int, list[int]] = {}
    for index, token_id in enumerate(decomposition.input_ids.tolist()):
        if not decomposition.special_tokens_mask[index]:
            places.setdefault(token_id, []).append(index)
    repeated = tuple(tuple(group) for group in places.values() if len(group) > 1)
    return Metrics(norms, variance_shares(decomposition), energy_shares(decomposition), repeated)

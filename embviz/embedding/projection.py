"""PCA: one basis for everything that is drawn together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_COMPONENTS = 10


@dataclass(frozen=True, eq=False)
class Projection:
    """An affine map from vectors to principal components, fitted once.

    Because it is affine, the arrows token → + segment → + position end on the point of the sum.

    Attributes:
        mean: the centre of the fitted vectors, `(embedding_size,)`.
        components: one unit vector a row, `(n_components, embedding_size)`; each has its entry of the
            largest magnitude positive, so that redraws never flip.
        explained_variance_ratio: share of the variance of the fitted vectors, `(n_components,)`.
        n_fitted: how many vectors it was fitted on.
    """

    mean: NDArray[np.float64]
    components: NDArray[np.float64]
    explained_variance_ratio: NDArray[np.float64]
    n_fitted: int

    def __post_init__(self) -> None:
        """Fits of whole tables are kept and shared, so that nobody may change them."""
        for array in (self.mean, self.components, self.explained_variance_ratio):
            array.flags.writeable = False

    @property
    def defined(self) -> bool:
        """Whether the fitted vectors differ at all; one point, or equal points, have no direction."""
        return bool(self.explained_variance_ratio.any())

    def transform(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        """Coordinates of `(n, embedding_size)` vectors on the components, `(n, n_components)`."""
        coordinates: NDArray[np.float64] = (np.asarray(vectors, np.float64) - self.mean) @ self.components.T
        return coordinates

    def off_plane(self, vectors: NDArray[np.floating], shown: tuple[int, ...]) -> NDArray[np.float64]:
        """Share of each vector's squared distance from the centre that the shown components miss, 0 to 1.

        Args:
            vectors: `(n, embedding_size)`.
            shown: indices of the components that are drawn, from 0.
        """
        centred = np.asarray(vectors, np.float64) - self.mean
        total = (centred**2).sum(axis=1)
        seen = (self.transform(vectors)[:, list(shown)] ** 2).sum(axis=1)
        share = 1 - seen / np.where(total > 0, total, 1)
        return np.where(total > 0, share.clip(0, 1), 0.0)


def fit_projection(vectors: NDArray[np.floating], n_components: int = MAX_COMPONENTS) -> Projection:
    """Principal components of `(n, embedding_size)` vectors (scikit-learn's `PCA`, full SVD, float64).

    Fewer vectors than components leave components of zero, which project everything on 0: two points have
    one principal component and one point has none. Rows are sorted before the fit, so that their order
    does not change the result. Rows that are not numbers throughout are left out.
    """
    rows = np.asarray(vectors, np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    n, size = rows.shape
    components, ratio = np.zeros((n_components, size)), np.zeros(n_components)
    rank = min(n - 1, size, n_components)
    if rank < 1 or not np.ptp(rows, axis=0).any():
        return Projection(rows.mean(axis=0) if n else np.zeros(size), components, ratio, n)

    from sklearn.decomposition import PCA

    pca = PCA(rank, svd_solver="full").fit(rows[np.lexsort(rows.T[::-1])])
    significant = pca.explained_variance_ratio_ > 1e-12  # the rest is rounding and would point anywhere
    loadings = pca.components_ * significant[:, None]
    largest = loadings[np.arange(rank), np.abs(loadings).argmax(axis=1)]
    components[:rank] = loadings * np.where(largest < 0, -1, 1)[:, None]
    ratio[:rank] = pca.explained_variance_ratio_ * significant
    return Projection(pca.mean_, components, ratio, n)


def axis_owner(vectors: NDArray[np.floating]) -> tuple[int, float]:
    """The vector that makes the largest share of the first principal component's variance, and that share.

    A component that one vector owns shows little but how far that vector lies from the others.

    Args:
        vectors: `(n, embedding_size)`, the component is fitted on them.
    """
    scores = fit_projection(vectors, n_components=1).transform(vectors)[:, 0] ** 2
    owner = int(scores.argmax())
    total = float(scores.sum())
    return owner, float(scores[owner]) / total if total else 0.0

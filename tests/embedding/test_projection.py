"""One PCA: scikit-learn's, with signs that stay, and an answer where there is hardly anything to fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import PCA

import embviz
from embviz.embedding.projection import MAX_COMPONENTS, Projection, fit_projection
from tests.reference import official
from tests.reference.examples import examples
from tests.reference.random_ids import IdRows, decompose, id_rows

Matrix = NDArray[np.float64]


def random_rows(seed: int, n: int, size: int = 12) -> Matrix:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, size)) * np.linspace(3, 0.5, size) + generator.normal(size=size)


def assert_same_up_to_sign(ours: Matrix, theirs: Matrix, atol: float = 1e-8) -> None:
    """Column by column equal, or equal to the negative."""
    assert ours.shape == theirs.shape
    for left, right in zip(ours.T, theirs.T, strict=True):
        sign = np.sign(left @ right) or 1.0
        np.testing.assert_allclose(left, sign * right, atol=atol)


@pytest.mark.parametrize("n", [3, 5, 11, 60])
def test_equals_scikit_learn_up_to_sign(n: int) -> None:
    rows = random_rows(n, n)
    count = min(n - 1, 10)
    pca = PCA(n_components=count, svd_solver="covariance_eigh").fit(rows)

    projection = fit_projection(rows)

    np.testing.assert_allclose(projection.mean, rows.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        projection.explained_variance_ratio[:count], pca.explained_variance_ratio_, atol=1e-9
    )
    assert_same_up_to_sign(projection.transform(rows)[:, :count], pca.transform(rows), atol=1e-6)
    assert projection.n_fitted == n


@examples(30)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 30))
def test_each_component_is_a_unit_vector_whose_largest_entry_is_positive(seed: int, n: int) -> None:
    projection = fit_projection(random_rows(seed, n))
    used = projection.components[projection.explained_variance_ratio > 0]

    np.testing.assert_allclose(used @ used.T, np.eye(len(used)), atol=1e-9)
    assert (used[np.arange(len(used)), np.abs(used).argmax(axis=1)] > 0).all()
    assert len(used) == min(n - 1, MAX_COMPONENTS)
    assert (np.diff(projection.explained_variance_ratio) <= 1e-12).all()


@examples(30)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 40))
def test_the_order_of_the_rows_changes_nothing(seed: int, n: int) -> None:
    rows = random_rows(seed, n)
    order = np.random.default_rng(seed + 1).permutation(n)

    coordinates = fit_projection(rows).transform(rows)
    shuffled = fit_projection(rows[order]).transform(rows[order])

    np.testing.assert_allclose(shuffled, coordinates[order], atol=1e-6)


def test_the_order_of_real_tokens_changes_nothing() -> None:
    d = embviz.load_model().decompose("The capital of France is Paris.")

    for part in (d.token, d.summed, d.normalized):
        assert part is not None
        forwards = fit_projection(part).transform(part)
        backwards = fit_projection(part[::-1]).transform(part[::-1])
        np.testing.assert_allclose(backwards[::-1], forwards, atol=1e-6)


@examples(30)
@given(seed=st.integers(0, 10_000), weight=st.floats(-3, 3))
def test_it_is_affine(seed: int, weight: float) -> None:
    """f(w a + (1 - w) b) = w f(a) + (1 - w) f(b), also for points that were not fitted."""
    projection = fit_projection(random_rows(seed, 9))
    a, b = random_rows(seed + 1, 2)

    mixed = projection.transform((weight * a + (1 - weight) * b)[None])
    ends = projection.transform(np.stack([a, b]))

    np.testing.assert_allclose(mixed[0], weight * ends[0] + (1 - weight) * ends[1], atol=1e-9)


@examples(20)
@given(rows=id_rows(min_length=2))
def test_arrows_of_the_parts_end_on_the_sum(rows: IdRows) -> None:
    """token, then the segment's and the position's arrow tip to tail: the point of the sum."""
    d = decompose(rows)
    assert d.segment is not None
    assert d.position is not None
    projection = fit_projection(d.summed)

    start, middle, end = (projection.transform(stage) for stage in d.stages().values())
    segment = np.asarray(d.segment, np.float64) @ projection.components.T
    position = np.asarray(d.position, np.float64) @ projection.components.T

    np.testing.assert_allclose(start, projection.transform(d.token), atol=1e-12)
    np.testing.assert_allclose(start + segment, middle, atol=1e-5)
    np.testing.assert_allclose(start + segment + position, end, atol=1e-5)
    np.testing.assert_allclose(end, projection.transform(d.summed), atol=1e-12)


def test_two_points_have_one_component() -> None:
    projection = fit_projection(np.array([[1.0, 2.0, 3.0], [1.0, 6.0, 0.0]]))

    np.testing.assert_allclose(projection.explained_variance_ratio, [1.0] + [0.0] * 9)
    coordinates = projection.transform(np.array([[1.0, 2.0, 3.0], [1.0, 6.0, 0.0]]))
    np.testing.assert_allclose(np.abs(coordinates[:, 0]), 2.5)  # half the distance of 5
    np.testing.assert_array_equal(coordinates[:, 1:], 0)
    assert projection.defined


@pytest.mark.parametrize(
    "rows", [np.zeros((0, 4)), np.ones((1, 4)), np.full((6, 4), 0.1)], ids=["0", "1", "equal"]
)
def test_points_without_a_direction_lie_at_the_origin(rows: Matrix) -> None:
    """No point, one point, equal points: nothing raises, nothing is NaN, and it says that it is not defined."""
    projection = fit_projection(rows)

    assert not projection.defined
    assert not projection.explained_variance_ratio.any()
    np.testing.assert_array_equal(projection.transform(rows), np.zeros((len(rows), MAX_COMPONENTS)))
    assert np.isfinite(projection.mean).all()


def test_points_on_a_line_have_one_component() -> None:
    """What is left over is rounding, and would point anywhere."""
    line = np.linspace(-1, 2, 7)[:, None] * np.array([[0.3, -0.1, 0.7]]) + 0.1

    projection = fit_projection(line)

    np.testing.assert_allclose(projection.explained_variance_ratio, [1.0] + [0.0] * 9, atol=1e-12)
    np.testing.assert_array_equal(projection.transform(line)[:, 1:], 0)


def off_plane_by_hand(projection: Projection, rows: Matrix, shown: tuple[int, ...]) -> Matrix:
    """Distance from the drawn plane by least squares, as a share of the distance from the centre, squared."""
    centred = rows - projection.mean
    basis = projection.components[list(shown)].T
    residual = centred - (basis @ np.linalg.lstsq(basis, centred.T, rcond=None)[0]).T
    share: Matrix = (residual**2).sum(axis=1) / (centred**2).sum(axis=1)
    return share


@pytest.mark.parametrize("shown", [(0, 1), (2, 0), (0, 1, 2)])
def test_off_plane_is_what_the_drawn_components_miss(shown: tuple[int, ...]) -> None:
    rows = random_rows(4, 15)
    projection = fit_projection(rows)

    np.testing.assert_allclose(
        projection.off_plane(rows, shown), off_plane_by_hand(projection, rows, shown), atol=1e-9
    )
    np.testing.assert_array_equal(projection.off_plane(projection.mean[None], shown), [0.0])


def test_facts_of_the_512_positions() -> None:
    """Shares of the first ten components; the first is a wave of 5.68 tokens."""
    model = embviz.load_model()
    table = official.bundled_tensors("embeddings.position_embeddings.weight").popitem()[1].double().numpy()
    projection = fit_projection(model.table("position"))
    ratios = projection.explained_variance_ratio

    published = [0.1235, 0.1217, 0.1001, 0.0881, 0.0828, 0.0812, 0.0780, 0.0717, 0.0707, 0.0704]
    np.testing.assert_allclose(ratios, published, atol=6e-5)
    assert ratios.sum() == pytest.approx(0.888, abs=5e-4)
    np.testing.assert_allclose(
        ratios, PCA(10, svd_solver="full").fit(table).explained_variance_ratio_, atol=1e-9
    )
    # The first position is unlike all others and would be a step at the edge of the wave.
    wave = projection.transform(table)[1:, 0]
    spectrum = np.abs(np.fft.rfft(wave - wave.mean()))
    assert len(wave) / spectrum.argmax() == pytest.approx(5.68, abs=5e-3)


def test_what_was_fitted_cannot_be_changed() -> None:
    """Fits of whole tables are kept and shared by all who look at them."""
    projection = fit_projection(random_rows(0, 6))

    for array in (projection.mean, projection.components, projection.explained_variance_ratio):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0

"""The numbers beside the pictures: against torch, against their definitions, against published facts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given

import embviz
from embviz.embedding.decomposition import Decomposition, Part
from embviz.embedding.metrics import (
    cosine,
    energy_shares,
    layer_norm_attribution,
    measure,
    variance_shares,
)
from tests.reference import official
from tests.reference.examples import examples
from tests.reference.random_ids import IdRows, decompose, id_rows

COMPONENTS: tuple[Part, ...] = ("token", "segment", "position")
BANK = ("The bank raised interest rates.", "We sat on the river bank.")
FIRST_BANK, SECOND_BANK = 2, 13


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    """The bundled position and segment tables as safetensors reads them, float64."""
    names = ("embeddings.position_embeddings.weight", "embeddings.token_type_embeddings.weight")
    position, segment = official.bundled_tensors(*names).values()
    return position.double(), segment.double()


# Against torch and against the definitions.


def test_cosine_is_torch_cosine_similarity() -> None:
    a, b = torch.randn(2, 20, 33, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    np.testing.assert_allclose(
        cosine(a.numpy(), b.numpy()), torch.cosine_similarity(a, b).numpy(), atol=1e-12
    )
    np.testing.assert_allclose(cosine(a.numpy(), a.numpy()[0])[0], 1, atol=1e-12)


def test_cosine_of_a_zero_vector_is_not_a_number() -> None:
    assert np.isnan(cosine(np.zeros((1, 4)), np.ones((1, 4)))).all()


@examples(30)
@given(rows=id_rows())
def test_token_plus_segment_plus_position_is_the_sum_bit_for_bit(rows: IdRows) -> None:
    d = decompose(rows)
    assert d.segment is not None
    assert d.position is not None

    np.testing.assert_array_equal((d.token + d.segment) + d.position, d.summed, strict=True)


@examples(30)
@given(rows=id_rows())
def test_operands_give_the_normalized_value(rows: IdRows) -> None:
    """`(summed - mean) / std * weight + bias`, computed from what the cell panel shows, in float32 too."""
    d = decompose(rows)
    step = d.layer_norm
    assert step is not None
    assert d.normalized is not None

    result = (d.summed - step.mean[:, None]) / step.std[:, None] * step.weight + step.bias

    np.testing.assert_allclose(result, d.normalized, atol=1e-5, rtol=0)
    summed = np.asarray(d.summed, np.float64)
    np.testing.assert_allclose(step.mean, summed.mean(1), atol=1e-7)
    np.testing.assert_allclose(step.std, np.sqrt(summed.var(1) + step.eps), rtol=1e-6)


@examples(30)
@given(rows=id_rows())
def test_attribution_adds_up_to_the_normalized_value(rows: IdRows) -> None:
    d = decompose(rows)

    parts = layer_norm_attribution(d)

    assert d.normalized is not None
    assert list(parts) == [*COMPONENTS, "bias"]
    np.testing.assert_allclose(np.sum(list(parts.values()), axis=0), d.normalized, atol=1e-5, rtol=0)
    for name, array in parts.items():
        assert array.shape == d.summed.shape, name


def test_attribution_is_the_centred_part_over_the_deviation_of_the_sum() -> None:
    """Each part alone, by torch: γ ⊙ (x − mean(x)) / σ with the σ of the sum; LayerNorms of parts differ."""
    d = embviz.load_model().decompose(*BANK)
    assert d.layer_norm is not None
    summed = torch.from_numpy(np.array(d.summed, np.float64))
    weight = torch.from_numpy(np.array(d.layer_norm.weight, np.float64))
    deviation = (summed.var(dim=1, correction=0) + 1e-12).sqrt()[:, None]

    for name, array in layer_norm_attribution(d).items():
        if name == "bias":
            np.testing.assert_array_equal(array, np.broadcast_to(d.layer_norm.bias, d.summed.shape))
            continue
        part = torch.from_numpy(np.array(getattr(d, name), np.float64))
        expected = weight * (part - part.mean(dim=1, keepdim=True)) / deviation
        np.testing.assert_allclose(array, expected.numpy(), atol=1e-5)
        alone = torch.nn.functional.layer_norm(part, part.shape[1:], weight)
        assert (alone - expected).abs().max() > 0.1


@examples(30)
@given(rows=id_rows())
def test_shares_add_up_to_one_and_are_ratios_of_the_sum(rows: IdRows) -> None:
    """Variance over the tokens, centred; energy, not centred; both against the sum's own."""
    d = decompose(rows)
    variance, energy = variance_shares(d), energy_shares(d)
    summed = np.asarray(d.summed, np.float64)

    assert sum(energy.values()) == pytest.approx(1, abs=1e-9)
    for name in COMPONENTS:
        part = np.asarray(d.part(name), np.float64)
        assert energy[name] == pytest.approx((part**2).sum() / (summed**2).sum(), rel=1e-5)
        if len(d) > 1 and summed.var(0).sum() > 1e-9:
            assert variance[name] == pytest.approx(
                part.var(0).sum() / summed.var(0).sum(), rel=1e-4, abs=1e-9
            )
            assert sum(variance.values()) == pytest.approx(1, abs=1e-9)


def test_shares_of_nothing_are_not_a_number() -> None:
    """One token does not vary, and a sum of zero has no energy: no number is made up, nothing raises."""
    d = embviz.load_model().decompose("hello")
    assert d.segment is not None
    assert d.position is not None
    one = replace(d, token=d.token[:1], segment=d.segment[:1], position=d.position[:1], summed=d.summed[:1])
    zero = np.zeros_like(d.summed)
    none = replace(d, token=zero, segment=zero, position=zero)

    assert all(np.isnan(value) for value in variance_shares(one).values())
    assert all(np.isnan(value) for value in energy_shares(none).values())
    assert sum(energy_shares(one).values()) == pytest.approx(1)


def test_norms_are_euclidean_lengths() -> None:
    d = embviz.load_model().decompose(*BANK)

    norms = measure(d).norms

    assert list(norms) == ["token", "segment", "position", "summed", "normalized"]
    for name, values in norms.items():
        expected = torch.linalg.vector_norm(torch.from_numpy(np.array(getattr(d, name), np.float64)), dim=1)
        np.testing.assert_allclose(values, expected.numpy(), rtol=1e-9)


def test_an_absent_part_has_no_share_and_no_norm() -> None:
    d = embviz.load_model().decompose(*BANK)
    assert d.position is not None
    without: Decomposition = replace(d, segment=None, summed=d.token + d.position)

    metrics = measure(without)

    assert "segment" not in metrics.norms
    assert "segment" not in metrics.variance_shares
    assert sum(metrics.variance_shares.values()) == pytest.approx(1)
    np.testing.assert_array_equal(sorted(layer_norm_attribution(without)), ["bias", "position", "token"])


def test_repeated_pieces_are_grouped_and_special_tokens_are_not() -> None:
    d = embviz.load_model().decompose("the cat and the dog", "and the [SEP] [SEP] bird")
    groups = measure(d).repeated

    named = [(d.tokens[group[0]], group) for group in groups]
    assert named == [("the", (1, 4, 8)), ("and", (3, 7)), ("[SEP]", (9, 10))]


# Facts about all-MiniLM-L6-v2, measured without embviz; the printed precision decides the tolerance.


def test_facts_of_the_segment_rows() -> None:
    _, segment = tables()
    shown = np.asarray(embviz.load_model().table("segment"), np.float64)

    np.testing.assert_array_equal(shown, segment.numpy())
    assert np.linalg.norm(shown[0] - shown[1]) == pytest.approx(0.1620, abs=1e-4)
    assert cosine(shown[0], shown[1]) == pytest.approx(0.9422, abs=1e-4)


def test_facts_of_the_position_rows() -> None:
    position, _ = tables()
    shown = np.asarray(embviz.load_model().table("position"), np.float64)

    np.testing.assert_array_equal(shown, position.numpy())
    assert np.linalg.norm(shown[0]) == pytest.approx(2.362, abs=1e-3)
    assert np.linalg.norm(shown[1]) == pytest.approx(0.491, abs=1e-3)
    assert np.abs(shown[0]).argmax() == 99


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (1, 0.851),
        (2, 0.592),
        (3, 0.440),
        (4, 0.504),
        (5, 0.659),
        (6, 0.691),
        (12, 0.569),
        (20, 0.283),
        (400, -0.163),
    ],
)
def test_fact_neighbouring_positions_are_not_more_alike_the_nearer_they_are(
    distance: int, expected: float
) -> None:
    """Mean cosine of P_i and P_(i+k) over the 512 positions: .440 at distance 3, .659 at 5."""
    shown = embviz.load_model().table("position")

    assert cosine(shown[:-distance], shown[distance:]).mean() == pytest.approx(expected, abs=1e-3)


def toeplitz_share(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """R² of P·Pᵀ off the diagonal, when each entry is predicted by its distance from the diagonal alone."""
    products = table @ table.T
    row, column = np.indices(products.shape)
    off = row != column
    distances, values = np.abs(row - column)[off], products[off]
    means = np.bincount(distances, values)[1:] / np.bincount(distances)[1:]
    residual = values - means[distances - 1]
    return 1 - float((residual**2).sum() / ((values - values.mean()) ** 2).sum())


def test_fact_half_of_the_position_table_depends_on_distance_alone() -> None:
    """.477, between the controls: 1.000 for sinusoids (Vaswani et al. 2017), .004 for random vectors."""
    size = 384
    angles = np.arange(512)[:, None] / 10_000 ** (np.arange(0, size, 2) / size)
    sinusoid = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    random = np.random.default_rng(0).normal(size=(512, size))

    learned = toeplitz_share(np.asarray(embviz.load_model().table("position"), np.float64))

    assert learned == pytest.approx(0.477, abs=1e-3)
    assert toeplitz_share(sinusoid) == pytest.approx(1.000, abs=1e-3)
    assert toeplitz_share(random) == pytest.approx(0.004, abs=1e-3)


def test_facts_of_the_two_banks() -> None:
    """The same word, twice: one row of the word table, other segments and positions."""
    d = embviz.load_model().decompose(*BANK)

    assert len(d) == 16
    assert d.tokens[FIRST_BANK] == d.tokens[SECOND_BANK] == "bank"
    for name, expected in {"token": 1.0, "summed": 0.967, "normalized": 0.964}.items():
        part = getattr(d, name)
        assert cosine(part[FIRST_BANK], part[SECOND_BANK]) == pytest.approx(expected, abs=1e-3), name
    shares = measure(d).variance_shares
    assert shares["token"] == pytest.approx(0.715, abs=1e-3)
    assert shares["segment"] == pytest.approx(0.0039, abs=1e-4)
    assert shares["position"] == pytest.approx(0.214, abs=1e-3)
    assert (FIRST_BANK, SECOND_BANK) in measure(d).repeated


def test_facts_of_the_gain_and_of_the_last_layer_norm() -> None:
    """Gains further than three deviations out; output dimensions of the encoder that the last gain switches off."""
    model = embviz.load_model()
    gain = np.asarray(model.table("weight"), np.float64)
    last = model.tensors.tensor("encoder.layer.5.output.LayerNorm.weight").numpy()

    scores = (gain - gain.mean()) / gain.std()
    assert set(np.flatnonzero(np.abs(scores) > 3)) == {267, 157, 99, 338, 303}
    assert set(np.flatnonzero(np.abs(last) < 1e-6)) == {127, 223, 319}


def test_fact_padding_is_not_a_zero_vector() -> None:
    assert np.linalg.norm(embviz.load_model().token_rows(np.array([0]))) == pytest.approx(0.767, abs=1e-3)

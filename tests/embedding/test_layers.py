"""What moves in the layers of the bundled model, as it was measured; and a yardstick that is a plain mean."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertModel

import embviz
from embviz.analysis import through_encoder
from embviz.embedding.layers import LayerMovement, mean_cosines, measure_layers
from embviz.embedding.metrics import cosine
from embviz.models.encoder import SAMPLE
from tests.reference import official

BANK = ("The bank raised interest rates.", "We sat on the river bank.")


def moved(*what_if: Any) -> LayerMovement:
    return through_encoder(embviz.analyze(embviz.Recipe(*BANK, what_if=what_if)))


def official_pooled(**changes: Any) -> torch.Tensor:
    """Mean of the last layer of the official model, its segment table zeroed if `segments=False`."""
    model = BertModel.from_pretrained(official.bundled_folder()).eval()  # type: ignore[no-untyped-call]
    given = official.bundled_tokenizer()(*BANK, return_tensors="pt")
    if not changes.pop("segments", True):
        torch.nn.init.zeros_(model.embeddings.token_type_embeddings.weight)
    with torch.no_grad():
        pooled: torch.Tensor = model(**given, **changes).last_hidden_state[0].mean(0)
    return pooled


# facts/science.md §3.6: mean cosine distance over tokens at h0, layer 3 and layer 6 and the pooled cosine, ranges over
# four pairs of which this is one; one unit of the last printed digit is left for rounding.
@pytest.mark.parametrize(
    ("change", "h0", "layer_3", "layer_6", "pooled"),
    [
        (embviz.SwapSegments(), (0.012, 0.015), (0.004, 0.0055), (0.003, 0.006), (0.995, 0.997)),
        (embviz.ShiftPositions(1), (0.054, 0.075), (0.061, 0.096), (0.062, 0.085), (0.922, 0.951)),
        (embviz.ShiftPositions(5), (0.087, 0.10), (0.094, 0.136), (0.08, 0.11), (0.914, 0.948)),
        (embviz.ShiftPositions(50), (0.175, 0.206), (0.169, 0.205), (0.11, 0.17), (0.84, 0.92)),
        (embviz.ShiftPositions(200), (0.16, 0.19), (0.23, 0.26), (0.16, 0.21), (0.80, 0.86)),
        (embviz.ShiftPositions(400), (0.23, 0.26), (0.20, 0.24), (0.16, 0.29), (0.69, 0.87)),
        (embviz.ShiftPositions(1, True), (0.021, 0.024), (0.008, 0.009), (0.003, 0.009), (0.994, 0.9985)),
        (embviz.ShiftPositions(50, True), (0.14, 0.17), (0.11, 0.13), (0.06, 0.10), (0.92, 0.96)),
    ],
)
def test_interventions_fade_or_stay_as_measured(
    change: Any,
    h0: tuple[float, float],
    layer_3: tuple[float, float],
    layer_6: tuple[float, float],
    pooled: tuple[float, float],
) -> None:
    movement = moved(change)
    found: list[float] = [*movement.mean_distances[[0, 3, 6]].tolist(), movement.sentence_cosine]

    for value, (low, high) in zip(found, (h0, layer_3, layer_6, pooled), strict=True):
        printed = 10.0 ** -max(len(f"{edge:g}".partition(".")[2]) for edge in (low, high))
        assert low - printed <= value <= high + printed


def test_the_sentence_after_a_shift_by_50_is_the_measured_one() -> None:
    assert moved(embviz.ShiftPositions(50)).sentence_cosine == pytest.approx(0.842, abs=5e-4)


def test_without_the_segment_table_the_sentence_is_the_official_models() -> None:
    """An official model whose table was really zeroed; another pair's printed value, .587, is not this one's."""
    right = torch.cosine_similarity(official_pooled(), official_pooled(segments=False), dim=0)

    movement = moved(embviz.Scale("segment", 0.0))

    assert movement.sentence_cosine == pytest.approx(right.item(), abs=1e-5)
    assert movement.sentence_cosine < moved(embviz.SwapSegments()).sentence_cosine - 0.2


def test_the_two_banks_are_as_alike_in_each_layer_as_measured() -> None:
    states = moved().before
    np.testing.assert_allclose(
        cosine(states[:, 2], states[:, 13]), [0.964, 0.922, 0.889, 0.858, 0.896, 0.922, 0.946], atol=6e-4
    )


def test_nothing_changed_moves_nothing() -> None:
    movement = moved()

    assert movement.before is movement.after
    np.testing.assert_allclose(movement.distances, 0, atol=1e-12)
    assert movement.sentence_cosine == pytest.approx(1)
    assert not movement.untrained


def test_the_yardstick_is_the_mean_over_all_pairs_of_tokens_of_different_texts() -> None:
    """By hand, on states of the official model; and near what was measured on a corpus (facts/science.md §3.8)."""
    model = BertModel.from_pretrained(official.bundled_folder()).eval()  # type: ignore[no-untyped-call]
    tokenizer = official.bundled_tokenizer()
    with torch.no_grad():
        texts = [
            torch.stack(
                model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
            )[:, 0]
            for text in SAMPLE
        ]
    pairs = [
        torch.cosine_similarity(a[:, :, None], b[:, None], dim=-1).flatten(1)
        for a, b in combinations(texts, 2)
    ]
    right = torch.cat(pairs, dim=1).mean(dim=1).numpy()

    found = moved().random_cosines

    np.testing.assert_allclose(found, right, atol=1e-5)
    np.testing.assert_allclose(found, [0.044, 0.113, 0.129, 0.137, 0.162, 0.232, 0.081], atol=0.08)
    assert found.argmax() == 5


def test_opposite_and_equal_directions_have_known_distances() -> None:
    before = np.array([[[1, 0], [0, 2]], [[3, 0], [0, 1]]], np.float32)
    after = np.array([[[-1, 0], [0, 1]], [[0, 3], [0, 0]]], np.float32)

    movement = measure_layers(before, after, np.zeros(2))

    np.testing.assert_allclose(movement.distances, np.array([[2, 0], [1, np.nan]]))
    np.testing.assert_allclose(movement.mean_distances, [1, 1])  # a zero vector has no direction to move


def test_mean_cosine_of_texts_of_one_direction_is_one() -> None:
    one = np.ones((2, 3, 4), np.float32)

    np.testing.assert_allclose(mean_cosines([one, 5 * one[:, :2]]), [1, 1])
    np.testing.assert_allclose(mean_cosines([one, -one]), [-1, -1])

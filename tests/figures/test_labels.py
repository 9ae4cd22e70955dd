"""Names of points: beside their points, not on each other, and none where there is no room at all."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from embviz.figures.labels import MAX_LABELLED, place_labels

PLOTLY = {
    f"{row} {column}" for row in ("top", "middle", "bottom") for column in ("left", "center", "right")
}  # fmt: skip
"""The values of `textposition`, from Plotly's reference."""

WIDTH, HEIGHT = 600, 420
LETTER, LINE = 7.5, 15


def boxes(points: NDArray[np.float64], texts: list[str], places: list[str]) -> NDArray[np.float64]:
    """Where Plotly puts the texts on a map of that size: left, bottom, right, top."""
    scale = min(WIDTH / (np.ptp(points[:, 0]) or 1), HEIGHT / (np.ptp(points[:, 1]) or 1))
    found = []
    for (x, y), text, place in zip(points * scale, texts, places, strict=True):
        row, column = place.split()
        width = LETTER * len(text)
        left = {"left": x - width - 5, "center": x - width / 2, "right": x + 5}[column]
        bottom = {"bottom": y - LINE - 5, "middle": y - LINE / 2, "top": y + 5}[row]
        found.append((left, bottom, left + width, bottom + LINE))
    return np.array(found)


def overlapping(found: NDArray[np.float64]) -> list[tuple[int, int]]:
    return [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(found), 2)
        if min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])
    ]


def test_points_far_apart_have_all_their_names_and_none_lies_on_another() -> None:
    grid = np.array([(x, y) for x in range(5) for y in range(5)], np.float64)
    names = [f"name{i}" for i in range(25)]

    texts, places = place_labels(grid, names)

    assert texts == names
    assert not overlapping(boxes(grid, texts, places))


def test_two_points_side_by_side_have_names_that_do_not_cover_each_other() -> None:
    """To the right of the left one its name would lie on the right one."""
    points = np.array([(0.0, 0.0), (0.05, 0.0), (1.0, 1.0)])

    texts, places = place_labels(points, ["strawberries", "like", "."])

    assert texts == ["strawberries", "like", "."]
    assert not overlapping(boxes(points, texts, places))


@pytest.mark.parametrize("count", [0, 1, 2, 40, 41, MAX_LABELLED, MAX_LABELLED + 1])
def test_every_point_has_a_text_and_one_of_plotlys_positions(count: int) -> None:
    points = np.random.default_rng(count).normal(size=(count, 2))

    texts, places = place_labels(points, [f"p{i}" for i in range(count)])

    assert len(texts) == len(places) == count
    assert set(places) <= PLOTLY
    assert all(text in ("", f"p{i}") for i, text in enumerate(texts))


def test_more_than_128_points_have_no_names() -> None:
    texts, _ = place_labels(np.random.default_rng(0).normal(size=(129, 2)), ["x"] * 129)

    assert texts == [""] * 129


def test_no_name_of_few_points_is_left_out_even_if_all_lie_on_one_spot() -> None:
    texts, _ = place_labels(np.zeros((40, 2)), ["x"] * 40)

    assert texts == ["x"] * 40


def test_names_of_many_points_on_one_spot_are_left_out_after_the_first_ones() -> None:
    texts, _ = place_labels(np.zeros((100, 2)), ["strawberries"] * 100)

    assert texts[0]
    assert texts.count("") > 80


def test_the_names_do_not_depend_on_the_unit_of_the_axes() -> None:
    points = np.random.default_rng(3).normal(size=(30, 2))
    names = [f"name{i}" for i in range(30)]

    assert place_labels(points, names) == place_labels(points * 1024, names)

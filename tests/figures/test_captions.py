"""The sentence under the map names the parts that the model adds, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import embviz
from embviz.figures.captions import map_caption

WORDS = embviz.Recipe("my dog is cute", "he likes playing")


@pytest.mark.parametrize(
    ("without", "named", "not_named"),
    [
        ((), ["positions", "segments"], []),
        (("segment",), ["positions"], ["segments"]),
        (("position",), ["segments"], ["positions"]),
        (("segment", "position"), ["the words alone"], ["positions", "segments", "overlap"]),
    ],
)
def test_the_map_names_the_parts_that_are_there(
    without: tuple[str, ...], named: list[str], not_named: list[str]
) -> None:
    """DistilBERT has no segments, and "segments 0.0%" would say that it had some."""
    analysis = embviz.analyze(WORDS)
    lacking: Any = dict.fromkeys(without)
    caption = map_caption(replace(analysis, after=replace(analysis.after, **lacking)))

    assert all(name in caption for name in named), caption
    assert not any(name in caption for name in not_named), caption


def test_a_negative_overlap_has_a_true_minus(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {"token": 0.9, "segment": 0.05, "position": 0.25, "cross": -0.2}
    monkeypatch.setattr("embviz.figures.captions.variance_shares", lambda *_: shares)

    caption = map_caption(embviz.analyze(WORDS))

    assert "positions 25%, segments 5.0%; their overlap makes −20%." in caption

"""One sentence under each figure of a what-if, computed from the numbers on screen."""

from __future__ import annotations

import numpy as np

from embviz.embedding.layers import LayerMovement
from embviz.embedding.movement import SegmentLens, StageMovement
from embviz.figures.changes import delta_stages, distance_text, moved_span, shown_stages
from embviz.figures.drawable import Compared
from embviz.i18n import DEFAULT_LANGUAGE, text

LARGE_SHARE = 0.25
"""From this share of all movement on, a token is named as the one that makes it."""
NAMED = 5
"""How many of the dimensions that changed most a sentence names."""
ROUNDING = 1e-6
"""A mean cosine distance below this is none: float32 vectors of one direction differ by as much."""


def bars_caption(analysis: Compared, language: str = DEFAULT_LANGUAGE) -> str:
    """Who moved how far: one token alone, one that makes most of it, or all of them."""
    moved, tokens = analysis.moved, analysis.after.tokens
    if moved is None or not moved.changed:
        return text("changes.nothing_moved", language)
    stages = shown_stages(moved)
    name, stage = next(
        ((name, stage) for name, stage in stages.items() if stage.mean_cosine_distance > ROUNDING),
        ("output", moved.output),
    )
    part = text(f"part.{name}", language)
    most, mean = stage.most_moved, stage.mean_cosine_distance
    if np.isnan(mean):
        return text("caption.changes_zero", language, part=part)
    if most is None or mean <= ROUNDING:
        return text("caption.changes_length", language, distance=moved.output.mean_distance)
    numbers = {"part": part, "mean": distance_text(mean)}
    who = {"piece": tokens[most], "token": most}
    still = int((stage.cosine_distance == 0).sum())
    if still == len(tokens) - 1 > 0:
        moved_by = distance_text(float(stage.cosine_distance[most]))
        sentence = text("caption.changes_one", language, **who, part=part, distance=moved_by, others=still)
    elif stage.share_of_most_moved >= LARGE_SHARE and len(tokens) > 1:
        stayed = distance_text(stage.mean_had_it_stayed)
        sentence = text(
            "caption.changes_owner",
            language,
            **who,
            **numbers,
            share=stage.share_of_most_moved,
            stayed=stayed,
        )
    else:
        sentence = text("caption.changes_all", language, **numbers, **_span(stage, tokens))
    rest = [other for other in stages if other != name and _later(other, name)]
    later = [
        text(
            "caption.changes_then", language, part=text(f"part.{other}", language),
            mean=distance_text(stages[other].mean_cosine_distance),
        )
        for other in rest
    ]  # fmt: skip
    unmoved = text("caption.changes_sum_same", language) if name != "summed" else ""
    return " ".join(filter(None, [unmoved, sentence, *later]))


def _later(other: str, name: str) -> bool:
    order = ("summed", "normalized", "output")
    return order.index(other) > order.index(name)


def _span(stage: StageMovement, tokens: tuple[str, ...]) -> dict[str, object]:
    least, most = moved_span(stage)
    return {
        "least": distance_text(float(stage.cosine_distance[least])), "least_piece": tokens[least],
        "least_token": least, "most": distance_text(float(stage.cosine_distance[most])),
        "most_piece": tokens[most], "most_token": most,
    }  # fmt: skip


def delta_caption(analysis: Compared, language: str = DEFAULT_LANGUAGE) -> str:
    """The dimensions that changed most in each stage, and the largest single change."""
    moved = analysis.moved
    if moved is None or not moved.changed:
        return text("changes.nothing_moved", language)
    sentences = []
    for name, stage in delta_stages(moved).items():
        if not len(stage.dimensions):
            continue
        pairs = zip(stage.dimensions[:NAMED].tolist(), stage.dimension_change[:NAMED].tolist(), strict=True)
        named = ", ".join(f"{dimension} ({change:.2g})" for dimension, change in pairs)
        sizes = np.abs(np.nan_to_num(stage.delta))
        token, dimension = np.unravel_index(sizes.argmax(), sizes.shape)
        sentences.append(
            text(
                "caption.delta", language, part=text(f"part.{name}", language), dimensions=named,
                value=_signed(float(stage.delta[token, dimension])), piece=analysis.after.tokens[token],
                token=int(token), dimension=int(dimension),
            )
        )  # fmt: skip
    return " ".join(sentences)


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def lens_caption(analysis: Compared, language: str = DEFAULT_LANGUAGE) -> str:
    """What the lens is, and how far apart the segments lie on it before and after."""
    before, after = analysis.lens_before, analysis.lens_after
    if before is None or after is None:
        return text("caption.lens_none", language)
    what = text("caption.lens", language)
    if np.isnan(before.separation) and np.isnan(after.separation):
        return f"{what} {text('caption.lens_one_segment', language)}"
    values = {"before": _separation(before, language), "after": _separation(after, language)}
    return f"{what} {text('caption.lens_separation', language, **values)}"


def _separation(lens: SegmentLens, language: str) -> str:
    value = lens.separation
    return text("caption.lens_undefined", language) if np.isnan(value) else f"{value:.2f}".replace("-", "−")


def layers_caption(movement: LayerMovement, language: str = DEFAULT_LANGUAGE) -> str:
    """How the mean goes from the input to the last layer, what is left in the sentence vector, and the yardstick."""
    means = movement.mean_distances
    largest = int(np.nan_to_num(means).argmax())
    values = {
        "first": distance_text(float(means[0])), "last": distance_text(float(means[-1])),
        "layer": largest, "largest": distance_text(float(means[largest])), "layers": len(means) - 1,
    }  # fmt: skip
    between = 0 < largest < len(means) - 1
    sentences = [
        text("caption.layers_peak" if between else "caption.layers", language, **values),
        text("caption.layers_sentence", language, cosine=movement.sentence_cosine),
        text("caption.layers_yardstick", language, distance=1 - float(movement.random_cosines[-1])),
    ]
    if movement.untrained:
        sentences.append(text("caption.layers_untrained", language))
    return " ".join(sentences)

"""One sentence under each figure of a what-if, computed from the numbers on screen."""

from __future__ import annotations

import numpy as np

from embviz.embedding.layers import LayerMovement
from embviz.embedding.movement import SegmentLens, StageMovement
from embviz.figures.changes import ROUNDING, delta_stages, distance_text, moved_span, shown_stages
from embviz.figures.drawable import Compared
from embviz.i18n import DEFAULT_LANGUAGE, text

LARGE_SHARE = 0.25
"""From this share of all movement on, a token is named as the one that makes it."""
NAMED = 5
"""How many of the dimensions that changed most a sentence names."""


def bars_caption(analysis: Compared, language: str = DEFAULT_LANGUAGE) -> str:
    """Who moved how far: one token alone, one that makes most of it, or all of them."""
    moved = analysis.moved
    if moved is None or not moved.changed:
        return text("changes.nothing_moved", language)
    stages = shown_stages(moved)
    turned = [name for name, stage in stages.items() if stage.mean_cosine_distance > ROUNDING]
    zero = [name for name, stage in stages.items() if _is_zero(stage)]
    sentences = [text("caption.changes_zero", language, part=text(f"part.{name}", language)) for name in zero]
    if not len(moved.summed.dimensions) and "summed" not in zero:
        sentences.insert(0, text("caption.changes_sum_same", language))
    if not turned and not zero:
        longer = next((stage for stage in stages.values() if stage.mean_distance > 0), moved.output)
        sentences.append(text("caption.changes_length", language, distance=longer.mean_distance))
    if not turned:
        return " ".join(sentences)
    first, *later = turned
    most = stages[first].most_moved or 0
    alone = len(analysis.after) > 1 and all(_stayed_but(stage, most) for stage in stages.values())
    sentences.append(_who_moved(analysis, first, stages[first], language, alone=alone))
    for name in later:
        stage = stages[name]
        distance = float(stage.cosine_distance[most]) if alone else stage.mean_cosine_distance
        key = "caption.changes_one_then" if alone else "caption.changes_then"
        values = {"part": text(f"part.{name}", language), "distance": distance_text(distance)}
        sentences.append(text(key, language, **values))
    return " ".join(sentences)


def _is_zero(stage: StageMovement) -> bool:
    """Whether every vector that is a number is zero before or after: none has a cosine distance."""
    return bool(np.isnan(stage.mean_cosine_distance) and not np.isnan(stage.mean_distance))


def _stayed_but(stage: StageMovement, token: int) -> bool:
    """Whether no number of any other token changed: one that only changed its length has moved too."""
    return not np.delete(stage.distance, token).any()


def _who_moved(analysis: Compared, name: str, stage: StageMovement, language: str, *, alone: bool) -> str:
    tokens, most = analysis.after.tokens, stage.most_moved or 0
    who: dict[str, object] = {
        "part": text(f"part.{name}", language), "mean": distance_text(stage.mean_cosine_distance),
        "piece": tokens[most], "token": most,
    }  # fmt: skip
    if alone:
        distance = distance_text(float(stage.cosine_distance[most]))
        return text("caption.changes_one", language, **who, distance=distance, others=len(tokens) - 1)
    if stage.share_of_most_moved >= LARGE_SHARE and len(tokens) > 1:
        who |= {"share": stage.share_of_most_moved, "stayed": distance_text(stage.mean_had_it_stayed)}
        return text("caption.changes_owner", language, **who)
    return text("caption.changes_all", language, **who, **_span(stage, tokens))


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
        sizes = np.abs(np.nan_to_num(stage.delta, posinf=0, neginf=0))
        token, dimension = np.unravel_index(sizes.argmax(), sizes.shape)
        sentences.append(
            text(
                "caption.delta", language, part=text(f"part.{name}", language), dimensions=named,
                value=_signed(float(stage.delta[token, dimension])), piece=analysis.after.tokens[token],
                token=int(token), dimension=int(dimension),
            )
        )  # fmt: skip
    return " ".join(sentences) or text("caption.delta_none", language)


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def lens_caption(analysis: Compared, language: str = DEFAULT_LANGUAGE) -> str:
    """What the lens is, and how far apart the segments lie on it before and after."""
    before, after = analysis.lens_before, analysis.lens_after
    if before is None or after is None:
        return text("caption.lens_none", language)
    what = text("caption.lens", language)
    if np.isnan(before.separation) and np.isnan(after.separation):
        few = all(min(len(lens.of(0)), len(lens.of(1))) < 2 for lens in (before, after))
        return f"{what} {text('caption.lens_one_segment' if few else 'caption.lens_no_spread', language)}"
    values = {"before": _separation(before, language), "after": _separation(after, language)}
    if values["before"] == values["after"]:
        return f"{what} {text('caption.lens_same', language, **values)}"
    return f"{what} {text('caption.lens_separation', language, **values)}"


def _separation(lens: SegmentLens, language: str) -> str:
    value = lens.separation
    return text("caption.lens_undefined", language) if np.isnan(value) else f"{value:.2f}".replace("-", "−")


def layers_caption(movement: LayerMovement, language: str = DEFAULT_LANGUAGE) -> str:
    """How the mean goes from the input to the last layer, what is left in the sentence vector, and the yardstick."""
    means = movement.mean_distances
    largest = int(np.nan_to_num(means).argmax())
    if not np.nanmax(means, initial=0.0) > ROUNDING:
        return text("caption.layers_same", language)
    values = {
        "first": distance_text(float(means[0])), "last": distance_text(float(means[-1])),
        "layer": largest, "largest": distance_text(float(means[largest])), "layers": len(means) - 1,
    }  # fmt: skip
    between = 0 < largest < len(means) - 1 and values["largest"] != values["last"]
    sentences = [
        text("caption.layers_peak" if between else "caption.layers", language, **values),
        text("caption.layers_sentence", language, cosine=f"{movement.sentence_cosine:.3f}".replace("-", "−")),
    ]
    if np.isfinite(yardstick := float(movement.random_cosines[-1])):
        sentences.append(text("caption.layers_yardstick", language, distance=1 - yardstick))
    if movement.untrained:
        sentences.append(text("caption.layers_untrained", language))
    return " ".join(sentences)

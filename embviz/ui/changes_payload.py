"""What the tab "What changed" is drawn from: `changes` of docs/payload.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embviz.analysis import Analysis
from embviz.embedding.movement import Movement
from embviz.figures.change_captions import bars_caption, delta_caption, lens_caption
from embviz.figures.changes import bars_spec, delta_spec, delta_stages, lens_spec, shown_stages
from embviz.i18n import text
from embviz.ui.packing import pack, pack_rows, value_range

Floats = NDArray[np.floating]


def changes_json(analysis: Analysis, start: int, stop: int) -> dict[str, Any] | None:
    """What moved from before to after, for the tokens `start <= token < stop`; None without a what-if."""
    moved = analysis.moved
    if moved is None:
        return None
    if not moved.changed:
        return {"changed": False, "sentences": {"nothing": text("changes.nothing_moved")}}
    stages = delta_stages(moved)
    lenses = {"before": analysis.lens_before, "after": analysis.lens_after}
    return {
        "changed": True,
        "distances": {
            name: pack(stage.cosine_distance[start:stop]) for name, stage in shown_stages(moved).items()
        },
        "rows": {name: pack_rows(stage.delta[start:stop]) for name, stage in stages.items()},
        "scale": {name: value_range([stage.delta]) for name, stage in stages.items()},
        "order": _by_change(moved),
        "lens": {
            name: pack(lens.projection[start:stop]) for name, lens in lenses.items() if lens is not None
        },
        "sentences": {
            "bars": bars_caption(analysis), "delta": delta_caption(analysis), "lens": _lens_sentence(analysis),
        },
        "figures": {
            "bars": bars_spec(analysis, start, stop),
            "delta": _without_numbers(delta_spec(analysis, start, stop)),
            "lens": None if analysis.lens_after is None else lens_spec(analysis, start, stop),
        },
    }  # fmt: skip


def _by_change(moved: Movement) -> list[int]:
    """All dimensions, the largest mean |change| of the first stage that changed first."""
    stage = next((one for one in delta_stages(moved).values() if len(one.dimensions)), moved.summed)
    finite = np.isfinite(stage.distance)
    change = np.abs(stage.delta[finite]).mean(axis=0) if finite.any() else np.zeros(stage.delta.shape[1])
    order: list[int] = np.argsort(-change, kind="stable").tolist()
    return order


def _lens_sentence(analysis: Analysis) -> str:
    """The caption of the lens, or why this model has none."""
    absent = analysis.after.absent
    if analysis.lens_after is not None or "segment" not in absent:
        return lens_caption(analysis)
    return absent["segment"]


def _without_numbers(spec: dict[str, Any]) -> dict[str, Any]:
    """The heatmaps' spec; the page has their numbers already."""
    for trace in spec["data"]:
        trace["z"] = {"part": trace["meta"]}
    return spec

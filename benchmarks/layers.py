"""What the layers cost: before and after together, beside one batched forward of the official model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from statistics import median

from benchmarks.table import Row, alternate
from embviz.embedding.decomposition import Decomposition
from embviz.embedding.interventions import Scale
from embviz.models.loading import EmbeddingModel, load_model
from embviz.models.sources import bundled_folder

PAIR = ("The bank raised interest rates.", "We sat on the river bank.")
CALLS = 20
"""Calls of one round; their median counts, since one takes some milliseconds."""

_new = count(1)


def measure(runs: int) -> Iterator[Row]:
    """The row of issue 4 about the encoder: 16 tokens of the bundled model."""
    model = load_model()
    official = _official(model)
    before = model.decompose(*PAIR)
    model.through_encoder(before, before)  # loads the weights and the yardstick
    against = "AutoModel on before and after, one batch"

    ours, theirs = alternate(runs, lambda: _layers(model), official)
    yield Row("layers of a new input, before and after", ours, theirs, 1.2, "ms", against)


def _layers(model: EmbeddingModel) -> float:
    """Milliseconds that all numbers of the layers take, for two inputs that were never seen."""
    times = []
    for _ in range(CALLS):
        first, second = _changed(model), _changed(model)
        started = time.perf_counter()
        model.through_encoder(first, second)
        times.append(time.perf_counter() - started)
    return 1000 * median(times)


def _changed(model: EmbeddingModel) -> Decomposition:
    """The pair with a change that it never had before."""
    d = model.decompose(*PAIR)
    return model.change(d, (Scale("position", 1 + next(_new) / 1e4),))


def _official(model: EmbeddingModel) -> Callable[[], float]:
    """Milliseconds of one forward of the official model on two inputs of the same length."""
    import torch
    from transformers import AutoModel

    network = AutoModel.from_pretrained(bundled_folder()).eval()
    d = model.decompose(*PAIR)
    batch = {
        name: torch.tensor(ids)[None].repeat(2, 1)
        for name, ids in (("input_ids", d.input_ids), ("token_type_ids", d.token_type_ids))
    }
    batch["position_ids"] = torch.stack([torch.arange(len(d)), torch.arange(len(d)) + 5])
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])

    def forward() -> float:
        times = []
        for _ in range(CALLS):
            started = time.perf_counter()
            with torch.inference_mode():
                network(**batch, output_hidden_states=True)
            times.append(time.perf_counter() - started)
        return 1000 * median(times)

    return forward

"""Every change on every family: the official model with its ids or its tables really changed gives the same.

The official model is told of other positions by exchanging rows of its position table, since few classes take
position ids; of segments and tokens by their ids; of the rest by its parameters and its LayerNorm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import embviz
from embviz.embedding.decomposition import Decomposition, Ids
from embviz.embedding.interventions import Intervention
from embviz.embedding.layouts import LAYOUTS
from embviz.embedding.layouts_words import WORD_ROWS
from embviz.embedding.metrics import layer_norm_attribution
from embviz.models.what_if import refused_changes
from tests.embedding.architectures import CASES, configs_of
from tests.embedding.official_models import (
    TEXT,
    TEXT_PAIR,
    as_batch,
    official_answers,
    official_model,
    save,
)

Restore = Callable[[], None]
P = 0.3
DROPOUT_KEYS = (
    "hidden_dropout_prob", "hidden_dropout", "dropout", "dropout_rate", "embd_pdrop", "embed_dropout",
    "embedding_dropout",
)  # fmt: skip
"""What configs call the probability of dropout in the input layer."""
DROPS = {
    "starcoder2",
    "phi",
    "gpt_neox",
    "gptj",
    "codegen",
    "t5",
    "mt5",
    "umt5",
    "longt5",
    "switch_transformers",
}
"""Of the models that only look words up, those whose official class has dropout there."""
DROPS_NOTHING = {layout.model_type for layout in WORD_ROWS} - DROPS | {
    "esm", "opt", "clip", "clip_text_model", "clipseg", "metaclip_2", "siglip", "siglip2", "groupvit", "owlvit",
    "owlv2", "xclip",
}  # fmt: skip
"""Their official class has no dropout in the input layer."""


@dataclass(frozen=True, eq=False)
class Opened:
    """The same tiny checkpoint as transformers and as embviz opens it, and the answer before any change."""

    official: nn.Module
    model: embviz.EmbeddingModel
    before: Decomposition
    tolerance: float

    def agree(self, after: Decomposition, token_type_ids: Ids | None = None, drop: Any = None) -> None:
        """The official model, as it is now, gives `after.output` on these ids."""
        types = after.token_type_ids if token_type_ids is None else token_type_ids
        ids, segments = as_batch(after.input_ids, types)
        given = segments if self.model.card.type_vocab_size else None
        answers = official_answers(self.official, self.model.layout, ids, given, torch.ones_like(ids))
        assert answers
        for answer in answers:
            expected = answer[0] if drop is None else drop(answer[0])
            scale = max(1.0, float(expected.abs().max()) / 10)
            assert (torch.tensor(after.output) - expected).abs().max().item() <= self.tolerance * scale

    def change(self, *what_if: Intervention) -> Decomposition:
        after = self.model.change(self.before, what_if)
        adds_up(after)
        return after

    def parameter(self, role: str) -> nn.Parameter | Tensor | None:
        """The official model's own tensor of a role; None where it computes it."""
        names = self.model.layout.tensors(self.model.layout.settings(self.model.config)).get(role, ())
        held = {**dict(self.official.named_buffers()), **dict(self.official.named_parameters())}
        found = [tensor for name in names for full, tensor in held.items() if is_at(full, name)]
        return found[0] if found else None

    @contextmanager
    def with_tensor(self, role: str, change: Callable[[Tensor], Tensor]) -> Iterator[bool]:
        """The official model with another tensor; false where it has none to change."""
        tensor = self.parameter(role)
        if tensor is None:
            yield False
            return
        kept = tensor.detach().clone()
        with torch.no_grad():
            tensor.copy_(change(kept.clone()))
        try:
            yield True
        finally:
            with torch.no_grad():
                tensor.copy_(kept)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads of torch wait for each other longer than these tiny models compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Passing(nn.Module):
    """No LayerNorm; I-BERT's takes and gives a scaling factor too."""

    def forward(self, *given: Any) -> Any:
        return given if len(given) > 1 else given[0]


def is_at(full: str, name: str) -> bool:
    return full == name or full.endswith(f".{name}")


def adds_up(d: Decomposition) -> None:
    """token + segment + position + constant is the sum, and the attribution adds up to the LayerNorm's result."""
    parts = [
        part.astype(np.float64) for part in (d.token, d.segment, d.position, d.constant) if part is not None
    ]
    np.testing.assert_allclose(sum(parts), d.summed, atol=1e-5)
    shares = layer_norm_attribution(d)
    assert (d.normalized is None) == (d.layer_norm is None) == (shares == {})
    if d.normalized is not None:
        np.testing.assert_allclose(sum(shares.values()), d.normalized, atol=5e-5)


@pytest.mark.parametrize(("model_type", "variant"), CASES)
def test_every_change_equals_the_official_model_changed(
    model_type: str, variant: int, tmp_path: Path
) -> None:
    official = official_model(model_type, with_dropout(model_type, configs_of(model_type)[variant]))
    model = embviz.load_model(str(save(official, tmp_path)))
    terms = model.module.terms
    rounded = terms.scale != 1 or terms.projected or terms.projection
    case = Opened(official, model, model.decompose(TEXT, TEXT_PAIR), 1e-5 if rounded else 2e-6)

    tokens_are_replaced(case)
    dropout_is_the_official_one(case)
    token_part_is_scaled(case)
    if model.card.type_vocab_size > 1:
        segments_change(case)
    if model.card.max_position_embeddings:
        positions_change(case)
    if terms.norm is not None:
        layer_norm_changes(case)
    refusals_have_reasons(case)


def tokens_are_replaced(case: Opened) -> None:
    """Padding (which some count positions by), ESM's mask piece, and a word at the place of a special token."""
    for index, piece in ((2, "<pad>"), (3, "bank"), (0, "river"), (4, "mask")):
        after = case.change(embviz.ReplaceToken(index, piece))
        assert after.tokens[index] == piece
        case.agree(after)


def with_dropout(model_type: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with dropout of probability P, whatever the family calls it."""
    at, probabilities = LAYOUTS[model_type].config_at, dict.fromkeys(DROPOUT_KEYS, P)
    return (
        {**config, **probabilities} if at is None else {**config, at: {**config.get(at, {}), **probabilities}}
    )


def dropout_is_the_official_one(case: Opened) -> None:
    """The official model in train mode under the same seed; where it has no dropout here, torch's on its answer."""

    def drop(answer: Tensor) -> Tensor:
        torch.manual_seed(7)
        return nn.functional.dropout(answer, P, training=True)

    dropped, layout = case.change(embviz.Dropout(P, 7)), case.model.layout
    if layout.model_type in DROPS_NOTHING:
        case.agree(dropped, drop=drop)
        return
    case.official.train()
    torch.manual_seed(7)
    case.agree(dropped)
    case.official.eval()


def token_part_is_scaled(case: Opened) -> None:
    """The projection before the sum has a bias in MobileBERT, which belongs to the part."""
    after = case.change(embviz.Scale("token", -1.5))
    with (
        case.with_tensor("token", lambda table: table * -1.5) as token,
        case.with_tensor("before_bias", lambda bias: bias * -1.5),
    ):
        assert token
        case.agree(after)


def segments_change(case: Opened) -> None:
    n = len(case.before)
    mixed = [i % 2 for i in range(n)]
    for what_if, ids in (
        ((embviz.SetSegments(tuple(mixed)),), mixed),
        ((embviz.SetSegments(tuple(mixed)), embviz.FlipSegment(2)), [*mixed[:2], 1, *mixed[3:]]),
        ((embviz.SetSegments(tuple(mixed)), embviz.SwapSegments()), [1 - i for i in mixed]),
        ((embviz.AllSegments(1),), [1] * n),
    ):
        after = case.change(*what_if)
        assert after.token_type_ids.tolist() == ids
        case.agree(after, np.array(ids))

    def apart(table: Tensor, k: float) -> Tensor:
        a, b = table[0].clone(), table[1].clone()
        table[0], table[1] = (a + b) / 2 - k * (b - a) / 2, (a + b) / 2 + k * (b - a) / 2
        return table

    for change, k in ((embviz.MeanSegments(), 0.0), (embviz.ScaleSegmentDifference(3), 3.0)):
        with case.with_tensor("segment", partial(apart, k=k)) as there:
            assert there
            case.agree(case.change(change))
    with case.with_tensor("segment", lambda table: table * 0):
        case.agree(case.change(embviz.Scale("segment", 0)))


def positions_change(case: Opened) -> None:
    usual = case.before.position_ids
    n = len(usual)
    given = [int(usual[0]) + (3 * i) % n for i in range(n)]
    for change, ids in (
        (embviz.ShiftPositions(3), usual + 3),
        (embviz.ShiftPositions(3, keep_first=True), [usual[0], *(usual[1:] + 3)]),
        (embviz.ReversePositions(), usual[::-1]),
        (embviz.ReversePositions(keep_first=True), [usual[0], *usual[:0:-1]]),
        (embviz.ShufflePositions(5), np.random.default_rng(5).permutation(usual)),
        (embviz.ConstantPosition(int(usual[0]) + 4), [usual[0] + 4] * n),
        (embviz.SetPositions(tuple(given)), given),
        (embviz.MovePosition(1, int(usual[0]) + 20), [usual[0], usual[0] + 20, *usual[2:]]),
    ):
        after = case.change(change)
        assert after.position_ids.tolist() == list(map(int, ids))

        def moved(table: Tensor, rows: Any = ids) -> Tensor:
            old = table.clone()
            table[usual.tolist()] = old[[int(row) for row in rows]]
            return table

        with case.with_tensor("position", moved) as there:
            assert there
            case.agree(after)
    with case.with_tensor("position", lambda table: table * 2.5):
        case.agree(case.change(embviz.Scale("position", 2.5)))


def layer_norm_changes(case: Opened) -> None:
    name = next(
        name
        for name, _ in case.official.named_modules()
        for wanted in case.model.layout.norm
        if is_at(name, wanted)
    )
    parent_name, _, last = name.rpartition(".")
    parent, norm = case.official.get_submodule(parent_name), case.official.get_submodule(name)
    if case.model.module.terms.norm == "layer_norm":
        name = "eps" if hasattr(norm, "eps") else "variance_epsilon"
        eps = getattr(norm, name)
        setattr(norm, name, 0.5)
        case.agree(case.change(embviz.LayerNormEps(0.5)))
        setattr(norm, name, eps)
    setattr(parent, last, Passing())
    after = case.change(embviz.NoLayerNorm())
    case.agree(after)
    assert after.normalized is None
    assert after.absent["normalized"].startswith("The LayerNorm is switched off")
    setattr(parent, last, norm)


def refusals_have_reasons(case: Opened) -> None:
    """What means nothing for a model is refused with its reason, and nothing else is."""
    refused = refused_changes(case.model)
    n = len(case.before)
    one_of_each: dict[str, Intervention] = {
        "SetSegments": embviz.SetSegments((0,) * n), "FlipSegment": embviz.FlipSegment(0),
        "SwapSegments": embviz.SwapSegments(), "AllSegments": embviz.AllSegments(0),
        "MeanSegments": embviz.MeanSegments(), "ScaleSegmentDifference": embviz.ScaleSegmentDifference(2),
        "ShiftPositions": embviz.ShiftPositions(0), "ReversePositions": embviz.ReversePositions(),
        "ShufflePositions": embviz.ShufflePositions(), "ConstantPosition": embviz.ConstantPosition(3),
        "SetPositions": embviz.SetPositions((3,) * n), "MovePosition": embviz.MovePosition(0, 3),
        "Scale.segment": embviz.Scale("segment", 2), "Scale.position": embviz.Scale("position", 2),
        "NoLayerNorm": embviz.NoLayerNorm(), "LayerNormEps": embviz.LayerNormEps(1e-3),
    }  # fmt: skip
    for name, change in one_of_each.items():
        if name in refused:
            with pytest.raises(embviz.InputError) as caught:
                case.model.change(case.before, (change,))
            assert refused[name] in str(caught.value)
            assert caught.value.field == "what_if"
        else:
            case.model.change(case.before, (change,))
    assert set(refused) <= set(one_of_each)

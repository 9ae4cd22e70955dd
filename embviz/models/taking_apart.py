"""From ids to a Decomposition: look-ups, changed where a what-if wants it, and everything computed on the way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from embviz.embedding.arithmetic import dropped, scaled
from embviz.embedding.decomposition import (
    Decomposition,
    EncodedText,
    Floats,
    Ids,
    LayerNormStep,
    Note,
)
from embviz.embedding.interventions import ComponentChanges
from embviz.embedding.module import InputEmbeddings
from embviz.embedding.parts import NormSettings
from embviz.i18n import text
from embviz.models.facts import vector_notes

if TYPE_CHECKING:
    from embviz.models.model import EmbeddingModel

NOTHING = ComponentChanges()


@dataclass(frozen=True, eq=False)
class ChosenIds:
    """What is looked up, checked against the tables.

    Attributes:
        encoded: the text; its `input_ids` are rows of the word table.
        token_type_ids: rows of the token type table, `(seq_len,)`.
        position_ids: rows of the position table, `(seq_len,)`.
    """

    encoded: EncodedText
    token_type_ids: Ids
    position_ids: Ids


@torch.inference_mode()
def take_apart(
    model: EmbeddingModel,
    ids: ChosenIds,
    changes: ComponentChanges = NOTHING,
    before: Decomposition | None = None,
) -> Decomposition:
    """The input layer's answer to these ids, taken apart.

    Args:
        model: whose input layer.
        ids: what is looked up.
        changes: what is changed after the look-ups.
        before: the answer of the model as it is to the same text; its arrays are the very ones of the result where
            they are the same.
    """
    token, segment, position = _looked_up(model, ids, changes, before)
    norm = NormSettings(changes.layer_norm, changes.eps, partial(_dropped, changes=changes))
    factor = changes.factors.get
    parts = model.module.combine(
        scaled(token, factor("token", 1.0)),
        None if segment is None else scaled(segment, factor("segment", 1.0)),
        None if position is None else scaled(position, factor("position", 1.0)),
        norm=norm,
    )
    constant = model.module.constant
    summed = _array(parts.summed, before, "summed")
    absent = {
        **model.absent,
        **({} if changes.layer_norm else {"normalized": text("absent.normalized.switched_off")}),
    }
    return Decomposition(
        encoded=ids.encoded,
        input_ids=ids.encoded.input_ids,
        token_type_ids=ids.token_type_ids,
        position_ids=ids.position_ids,
        token=_array(parts.token, before, "token"),
        segment=_optional(parts.segment, before, "segment"),
        position=_optional(parts.position, before, "position"),
        summed=summed,
        normalized=_optional(parts.normalized, before, "normalized"),
        output=_array(parts.output, before, "output"),
        layer_norm=_step(model.module, parts.summed[0], norm),
        tensors=model.names,
        absent=absent,
        check=model.check if changes.nothing else _cannot_check,
        constant=None if constant is None else as_floats(constant.sum(0).expand(len(summed), -1)),
        own_notes=(*_change_notes(changes), *vector_notes(ids.encoded, summed), *model.notes),
    )


def as_floats(tensor: Tensor) -> Floats:
    """A read-only float32 array; the model is shared and nothing that it gave out may change it."""
    array: Floats = tensor.detach().cpu().numpy()
    array.flags.writeable = False
    return array


def _looked_up(
    model: EmbeddingModel, ids: ChosenIds, changes: ComponentChanges, before: Decomposition | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The vectors of each component, `(1, seq_len, embedding_size)`; only what differs from before is looked up."""
    module, device = model.module, model.module.position_ids.device
    token_ids, types, positions = ids.encoded.input_ids, ids.token_type_ids, ids.position_ids

    def batch(array: NDArray[Any]) -> Tensor:
        return torch.tensor(array, device=device)[None]

    if before is not None and np.array_equal(token_ids, before.input_ids):
        token = batch(before.token)
    else:
        rows = model.tensors.rows(model.names["token"], token_ids.tolist()).to(device)[None]
        token = module.token_vectors(rows.float(), batch(token_ids))
    same_rows = changes.segment_difference == 1
    if before is not None and same_rows and np.array_equal(types, before.token_type_ids):
        segment = None if before.segment is None else batch(before.segment)
    else:
        segment = module.segment_vectors(batch(types), changes.segment_difference)
    if before is not None and np.array_equal(positions, before.position_ids):
        position = None if before.position is None else batch(before.position)
    else:
        position = module.position_vectors(batch(positions))
    return token, segment, position


def _dropped(vectors: Tensor, changes: ComponentChanges) -> Tensor:
    for dropout in changes.dropouts:
        vectors = dropped(vectors, dropout.p, dropout.seed)
    return vectors


def _array(tensor: Tensor, before: Decomposition | None, name: str) -> Floats:
    """The vectors of the only text of a batch; the very array from before where they are the same bit by bit."""
    array = as_floats(tensor[0])
    old: Floats | None = None if before is None else getattr(before, name)
    return array if old is None or array.tobytes() != old.tobytes() else old


def _optional(tensor: Tensor | None, before: Decomposition | None, name: str) -> Floats | None:
    return None if tensor is None else _array(tensor, before, name)


def _step(module: InputEmbeddings, summed: Tensor, settings: NormSettings) -> LayerNormStep | None:
    """The operands of the LayerNorm of a sum, `(seq_len, embedding_size)`; None where there is none."""
    norm = module.LayerNorm
    if norm is None or not settings.on:
        return None
    eps = norm.eps if settings.eps is None else settings.eps
    centred = module.terms.norm == "layer_norm"
    variance, mean = torch.var_mean(summed, dim=-1, correction=0)
    weight, bias = norm.weight.float(), norm.bias
    return LayerNormStep(
        weight=as_floats(weight),
        bias=as_floats(torch.zeros_like(weight) if bias is None else bias.float()),
        eps=eps if centred else 0.0,
        mean=as_floats(mean if centred else torch.zeros_like(mean)),
        std=as_floats(torch.sqrt(variance + eps) if centred else torch.ones_like(mean)),
        centred=centred,
    )


def _change_notes(changes: ComponentChanges) -> list[Note]:
    """What a reader has to know: these numbers are not the model's own."""
    notes: list[Note] = []
    if changes.segment_difference != 1:
        notes.append(Note("segment_difference", {"factor": changes.segment_difference}, about="model"))
    for name, factor in changes.factors.items():
        if factor != 1:
            notes.append(Note("scaled_part", {"part": text(f"part.{name}"), "factor": factor}, about="model"))
    if changes.layer_norm and changes.eps is not None:
        notes.append(Note("other_eps", {"eps": changes.eps}, about="model"))
    notes += [
        Note("dropout", {"p": drop.p, "seed": drop.seed}, about="model")
        for drop in changes.dropouts
        if drop.p
    ]
    return notes


def _cannot_check(_: Decomposition) -> tuple[float | None, str]:
    return None, text("verified.scaled")

"""A model whose input layer can be taken apart: its tokenizer, its tensors, and what to say about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embviz.embedding.decomposition import Decomposition, EncodedText, Floats, Ids, read_only_ids
from embviz.embedding.interventions import ComponentChanges, Intervention
from embviz.embedding.layers import LayerMovement, measure_layers
from embviz.embedding.layout import EmbeddingLayout
from embviz.embedding.layouts import layout_of
from embviz.embedding.module import default_device
from embviz.embedding.parts import EmbeddingParts
from embviz.embedding.verification import NotCheckedError, OfficialInput
from embviz.errors import InputError
from embviz.i18n import text as words
from embviz.models.building import MODULE_NAMES, build_module, model_type_of, resolve
from embviz.models.card import ModelCard
from embviz.models.checkpoint import TensorSource
from embviz.models.encoder import Encoder
from embviz.models.facts import model_notes
from embviz.models.recent import RecentDecompositions
from embviz.models.sources import ModelFiles
from embviz.models.taking_apart import NOTHING, ChosenIds, as_floats, take_apart
from embviz.models.what_if import change


class EmbeddingModel:
    """A model's tokenizer and input layer.

    The position and token type tables, the LayerNorm and the projections are held in memory; rows of the word
    table are read from the checkpoint by need.

    Attributes:
        card: what it is.
        layout: how its architecture makes its input.
        names: its tensors in the checkpoint by role.
        absent: for each part that it does not have, the reason.
        notes: what a reader should know about it.
        tokenizer: text to ids.
        module: the input layer, in eval mode.
        tensors: its weights by name.
        encoder: its layers above the input.

    Raises:
        ModelError: it cannot be shown exactly; the sentence says why.
    """

    def __init__(self, ref: str, files: ModelFiles) -> None:
        self.config: Mapping[str, Any] = files.config
        self.tensors: TensorSource = files.tensors
        self.layout: EmbeddingLayout = layout_of(model_type_of(files))
        self.names, terms, computed = resolve(self.layout, files)
        self.module = build_module(terms, self.names, files.tensors, computed).to(default_device()).eval()
        self.absent = self.layout.absent(
            [*self.names, *(["position"] if terms.max_position_embeddings else [])]
        )
        self.notes = model_notes(self.layout, self.config, self.module, self.names)
        self.tokenizer = files.tokenizer(terms.max_length)
        self._recent = RecentDecompositions()
        self.encoder = Encoder(self.layout, self.names, files)
        self.card = ModelCard(
            ref=ref,
            name=files.name,
            origin=files.origin,
            model_type=self.layout.model_type,
            architecture=self.layout.name,
            hidden_size=terms.hidden_size,
            embedding_size=terms.embedding_size,
            vocab_size=terms.vocab_size or 0,
            max_position_embeddings=terms.max_position_embeddings,
            max_length=terms.max_length,
            type_vocab_size=terms.type_vocab_size,
            layer_norm_eps=terms.layer_norm_eps if terms.norm else None,
            device=str(default_device()),
        )

    def encode(self, text: str, text_pair: str | None = None) -> EncodedText:
        """A text or a pair as this model reads it; a blank `text_pair` means a single sentence."""
        return self.tokenizer.encode(text, text_pair)

    def decompose(self, text: str, text_pair: str | None = None) -> Decomposition:
        """The input layer's answer to a text or a pair, taken apart; the last few are kept."""
        text_pair = text_pair if text_pair and text_pair.strip() else None
        return self._recent.get((text, text_pair), lambda: self._decomposed(self.encode(text, text_pair)))

    def decompose_ids(
        self,
        encoded: EncodedText,
        token_type_ids: Ids,
        position_ids: Ids,
        changes: ComponentChanges = NOTHING,
        before: Decomposition | None = None,
    ) -> Decomposition:
        """The same tokens with other segments, other positions or changed components.

        Args:
            encoded: the text.
            token_type_ids: rows of the token type table, `(seq_len,)`; all 0 where it has one row.
            position_ids: rows of the position table, `(seq_len,)`.
            changes: what is changed after the look-ups.
            before: the unchanged answer to the same text; what stays the same in it is not looked up again.

        Raises:
            InputError: there is not one id a token, or an id is not a row of its table.
        """
        rows, limit = self.card.vocab_size, self.card.max_position_embeddings
        for piece, token_id in zip(encoded.tokens, encoded.input_ids.tolist(), strict=True):
            if not 0 <= token_id < rows:
                raise InputError(
                    "vocabulary", field="model", piece=piece, id=token_id, rows=rows, last=rows - 1
                )
        for name, ids in (("token_type_ids", token_type_ids), ("position_ids", position_ids)):
            if np.shape(ids) != (len(encoded),):
                raise InputError("ids_length", field=name, name=name, found=np.size(ids), length=len(encoded))
        if limit:
            _check_ids("position_ids", position_ids, limit)
        types = read_only_ids(self._segments(np.asarray(token_type_ids, np.int64)))
        return take_apart(self, ChosenIds(encoded, types, read_only_ids(position_ids)), changes, before)

    def change(self, before: Decomposition, what_if: tuple[Intervention, ...]) -> Decomposition:
        """The answer to the same text after changes; `before` itself where together they change nothing.

        Args:
            before: what `decompose` gave. What stays the same in it is not computed again.
            what_if: see `embviz.embedding.interventions` for their order.

        Raises:
            InputError: a change does not fit the text, or means nothing for this model.
        """
        return change(self, before, what_if)

    def default_positions(self, encoded: EncodedText) -> Ids:
        """The rows of the position table of these tokens, `(seq_len,)`."""
        positions: Ids = self.module.default_positions(torch.tensor(encoded.input_ids)[None])[0].numpy()
        return positions

    def _decomposed(self, encoded: EncodedText) -> Decomposition:
        return self.decompose_ids(encoded, encoded.token_type_ids, self.default_positions(encoded))

    def through_encoder(
        self, before: Decomposition, after: Decomposition, *, allow_download: bool = False
    ) -> LayerMovement:
        """How far each token of one input moved in every layer.

        Args:
            before: the input as encoded.
            after: the same after a change.
            allow_download: whether weights may be fetched; `encoder.download_bytes` says how many.

        Raises:
            ModelError: the layers cannot be run, or have to be fetched first.
        """
        first, second = self.encoder.states(before, after, allow_download=allow_download)
        random_cosines = self.encoder.random_cosines(self.decompose)
        return measure_layers(first, second, random_cosines, untrained=self.encoder.untrained)

    @torch.inference_mode()
    def embed(
        self, input_ids: Tensor, token_type_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> EmbeddingParts:
        """The input layer's answer to a batch of ids, as the official model gives it.

        Args:
            input_ids: `(batch, seq_len)`.
            token_type_ids: `(batch, seq_len)`; None means segment 0 everywhere. A model without a token type
                table does not look at them.
            attention_mask: 1 for real tokens, 0 for padding, `(batch, seq_len)`; None means 1 everywhere.

        Raises:
            InputError: an id is not a row of its table, or there are more tokens than positions.
        """
        _check_ids("input_ids", input_ids.cpu().numpy(), self.card.vocab_size)
        if token_type_ids is not None:
            token_type_ids = torch.from_numpy(self._segments(token_type_ids.cpu().numpy()))
        device = self.module.position_ids.device
        rows = self.tensors.rows(self.names["token"], input_ids.flatten().tolist())
        given = {
            "input_ids": input_ids, "token_type_ids": token_type_ids, "attention_mask": attention_mask,
            "inputs_embeds": rows.view(*input_ids.shape, -1),
        }  # fmt: skip
        parts: EmbeddingParts = self.module(
            **{name: None if tensor is None else tensor.to(device) for name, tensor in given.items()}
        )
        return parts

    def table(self, role: str) -> Floats:
        """A whole tensor by its role (token, segment, position, weight, bias …), float32.

        The rows of tables are as they are added: scaled and projected where the model does so.

        Raises:
            InputError: this model has none.
        """
        held = {"position": self.module.position_embeddings, "segment": self.module.token_type_embeddings}
        if (table := held.get(role)) is not None:
            return self._as_added(role, table.weight.float())
        if role not in self.names:
            raise InputError("no_table", role=role, name=self.layout.name)
        return self._as_added(role, self.tensors.tensor(self.names[role]))

    def token_rows(self, ids: Ids) -> Floats:
        """Rows of the word table as they are added, `(len(ids), embedding_size)`."""
        return self._as_added("token", self.tensors.rows(self.names["token"], ids.tolist()))

    @torch.inference_mode()
    def _as_added(self, role: str, rows: Tensor) -> Floats:
        return as_floats(self.module.as_added(role, rows.to(self.module.position_ids.device)))

    def _segments(self, token_type_ids: Ids) -> Ids:
        """The ids that are looked up: all 0 in a table of one row; checked against a larger one."""
        rows = self.card.type_vocab_size
        if rows == 1:
            return np.zeros_like(token_type_ids)
        if rows:
            _check_ids("token_type_ids", token_type_ids, rows)
        return token_type_ids

    def check(self, decomposition: Decomposition) -> tuple[float | None, str]:
        """The largest |difference| to the official module on the same ids, or None, and a sentence about it."""
        ids = sorted(set(decomposition.input_ids.tolist()))
        held = {name: tensor.cpu() for name, tensor in self.module.state_dict().items()}
        tensors = {role: held[name] for role, name in MODULE_NAMES.items() if role in self.names}
        tensors["token"] = self.tensors.rows(self.names["token"], ids)
        tensors |= {f"constant_{i}": row[None] for i, row in enumerate(held.get("constant", ()))}
        official = f"transformers.models.{self.layout.official}"
        try:
            difference = OfficialInput(self.layout, self.config, tensors, ids).difference(decomposition)
        except NotCheckedError as error:
            return None, words("verified.not_here", official=official, reason=error)
        return difference, words("verified.against", official=official)


def _check_ids(name: str, ids: Ids, rows: int) -> None:
    outside = [int(i) for i in np.asarray(ids).ravel() if not 0 <= i < rows]
    if outside:
        raise InputError("ids", field=name, name=name, found=outside[0], largest=rows - 1)

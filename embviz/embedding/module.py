"""The input layer of BERT as a torch module that returns its parts.

    h0 = Dropout(LayerNorm((W[input_ids] + S[token_type_ids]) + P[position_ids]))

Devlin et al. 2019, figure 2, in the order of addition of `transformers`
(`transformers.models.bert.modeling_bert.BertEmbeddings`), whose names of tables, ids and state dict are kept:
a state dict of the official module loads into this one and the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embviz.errors import InputError


class EmbeddingConfig(Protocol):
    """What the module reads of a config; `transformers.BertConfig` has all of it."""

    vocab_size: int | None
    hidden_size: int
    max_position_embeddings: int
    type_vocab_size: int
    pad_token_id: int | None
    layer_norm_eps: float
    hidden_dropout_prob: float


@dataclass(frozen=True, eq=False)
class EmbeddingParts:
    """Everything that the module computed on the way, float32.

    Attributes:
        token: vectors of the word table, `(batch, seq_len, hidden_size)`.
        segment: vectors of the token type table, same shape or `(1, seq_len, hidden_size)`.
        position: vectors of the position table, same shape or `(1, seq_len, hidden_size)`; None where the
            model adds no absolute position.
        summed: their sum, `(batch, seq_len, hidden_size)`.
        normalized: LayerNorm of the sum, same shape.
        output: what enters the encoder: `normalized` in eval mode, after dropout in train mode.
    """

    token: Tensor
    segment: Tensor
    position: Tensor | None
    summed: Tensor
    normalized: Tensor
    output: Tensor


class InputEmbeddings(nn.Module):
    """Token, segment and position look-ups, their sum, LayerNorm and dropout.

    Args:
        config: a `transformers.BertConfig` or anything with its attributes. `vocab_size` None makes no word
            table: token vectors are then given as `inputs_embeds`, so that a checkpoint's rows are read by
            need. `position_embedding_type` other than "absolute" means that no position is added.
    """

    position_ids: Tensor
    token_type_ids: Tensor

    def __init__(self, config: EmbeddingConfig | Any) -> None:
        super().__init__()
        size, positions = config.hidden_size, config.max_position_embeddings
        absolute = getattr(config, "position_embedding_type", "absolute") == "absolute"
        self.word_embeddings = (
            nn.Embedding(config.vocab_size, size, padding_idx=config.pad_token_id)
            if config.vocab_size
            else None
        )
        self.position_embeddings = nn.Embedding(positions, size) if absolute else None
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.register_buffer("position_ids", torch.arange(positions).expand((1, -1)), persistent=False)
        self.register_buffer(
            "token_type_ids", torch.zeros((1, positions), dtype=torch.long), persistent=False
        )

    def forward(
        self,
        input_ids: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        past_key_values_length: int = 0,
    ) -> EmbeddingParts:
        """Look up, add, normalize.

        Args:
            input_ids: `(batch, seq_len)`; needed where `inputs_embeds` is not given.
            token_type_ids: `(batch, seq_len)`; None means segment 0 everywhere.
            position_ids: `(batch, seq_len)` or `(1, seq_len)`; None means `past_key_values_length`,
                `past_key_values_length + 1`, …
            inputs_embeds: token vectors instead of the word table's, `(batch, seq_len, hidden_size)`;
                segment, position and LayerNorm are still applied to them.
            past_key_values_length: how many tokens came before, in tokens.

        Raises:
            InputError: neither ids nor vectors are given, or there are more positions than rows.
        """
        token = self._token_vectors(input_ids, inputs_embeds)
        length, last = token.shape[1], past_key_values_length + token.shape[1]
        if position_ids is None:
            if last > self.position_ids.shape[1]:
                raise InputError("positions", length=last, limit=self.position_ids.shape[1])
            position_ids = self.position_ids[:, past_key_values_length:last]
        if token_type_ids is None:
            token_type_ids = self.token_type_ids[:, :1].expand(token.shape[0], length)

        segment = self.token_type_embeddings(token_type_ids).float()
        position = None
        if self.position_embeddings is not None:
            position = self.position_embeddings(position_ids).float()
        return self.combine(token, segment, position)

    def combine(self, token: Tensor, segment: Tensor, position: Tensor | None) -> EmbeddingParts:
        """Sum, LayerNorm and dropout of component vectors, each `(batch or 1, seq_len, hidden_size)`."""
        summed = token + segment  # the official order; out of place, so that no component changes
        if position is not None:
            summed = summed + position
        norm = self.LayerNorm
        normalized = F.layer_norm(
            summed, norm.normalized_shape, norm.weight.float(), norm.bias.float(), norm.eps
        )
        return EmbeddingParts(token, segment, position, summed, normalized, self.dropout(normalized))

    def _token_vectors(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
        if inputs_embeds is not None:
            return inputs_embeds.float()
        if input_ids is None or self.word_embeddings is None:
            raise InputError("no_ids")
        return self.word_embeddings(input_ids).float()  # type: ignore[no-any-return]  # nn.Module is untyped


def default_device() -> torch.device:
    """The device to compute on: CUDA where there is one, then Apple's MPS, then the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")

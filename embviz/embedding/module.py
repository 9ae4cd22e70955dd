"""The input layer as a torch module that returns its parts: BERT's by default, every sum of look-ups by its terms.

    h0 = Dropout(LayerNorm((W[input_ids] + S[token_type_ids]) + P[position_ids]))

Devlin et al. 2019, figure 2, in the order of addition of `transformers`
(`transformers.models.bert.modeling_bert.BertEmbeddings`), whose names of tables, ids and state dict are kept:
a state dict of the official module loads into this one and the other way round. What other architectures add
to this line or leave out of it is in `InputTerms`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embviz.embedding.arithmetic import linear, spread, token_dropout
from embviz.embedding.layout import InputTerms
from embviz.embedding.parts import AS_IT_IS, EmbeddingConfig, EmbeddingParts, NormSettings
from embviz.errors import InputError

__all__ = ["EmbeddingParts", "InputEmbeddings", "default_device"]


class InputEmbeddings(nn.Module):
    """Token, segment and position look-ups, their sum, LayerNorm and dropout.

    Args:
        config: a `transformers.BertConfig` or anything with its attributes, or the `InputTerms` of another
            architecture. `vocab_size` None makes no word table: token vectors are then given as
            `inputs_embeds`, so that a checkpoint's rows are read by need. `position_embedding_type` other than
            "absolute" means that no position is added.
    """

    position_ids: Tensor
    token_type_ids: Tensor

    def __init__(self, config: InputTerms | EmbeddingConfig | Any) -> None:
        super().__init__()
        self.terms = terms = config if isinstance(config, InputTerms) else InputTerms.of_bert(config)
        size, positions = terms.embedding_size, terms.max_position_embeddings
        wide = terms.word_size * 3 if terms.trigram else terms.word_size
        widths = {
            part: terms.word_size if part in terms.projected else size for part in ("position", "segment")
        }
        self.word_embeddings = (
            nn.Embedding(terms.vocab_size, terms.word_size, padding_idx=terms.pad_token_id)
            if terms.vocab_size
            else None
        )
        self.position_embeddings = nn.Embedding(positions, widths["position"]) if positions else None
        self.token_type_embeddings = (
            nn.Embedding(terms.type_vocab_size, widths["segment"]) if terms.type_vocab_size else None
        )
        self.constant = nn.Parameter(torch.zeros(terms.constants, size)) if terms.constants else None
        self.before = nn.Linear(wide, size, terms.projected_bias) if terms.projected else None
        self.LayerNorm = (
            nn.LayerNorm(size, eps=terms.layer_norm_eps, bias=terms.norm_bias) if terms.norm else None
        )
        self.after = nn.Linear(size, terms.hidden_size, terms.projection_bias) if terms.projection else None
        self.dropout = nn.Dropout(terms.hidden_dropout_prob)
        self.register_buffer("position_ids", torch.arange(positions).expand((1, -1)), persistent=False)
        self.register_buffer("token_type_ids", torch.zeros((1, 1), dtype=torch.long), persistent=False)

    def forward(  # noqa: PLR0913, PLR0917  # the official arguments
        self,
        input_ids: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        past_key_values_length: int = 0,
        attention_mask: Tensor | None = None,
    ) -> EmbeddingParts:
        """Look up, add, normalize.

        Args:
            input_ids: `(batch, seq_len)`; needed where `inputs_embeds` is not given.
            token_type_ids: `(batch, seq_len)`; None means segment 0 everywhere.
            position_ids: `(batch, seq_len)` or `(1, seq_len)`; None means those of `default_positions`.
            inputs_embeds: rows of the word table, `(batch, seq_len, word_size)`, instead of a look-up; segment,
                position and LayerNorm are still applied to them.
            past_key_values_length: how many tokens came before, in tokens.
            attention_mask: 1 for real tokens, 0 for padding, `(batch, seq_len)`; None means 1 everywhere.

        Raises:
            InputError: neither ids nor vectors are given, or there are more positions than rows.
        """
        rows = self._token_rows(input_ids, inputs_embeds)
        token = self.token_vectors(rows, input_ids, attention_mask)
        if token_type_ids is None:
            token_type_ids = self.token_type_ids.expand(token.shape[:2])
        if position_ids is None and self.position_embeddings is not None:
            seen = rows[..., 0] if input_ids is None else input_ids
            position_ids = self.default_positions(
                seen, attention_mask, past_key_values_length, count_all=input_ids is None
            )
        segment = self.segment_vectors(token_type_ids)
        position = None if position_ids is None else self.position_vectors(position_ids)
        return self.combine(token, segment, position, attention_mask)

    def combine(
        self,
        token: Tensor,
        segment: Tensor | None,
        position: Tensor | None,
        attention_mask: Tensor | None = None,
        norm: NormSettings = AS_IT_IS,
    ) -> EmbeddingParts:
        """Sum, LayerNorm, dropout, projection and mask of component vectors.

        Args:
            token: `(batch, seq_len, embedding_size)`.
            segment: same shape, or with a batch of 1, or None.
            position: same shape, or with a batch of 1, or None.
            attention_mask: `(batch, seq_len)`; None means 1 everywhere.
            norm: whether there is a LayerNorm, its eps, and dropout after it.
        """
        terms, constant = self.terms, () if self.constant is None else self.constant.float()
        vectors = {"token": (token,), "segment": (segment,), "position": (position,), "constant": constant}
        added = [vector for name in terms.order for vector in vectors[name] if vector is not None]
        summed = added[0]  # the official order; out of place, so that no component changes
        for vector in added[1:]:
            summed = summed + vector
        drop = self.dropout if norm.drop is None else norm.drop
        entering = drop(summed) if terms.dropout_on == "sum" else summed
        normalized = self._normalized(summed, norm)
        result = normalized if entering is summed else self._normalized(entering, norm)
        if result is None:
            result = entering
        if terms.dropout_on == "norm":
            result = drop(result)
        if self.after is not None:
            result = linear(self.after, result)
        if terms.dropout_on == "projection":
            result = drop(result)
        if terms.masked and attention_mask is not None:
            result = result * attention_mask[..., None].to(result.dtype)
        return EmbeddingParts(token, segment, position, summed, normalized, result)

    def default_positions(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values_length: int = 0,
        *,
        count_all: bool = False,
    ) -> Tensor:
        """The rows of the position table of these tokens, `(batch or 1, seq_len)`.

        Args:
            input_ids: `(batch, seq_len)`.
            attention_mask: `(batch, seq_len)`; None means 1 everywhere.
            past_key_values_length: how many tokens came before.
            count_all: whether padding is counted too, where vectors stand for ids.

        Raises:
            InputError: there are more positions than rows.
        """
        terms, length = self.terms, past_key_values_length + input_ids.shape[1]
        if terms.max_length is not None and length > terms.max_length:
            raise InputError("positions", length=length, limit=terms.max_length)
        if terms.position_rule == "skip_padding" and not count_all:
            real = input_ids.ne(terms.first_position - 1).long()
            return (real.cumsum(1) + past_key_values_length) * real + terms.first_position - 1
        if terms.position_rule == "skip_mask" and attention_mask is not None:
            real = attention_mask.long()
            counted = real.cumsum(1) * real - 1 + terms.first_position
            return counted[:, past_key_values_length:]
        start = terms.first_position + past_key_values_length
        return torch.arange(start, start + input_ids.shape[1], device=input_ids.device)[None]

    def as_added(self, part: str, rows: Tensor) -> Tensor:
        """Rows of a table, `(n, width)`, as they enter the sum, `(n, embedding_size)`; each as a text of its own."""
        if part == "token":
            return self.token_vectors(rows[:, None], None, None)[:, 0]
        return self._projected(part, rows)

    def _token_rows(self, input_ids: Tensor | None, inputs_embeds: Tensor | None) -> Tensor:
        if inputs_embeds is not None:
            return inputs_embeds.float()
        if input_ids is None or self.word_embeddings is None:
            raise InputError("no_ids")
        return self.word_embeddings(input_ids).float()  # type: ignore[no-any-return]  # nn.Module is untyped

    def token_vectors(
        self, rows: Tensor, input_ids: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Tensor:
        """The token part, `(batch, seq_len, embedding_size)`: rows as this architecture scales and projects them.

        Args:
            rows: of the word table, `(batch, seq_len, word_size)`.
            input_ids: `(batch, seq_len)`; needed where a piece is treated apart (ESM's mask).
            attention_mask: `(batch, seq_len)`; None means 1 everywhere.
        """
        terms = self.terms
        if terms.mask_token_id is not None and input_ids is not None:
            rows = token_dropout(rows, input_ids == terms.mask_token_id, attention_mask)
        if terms.scale != 1:
            rows = rows * terms.scale
        if terms.trigram:
            following, previous = F.pad(rows[:, 1:], (0, 0, 0, 1)), F.pad(rows[:, :-1], (0, 0, 1, 0))
            rows = torch.cat([following, rows, previous], dim=-1)
        return self._projected("token", rows)

    def segment_vectors(self, token_type_ids: Tensor, difference: float = 1.0) -> Tensor | None:
        """The segment part of these ids, `(batch, seq_len, embedding_size)`; None where the model has none.

        Args:
            token_type_ids: `(batch, seq_len)`.
            difference: what the difference of the first two rows is multiplied by, about their mean.
        """
        if self.token_type_embeddings is None:
            return None
        table = spread(self.token_type_embeddings.weight, difference)
        return self._projected("segment", F.embedding(token_type_ids, table).float())

    def position_vectors(self, position_ids: Tensor) -> Tensor | None:
        """The position part of these ids, `(batch, seq_len, embedding_size)`; None where the model adds none."""
        if self.position_embeddings is None:
            return None
        return self._projected("position", self.position_embeddings(position_ids).float())

    def _projected(self, part: str, vectors: Tensor) -> Tensor:
        if self.before is None or part not in self.terms.projected:
            return vectors
        return linear(self.before, vectors)

    def _normalized(self, summed: Tensor, settings: NormSettings) -> Tensor | None:
        norm = self.LayerNorm
        if norm is None or not settings.on:
            return None
        eps = norm.eps if settings.eps is None else settings.eps
        weight, bias = norm.weight.float(), None if norm.bias is None else norm.bias.float()
        if self.terms.norm == "affine":
            return summed * weight + (0 if bias is None else bias)
        return F.layer_norm(summed, norm.normalized_shape, weight, bias, eps)


def default_device() -> torch.device:
    """The device to compute on: CUDA where there is one, then Apple's MPS, then the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")

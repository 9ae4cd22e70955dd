"""What goes into the input layer's module and comes out of it: a config, settings of the LayerNorm, and the parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


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

    Vectors that are the same for every token are no part of a text: `InputEmbeddings.constant` has them.

    Attributes:
        token: vectors of the word table, scaled and projected where the model does so before the sum,
            `(batch, seq_len, embedding_size)`.
        segment: vectors of the token type table, same shape or `(1, seq_len, embedding_size)`; None where the
            model has none.
        position: vectors of the position table, same shape or `(1, seq_len, embedding_size)`; None where the
            model adds no absolute position.
        summed: their sum, `(batch, seq_len, embedding_size)`.
        normalized: LayerNorm of the sum, before any dropout, same shape; None where the model has none here.
        output: what enters the encoder, `(batch, seq_len, hidden_size)`: the last of the above in eval mode,
            after projection and mask where the model has them, and after dropout in train mode.
    """

    token: Tensor
    segment: Tensor | None
    position: Tensor | None
    summed: Tensor
    normalized: Tensor | None
    output: Tensor


@dataclass(frozen=True)
class NormSettings:
    """The LayerNorm, and the dropout after it, as a what-if wants them.

    Attributes:
        on: whether there is one.
        eps: added to the variance; None means the model's own.
        drop: what is done where the official class has dropout; None means dropout in train mode.
    """

    on: bool = True
    eps: float | None = None
    drop: Callable[[Tensor], Tensor] | None = None


AS_IT_IS = NormSettings()

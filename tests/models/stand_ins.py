"""Checkpoints for tests: tiny ones with random numbers, and sparse ones of true size that take no room."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

WORDS = (
    "the",
    "my",
    "dog",
    "is",
    "cute",
    "he",
    "likes",
    "play",
    "##ing",
    "##s",
    "capital",
    "of",
    "france",
    ".",
)
VOCAB = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *map(str, range(10)), "##e", "##x")

WORD = "embeddings.word_embeddings.weight"
POSITION = "embeddings.position_embeddings.weight"
SEGMENT = "embeddings.token_type_embeddings.weight"
NORM = ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias")


def config(**changes: Any) -> dict[str, Any]:
    """The config.json of a tiny BERT."""
    return {
        "model_type": "bert", "vocab_size": len(VOCAB), "hidden_size": 8, "max_position_embeddings": 16,
        "type_vocab_size": 2, "pad_token_id": 0, "layer_norm_eps": 1e-12, "num_attention_heads": 2,
        "num_hidden_layers": 1, "intermediate_size": 8, "hidden_act": "gelu", **changes,
    }  # fmt: skip


def tensors(settings: Mapping[str, Any], seed: int = 0) -> dict[str, Tensor]:
    """Random weights for a config, the row of [PAD] and the LayerNorm too."""
    generator = torch.Generator().manual_seed(seed)
    width = settings["hidden_size"]
    shapes = {
        WORD: (settings["vocab_size"], width),
        POSITION: (settings["max_position_embeddings"], width),
        SEGMENT: (settings["type_vocab_size"], width),
        **dict.fromkeys(NORM, (width,)),
        "pooler.dense.weight": (width, width),
    }
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def tokenizer_json(**changes: Any) -> dict[str, Any]:
    """A tiny WordPiece tokenizer.json, with the padding that MiniLM's file has too."""
    vocab = {piece: row for row, piece in enumerate(VOCAB)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}

    def special(name: str) -> dict[str, Any]:
        return {"SpecialToken": {"id": name, "type_id": 0}}

    def text(name: str, type_id: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": type_id}}

    last = {"SpecialToken": {"id": "[SEP]", "type_id": 1}}
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[PAD]",
        },
        "added_tokens": [{"id": row, "content": VOCAB[row], **flags} for row in range(5)],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("[CLS]"), text("A", 0), special("[SEP]")],
            "pair": [special("[CLS]"), text("A", 0), special("[SEP]"), text("B", 1), last],
            "special_tokens": {
                name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocab,
        },
        **changes,
    }  # fmt: skip


def write_json(path: Path, values: Any) -> None:
    """Writes a JSON file."""
    path.write_text(json.dumps(values), encoding="utf-8")


def write_texts(folder: Path, **changes: Any) -> dict[str, Any]:
    """Makes a folder with config.json and tokenizer.json, and gives back the config."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = config(**changes)
    write_json(folder / "config.json", settings)
    write_json(folder / "tokenizer.json", tokenizer_json())
    return settings


def write_tiny(folder: Path, *, prefix: str = "", **changes: Any) -> dict[str, Tensor]:
    """Makes a folder with a tiny BERT in it, and gives back its tensors."""
    weights = {prefix + name: tensor for name, tensor in tensors(write_texts(folder, **changes)).items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return weights


def write_bert(folder: Path, **changes: Any) -> Path:
    """Makes a folder with a tiny BERT of the official class in it, its layers too."""
    from transformers import BertConfig, BertModel

    settings = write_texts(folder, **changes)
    torch.manual_seed(0)
    official = BertModel(BertConfig(**{key: value for key, value in settings.items() if key != "model_type"}))
    official.save_pretrained(folder)
    write_texts(folder, **changes)  # the official class has written a config.json of its own
    return folder


def write_sparse(folder: Path, shapes: Sequence[tuple[str, tuple[int, ...]]], **changes: Any) -> int:
    """Makes a folder with a safetensors file of true size, all zeros but for its header; gives back its bytes."""
    write_texts(folder, **changes)
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, shape in shapes:
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * prod(shape)]}
        at += 4 * prod(shape)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    size = 8 + len(text) + at
    os.truncate(path, size)
    return size


def bert_shapes(
    hidden: int, layers: int, vocab: int = 30522, prefix: str = "bert."
) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of all tensors of a BERT, in the order in which safetensors writes them."""
    inner = 4 * hidden
    shapes: dict[str, tuple[int, ...]] = {
        f"{prefix}{WORD}": (vocab, hidden),
        f"{prefix}{POSITION}": (512, hidden),
        f"{prefix}{SEGMENT}": (2, hidden),
        f"{prefix}{NORM[0]}": (hidden,),
        f"{prefix}{NORM[1]}": (hidden,),
        f"{prefix}pooler.dense.weight": (hidden, hidden),
        f"{prefix}pooler.dense.bias": (hidden,),
    }
    for layer in range(layers):
        root = f"{prefix}encoder.layer.{layer}."
        for part in (
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
        ):
            shapes |= {f"{root}{part}.weight": (hidden, hidden), f"{root}{part}.bias": (hidden,)}
        shapes |= {
            f"{root}intermediate.dense.weight": (inner, hidden),
            f"{root}intermediate.dense.bias": (inner,),
        }
        shapes |= {f"{root}output.dense.weight": (hidden, inner), f"{root}output.dense.bias": (hidden,)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{root}{part}.weight": (hidden,), f"{root}{part}.bias": (hidden,)}
    return sorted(shapes.items())


BERT_BASE = {
    "hidden_size": 768, "vocab_size": 30522, "max_position_embeddings": 512, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072,
}  # fmt: skip
BERT_LARGE = {
    "hidden_size": 1024, "vocab_size": 30522, "max_position_embeddings": 512, "num_hidden_layers": 24,
    "num_attention_heads": 16, "intermediate_size": 4096,
}  # fmt: skip

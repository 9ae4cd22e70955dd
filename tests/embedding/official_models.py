"""Tiny official models on disk, with a tokenizer, and what their input layer gives."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from embviz.embedding.layout import EmbeddingLayout
from tests.embedding.architectures import PAD, VOCABULARY

WORDS = ("the", "bank", "river", "of", "my", "dog", "is", "cute", "he", "likes", "playing", "mask")
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
TEXT, TEXT_PAIR = "my dog is cute", "he likes the bank"


def official_model(model_type: str, settings: Mapping[str, Any], seed: int = 0) -> nn.Module:
    """The official base model with every parameter random, LayerNorm and padding rows included."""
    torch.manual_seed(seed)
    model: nn.Module = AutoModel.from_config(CONFIG_MAPPING[model_type](**settings)).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    return model


def save(model: nn.Module, folder: Path) -> Path:
    """The model as `save_pretrained` writes it, and a tokenizer beside it."""
    model.save_pretrained(folder)  # type: ignore[operator]  # nn.Module is untyped
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def tokenizer() -> Tokenizer:
    """A word-level tokenizer that joins pairs as BERT does; its ids lie in the vocabulary of the tiny models."""
    vocabulary = {piece: i for i, piece in enumerate((*SPECIAL, *WORDS))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    made.add_special_tokens(list(SPECIAL))
    return made


def padded_pairs(length: int = 9) -> tuple[Tensor, Tensor, Tensor]:
    """Two pairs, the second padded on the right: ids, segments and mask, each `(2, length)`; 5 is ESM's mask piece."""
    ids = torch.randint(6, VOCABULARY, (2, length), generator=torch.Generator().manual_seed(1))
    ids[0, 2] = 5
    mask = torch.ones_like(ids)
    ids[1, -3:], mask[1, -3:] = PAD, 0
    segments = torch.zeros_like(ids)
    segments[:, length // 2 :] = 1
    return ids, segments, mask


def official_answers(
    model: nn.Module, layout: EmbeddingLayout, ids: Tensor, segments: Tensor | None, mask: Tensor
) -> list[Tensor]:
    """What the official input layer gives, and what enters the encoder: hidden_states[0]; each `(batch, seq_len, …)`.

    Args:
        model: the official base model.
        layout: where its input layer is.
        ids: `(batch, seq_len)`.
        segments: the same; None where the model has no segment table.
        mask: the same.
    """
    reader = model.get_submodule("text_model") if layout.config_at else model
    accepted = signature(reader.forward).parameters
    arguments: dict[str, Any] = {
        "input_ids": ids, "attention_mask": mask, "output_hidden_states": True, "decoder_input_ids": ids,
        "bbox": torch.zeros((*ids.shape, 4), dtype=torch.long), "visual_pos": torch.zeros(len(ids), 2, 4),
        "visual_feats": torch.zeros(len(ids), 2, 2048),
    }  # fmt: skip
    if segments is not None:
        columns = layout.segment_columns
        arguments["token_type_ids"] = (
            segments if columns == 1 else nn.functional.pad(segments[..., None], (0, columns - 1))
        )
    seen: list[Tensor] = []
    for part in model.modules() if layout.official_at == "embeddings" else ():
        if type(part).__name__ == layout.official.rsplit(".", 1)[-1]:
            part.register_forward_hook(
                lambda _, __, out: seen.append(out if isinstance(out, Tensor) else out[0])
            )
    with torch.no_grad():
        result = reader(
            **{
                name: value
                for name, value in arguments.items()
                if name in (*accepted, "output_hidden_states")
            }
        )
    kinds = ("hidden_states", "encoder_hidden_states")
    states = next((found for kind in kinds if (found := getattr(result, kind, None)) is not None), None)
    answers = [seen[0][:, : ids.shape[1]]] if seen else []
    if states is not None:
        answers.append(states[0])
    return answers


def as_batch(*columns: np.ndarray) -> tuple[Tensor, ...]:
    """Ids of one text as a batch of one."""
    return tuple(torch.tensor(np.asarray(column))[None] for column in columns)

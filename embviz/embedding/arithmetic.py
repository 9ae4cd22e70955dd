"""The small steps of the formula on tensors: a linear map, ESM's token dropout, rows moved apart, dropout."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def linear(layer: nn.Linear, vectors: Tensor) -> Tensor:
    """The vectors through a linear layer, computed in float32, `(..., out_features)`."""
    return functional.linear(
        vectors, layer.weight.float(), None if layer.bias is None else layer.bias.float()
    )


def token_dropout(rows: Tensor, masked: Tensor, attention_mask: Tensor | None) -> Tensor:
    """ESM's rows without those of its mask piece, the rest scaled as if 12 % were masked (`EsmEmbeddings`).

    Args:
        rows: `(batch, seq_len, word_size)`.
        masked: where the mask piece stands, bool, `(batch, seq_len)`.
        attention_mask: `(batch, seq_len)`; None means 1 everywhere.
    """
    lengths = rows.shape[1] if attention_mask is None else attention_mask.sum(-1)
    observed = masked.sum(-1).float() / lengths
    rows = rows.masked_fill(masked[..., None], 0.0)
    return rows * (1 - 0.15 * 0.8) / (1 - observed)[:, None, None]


def spread(table: Tensor, difference: float) -> Tensor:
    """A table whose rows 0 and 1 have their difference multiplied about their mean, the others as they are.

    Args:
        table: `(rows, size)`.
        difference: 0 makes both rows their mean, 1 changes nothing.
    """
    if difference == 1:
        return table
    pair = table[:2].float()
    mean = pair.mean(dim=0)
    return torch.cat([mean + difference * (pair - mean), table[2:].float()])


def scaled(vectors: Tensor, factor: float) -> Tensor:
    """The vectors times a factor, same shape; 0 removes them, even where they are not numbers."""
    if factor == 1:
        return vectors
    return vectors * factor if factor else torch.zeros_like(vectors)


def dropped(vectors: Tensor, p: float, seed: int) -> Tensor:
    """`torch.nn.functional.dropout` as after `torch.manual_seed(seed)` on the CPU, same shape, whatever the device."""
    if p in (0, 1):
        return vectors if p == 0 else torch.zeros_like(vectors)
    generator = torch.Generator().manual_seed(seed)
    kept = torch.empty(vectors.shape).bernoulli_(1 - p, generator=generator).div_(1 - p)
    return vectors * kept.to(vectors.device)

"""Position tables that are computed and not learned, as the official classes compute them: sines and cosines.

Each takes the number of rows and the width and gives `(rows, width)`, float32 (Vaswani et al. 2017, section 3.5).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def halves(rows: int, width: int) -> Tensor:
    """Sines in the first half, cosines in the second, in float64 (`MarianSinusoidalPositionalEmbedding`)."""
    columns = torch.arange(width, dtype=torch.float64)
    angles = torch.arange(rows, dtype=torch.float64)[:, None] / 10000 ** (2 * (columns // 2) / width)
    return torch.cat([angles[:, 0::2].sin(), angles[:, 1::2].cos()], dim=1).float()


def fairseq(rows: int, width: int, zero: int | None = None) -> Tensor:
    """As above with other frequencies, in float32 (`M2M100SinusoidalPositionalEmbedding`).

    Args:
        rows: number of rows.
        width: number of columns.
        zero: the row of padding, all zeros.
    """
    half = width // 2
    frequencies = torch.exp(torch.arange(half).float() * -(math.log(10000) / (half - 1)))
    angles = torch.arange(rows).float()[:, None] * frequencies[None]
    table = torch.cat([angles.sin(), angles.cos()], dim=1)
    table = torch.nn.functional.pad(table, (0, width % 2))
    if zero is not None:
        table[zero] = 0
    return table


def ctrl(rows: int, width: int) -> Tensor:
    """Like `halves`, in float32 (`transformers.models.ctrl.modeling_ctrl.positional_encoding`)."""
    columns = torch.arange(width).float()
    angles = torch.arange(rows).float()[:, None] * (1 / torch.pow(10000, (2 * (columns // 2)) / width))
    return torch.cat([angles[:, 0::2].sin(), angles[:, 1::2].cos()], dim=1)

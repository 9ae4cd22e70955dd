"""What a shared server allows, and what one's own machine does."""

from __future__ import annotations

import os

PUBLIC = "EMBVIZ_PUBLIC"
"""Set to 1 on a server that strangers use: no local paths, no token of the owner, smaller limits."""

OPENING_SECONDS = 60.0
"""The longest that opening a model may take on a shared server."""

WHOLE_TENSOR = 32_000_000
"""A tensor of the Hub that has more bytes is read as a whole only where that was asked for: the position table of
a Longformer (12.6 MB) is below it, the word table of MiniLM (46.9 MB) above."""

PUBLIC_WHOLE_TENSOR = 300_000_000
"""The largest tensor, or file that can only be read as a whole, that a shared server reads."""

PUBLIC_ENCODER = 600_000_000
"""The largest encoder, in bytes of float32, that a shared server holds in memory: BERT-base's has 342 MB."""


def is_public() -> bool:
    """Whether this is a shared server."""
    return os.environ.get(PUBLIC, "") not in {"", "0"}


def tensor_limits(*, remote: bool) -> tuple[int | None, int | None]:
    """The most bytes of a tensor that are read as a whole unasked, and the most that are read at all."""
    return WHOLE_TENSOR if remote else None, PUBLIC_WHOLE_TENSOR if is_public() else None

"""The table: one frozen row for each `model_type` whose input layer is a sum of look-ups.

Right values come from the official classes of transformers; `tests/embedding/test_layouts.py` compares every row
with them. A row is written as what differs from another row.
"""

from __future__ import annotations

from collections.abc import Mapping

from embviz.embedding.layout import EmbeddingLayout
from embviz.embedding.layouts_decoders import DECODER_ROWS
from embviz.embedding.layouts_encoders import ENCODER_ROWS
from embviz.embedding.layouts_towers import TOWER_ROWS
from embviz.embedding.layouts_words import WORD_ROWS
from embviz.errors import ModelError

LAYOUTS: Mapping[str, EmbeddingLayout] = {
    layout.model_type: layout for layout in (*ENCODER_ROWS, *DECODER_ROWS, *TOWER_ROWS, *WORD_ROWS)
}

BEST_KNOWN = (
    "bert", "roberta", "distilbert", "albert", "electra", "deberta-v2", "mpnet", "xlm-roberta", "modernbert", "gpt2",
    "bart", "t5", "llama",
)  # fmt: skip
"""Named where another one is asked for; all of them would be a page."""

REFUSED: Mapping[str, str] = {
    "roc_bert": "character_forms",
    "canine": "hashed_characters",
    "perceiver": "latents",
    "reformer": "axial_positions",
    "markuplm": "page_layout",
    "layoutlmv2": "page_layout",
    "layoutlmv3": "page_layout",
    "udop": "page_layout",
}
"""Architectures whose input is no sum of look-ups: the key of the sentence, `error.refused.<key>`."""


def layout_of(model_type: str) -> EmbeddingLayout:
    """The layout of an architecture.

    Raises:
        ModelError: embviz does not know how this architecture makes its input, or cannot show it exactly.
    """
    if model_type in REFUSED:
        raise ModelError(f"refused.{REFUSED[model_type]}", field="model", model_type=model_type)
    if model_type not in LAYOUTS:
        known = ", ".join(BEST_KNOWN)
        raise ModelError("model_type", field="model", model_type=model_type, count=len(LAYOUTS), known=known)
    return LAYOUTS[model_type]

"""The suggested models: their sizes follow from their architectures, and each can be opened by embviz."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel

from embviz.embedding.layouts import LAYOUTS
from embviz.models.known_models import KNOWN_IDS
from embviz.ui.suggestions import SUGGESTIONS, Suggestion, choices

ROBERTA = {"max_position_embeddings": 514, "type_vocab_size": 1}
NARROW = {"embedding_size": 128, "num_hidden_layers": 12}
RELEASED: dict[str, tuple[str, dict[str, Any]]] = {
    "google-bert/bert-base-uncased": ("bert", {}),
    "FacebookAI/roberta-base": ("roberta", {**ROBERTA, "vocab_size": 50265}),
    "distilbert/distilbert-base-uncased": ("distilbert", {}),
    "albert/albert-base-v2": (
        "albert",
        {**NARROW, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
    ),
    "google/electra-small-discriminator": (
        "electra", {**NARROW, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024},
    ),
    "microsoft/deberta-v3-base": (
        "deberta-v2",
        {
            "vocab_size": 128100, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "intermediate_size": 3072, "relative_attention": True, "position_buckets": 256, "share_att_key": True,
            "norm_rel_ebd": "layer_norm", "pos_att_type": ["p2c", "c2p"], "position_biased_input": False,
            "type_vocab_size": 0,
        },
    ),
    "answerdotai/ModernBERT-base": ("modernbert", {}),
    "openai-community/gpt2": ("gpt2", {}),
    "FacebookAI/xlm-roberta-base": ("xlm-roberta", {**ROBERTA, "vocab_size": 250002}),
}  # fmt: skip
"""What the released configs say beyond transformers' defaults, which for some are the released model's."""


@pytest.mark.parametrize("suggestion", SUGGESTIONS, ids=lambda each: each.ref)
def test_the_number_of_parameters_is_the_architecture_s(suggestion: Suggestion) -> None:
    model_type, config = RELEASED[suggestion.ref]
    with torch.device("meta"):
        config_of: Any = AutoConfig.for_model(model_type, **config)
        from_config: Any = AutoModel.from_config
        model = from_config(config_of)

    assert sum(tensor.numel() for tensor in model.parameters()) == suggestion.parameters
    assert model_type in LAYOUTS


def test_the_sizes_agree_with_the_checkpoints_that_were_measured() -> None:
    """BERT-base's file has 440,449,768 bytes; DeBERTa-v3-base's, in half precision, 371 MB."""
    sizes = {each.ref: each.megabytes for each in SUGGESTIONS}

    assert sizes["google-bert/bert-base-uncased"] == pytest.approx(440.4, rel=0.05)
    assert sizes["microsoft/deberta-v3-base"] == pytest.approx(371, rel=0.05)


def test_a_choice_says_that_its_size_is_about_right_and_what_it_teaches() -> None:
    texts = {ref: label for label, ref in choices()}

    assert "about 440 MB" in texts["google-bert/bert-base-uncased"]
    assert "about 1.1 GB" in texts["FacebookAI/xlm-roberta-base"]
    assert "no segments" in texts["distilbert/distilbert-base-uncased"]
    assert {each.ref for each in SUGGESTIONS} <= set(KNOWN_IDS)

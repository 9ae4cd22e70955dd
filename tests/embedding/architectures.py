"""A tiny config for every row of the table, and a second one where a config switches terms on or off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from embviz.embedding.layouts import LAYOUTS

VOCABULARY, WIDTH, POSITIONS, PAD = 61, 16, 40, 1

BASE: Mapping[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": POSITIONS, "pad_token_id": PAD,
}  # fmt: skip
NARROW = {"embedding_size": 8}
BART = {
    "vocab_size": VOCABULARY, "d_model": WIDTH, "encoder_layers": 1, "decoder_layers": 1,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
    "max_position_embeddings": POSITIONS, "pad_token_id": PAD, "bos_token_id": 0, "eos_token_id": 2,
    "decoder_start_token_id": 2, "forced_eos_token_id": None,
}  # fmt: skip
GPT2 = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 1, "n_head": 2, "n_positions": POSITIONS}
XLM = {
    "vocab_size": VOCABULARY, "n_words": VOCABULARY, "emb_dim": WIDTH, "n_layers": 1, "n_heads": 2,
    "max_position_embeddings": POSITIONS, "pad_index": PAD, "pad_token_id": PAD,
}  # fmt: skip
T5 = {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2}


def base(**changes: Any) -> dict[str, Any]:
    """`BASE` with changes; an Ellipsis takes an entry out."""
    return {key: value for key, value in {**BASE, **changes}.items() if value is not ...}


DEBERTA = base(relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=-1)
DEBERTA_WHOLE = {**DEBERTA, "position_biased_input": True, "type_vocab_size": 2, "embedding_size": 8}
DEBERTA_RELEASED = {**DEBERTA, "position_biased_input": False, "type_vocab_size": 0}

# One config for all decoders: each class takes the entries that it knows and keeps the others as they are.
DECODER: Mapping[str, Any] = {
    **BASE, "d_model": WIDTH, "n_embd": WIDTH, "n_layer": 1, "num_layers": 1, "num_heads": 2, "n_head": 2,
    "num_key_value_heads": 2, "head_dim": 8, "num_local_experts": 2, "num_experts": 2, "n_routed_experts": 2,
    "num_experts_per_tok": 1, "moe_intermediate_size": 8, "bos_token_id": 0, "eos_token_id": 2,
}  # fmt: skip

TEXT: Mapping[str, Any] = {
    **BASE,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "projection_dim": WIDTH,
    "project_dim": WIDTH,
}
SIGHT = {
    "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24,
    "image_size": 32, "patch_size": 16,
}  # fmt: skip
GROUPS = {
    **SIGHT, "depths": [1, 1, 1], "num_hidden_layers": 3, "num_group_tokens": [8, 2, 0], "num_output_groups": [8, 2, 2],
}  # fmt: skip
SOUND = {
    "hidden_size": 32, "depths": [1, 1], "num_attention_heads": [2, 2], "patch_embeds_hidden_size": 16,
    "num_hidden_layers": 2,
}  # fmt: skip


def tower(**others: Any) -> dict[str, Any]:
    """A model with a text tower and another one."""
    parts = {"text_config": dict(TEXT), "vision_config": dict(SIGHT), **others}
    return {key: value for key, value in parts.items() if value is not ...}


CONFIGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    # A. BERT's shape
    "bert": [base()],
    "splinter": [base()],
    "ernie": [base(use_task_id=False), base(use_task_id=True, task_type_vocab_size=3)],
    "roberta": [base(type_vocab_size=1), base(pad_token_id=3)],
    "xlm-roberta": [base()],
    "camembert": [base()],
    "xmod": [base(default_language="en_XX", languages=["en_XX"])],
    "data2vec-text": [base()],
    "roberta-prelayernorm": [base()],
    "longformer": [base(attention_window=[4])],
    "luke": [base(entity_vocab_size=10, entity_emb_size=8)],
    "lilt": [base(hidden_size=24)],
    "ibert": [base(quant_mode=False)],
    "big_bird": [base(attention_type="original_full", rescale_embeddings=flag) for flag in (False, True)],
    "nystromformer": [base(num_landmarks=6, segment_means_seq_len=6)],
    "yoso": [base(type_vocab_size=2)],
    "mra": [base(type_vocab_size=2)],
    "squeezebert": [
        base(
            embedding_size=WIDTH, q_groups=1, k_groups=1, v_groups=1, post_attention_groups=1,
            intermediate_groups=1, output_groups=1,
        ),
    ],
    "bros": [base(hidden_size=64)],
    # B. A term is missing
    "distilbert": [
        {"vocab_size": VOCABULARY, "dim": WIDTH, "n_layers": 1, "n_heads": 2, "hidden_dim": 24,
         "max_position_embeddings": POSITIONS, "pad_token_id": PAD, "sinusoidal_pos_embds": flag}
        for flag in (False, True)
    ],
    "mpnet": [base(pad_token_id=1), base(pad_token_id=0)],
    "bert-generation": [base()],
    "megatron-bert": [base()],
    "xlm-roberta-xl": [base(type_vocab_size=2)],
    "esm": [
        base(mask_token_id=5, token_dropout=True, emb_layer_norm_before=True, position_embedding_type="absolute"),
        base(mask_token_id=5, token_dropout=False, emb_layer_norm_before=False, position_embedding_type="rotary"),
        base(mask_token_id=5, token_dropout=True, emb_layer_norm_before=False, position_embedding_type="absolute"),
    ],
    "deberta": [DEBERTA_RELEASED, DEBERTA_WHOLE],
    "deberta-v2": [
        {**kind, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True}
        for kind in (DEBERTA_RELEASED, DEBERTA_WHOLE)
    ],
    # C. Narrow tables and a projection
    "albert": [base(**NARROW, num_hidden_groups=1)],
    "electra": [base(**NARROW), base(embedding_size=WIDTH)],
    "convbert": [base(embedding_size=size, head_ratio=1, conv_kernel_size=3) for size in (8, WIDTH)],
    "roformer": [base(**NARROW), base(embedding_size=WIDTH)],
    "rembert": [base(input_embedding_size=8)],
    "fnet": [base(num_attention_heads=..., type_vocab_size=4)],
    "mobilebert": [
        base(**NARROW, intra_bottleneck_size=8, normalization_type=kind)
        for kind in ("no_norm", "layer_norm")
    ],
    "opt": [
        base(
            intermediate_size=..., ffn_dim=24, word_embed_proj_dim=size, do_layer_norm_before=size == WIDTH,
            bos_token_id=0, eos_token_id=2,
        )
        for size in (WIDTH, 8)
    ],
    # D. No position at the input
    "xlnet": [{"vocab_size": VOCABULARY, "d_model": WIDTH, "n_layer": 1, "n_head": 2, "d_inner": 24}],
    "modernbert": [
        base(bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, norm_bias=flag)
        for flag in (False, True)
    ],
    "nomic_bert": [base()],
    "gte": [base(type_vocab_size=2), base(type_vocab_size=0)],
    "jina_embeddings_v3": [base()],
    "funnel": [
        {
            "vocab_size": VOCABULARY, "d_model": WIDTH, "n_head": 2, "d_head": 8, "d_inner": 24,
            "block_sizes": [1], "block_repeats": [1], "num_decoder_layers": 1,
            "architectures": ["FunnelModel"],
        },
    ],
    **{model_type: [T5] for model_type in ("t5", "mt5", "umt5", "longt5")},
    "switch_transformers": [
        {
            **T5, "num_experts": 2, "num_decoder_layers": 1, "num_sparse_encoder_layers": 1,
            "num_sparse_decoder_layers": 1,
        },
    ],
    "gptj": [{**GPT2, "rotary_dim": 4}],
    "codegen": [{**GPT2, "n_head": 4, "rotary_dim": 4, "n_ctx": POSITIONS}],
    "falcon": [
        {
            "vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": 1,
            "num_attention_heads": 2, "alibi": flag,
        }
        for flag in (False, True)
    ],
    "mpt": [
        {"vocab_size": VOCABULARY, "d_model": WIDTH, "n_layers": 1, "n_heads": 2, "max_seq_len": POSITIONS},
    ],
    "bloom": [{"vocab_size": VOCABULARY, "hidden_size": WIDTH, "n_layer": 1, "n_head": 2}],
    # E. Decoders and seq2seq with absolute positions
    "gpt2": [GPT2],
    "gpt_neo": [
        base(
            num_hidden_layers=..., num_attention_heads=..., num_layers=1, num_heads=2,
            attention_types=[[["global"], 1]],
        ),
    ],
    "openai-gpt": [GPT2],
    "xlm": [XLM],
    "flaubert": [XLM],
    "bart": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "mbart": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "biogpt": [base(scale_embedding=flag) for flag in (True, False)],
    "plbart": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "mvp": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "led": [
        {
            **BART, "attention_window": [4], "max_encoder_position_embeddings": POSITIONS,
            "max_decoder_position_embeddings": POSITIONS,
        },
    ],
    "blenderbot-small": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "blenderbot": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "bigbird_pegasus": [
        {**BART, "attention_type": "original_full", "scale_embedding": flag}
        for flag in (False, True)
    ],
    "marian": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "pegasus": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "m2m_100": [{**BART, "scale_embedding": flag} for flag in (False, True)],
    "nllb-moe": [{**BART, "num_experts": 2, "expert_capacity": 4, "encoder_sparse_step": 1, "decoder_sparse_step": 1}],
    "xglm": [
        {
            "vocab_size": VOCABULARY, "d_model": WIDTH, "num_layers": 1, "attention_heads": 2, "ffn_dim": 24,
            "max_position_embeddings": POSITIONS, "scale_embedding": flag,
        }
        for flag in (True, False)
    ],
    "ctrl": [{**GPT2, "dff": 24}],
    "gpt-sw3": [GPT2],
    "gpt_bigcode": [GPT2],
    # Text towers
    "clip": [tower()],
    "clip_text_model": [TEXT],
    "clipseg": [tower()],
    "metaclip_2": [tower()],
    "siglip": [tower()],
    "siglip2": [tower()],
    "groupvit": [tower(vision_config=GROUPS)],
    "owlvit": [tower()],
    "owlv2": [tower()],
    "xclip": [tower()],
    "align": [tower(vision_config={"image_size": 32, "width_coefficient": 0.1, "depth_coefficient": 0.1})],
    "chinese_clip": [tower()],
    "flava": [
        tower(
            vision_config=..., image_config=SIGHT, multimodal_config=SIGHT,
            image_codebook_config={"hidden_size": 8},
        ),
    ],
    "blip": [tower()],
    "altclip": [tower()],
    "clap": [tower(vision_config=..., audio_config=SOUND)],
    "visual_bert": [base()],
    "lxmert": [base(num_hidden_layers=..., l_layers=1, x_layers=1, r_layers=1)],
    "dpr": [base()],
    # F. Extra tables
    "layoutlm": [base(max_2d_position_embeddings=20)],
    "tapas": [
        base(type_vocab_sizes=[3, 4, 4, 2, 4, 4, 3], reset_position_index_per_cell=flag)
        for flag in (False, True)
    ],
    # Words alone, multiplied
    **{
        model_type: [DECODER, {**DECODER, "embedding_multiplier": 3.0}]
        for model_type in (
            "granite", "granite_swa", "granitemoe", "granitemoe_swa", "granitemoeshared", "hyperclovax",
            "granite_docling_text", "falcon_h1",
        )
    },
    "minicpm3": [DECODER, {**DECODER, "scale_emb": 5}],
    "afmoe": [{**DECODER, "mup_enabled": flag} for flag in (False, True)],
}  # fmt: skip


def configs_of(model_type: str) -> Sequence[Mapping[str, Any]]:
    """The configs of an architecture; decoders that have none of their own share one."""
    return CONFIGS.get(model_type, [DECODER])


CASES = [
    pytest.param(model_type, i, id=f"{model_type}-{i}" if i else model_type)
    for model_type in LAYOUTS
    for i in range(len(configs_of(model_type)))
]
"""Every row of the table, by model type and number of the config."""

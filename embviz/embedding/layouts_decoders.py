"""Rows of the table for decoders and encoder-decoders with absolute positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from embviz.embedding.layout import Config, EmbeddingLayout
from embviz.embedding.layout_tools import differ, like, never, root
from embviz.embedding.sinusoids import ctrl, fairseq, halves

GPT2 = EmbeddingLayout(
    model_type="gpt2",
    name="GPT-2",
    official="gpt2.modeling_gpt2.GPT2Model",
    official_at="",
    enters=("ln_f",),
    token=("wte.weight",),
    position="wpe.weight",
    reasons={"segment": "word_table", "normalized": "first_block"},
    sizes={"vocab_size": ("token", 0), "n_embd": ("token", 1), "n_positions": ("position", 0)},
)

BART = EmbeddingLayout(
    model_type="bart",
    name="BART",
    official="bart.modeling_bart.BartEncoder",
    official_at="encoder",
    token=("shared.weight", "encoder.embed_tokens.weight"),
    position="encoder.embed_positions.weight",
    norm=("encoder.layernorm_embedding",),
    eps=1e-5,
    scale=root("d_model", "scale_embedding"),
    first_position=2,
    extra_positions=2,
    reasons={"segment": "no_table"},
    defaults={"scale_embedding": False, "d_model": 1024},
    sizes={"vocab_size": ("token", 0), "d_model": ("token", 1), "max_position_embeddings": ("position", 0)},
)

XLM = EmbeddingLayout(
    model_type="xlm",
    name="XLM",
    official="xlm.modeling_xlm.XLMModel",
    official_at="",
    token=("embeddings.weight",),
    position="position_embeddings.weight",
    norm=("layer_norm_emb",),
    masked=True,
    pad="pad_index",
    reasons={"segment": "word_table"},
    refuse_if={"language_table": lambda config: bool(config["use_lang_emb"]) and config["n_langs"] > 1},
    defaults={"layer_norm_eps": 1e-12, "use_lang_emb": True, "n_langs": 1, "pad_index": 2},
    sizes={"n_words": ("token", 0), "emb_dim": ("token", 1), "max_position_embeddings": ("position", 0)},
)


def _halves_table(config: Config) -> Tensor:
    return halves(config["max_position_embeddings"], config["d_model"])


def _fairseq_table(config: Config) -> Tensor:
    return fairseq(config["max_position_embeddings"] + 2, config["d_model"], config["pad_token_id"])


NO_NORM: Mapping[str, Any] = {"norm": (), "reasons": {"segment": "no_table", "normalized": "first_block"}}

M2M100 = like(
    BART, "m2m_100", "M2M100", "m2m_100.modeling_m2m_100.M2M100Encoder", **NO_NORM, enters=("layer_norm",),
    position="encoder.embed_positions.weights", position_rule="skip_padding", first_position=None,
    computed=_fairseq_table,
    defaults={"max_position_embeddings": 1024, "pad_token_id": 1, "scale_embedding": True},
    sizes={"vocab_size": ("token", 0), "d_model": ("token", 1)},
)  # fmt: skip

DECODER_ROWS: tuple[EmbeddingLayout, ...] = (
    EmbeddingLayout(
        model_type="opt",
        name="OPT",
        official="opt.modeling_opt.OPTDecoder",
        official_at="decoder",
        enters=("final_layer_norm", "project_out"),
        token=("decoder.embed_tokens.weight",),
        position="decoder.embed_positions.weight",
        before="decoder.project_in",
        only_if={"before": differ("word_embed_proj_dim"), "before_bias": never},
        position_rule="skip_mask",
        first_position=2,
        counted_from_zero=True,
        extra_positions=2,
        reasons={"segment": "no_table", "normalized": "first_block"},
        defaults={"word_embed_proj_dim": None, "hidden_size": 768},
        sizes={
            "vocab_size": ("token", 0), "word_embed_proj_dim": ("token", 1), "hidden_size": ("position", 1),
            "max_position_embeddings": ("position", 0),
        },
    ),
    GPT2,
    like(
        GPT2, "gpt_neo", "GPT-Neo", "gpt_neo.modeling_gpt_neo.GPTNeoModel",
        sizes={"vocab_size": ("token", 0), "hidden_size": ("token", 1), "max_position_embeddings": ("position", 0)},
    ),
    like(
        GPT2, "openai-gpt", "GPT", "openai.modeling_openai.OpenAIGPTModel", enters=(),
        token=("tokens_embed.weight",), position="positions_embed.weight",
    ),
    XLM,
    like(XLM, "flaubert", "FlauBERT", "flaubert.modeling_flaubert.FlaubertModel"),
    BART,
    like(BART, "mbart", "mBART", "mbart.modeling_mbart.MBartEncoder", enters=("layer_norm",)),
    like(
        GPT2, "biogpt", "BioGPT", "biogpt.modeling_biogpt.BioGptModel", enters=("layer_norm",),
        token=("embed_tokens.weight",), position="embed_positions.weight",
        scale=root("hidden_size", "scale_embedding"), first_position=2, extra_positions=2,
        counted_from_zero=True,
        reasons={"segment": "no_table", "normalized": "first_block"},
        defaults={"scale_embedding": True, "hidden_size": 1024},
        sizes={"vocab_size": ("token", 0), "hidden_size": ("token", 1), "max_position_embeddings": ("position", 0)},
    ),
    like(
        BART, "plbart", "PLBART", "plbart.modeling_plbart.PLBartEncoder",
        defaults={"scale_embedding": True, "d_model": 768},
    ),
    like(BART, "mvp", "MVP", "mvp.modeling_mvp.MvpEncoder"),
    like(
        BART, "led", "LED", "led.modeling_led.LEDEncoder", first_position=0, extra_positions=0,
        scale=lambda _: 1.0,
        sizes={"vocab_size": ("token", 0), "d_model": ("token", 1), "max_encoder_position_embeddings": ("position", 0)},
    ),
    like(
        BART, "blenderbot-small", "Blenderbot small",
        "blenderbot_small.modeling_blenderbot_small.BlenderbotSmallEncoder",
        first_position=0, extra_positions=0, defaults={"d_model": 512},
    ),
    like(
        BART, "blenderbot", "Blenderbot", "blenderbot.modeling_blenderbot.BlenderbotEncoder", norm=(),
        enters=("layer_norm",), first_position=0, extra_positions=0, defaults={"d_model": 2560},
        reasons={"segment": "no_table", "normalized": "first_block"},
    ),
    like(
        BART, "bigbird_pegasus", "BigBird-Pegasus", "bigbird_pegasus.modeling_bigbird_pegasus.BigBirdPegasusEncoder",
        norm=(), enters=("layernorm_embedding",), first_position=0, extra_positions=0,
        defaults={"scale_embedding": True}, reasons={"segment": "no_table", "normalized": "first_block"},
    ),
    # Positions are computed; a checkpoint may leave their table out
    like(
        BART, "marian", "Marian", "marian.modeling_marian.MarianEncoder", **NO_NORM,
        first_position=0, extra_positions=0,
        computed=_halves_table,
        defaults={"max_position_embeddings": 1024},
    ),
    like(
        BART, "pegasus", "Pegasus", "pegasus.modeling_pegasus.PegasusEncoder", **NO_NORM, enters=("layer_norm",),
        first_position=0, extra_positions=0,
        computed=_halves_table,
        defaults={"max_position_embeddings": 1024},
    ),
    M2M100,
    like(M2M100, "nllb-moe", "NLLB-MoE", "nllb_moe.modeling_nllb_moe.NllbMoeEncoder"),
    like(
        GPT2, "xglm", "XGLM", "xglm.modeling_xglm.XGLMModel", enters=("layer_norm",), token=("embed_tokens.weight",),
        position="embed_positions.weights", scale=root("d_model", "scale_embedding"), first_position=2,
        counted_from_zero=True, reasons=NO_NORM["reasons"],
        computed=_fairseq_table,
        defaults={"max_position_embeddings": 2048, "d_model": 1024, "scale_embedding": True, "pad_token_id": 1},
        sizes={"vocab_size": ("token", 0), "d_model": ("token", 1)},
    ),
    like(
        GPT2, "ctrl", "CTRL", "ctrl.modeling_ctrl.CTRLModel", enters=("layernorm",), token=("w.weight",),
        position="pos_encoding", scale=root("n_embd"),
        computed=lambda config: ctrl(config["n_positions"], config["n_embd"]),
        defaults={"n_positions": 256, "n_embd": 1280}, sizes={"vocab_size": ("token", 0), "n_embd": ("token", 1)},
    ),
    like(GPT2, "gpt-sw3", "GPT-SW3", "gpt2.modeling_gpt2.GPT2Model"),
    like(GPT2, "gpt_bigcode", "GPT-BigCode", "gpt_bigcode.modeling_gpt_bigcode.GPTBigCodeModel"),
)  # fmt: skip

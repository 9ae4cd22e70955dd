"""Rows of the table for models that only look words up at the input: position enters in their layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embviz.embedding.layout import EmbeddingLayout
from embviz.embedding.layout_tools import like, number, root

WORDS = EmbeddingLayout(
    model_type="llama",
    name="Llama",
    official="llama.modeling_llama.LlamaModel",
    official_at="",
    enters=("norm",),
    token=("embed_tokens.weight",),
    reasons={"segment": "no_table", "position": "rotary", "normalized": "first_block"},
    sizes={"vocab_size": ("token", 0), "hidden_size": ("token", 1)},
)

T5 = like(
    WORDS, "t5", "T5", "t5.modeling_t5.T5EncoderModel", enters=("encoder.final_layer_norm",),
    token=("shared.weight", "encoder.embed_tokens.weight"),
    reasons={"segment": "no_table", "position": "bias", "normalized": "first_block"},
    sizes={"vocab_size": ("token", 0), "d_model": ("token", 1)},
)  # fmt: skip

_ROOT: Mapping[str, Any] = {"scale": root("hidden_size"), "defaults": {"hidden_size": 2304}}
_MULTIPLIED: Mapping[str, Any] = {
    "scale": number("embedding_multiplier"),
    "defaults": {"embedding_multiplier": 1.0},
}
_WTE: Mapping[str, Any] = {
    "token": ("wte.weight",), "enters": ("ln_f",), "sizes": {"vocab_size": ("token", 0), "n_embd": ("token", 1)},
}  # fmt: skip
_EMBED_IN: Mapping[str, Any] = {"token": ("embed_in.weight",), "enters": ("final_layer_norm",)}
_ALIBI: Mapping[str, str] = {"segment": "no_table", "position": "alibi", "normalized": "first_block"}
_ATTENTION: Mapping[str, str] = {
    "segment": "no_table",
    "position": "in_attention",
    "normalized": "first_block",
}

WORD_ROWS: tuple[EmbeddingLayout, ...] = (
    WORDS,
    like(WORDS, "apertus", "Apertus", "apertus.modeling_apertus.ApertusModel"),
    like(WORDS, "apertus1p5_text", "Apertus1p5", "apertus1p5.modeling_apertus1p5.Apertus1p5TextModel"),
    like(WORDS, "arcee", "Arcee", "arcee.modeling_arcee.ArceeModel"),
    like(WORDS, "aria_text", "Aria", "aria.modeling_aria.AriaTextModel"),
    like(WORDS, "axk2", "AXK2", "axk2.modeling_axk2.AXK2Model"),
    like(WORDS, "beam", "Beam", "beam.modeling_beam.BeamModel"),
    like(WORDS, "bitnet", "BitNet", "bitnet.modeling_bitnet.BitNetModel"),
    like(WORDS, "cohere", "Cohere", "cohere.modeling_cohere.CohereModel"),
    like(WORDS, "cohere2", "Cohere 2", "cohere2.modeling_cohere2.Cohere2Model"),
    like(WORDS, "cohere2_moe", "Cohere2Moe", "cohere2_moe.modeling_cohere2_moe.Cohere2MoeModel"),
    like(WORDS, "cwm", "Cwm", "cwm.modeling_cwm.CwmModel"),
    like(WORDS, "deepseek_v2", "DeepSeek-V2", "deepseek_v2.modeling_deepseek_v2.DeepseekV2Model"),
    like(WORDS, "deepseek_v32", "DeepSeek-V3.2", "deepseek_v32.modeling_deepseek_v32.DeepseekV32Model"),
    like(WORDS, "diffllama", "DiffLlama", "diffllama.modeling_diffllama.DiffLlamaModel"),
    like(WORDS, "doge", "Doge", "doge.modeling_doge.DogeModel"),
    like(WORDS, "dots3_note_text", "Dots3Note", "dots3_note.modeling_dots3_note.Dots3NoteTextModel"),
    like(WORDS, "ernie4_5", "ERNIE 4.5", "ernie4_5.modeling_ernie4_5.Ernie4_5Model"),
    like(WORDS, "ernie4_5_moe", "ERNIE 4.5 MoE", "ernie4_5_moe.modeling_ernie4_5_moe.Ernie4_5_MoeModel"),
    like(WORDS, "esmc", "ESM C", "esmc.modeling_esmc.EsmcModel"),
    like(WORDS, "eurobert", "EuroBERT", "eurobert.modeling_eurobert.EuroBertModel", code="eurobert"),
    like(WORDS, "exaone", "EXAONE", "llama.modeling_llama.LlamaModel"),
    like(WORDS, "exaone4", "EXAONE 4", "exaone4.modeling_exaone4.Exaone4Model"),
    like(WORDS, "exaone_moe", "EXAONE MoE", "exaone_moe.modeling_exaone_moe.ExaoneMoeModel"),
    like(WORDS, "flex_olmo", "FlexOlmo", "flex_olmo.modeling_flex_olmo.FlexOlmoModel"),
    like(WORDS, "flint", "Flint", "flint.modeling_flint.FlintModel"),
    like(WORDS, "glm", "GLM", "glm.modeling_glm.GlmModel"),
    like(WORDS, "glm4", "GLM-4", "glm4.modeling_glm4.Glm4Model"),
    like(WORDS, "glm4_moe", "GLM-4 MoE", "glm4_moe.modeling_glm4_moe.Glm4MoeModel"),
    like(WORDS, "glm4_moe_lite", "GLM-4 MoE Lite", "glm4_moe_lite.modeling_glm4_moe_lite.Glm4MoeLiteModel"),
    like(WORDS, "glm_moe_dsa", "GlmMoeDsa", "glm_moe_dsa.modeling_glm_moe_dsa.GlmMoeDsaModel"),
    like(WORDS, "gpt_oss", "gpt-oss", "gpt_oss.modeling_gpt_oss.GptOssModel"),
    like(WORDS, "helium", "Helium", "helium.modeling_helium.HeliumModel"),
    like(
        WORDS, "hunyuan_v1_dense", "HunYuanDenseV1", "hunyuan_v1_dense.modeling_hunyuan_v1_dense.HunYuanDenseV1Model"
    ),
    like(WORDS, "hunyuan_v1_moe", "HunYuanMoEV1", "hunyuan_v1_moe.modeling_hunyuan_v1_moe.HunYuanMoEV1Model"),
    like(WORDS, "hy_v3", "HYV3", "hy_v3.modeling_hy_v3.HYV3Model"),
    like(WORDS, "internlm3", "InternLM3", "llama.modeling_llama.LlamaModel"),
    like(WORDS, "iquestcoder", "Llama", "llama.modeling_llama.LlamaModel"),
    like(WORDS, "jais2", "Jais2", "jais2.modeling_jais2.Jais2Model"),
    like(WORDS, "jetmoe", "JetMoe", "jetmoe.modeling_jetmoe.JetMoeModel"),
    like(WORDS, "kolibri1", "Kolibri1", "kolibri1.modeling_kolibri1.Kolibri1Model"),
    like(WORDS, "laguna", "Laguna", "laguna.modeling_laguna.LagunaModel"),
    like(WORDS, "llama4_text", "Llama4", "llama4.modeling_llama4.Llama4TextModel"),
    like(WORDS, "mellum", "Mellum", "mellum.modeling_mellum.MellumModel"),
    like(WORDS, "mimo_v2_flash", "MiMoV2Flash", "mimo_v2_flash.modeling_mimo_v2_flash.MiMoV2FlashModel"),
    like(WORDS, "minimax", "MiniMax", "minimax.modeling_minimax.MiniMaxModel"),
    like(WORDS, "minimax_m2", "MiniMaxM2", "minimax_m2.modeling_minimax_m2.MiniMaxM2Model"),
    like(
        WORDS, "minimax_m3_vl_text", "MiniMaxM3VL", "minimax_m3_vl.modeling_minimax_m3_vl.MiniMaxM3VLTextModel"
    ),
    like(WORDS, "ministral", "Ministral", "ministral.modeling_ministral.MinistralModel"),
    like(WORDS, "ministral3", "Ministral3", "ministral3.modeling_ministral3.Ministral3Model"),
    like(WORDS, "mistral", "Mistral", "mistral.modeling_mistral.MistralModel"),
    like(
        WORDS, "mistral_large4_text", "MistralLarge4", "mistral_large4.modeling_mistral_large4.MistralLarge4TextModel"
    ),
    like(WORDS, "mixtral", "Mixtral", "mixtral.modeling_mixtral.MixtralModel"),
    like(WORDS, "nemotron", "Nemotron", "nemotron.modeling_nemotron.NemotronModel"),
    like(WORDS, "olmo", "OLMo", "olmo.modeling_olmo.OlmoModel"),
    like(WORDS, "olmo2", "OLMo 2", "olmo2.modeling_olmo2.Olmo2Model"),
    like(WORDS, "olmo3", "OLMo 3", "olmo3.modeling_olmo3.Olmo3Model"),
    like(WORDS, "olmoe", "OLMoE", "olmoe.modeling_olmoe.OlmoeModel"),
    like(WORDS, "phi3", "Phi-3", "phi3.modeling_phi3.Phi3Model", code="phi3"),
    like(WORDS, "phimoe", "Phi-MoE", "phimoe.modeling_phimoe.PhimoeModel"),
    like(WORDS, "qwen2", "Qwen2", "qwen2.modeling_qwen2.Qwen2Model"),
    like(WORDS, "qwen2_moe", "Qwen2-MoE", "qwen2_moe.modeling_qwen2_moe.Qwen2MoeModel"),
    like(WORDS, "qwen3", "Qwen3", "qwen3.modeling_qwen3.Qwen3Model"),
    like(WORDS, "qwen3_moe", "Qwen3-MoE", "qwen3_moe.modeling_qwen3_moe.Qwen3MoeModel"),
    like(WORDS, "qwen3_vl_moe_text", "Qwen3VLMoe", "qwen3_vl_moe.modeling_qwen3_vl_moe.Qwen3VLMoeTextModel"),
    like(WORDS, "qwen3_vl_text", "Qwen3VL", "qwen3_vl.modeling_qwen3_vl.Qwen3VLTextModel"),
    like(WORDS, "sarvam_mla", "DeepseekV3", "deepseek_v3.modeling_deepseek_v3.DeepseekV3Model"),
    like(WORDS, "sarvam_moe", "Glm4Moe", "glm4_moe.modeling_glm4_moe.Glm4MoeModel"),
    like(WORDS, "seed_oss", "SeedOss", "seed_oss.modeling_seed_oss.SeedOssModel"),
    like(WORDS, "smollm3", "SmolLM3", "smollm3.modeling_smollm3.SmolLM3Model"),
    like(WORDS, "solar_open", "SolarOpen", "solar_open.modeling_solar_open.SolarOpenModel"),
    like(WORDS, "stablelm", "StableLM", "stablelm.modeling_stablelm.StableLmModel"),
    like(WORDS, "starcoder2", "StarCoder2", "starcoder2.modeling_starcoder2.Starcoder2Model"),
    like(WORDS, "ultrabert", "Ultrabert", "ultrabert.modeling_ultrabert.UltrabertModel"),
    # The norm at the end has another name
    like(WORDS, "lfm2", "LFM2", "lfm2.modeling_lfm2.Lfm2Model", enters=("embedding_norm",)),
    like(
        WORDS, "persimmon", "Persimmon", "persimmon.modeling_persimmon.PersimmonModel",
        enters=("final_layernorm",),
    ),
    like(WORDS, "phi", "Phi", "phi.modeling_phi.PhiModel", enters=("final_layernorm",), code="phi"),
    # The word table has another name
    like(WORDS, "gpt_neox", "GPT-NeoX", "gpt_neox.modeling_gpt_neox.GPTNeoXModel", **_EMBED_IN),
    like(
        WORDS, "gpt_neox_japanese", "GPT-NeoX Japanese",
        "gpt_neox_japanese.modeling_gpt_neox_japanese.GPTNeoXJapaneseModel", **_EMBED_IN,
    ),
    like(WORDS, "gptj", "GPT-J", "gptj.modeling_gptj.GPTJModel", **_WTE, defaults={}),
    like(WORDS, "codegen", "CodeGen", "codegen.modeling_codegen.CodeGenModel", **_WTE),
    like(
        WORDS, "falcon", "Falcon", "falcon.modeling_falcon.FalconModel", token=("word_embeddings.weight",),
        enters=("ln_f",), reasons=_ATTENTION, code="falcon",
    ),
    like(
        WORDS, "mpt", "MPT", "mpt.modeling_mpt.MptModel", token=("wte.weight",), enters=("norm_f",), reasons=_ATTENTION,
        sizes={"vocab_size": ("token", 0), "d_model": ("token", 1)},
    ),
    like(
        WORDS, "bloom", "BLOOM", "bloom.modeling_bloom.BloomModel", token=("word_embeddings.weight",), enters=("ln_f",),
        norm=("word_embeddings_layernorm",), eps="layer_norm_epsilon", reasons=_ALIBI,
        defaults={"layer_norm_epsilon": 1e-5},
    ),
    T5,
    like(T5, "mt5", "mT5", "mt5.modeling_mt5.MT5EncoderModel"),
    like(T5, "umt5", "UMT5", "umt5.modeling_umt5.UMT5EncoderModel"),
    like(T5, "longt5", "LongT5", "longt5.modeling_longt5.LongT5EncoderModel"),
    like(
        T5, "switch_transformers", "Switch Transformers",
        "switch_transformers.modeling_switch_transformers.SwitchTransformersEncoderModel",
    ),
    # The word vectors are multiplied
    like(
        WORDS, "embedding_gemma2_text", "EmbeddingGemma2",
        "embedding_gemma2.modeling_embedding_gemma2.EmbeddingGemma2TextModel",
        scale=root("hidden_size"), defaults={"hidden_size": 512},
    ),
    like(
        WORDS, "gemma", "Gemma", "gemma.modeling_gemma.GemmaModel",
        scale=root("hidden_size"), defaults={"hidden_size": 3072},
    ),
    like(
        WORDS, "gemma2", "Gemma 2", "gemma2.modeling_gemma2.Gemma2Model",
        **_ROOT,
    ),
    like(
        WORDS, "gemma3_text", "Gemma 3", "gemma3.modeling_gemma3.Gemma3TextModel",
        **_ROOT,
    ),
    like(
        WORDS, "gemma4_unified_text", "Gemma4Unified", "gemma4_unified.modeling_gemma4_unified.Gemma4UnifiedTextModel",
        **_ROOT,
    ),
    like(
        WORDS, "vaultgemma", "VaultGemma", "vaultgemma.modeling_vaultgemma.VaultGemmaModel",
        **_ROOT,
    ),
    like(
        WORDS, "granite", "Granite", "granite.modeling_granite.GraniteModel",
        **_MULTIPLIED,
    ),
    like(
        WORDS, "granite_swa", "GraniteSWA", "granite_swa.modeling_granite_swa.GraniteSWAModel",
        **_MULTIPLIED,
    ),
    like(
        WORDS, "granitemoe", "GraniteMoe", "granitemoe.modeling_granitemoe.GraniteMoeModel",
        **_MULTIPLIED,
    ),
    like(
        WORDS, "granitemoe_swa", "GraniteMoeSWA", "granitemoe_swa.modeling_granitemoe_swa.GraniteMoeSWAModel",
        **_MULTIPLIED,
    ),
    like(
        WORDS, "granitemoeshared", "GraniteMoeShared",
        "granitemoeshared.modeling_granitemoeshared.GraniteMoeSharedModel",
        **_MULTIPLIED,
    ),
    like(
        WORDS, "hyperclovax", "HyperCLOVA X", "hyperclovax.modeling_hyperclovax.HyperCLOVAXModel",
        **_MULTIPLIED,
    ),
    like(
        WORDS, "granite_docling_text", "GraniteDocling",
        "granite_docling.modeling_granite_docling.GraniteDoclingTextModel",
        scale=number("embedding_multiplier"), defaults={"embedding_multiplier": 12.0},
    ),
    like(
        WORDS, "falcon_h1", "Falcon-H1", "falcon_h1.modeling_falcon_h1.FalconH1Model", enters=("final_layernorm",),
        **_MULTIPLIED,
    ),
    like(
        WORDS, "minicpm3", "MiniCPM3", "minicpm3.modeling_minicpm3.MiniCPM3Model", scale=number("scale_emb"),
        defaults={"scale_emb": 12.0},
    ),
    like(
        WORDS, "afmoe", "AFMoE", "afmoe.modeling_afmoe.AfmoeModel", scale=root("hidden_size", "mup_enabled"),
        defaults={"mup_enabled": False, "hidden_size": 2048},
    ),
)  # fmt: skip

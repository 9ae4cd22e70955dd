"""Rows of the table for encoders: BERT, and what others add to it or leave out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from embviz.embedding.layout import Config, EmbeddingLayout
from embviz.embedding.layout_tools import differ, flag, like, never, positive, root
from embviz.embedding.layouts_words import WORDS

BERT = EmbeddingLayout(
    model_type="bert",
    name="BERT",
    official="bert.modeling_bert.BertEmbeddings",
    token=("embeddings.word_embeddings.weight",),
    segment="embeddings.token_type_embeddings.weight",
    position="embeddings.position_embeddings.weight",
    norm=("embeddings.LayerNorm",),
    defaults={"layer_norm_eps": 1e-12, "pad_token_id": 0},
    sizes={
        "vocab_size": ("token", 0),
        "hidden_size": ("token", 1),
        "max_position_embeddings": ("position", 0),
        "type_vocab_size": ("segment", 0),
    },
)

# Positions skip padding and start behind the row of the padding piece.
ROBERTA = like(
    BERT, "roberta", "RoBERTa", "roberta.modeling_roberta.RobertaEmbeddings",
    position_rule="skip_padding", first_position=None, defaults={"pad_token_id": 1},
)  # fmt: skip

# Two rows of the position table come before the first.
SHIFTED = replace(BERT, first_position=2, extra_positions=2)

# Tables of embedding_size, and a projection to hidden_size where the two differ.
ELECTRA = like(
    BERT, "electra", "ELECTRA", "electra.modeling_electra.ElectraModel", official_at="",
    after="embeddings_project", only_if={"after": differ("embedding_size")},
    defaults={"embedding_size": 128, "hidden_size": 256},
    sizes={**BERT.sizes, "hidden_size": ("after_weight", 0), "embedding_size": ("token", 1)},
)  # fmt: skip

DEBERTA = like(
    BERT, "deberta", "DeBERTa", "deberta.modeling_deberta.DebertaEmbeddings",
    before="embeddings.embed_proj", projects=("token", "segment", "position"),
    order=("token", "position", "segment", "constant"), masked=True,
    only_if={
        "position": flag("position_biased_input"),
        "segment": positive("type_vocab_size"),
        "before": differ("embedding_size"), "before_bias": never,
    },
    reasons={"segment": "switched_off", "position": "relative"},
    defaults={
        "layer_norm_eps": 1e-7, "position_biased_input": True, "type_vocab_size": 0, "embedding_size": None,
        "hidden_size": 768,
    },
    sizes={
        "vocab_size": ("token", 0), "embedding_size": ("token", 1), "hidden_size": ("weight", 0),
        "max_position_embeddings": ("position", 0), "type_vocab_size": ("segment", 0),
    },
)  # fmt: skip

NO_SEGMENT: Mapping[str, Any] = {"segment": None, "reasons": {"segment": "no_table"}}
_NO_NORM: Mapping[str, Any] = {"norm": (), "reasons": {"normalized": "first_block"}}
_ROTARY: Mapping[str, Any] = {"position": None, "reasons": {"segment": "switched_off", "position": "rotary"}}
LAST_SEGMENT = ("token", "position", "segment", "constant")
_TAPAS_TABLES = tuple(f"embeddings.token_type_embeddings_{i}.weight" for i in range(7))
_BOX = tuple(f"embeddings.{name}_position_embeddings.weight" for name in ("x", "y", "x", "y", "h", "w"))


def _nomic_code_agrees(config: Config) -> bool:
    """Whether Nomic's own code, which names its entries as GPT-2 does, adds no positions and has the row's eps."""
    rotary = config.get("rotary_emb_fraction", 0.0) > 0
    eps = config.get("layer_norm_epsilon", 1e-5) == config.get("layer_norm_eps", 1e-12)
    return bool(rotary and eps)


ENCODER_ROWS: tuple[EmbeddingLayout, ...] = (
    # BERT's shape
    BERT,
    like(BERT, "splinter", "Splinter", "splinter.modeling_splinter.SplinterEmbeddings"),
    like(
        BERT, "ernie", "ERNIE", "ernie.modeling_ernie.ErnieEmbeddings",
        constants=("embeddings.task_type_embeddings.weight",), only_if={"constants": flag("use_task_id")},
        defaults={"use_task_id": False},
    ),
    like(
        BERT, "big_bird", "BigBird", "big_bird.modeling_big_bird.BigBirdEmbeddings",
        dropout_on="sum", scale=root("hidden_size", "rescale_embeddings"),
        defaults={"rescale_embeddings": False, "hidden_size": 768},
    ),
    like(
        BERT, "squeezebert", "SqueezeBERT", "squeezebert.modeling_squeezebert.SqueezeBertEmbeddings",
        order=LAST_SEGMENT,
    ),
    like(BERT, "bros", "BROS", "bros.modeling_bros.BrosTextEmbeddings"),
    ROBERTA,
    like(ROBERTA, "xlm-roberta", "XLM-RoBERTa", "xlm_roberta.modeling_xlm_roberta.XLMRobertaEmbeddings"),
    like(ROBERTA, "camembert", "CamemBERT", "camembert.modeling_camembert.CamembertEmbeddings"),
    like(ROBERTA, "xmod", "X-MOD", "xmod.modeling_xmod.XmodEmbeddings"),
    like(ROBERTA, "data2vec-text", "Data2Vec", "data2vec.modeling_data2vec_text.Data2VecTextEmbeddings"),
    like(
        ROBERTA, "roberta-prelayernorm", "RoBERTa-PreLayerNorm",
        "roberta_prelayernorm.modeling_roberta_prelayernorm.RobertaPreLayerNormEmbeddings",
    ),
    like(
        ROBERTA, "longformer", "Longformer", "longformer.modeling_longformer.LongformerEmbeddings", order=LAST_SEGMENT
    ),
    like(ROBERTA, "luke", "LUKE", "luke.modeling_luke.LukeEmbeddings", order=LAST_SEGMENT),
    like(ROBERTA, "lilt", "LiLT", "lilt.modeling_lilt.LiltTextEmbeddings", defaults={"pad_token_id": 0}),
    like(
        ROBERTA, "ibert", "I-BERT", "ibert.modeling_ibert.IBertEmbeddings",
        refuse_if={"quantized": flag("quant_mode")}, defaults={"quant_mode": False},
    ),
    like(
        SHIFTED, "nystromformer", "Nyströmformer", "nystromformer.modeling_nystromformer.NystromformerEmbeddings",
        defaults={"layer_norm_eps": 1e-5, "pad_token_id": 1},
    ),
    like(SHIFTED, "yoso", "YOSO", "yoso.modeling_yoso.YosoEmbeddings", defaults={"pad_token_id": 1}),
    like(
        SHIFTED, "mra", "MRA", "mra.modeling_mra.MraEmbeddings",
        defaults={"layer_norm_eps": 1e-5, "pad_token_id": 1},
    ),
    # A term is missing
    like(
        BERT, "distilbert", "DistilBERT", "distilbert.modeling_distilbert.Embeddings", **NO_SEGMENT, eps=1e-12,
        sizes={"vocab_size": ("token", 0), "dim": ("token", 1), "max_position_embeddings": ("position", 0)},
    ),
    like(ROBERTA, "mpnet", "MPNet", "mpnet.modeling_mpnet.MPNetEmbeddings", **NO_SEGMENT, pad=1),
    like(
        BERT, "bert-generation", "BERT for generation",
        "bert_generation.modeling_bert_generation.BertGenerationEmbeddings", **NO_SEGMENT,
    ),
    like(
        BERT, "megatron-bert", "Megatron-BERT",
        "megatron_bert.modeling_megatron_bert.MegatronBertEmbeddings", **_NO_NORM
    ),
    like(
        ROBERTA, "xlm-roberta-xl", "XLM-RoBERTa-XL",
        "xlm_roberta_xl.modeling_xlm_roberta_xl.XLMRobertaXLEmbeddings", **_NO_NORM, defaults={"layer_norm_eps": 1e-5},
    ),
    like(
        ROBERTA, "esm", "ESM", "esm.modeling_esm.EsmEmbeddings", segment=None, norm=("embeddings.layer_norm",),
        mask_token="mask_token_id", masked=True,
        only_if={
            "norm": flag("emb_layer_norm_before"),
            "position": lambda config: config["position_embedding_type"] == "absolute",
            "mask_token": flag("token_dropout"),
        },
        reasons={"segment": "no_table", "position": "rotary", "normalized": "first_block"},
        defaults={
            "emb_layer_norm_before": None, "position_embedding_type": "absolute", "token_dropout": False,
            "mask_token_id": None, "pad_token_id": None,
        },
    ),
    DEBERTA,
    like(
        DEBERTA, "deberta-v2", "DeBERTa-v2", "deberta_v2.modeling_deberta_v2.DebertaV2Embeddings",
        defaults={"hidden_size": 1536},
    ),
    # Narrow tables and a projection
    like(
        ELECTRA, "albert", "ALBERT", "albert.modeling_albert.AlbertModel",
        after="encoder.embedding_hidden_mapping_in", only_if={}, defaults={"hidden_size": 4096},
    ),
    ELECTRA,
    like(
        ELECTRA, "convbert", "ConvBERT", "convbert.modeling_convbert.ConvBertModel",
        order=LAST_SEGMENT, defaults={"embedding_size": 768, "hidden_size": 768, "pad_token_id": 1},
    ),
    like(
        ELECTRA, "roformer", "RoFormer", "roformer.modeling_roformer.RoFormerModel",
        **_ROTARY, defaults={"embedding_size": None, "hidden_size": 768},
    ),
    like(
        ELECTRA, "rembert", "RemBERT", "rembert.modeling_rembert.RemBertModel",
        after="encoder.embedding_hidden_mapping_in", only_if={}, defaults={"hidden_size": 1152},
        sizes={**ELECTRA.sizes, "input_embedding_size": ("token", 1)},
    ),
    like(
        BERT, "fnet", "FNet", "fnet.modeling_fnet.FNetEmbeddings", after="embeddings.projection",
        dropout_on="projection", defaults={"pad_token_id": 3},
    ),
    like(
        BERT, "mobilebert", "MobileBERT", "mobilebert.modeling_mobilebert.MobileBertEmbeddings",
        before="embeddings.embedding_transformation", trigram=True, order=LAST_SEGMENT, eps=1e-5,
        affine_if=lambda config: config["normalization_type"] == "no_norm",
        refuse_if={"no_trigram": lambda config: not config["trigram_input"]},
        defaults={"normalization_type": "no_norm", "trigram_input": True},
        sizes={**BERT.sizes, "hidden_size": ("weight", 0), "embedding_size": ("token", 1)},
    ),
    # No position at the input
    like(
        WORDS, "xlnet", "XLNet", "xlnet.modeling_xlnet.XLNetModel", enters=(), token=("word_embedding.weight",),
        reasons={"segment": "in_attention", "position": "relative", "normalized": "first_block"},
        sizes={"vocab_size": ("token", 0), "d_model": ("token", 1)},
    ),
    like(
        WORDS, "modernbert", "ModernBERT", "modernbert.modeling_modernbert.ModernBertEmbeddings", enters=(),
        official_at="embeddings", token=("embeddings.tok_embeddings.weight",), norm=("embeddings.norm",),
        only_if={"bias": flag("norm_bias")}, eps="norm_eps", defaults={"norm_eps": 1e-5, "norm_bias": False},
    ),
    like(
        BERT, "nomic_bert", "Nomic BERT", "nomic_bert.modeling_nomic_bert.NomicBertEmbeddings", **_ROTARY,
        norm=("embeddings.LayerNorm", "emb_ln"), code="hf_nomic_bert", code_agrees=_nomic_code_agrees,
    ),
    like(
        BERT, "gte", "GTE", "gte.modeling_gte.GteEmbeddings", **_ROTARY,
        only_if={"segment": positive("type_vocab_size")}, defaults={"type_vocab_size": 1, "pad_token_id": 1},
    ),
    like(
        BERT, "jina_embeddings_v3", "Jina Embeddings v3",
        "jina_embeddings_v3.modeling_jina_embeddings_v3.JinaEmbeddingsV3Embeddings", **_ROTARY,
        norm=("embeddings.LayerNorm", "emb_ln"), defaults={"layer_norm_eps": 1e-5, "pad_token_id": 1},
    ),
    like(
        WORDS, "funnel", "Funnel Transformer", "funnel.modeling_funnel.FunnelEmbeddings", enters=(),
        official_at="embeddings", token=("embeddings.word_embeddings.weight",), norm=("embeddings.layer_norm",),
        reasons={"segment": "in_attention", "position": "relative"}, defaults={"layer_norm_eps": 1e-9},
        sizes={"vocab_size": ("token", 0), "d_model": ("token", 1)},
    ),
    # Extra tables, of which plain text takes row 0
    like(
        BERT, "layoutlm", "LayoutLM", "layoutlm.modeling_layoutlm.LayoutLMEmbeddings", constants=_BOX,
        order=("token", "position", "constant", "segment"),
    ),
    like(
        BERT, "tapas", "TAPAS", "tapas.modeling_tapas.TapasEmbeddings", segment=_TAPAS_TABLES[0],
        constants=_TAPAS_TABLES[1:], order=LAST_SEGMENT, segment_columns=len(_TAPAS_TABLES),
        refuse_if={"type_tables": lambda config: len(config["type_vocab_sizes"]) != len(_TAPAS_TABLES)},
        defaults={"type_vocab_sizes": [3, 256, 256, 2, 256, 256, 10]},
    ),
)  # fmt: skip

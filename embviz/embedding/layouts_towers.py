"""Rows of the table for the text towers of models that see or hear as well."""

from __future__ import annotations

from embviz.embedding.layout import EmbeddingLayout
from embviz.embedding.layout_tools import like
from embviz.embedding.layouts_encoders import BERT, LAST_SEGMENT, NO_SEGMENT, ROBERTA

# CLIP's text tower: its config is a part of the whole model's.
CLIP = EmbeddingLayout(
    model_type="clip",
    name="CLIP",
    official="clip.modeling_clip.CLIPTextEmbeddings",
    config_at="text_config",
    token=("embeddings.token_embedding.weight",),
    position="embeddings.position_embedding.weight",
    reasons={"segment": "no_table", "normalized": "first_block"},
    sizes={
        "vocab_size": ("token", 0),
        "hidden_size": ("token", 1),
        "max_position_embeddings": ("position", 0),
    },
)

TOWER_ROWS: tuple[EmbeddingLayout, ...] = (
    CLIP,
    like(CLIP, "clip_text_model", "CLIP", "clip.modeling_clip.CLIPTextEmbeddings", config_at=None),
    like(CLIP, "clipseg", "CLIPSeg", "clipseg.modeling_clipseg.CLIPSegTextEmbeddings"),
    like(CLIP, "metaclip_2", "MetaCLIP 2", "metaclip_2.modeling_metaclip_2.MetaClip2TextEmbeddings"),
    like(CLIP, "siglip", "SigLIP", "siglip.modeling_siglip.SiglipTextEmbeddings"),
    like(CLIP, "siglip2", "SigLIP 2", "siglip2.modeling_siglip2.Siglip2TextEmbeddings"),
    like(CLIP, "groupvit", "GroupViT", "groupvit.modeling_groupvit.GroupViTTextEmbeddings"),
    like(CLIP, "owlvit", "OWL-ViT", "owlvit.modeling_owlvit.OwlViTTextEmbeddings"),
    like(CLIP, "owlv2", "OWLv2", "owlv2.modeling_owlv2.Owlv2TextEmbeddings"),
    like(CLIP, "xclip", "X-CLIP", "x_clip.modeling_x_clip.XCLIPTextEmbeddings"),
    like(BERT, "align", "ALIGN", "align.modeling_align.AlignTextEmbeddings", config_at="text_config"),
    like(
        BERT, "chinese_clip", "Chinese-CLIP", "chinese_clip.modeling_chinese_clip.ChineseCLIPTextEmbeddings",
        config_at="text_config",
    ),
    like(BERT, "flava", "FLAVA", "flava.modeling_flava.FlavaTextEmbeddings", config_at="text_config"),
    like(
        BERT, "blip", "BLIP", "blip.modeling_blip_text.BlipTextEmbeddings",
        config_at="text_config", **NO_SEGMENT,
    ),
    like(
        ROBERTA, "altclip", "AltCLIP", "altclip.modeling_altclip.AltRobertaEmbeddings",
        config_at="text_config", defaults={"layer_norm_eps": 1e-5},
    ),
    like(ROBERTA, "clap", "CLAP", "clap.modeling_clap.ClapTextEmbeddings", config_at="text_config"),
    like(
        BERT, "visual_bert", "VisualBERT", "visual_bert.modeling_visual_bert.VisualBertEmbeddings",
        defaults={"pad_token_id": 1},
    ),
    like(
        BERT, "lxmert", "LXMERT", "lxmert.modeling_lxmert.LxmertEmbeddings",
        order=LAST_SEGMENT, eps=1e-12, defaults={"pad_token_id": None},
    ),
    like(BERT, "dpr", "DPR", "bert.modeling_bert.BertEmbeddings"),
)  # fmt: skip

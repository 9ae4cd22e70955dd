"""Repositories with program code: it never runs, and only a family's own, known code may stand beside a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import embviz
from embviz.embedding.layouts import LAYOUTS
from embviz.errors import ModelError
from tests.models import stand_ins
from tests.models.stand_ins import SEGMENT, WORD, write_json, write_texts, write_tiny

NOMIC_CODE = {
    "AutoConfig": "nomic-ai/nomic-bert-2048--configuration_hf_nomic_bert.NomicBertConfig",
    "AutoModel": "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel",
    "AutoModelForMaskedLM": "nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertForPreTraining",
}
"""As nomic-embed-text-v1.5 has it; its config names sizes as GPT-2 does."""

NOMIC: dict[str, Any] = {
    "model_type": "nomic_bert", "auto_map": NOMIC_CODE, "n_embd": 8, "n_head": 2, "n_layer": 1, "hidden_size": 8,
    "layer_norm_epsilon": 1e-12, "layer_norm_eps": 1e-12, "rotary_emb_fraction": 1.0, "max_position_embeddings": 16,
}  # fmt: skip


def write_nomic(folder: Path, **changes: Any) -> dict[str, torch.Tensor]:
    """A tiny checkpoint with the names that Nomic's own code gives its tensors."""
    settings = write_texts(folder)
    write_json(folder / "config.json", {**settings, **NOMIC, **changes})
    old = stand_ins.tensors(settings)
    weights = {WORD: old[WORD], SEGMENT: old[SEGMENT]}
    weights |= {f"emb_ln.{kind}": old[f"embeddings.LayerNorm.{kind}"] for kind in ("weight", "bias")}
    save_file(weights, folder / "model.safetensors")
    return weights


def refusal(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        embviz.load_model(str(folder))
    assert caught.value.key == "error.custom_code"
    return str(caught.value)


def test_nomic_is_shown_although_it_brings_its_own_code(tmp_path: Path) -> None:
    """Equal to what that code computes: word + segment, then emb_ln."""
    weights = write_nomic(tmp_path)

    answer = embviz.load_model(str(tmp_path)).decompose("my dog", "he likes")

    ids, types = torch.tensor(answer.input_ids), torch.tensor(answer.token_type_ids)
    norm = torch.nn.LayerNorm(8, eps=1e-12)
    norm.load_state_dict({kind: weights[f"emb_ln.{kind}"] for kind in ("weight", "bias")})
    expected = norm(weights[WORD][ids] + weights[SEGMENT][types]).detach()
    assert torch.allclose(torch.tensor(answer.output), expected, atol=1e-6, rtol=0)
    assert set(answer.absent) == {"position"}
    assert answer.verified is not None
    assert answer.verified <= 1e-6


@pytest.mark.parametrize(
    "changes",
    [
        {"rotary_emb_fraction": 0.0},  # then that code adds a table of positions
        {"layer_norm_epsilon": 1e-5},  # transformers' class would use another eps than that code
        {"rotary_emb_fraction": "all"},
        {"auto_map": {**NOMIC_CODE, "AutoModel": "modeling_mine.NomicBertModel"}},
        {"auto_map": {**NOMIC_CODE, "AutoModel": ["modeling_hf_nomic_bert.NomicBertModel"]}},
    ],
)
def test_nomic_that_its_row_does_not_describe_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    write_nomic(tmp_path, **changes)
    assert "nomic_bert" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("model_type", "code"),
    [
        ("bert", "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel"),
        ("xlm-roberta", "jinaai/xlm-roberta-flash-implementation--modeling_lora.XLMRobertaLoRA"),
        ("new", "Alibaba-NLP/new-impl--modeling.NewModel"),
        ("bert", "modeling_hf_nomic_bert.NomicBertModel"),
        ("eurobert", "modeling_jina_embeddings_v5.JinaEmbeddingsV5Model"),
    ],
)
def test_standard_name_over_other_code_is_refused(model_type: str, code: str, tmp_path: Path) -> None:
    """jina-embeddings-v2 says "bert" and has ALiBi instead of positions: its row would be wrong."""
    write_tiny(tmp_path, model_type=model_type, auto_map={"AutoModel": code}, position_embedding_type="alibi")
    assert "never runs" in refusal(tmp_path)


@pytest.mark.parametrize(
    "model_type", [key for key, row in LAYOUTS.items() if row.code and key != "nomic_bert"]
)
def test_code_that_transformers_took_over_is_no_hindrance(model_type: str, tmp_path: Path) -> None:
    row = LAYOUTS[model_type]
    code = {
        "AutoConfig": f"configuration_{row.code}.Config",
        "AutoModelForCausalLM": f"modeling_{row.code}.Model",
    }
    settings = write_texts(tmp_path)
    write_json(tmp_path / "config.json", {**settings, "model_type": model_type, "auto_map": code})
    word = stand_ins.tensors(settings)[WORD]
    save_file({f"model.{row.token[0]}": word}, tmp_path / "model.safetensors")

    answer = embviz.load_model(str(tmp_path)).decompose("my dog")

    assert torch.equal(torch.tensor(answer.output), word[torch.tensor(answer.input_ids)])


def test_rows_with_code_are_families_of_transformers() -> None:
    for model_type, row in LAYOUTS.items():
        if row.code:
            assert model_type in CONFIG_MAPPING


def test_shapes_must_fit_all_the_same(tmp_path: Path) -> None:
    write_nomic(tmp_path, hidden_size=12, n_embd=12)
    with pytest.raises(ModelError, match="hidden_size"):
        embviz.load_model(str(tmp_path))

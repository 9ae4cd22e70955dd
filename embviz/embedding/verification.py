"""The official input layer, run on the very tensors that embviz shows: the source of the verified mark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from embviz.embedding.decomposition import Decomposition
from embviz.embedding.layout import EmbeddingLayout

TOLERANCE = 1e-5
"""The largest difference that the mark calls equal: rounding makes 5e-7, an eps of 1e-7 instead of 1e-12
already 8e-5 (measured on all-MiniLM-L6-v2)."""


def official_module(
    layout: EmbeddingLayout, config: Mapping[str, Any], tensor: Callable[[str], Tensor]
) -> nn.Module:
    """The official class of transformers, built from the config and given the checkpoint's own tensors.

    Args:
        layout: names the class and the tensors.
        config: the whole config.json.
        tensor: reads a tensor by the base model's name, float32 on the CPU.
    """
    from transformers import AutoConfig

    module_path, class_name = layout.official
    official_class = getattr(import_module(module_path), class_name)
    settings = {key: value for key, value in config.items() if key != "model_type"}
    official_config = AutoConfig.for_model(layout.model_type, **settings)
    with torch.device("meta"):  # no random table is made only to be thrown away
        module: nn.Module = official_class(official_config)
    state = {name.removeprefix("embeddings."): tensor(name) for name in layout.tensors.values()}
    module.load_state_dict(state, strict=True, assign=True)
    return module.eval()


def official_difference(module: nn.Module, decomposition: Decomposition) -> float:
    """The largest |difference| between `decomposition.output` and the official module on the same ids.

    Both kinds of ids are always given: the buffers of the module are empty.
    """
    with torch.inference_mode():
        official: Tensor = module(
            input_ids=torch.tensor(decomposition.input_ids)[None],
            token_type_ids=torch.tensor(decomposition.token_type_ids)[None],
            position_ids=torch.tensor(decomposition.position_ids)[None],
        )[0]
    return float((official - torch.tensor(decomposition.output)).abs().max())

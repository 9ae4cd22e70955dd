"""From config and tensors to the module: which tensor is what, what is computed with it, and the tables in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from embviz.embedding.building_lock import BUILDING
from embviz.embedding.layout import EmbeddingLayout, InputTerms
from embviz.embedding.module import InputEmbeddings
from embviz.errors import ModelError
from embviz.models.checkpoint import TensorSource
from embviz.models.roles import check_shapes, check_sizes, find_roles
from embviz.models.sources import ModelFiles

MODULE_NAMES = {
    "segment": "token_type_embeddings.weight", "position": "position_embeddings.weight",
    "weight": "LayerNorm.weight", "bias": "LayerNorm.bias", "before_weight": "before.weight",
    "before_bias": "before.bias", "after_weight": "after.weight", "after_bias": "after.bias",
}  # fmt: skip
"""The names of `InputEmbeddings`' tensors by role; the word table is not held, and constants are stacked."""


def model_type_of(files: ModelFiles) -> str:
    """The architecture that the config names.

    Raises:
        ModelError: it names none.
    """
    model_type = files.config.get("model_type")
    if not isinstance(model_type, str):
        raise ModelError("no_model_type", field="model", name=files.name)
    return model_type


def resolve(layout: EmbeddingLayout, files: ModelFiles) -> tuple[dict[str, str], InputTerms, Tensor | None]:
    """The tensors by role, what is computed with them, and the position table where it is computed itself.

    Raises:
        ModelError: the config or the tensors do not fit the architecture or each other.
    """
    try:
        settings = layout.settings(files.config)
        optional = ("position",) if layout.computed else ()
        names = find_roles(layout.tensors(settings), files.tensors, optional)
        check_sizes(layout, files.config, names, files.tensors)
        shapes = {role: tuple(files.tensors.shape(name)) for role, name in names.items()}
        table = None
        if layout.computed and "position" not in names:
            table = layout.computed(settings)
            shapes["position"] = tuple(table.shape)
        return names, layout.terms(settings, shapes, shapes.__getitem__), table
    except ModelError:
        raise
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError("config", field="model", name=files.name, reason=error) from error


def build_module(
    terms: InputTerms, names: Mapping[str, str], tensors: TensorSource, computed: Tensor | None = None
) -> InputEmbeddings:
    """The module with the checkpoint's tables, without a word table of its own.

    Args:
        terms: what it computes.
        names: its tensors by role.
        tensors: where they are.
        computed: the position table where the checkpoint has none.

    Raises:
        ModelError: the tensors do not fit each other, or cannot be read.
    """
    # Not on "meta", which imports torch._dynamo, two seconds; the caller's random numbers stay as they are.
    with BUILDING, torch.random.fork_rng(devices=[]):
        module = InputEmbeddings(replace(terms, vocab_size=None))
    held = {role: name for role, name in names.items() if role in MODULE_NAMES}
    constants = [name for role, name in names.items() if role.startswith("constant_")]
    check_shapes(module, {MODULE_NAMES[role]: name for role, name in held.items()}, constants, tensors)
    read = tensors.read(held.values(), {name: [0] for name in constants})
    state = {MODULE_NAMES[role]: read[name] for role, name in held.items()}
    if computed is not None:
        state[MODULE_NAMES["position"]] = computed
    if constants:
        state["constant"] = torch.stack([read[name][0] for name in constants])
    module.load_state_dict(state, strict=True, assign=True)
    module.position_ids = torch.arange(terms.max_position_embeddings).expand((1, -1))
    module.token_type_ids = torch.zeros((1, 1), dtype=torch.long)
    return module

"""Which tensor of a checkpoint plays which role in the input layer, whatever stands before its name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from embviz.embedding.layout import Config, EmbeddingLayout
from embviz.embedding.module import InputEmbeddings
from embviz.errors import ModelError
from embviz.models.checkpoint import TensorSource

OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
"""What checkpoints that came from TensorFlow call the LayerNorm's gain and bias."""

MAX_LISTED = 6


def find_roles(
    wanted: Mapping[str, Sequence[str]], tensors: TensorSource, optional: Collection[str] = ()
) -> dict[str, str]:
    """The names in the checkpoint by role; all have the same prefix, which is found by the word table's.

    Args:
        wanted: names of the base model by role, the usual one first.
        tensors: where to look.
        optional: roles that may be missing.

    Raises:
        ModelError: a tensor is missing, or the checkpoint holds several input layers.
    """
    names = tensors.names()
    prefixes = sorted(
        {name.removesuffix(word) for word in wanted["token"] for name in names if _ends(name, word)}
    )
    found = {prefix: _with_prefix(prefix, wanted, names) for prefix in prefixes}
    whole = {
        prefix: roles for prefix, roles in found.items() if wanted.keys() - roles.keys() <= set(optional)
    }
    if "" in whole:
        return whole[""]
    if len(whole) > 1:
        raise ModelError("several_layers", field="model", names=", ".join(r["token"] for r in whole.values()))
    if not whole:
        prefix = max(prefixes, key=lambda prefix: len(found[prefix]), default="")
        missing = next(role for role in wanted if role not in found.get(prefix, {}))
        name = prefix + wanted[missing][0]
        raise ModelError("missing_tensor", field="model", name=name, found=_listed(names))
    return next(iter(whole.values()))


def check_sizes(
    layout: EmbeddingLayout, config: Config, roles: Mapping[str, str], tensors: TensorSource
) -> None:
    """The config and the tensors agree about every size that the config states.

    Raises:
        ModelError: they do not; the sentence names the tensor, its size and the config's.
    """
    own = config if layout.config_at is None else config.get(layout.config_at) or {}
    for key, (role, axis) in layout.sizes.items():
        if role not in roles or own.get(key) is None:
            continue
        expected = own[key] + (layout.extra_positions if role == "position" and axis == 0 else 0)
        shape = tensors.shape(roles[role])
        if axis >= len(shape) or shape[axis] != expected:
            raise ModelError(
                "size", field="model", name=roles[role], shape=list(shape), key=key, value=own[key]
            )


def check_shapes(
    module: InputEmbeddings, names: Mapping[str, str], constants: Sequence[str], tensors: TensorSource
) -> None:
    """The tensors of the checkpoint fit together.

    Args:
        module: has the shapes that fit.
        names: the tensor for each name of the module's state.
        constants: the tables whose first row is added.
        tensors: where the tensors are.

    Raises:
        ModelError: one has another shape than the others ask for.
    """
    expected = {name: tensor.shape for name, tensor in module.state_dict().items()}
    pairs = [(name, tensors.shape(name), expected[own]) for own, name in names.items()]
    pairs += [(name, tensors.shape(name)[1:], expected["constant"][1:]) for name in constants]
    for name, shape, fitting in pairs:
        if tuple(shape) != tuple(fitting):
            raise ModelError("shape", field="model", name=name, shape=list(shape), expected=list(fitting))


def _ends(name: str, ending: str) -> bool:
    return name == ending or name.endswith(f".{ending}")


def _with_prefix(prefix: str, wanted: Mapping[str, Sequence[str]], names: Collection[str]) -> dict[str, str]:
    roles: dict[str, str] = {}
    for role, alternatives in wanted.items():
        for name in (prefix + alternative for alternative in alternatives):
            old = name
            for new, gamma in OLD_NAMES.items():
                old = old.replace(new, gamma)
            if found := next((n for n in (name, old) if n in names), None):
                roles.setdefault(role, found)
    return roles


def _listed(names: Collection[str]) -> str:
    """The first names that look like an input layer's, or any."""
    likely = [name for name in names if "emb" in name.lower() or "wte" in name] or list(names)
    return ", ".join(sorted(likely, key=len)[:MAX_LISTED]) or "none"

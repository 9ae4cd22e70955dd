"""Where given vectors enter an official model in place of those that it looks up itself."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

from torch import Tensor, nn

from embviz.embedding.layout import Config, EmbeddingLayout


@dataclass(frozen=True)
class Door:
    """Where given vectors enter.

    Attributes:
        side: "result" replaces what a module gives, "argument" what a module is given first; "inputs_embeds" gives
            them to the model itself, which does nothing to word vectors before its first layer.
        at: the module; "" for inputs_embeds.
    """

    side: Literal["result", "argument", "inputs_embeds"]
    at: str = ""


def find_door(
    module: nn.Module, layout: EmbeddingLayout, config: Config, embeddings: str | None
) -> Door | None:
    """The place right behind the input layer; None where there is none.

    Args:
        module: the official base model, or its text tower or encoder.
        layout: how its architecture makes its input.
        config: the whole config.json.
        embeddings: the name of its input layer, where that is a module of its own.
    """
    settings = layout.settings(config)
    roles = layout.tensors(settings)
    if embeddings is not None:
        return Door("result", embeddings)
    if layout.after is not None:
        return Door("result", layout.after if "after_weight" in roles else "embeddings")
    if "weight" in roles:
        return Door("result", layout.norm[0].removeprefix(f"{layout.official_at}."))
    words_alone = layout.scale(settings) == 1 and "position" not in roles and layout.computed is None
    if words_alone and "inputs_embeds" in signature(module.forward).parameters:
        return Door("inputs_embeds")
    layers = next((name for name, part in module.named_modules() if isinstance(part, nn.ModuleList)), None)
    return None if layers is None else Door("argument", f"{layers}.0")


class Given:
    """Vectors that replace a model's own at a door while they are there, one run at a time.

    Args:
        module: the model.
        door: where they enter.
    """

    def __init__(self, module: nn.Module, door: Door) -> None:
        self.vectors: Tensor | None = None
        if door.side == "result":
            module.get_submodule(door.at).register_forward_hook(lambda _, __, result: self._replaced(result))
        elif door.side == "argument":
            module.get_submodule(door.at).register_forward_pre_hook(self._argument, with_kwargs=True)

    def _argument(self, _: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if args:
            return self._replaced(args), kwargs
        return args, {**kwargs, "hidden_states": self._replaced(kwargs["hidden_states"])}

    def _replaced(self, own: Any) -> Any:
        """The given vectors; where the model made its sequence longer by padding, that stays."""
        if isinstance(own, tuple):
            return (self._replaced(own[0]), *own[1:])
        if self.vectors is None:
            return own
        replaced = own.clone()
        replaced[:, : self.vectors.shape[1]] = self.vectors
        return replaced

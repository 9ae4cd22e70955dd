"""The official model above the input layer, run with what enters the encoder replaced by given vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from threading import Lock
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from embviz.embedding.decomposition import Floats, Ids
from embviz.embedding.layout import Config, EmbeddingLayout
from embviz.embedding.module import default_device
from embviz.embedding.verification import official_config

SAME = 1e-5
"""The largest difference between the vectors that were given and those that the first layer was seen to get."""

_building = Lock()
"""Building without random numbers changes functions of torch for all threads as long as it takes."""


class NoEncoderError(Exception):
    """The layers of this model cannot be run on given vectors; the text is the reason."""


@dataclass(frozen=True)
class _Door:
    """Where given vectors enter the official model.

    Attributes:
        side: whether they replace the result of a module, what a module is given first, or, where nothing is done
            to word vectors before the first layer, are given to the model as `inputs_embeds`.
        at: the module.
    """

    side: Literal["result", "argument", "inputs_embeds"]
    at: str = ""


class OfficialEncoder:
    """The official base model, or its text tower or encoder, without an input layer of its own.

    Args:
        layout: names the official classes.
        config: the whole config.json.
        seed: draws the weights as the official class does; None leaves them to be loaded.

    Raises:
        NoEncoderError: the class cannot be built from this config, or vectors cannot be given to it.
    """

    def __init__(self, layout: EmbeddingLayout, config: Config, seed: int | None = None) -> None:
        self.layout = layout
        self._roles = layout.tensors(layout.settings(config))
        with _as_no_encoder():
            self.module = self._build(config, seed)
            self._door = self._find_door(config)
        self._lock = Lock()
        self._given: Tensor | None = None
        self._enter()
        if seed is not None:
            drawn = dict(self.module.named_parameters())
            self._place({own: drawn[own] for own in self.wanted.values()})

    @property
    def wanted(self) -> dict[str, str]:
        """Names of the tensors that have to be loaded, those of the module by those of the base model."""
        at = f"{self.layout.official_at}." if self.layout.official_at not in ("", "embeddings") else ""
        own = {name for names in self._roles.values() for name in names}
        below = ("pooler.", *((f"{self._door.at}.",) if self._door.side == "result" else ()))
        return {
            at + name: name
            for name, _ in self.module.named_parameters()
            if at + name not in own and not name.startswith(below)
        }

    @property
    def size(self) -> int:
        """How many numbers the weights have."""
        parameters = dict(self.module.named_parameters())
        return sum(parameters[own].numel() for own in self.wanted.values())

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes the weights, by the names of the base model, float32.

        Raises:
            NoEncoderError: one is missing, or does not fit.
        """
        parameters, wanted = dict(self.module.named_parameters()), self.wanted
        for name, own in wanted.items():
            if name not in tensors:
                raise NoEncoderError(f"{name} is missing")
            found, fitting = list(tensors[name].shape), list(parameters[own].shape)
            if found != fitting:
                raise NoEncoderError(f"{name} has the shape {found}, where {fitting} fits")
        self._place({own: tensors[name] for name, own in wanted.items()})

    def _place(self, state: Mapping[str, Tensor]) -> None:
        """Puts weights into the module; what is never looked at becomes zeros that take no room."""
        device = default_device()
        for name, parameter in list(self.module.named_parameters(remove_duplicate=False)):
            path, _, own = name.rpartition(".")
            tensor = state.get(name)
            if tensor is None:
                tensor = torch.zeros((), device=device).expand(parameter.shape)
            module = self.module.get_submodule(path)
            setattr(module, own, nn.Parameter(tensor.to(device), requires_grad=False))
        self.module.to(device)

    @torch.inference_mode()
    def run(self, outputs: Sequence[Floats], token_type_ids: Sequence[Ids]) -> list[Floats]:
        """The states of every layer for each of several inputs of one length, in one batch.

        Args:
            outputs: what enters the encoder, each `(seq_len, hidden_size)`.
            token_type_ids: the segments, each `(seq_len,)`; looked at where they enter in the attention.

        Returns:
            For each input `(layers + 1, seq_len, hidden_size)`; the first is what entered, the last what the
            model gives (after the last LayerNorm, where it has one there).

        Raises:
            NoEncoderError: the official class does not run on it, or gives other states than one a token.
        """
        device = next(iter(self.module.parameters())).device
        given = torch.tensor(np.stack(outputs), device=device)
        with self._lock, _as_no_encoder():
            self._given = given
            try:
                result = self.module(**self._arguments(given, np.stack(token_type_ids)))
            finally:
                self._given = None
        found = getattr(result, "hidden_states", None) or getattr(result, "encoder_hidden_states", None)
        if found is None:
            raise NoEncoderError(f"{type(self.module).__name__} does not tell the states of its layers")
        states = [state[:, : given.shape[1]].float() for state in found]
        if any(state.shape != given.shape for state in states):
            raise NoEncoderError(
                f"the layers of {type(self.module).__name__} do not all have one state of one width for each token"
            )
        # Some note what a layer is given before it is replaced; the others must have noted what was given.
        noted = self._door.side != "argument"
        if noted and not torch.allclose(states[0], given, atol=SAME, rtol=SAME, equal_nan=True):
            raise NoEncoderError(f"{type(self.module).__name__} changes what it is given before its first layer")
        stacked = torch.stack([given, *states[1:]], dim=1).cpu().numpy()
        stacked.flags.writeable = False
        return list(stacked)

    def _arguments(self, given: Tensor, token_type_ids: np.ndarray) -> dict[str, Any]:
        accepted = signature(self.module.forward).parameters
        batch, length, _ = given.shape
        pad = self.layout.pad if isinstance(self.layout.pad, int) else getattr(self._config, self.layout.pad, 0)
        ids = torch.full((batch, length), 1 if pad != 1 else 2, device=given.device)  # any but padding
        ones = torch.ones_like(ids)
        arguments: dict[str, Any] = {
            "attention_mask": ones, "use_cache": False,
            "bbox": torch.zeros((batch, length, 4), dtype=torch.long, device=given.device),
        }  # fmt: skip
        if self._door.side == "inputs_embeds":
            arguments["inputs_embeds"] = given
        else:
            arguments["input_ids"] = ids
        if self.layout.reasons.get("segment") == "in_attention":
            arguments["token_type_ids"] = torch.tensor(token_type_ids, device=given.device)
        arguments = {name: value for name, value in arguments.items() if name in accepted}
        return {**arguments, "output_hidden_states": True, "return_dict": True}

    def _build(self, config: Config, seed: int | None) -> nn.Module:
        from transformers.initialization import no_init_weights
        from transformers.models.auto.modeling_auto import MODEL_MAPPING

        official = official_config(self.layout, config)
        module_path, class_name = f"transformers.models.{self.layout.official}".rsplit(".", 1)
        kind: Any = getattr(import_module(module_path), class_name)
        inner = self.layout.official_at == "embeddings"
        if inner:
            known = MODEL_MAPPING[type(official)]
            made: Any = known[0] if isinstance(known, tuple) else known
        else:
            made = kind
        if seed is None:
            with _building, no_init_weights():
                whole: nn.Module = made(official)
        else:
            with _building, torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                whole = made(official)
        if inner:
            at = next(name for name, part in whole.named_modules() if type(part) is kind)
            self._embeddings = at.rpartition(".")[2]
            whole = whole.get_submodule(at.rpartition(".")[0])
        self._config: Any = getattr(whole, "config", official)
        return whole.eval()

    def _find_door(self, config: Config) -> _Door:
        layout, roles = self.layout, self._roles
        if layout.official_at == "embeddings":
            return _Door("result", self._embeddings)
        if layout.after is not None:
            return _Door("result", layout.after if "after_weight" in roles else "embeddings")
        if "weight" in roles:
            at = f"{layout.official_at}." if layout.official_at else ""
            return _Door("result", layout.norm[0].removeprefix(at))
        scale = layout.scale(layout.settings(config))
        words_alone = scale == 1 and "position" not in roles and layout.computed is None
        if words_alone and "inputs_embeds" in signature(self.module.forward).parameters:
            return _Door("inputs_embeds")
        blocks = next(
            (name for name, part in self.module.named_modules() if isinstance(part, nn.ModuleList)), None
        )
        if blocks is None:
            raise NoEncoderError(f"{type(self.module).__name__} has no list of layers")
        return _Door("argument", f"{blocks}.0")

    def _enter(self) -> None:
        """Has the given vectors replace the model's own; a longer, padded sequence keeps its padding."""
        if self._door.side == "inputs_embeds":
            return
        part = self.module.get_submodule(self._door.at)
        if self._door.side == "result":
            part.register_forward_hook(lambda _, __, result: self._replaced(result))
            return

        def argument(_: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            if args:
                return self._replaced(args), kwargs
            return args, {**kwargs, "hidden_states": self._replaced(kwargs["hidden_states"])}

        part.register_forward_pre_hook(argument, with_kwargs=True)

    def _replaced(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return (self._replaced(result[0]), *result[1:])
        if self._given is None:
            return result
        replaced = result.clone()
        replaced[:, : self._given.shape[1]] = self._given
        return replaced


@contextmanager
def _as_no_encoder() -> Iterator[None]:
    """Whatever a class of transformers raises for a config or vectors that it was not made for, as the reason."""
    try:
        yield
    except NoEncoderError:
        raise
    except Exception as error:  # a stranger's code: hundreds of classes, each with errors of its own
        reason = str(error).strip() or type(error).__name__
        raise NoEncoderError(reason.splitlines()[0]) from error

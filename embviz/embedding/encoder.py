"""The official model above the input layer, run with what enters the encoder replaced by given vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import signature
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from embviz.embedding.building_lock import BUILDING
from embviz.embedding.decomposition import Floats, Ids
from embviz.embedding.encoder_door import Door, Given, find_door
from embviz.embedding.layout import Config, EmbeddingLayout
from embviz.embedding.module import default_device
from embviz.embedding.verification import as_reason, official_config

SAME = 1e-5
"""The largest difference between the vectors that were given and those that the first layer was seen to get."""


class NoEncoderError(Exception):
    """The layers of this model cannot be run on given vectors; the text is the reason."""


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
        if config.get("quantization_config"):
            raise NoEncoderError("their weights are quantised")
        self.layout = layout
        self._roles = layout.tensors(layout.settings(config))
        self._lock = Lock()
        with as_reason(NoEncoderError):
            self.module, embeddings = self._build(config, seed)
            door = find_door(self.module, layout, config, embeddings)
        self.name = type(self.module).__name__
        if door is None:
            raise NoEncoderError(f"{self.name} has no list of layers")
        self._door: Door = door
        self._given = Given(self.module, door)
        if seed is not None:
            drawn = self._own()
            self._place({own: drawn[own] for own in self.wanted.values()})

    @property
    def at(self) -> str:
        """What stands before the module's names in those of the base model."""
        return "" if self.layout.official_at in ("", "embeddings") else f"{self.layout.official_at}."

    @property
    def wanted(self) -> dict[str, str]:
        """Names of the tensors that have to be loaded, those of the module by those of the base model."""
        input_layer = {name for names in self._roles.values() for name in names}
        below = ("pooler.", *((f"{self._door.at}.",) if self._door.side == "result" else ()))
        return {
            self.at + name: name
            for name in self._own()
            if self.at + name not in input_layer and not name.startswith(below)
        }

    @property
    def size(self) -> int:
        """How many numbers the weights have."""
        own = self._own()
        return sum(own[name].numel() for name in self.wanted.values())

    def converts(self) -> bool:
        """Whether transformers knows checkpoints of this class with other names or other shapes."""
        from transformers.conversion_mapping import get_model_conversion_mapping

        with as_reason(NoEncoderError):
            return bool(get_model_conversion_mapping(self.module, add_legacy=False))  # type: ignore[arg-type]

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes the weights, by the names of the base model or as transformers converts them, float32.

        Raises:
            NoEncoderError: one is missing, or does not fit.
        """
        own, wanted = self._own(), self.wanted
        if not wanted.keys() <= tensors.keys():
            tensors = self._converted(tensors)
        for name, ours in wanted.items():
            if name not in tensors:
                raise NoEncoderError(f"the checkpoint has no tensor {name}")
            found, fitting = list(tensors[name].shape), list(own[ours].shape)
            if found != fitting:
                raise NoEncoderError(f"{name} has the shape {found}, where {fitting} fits")
        self._place({ours: tensors[name] for name, ours in wanted.items()})

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
        device = next(self.module.parameters()).device
        given = torch.tensor(np.stack(outputs), device=device)
        with self._lock, as_reason(NoEncoderError):
            self._given.vectors = given
            try:
                result = self.module(**self._arguments(given, np.stack(token_type_ids)))
            finally:
                self._given.vectors = None
        found = getattr(result, "hidden_states", None) or getattr(result, "encoder_hidden_states", None)
        if found is None:
            raise NoEncoderError(f"{self.name} does not tell the states of its layers")
        states = [state[:, : given.shape[1]].float() for state in found]
        if any(state.shape != given.shape for state in states):
            raise NoEncoderError(f"not all layers of {self.name} have one state of one width for each token")
        # Some note what a layer is given before it is replaced; the others must have noted what was given.
        noted = self._door.side != "argument"
        if noted and not torch.allclose(states[0], given, atol=SAME, rtol=SAME, equal_nan=True):
            raise NoEncoderError(f"{self.name} changes what it is given before its first layer")
        stacked = torch.stack([given, *states[1:]], dim=1).cpu().numpy()
        stacked.flags.writeable = False
        return list(stacked)

    def _arguments(self, given: Tensor, token_type_ids: np.ndarray) -> dict[str, Any]:
        accepted = signature(self.module.forward).parameters
        batch, length, _ = given.shape
        pad = self.layout.pad
        padding = pad if isinstance(pad, int) else getattr(self._config, pad, None)
        ids = torch.full((batch, length), 2 if padding == 1 else 1, device=given.device)  # any but padding
        arguments: dict[str, Any] = {
            "attention_mask": torch.ones_like(ids), "use_cache": False,
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

    def _build(self, config: Config, seed: int | None) -> tuple[nn.Module, str | None]:
        """The official module and, where it is a module of its own, the name of its input layer."""
        from transformers.initialization import no_init_weights
        from transformers.models.auto.modeling_auto import MODEL_MAPPING

        self._config = official_config(self.layout, config)
        module_path, class_name = f"transformers.models.{self.layout.official}".rsplit(".", 1)
        kind: Any = getattr(import_module(module_path), class_name)
        apart = self.layout.official_at == "embeddings"
        known: Any = MODEL_MAPPING[type(self._config)] if apart else kind
        made = known[0] if isinstance(known, tuple) else known
        if seed is None:  # memory that is not written to takes no room
            with BUILDING, no_init_weights():
                whole: nn.Module = made(self._config)
        else:
            with BUILDING, torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                whole = made(self._config)
        if not apart:
            return whole.eval(), None
        at, _, name = next(at for at, part in whole.named_modules() if type(part) is kind).rpartition(".")
        reader = whole.get_submodule(at)
        self._config = getattr(reader, "config", self._config)
        return reader.eval(), name

    def _own(self) -> dict[str, Tensor]:
        """The module's weights, and what else it would save; each once, by its first name."""
        state: dict[str, Tensor] = self.module.state_dict(keep_vars=True)
        first = {id(tensor): name for name, tensor in reversed(state.items())}
        return {name: state[name] for name in first.values() if state[name].is_floating_point()}

    def _converted(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights out of a checkpoint with other names, as the official class loads it."""
        from transformers.utils import logging

        given = {name.removeprefix(self.at): tensor for name, tensor in tensors.items()}
        official: Any = type(self.module)
        level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        with BUILDING, as_reason(NoEncoderError), torch.random.fork_rng(devices=[]):
            logging.set_verbosity_error()  # type: ignore[no-untyped-call]
            logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            try:
                made, told = official.from_pretrained(
                    None, config=self._config, state_dict=given, dtype=torch.float32, output_loading_info=True
                )
            finally:
                logging.set_verbosity(level)
                if bars:
                    logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        state, missing = made.state_dict(), set(told["missing_keys"])
        return {name: state[own] for name, own in self.wanted.items() if own not in missing}

    def _place(self, state: Mapping[str, Tensor]) -> None:
        """Puts weights into the module; what is never looked at becomes zeros that take no room."""
        device, own = default_device(), self._own()
        loaded = {id(tensor): state[name] for name, tensor in own.items() if name in state}
        held = [*own.values(), *self.module.parameters()]  # so that no new tensor gets the id of an old one
        zero = torch.zeros((), device=device)
        for module in self.module.modules():
            for name, old in list(module.named_parameters(recurse=False)):
                new = loaded[id(old)].to(device) if id(old) in loaded else zero.expand(old.shape)
                setattr(module, name, nn.Parameter(new, requires_grad=False))
            for name, buffer in list(module.named_buffers(recurse=False)):
                setattr(module, name, loaded.get(id(buffer), buffer).to(device))
        held.clear()

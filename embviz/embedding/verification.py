"""The official input layer, run on the very tensors that embviz shows: the source of the verified mark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from embviz.embedding.building_lock import BUILDING
from embviz.embedding.decomposition import Decomposition
from embviz.embedding.layout import Config, EmbeddingLayout

TOLERANCE = 1e-5
"""The largest difference that the mark calls equal: rounding makes 5e-7, an eps of 1e-7 instead of 1e-12
already 8e-5 (measured on all-MiniLM-L6-v2)."""

MIN_VOCABULARY = 4
"""Rows of the official word table at least: some classes have a padding row by a number of their own."""


class NotCheckedError(Exception):
    """The official class cannot run on what is there; the text is the reason."""


class OfficialInput:
    """The official class of transformers, built from the config and given the checkpoint's own tensors.

    Where the input layer is no module of its own, it is the base model without layers, so that what enters the
    encoder comes out of it.

    Args:
        layout: names the class and the tensors.
        config: the whole config.json.
        tensors: the tensors by role, float32 on the CPU; of tables of constants row 0 is enough, of the word
            table the rows of `vocabulary`.
        vocabulary: the ids whose word rows are given; None means all.

    Raises:
        NotCheckedError: the class cannot be built from this config.
    """

    def __init__(
        self,
        layout: EmbeddingLayout,
        config: Config,
        tensors: Mapping[str, Tensor],
        vocabulary: Sequence[int] | None = None,
    ) -> None:
        self.layout, self.roles = layout, frozenset(tensors)
        self.name = f"transformers.models.{layout.official}"
        self._vocabulary = vocabulary
        self._settings = layout.settings(config)
        self._compact = None if vocabulary is None else self._numbered(vocabulary)
        with as_reason(NotCheckedError):
            self.module = self._build(config)
            self._load(layout.tensors(self._settings), tensors)

    def difference(self, decomposition: Decomposition) -> float:
        """The largest |difference| between `decomposition.output` and the official one on the same ids.

        Where both are not a number they are equal.

        Raises:
            NotCheckedError: the class cannot run with these ids.
        """
        with as_reason(NotCheckedError):
            official = self.run(
                decomposition.input_ids[None],
                decomposition.token_type_ids[None],
                decomposition.position_ids[None],
            )[0].numpy()
        ours = decomposition.output
        equal = (official == ours) | (np.isnan(official) & np.isnan(ours))
        return float(np.where(equal, 0.0, np.abs(official - ours)).max())

    @torch.inference_mode()
    def run(self, input_ids: np.ndarray, token_type_ids: np.ndarray, position_ids: np.ndarray) -> Tensor:
        """What enters the encoder, `(batch, seq_len, hidden_size)`, of ids `(batch, seq_len)`."""
        arguments = self._arguments(input_ids, token_type_ids, position_ids)
        captured: list[Tensor] = []
        entered = [part for name in self.layout.enters if (part := _submodule(self.module, name)) is not None]
        hooks = [
            part.register_forward_pre_hook(lambda _, given: captured.append(given[0])) for part in entered[:1]
        ]
        try:
            result = self.module(**arguments)
        finally:
            for hook in hooks:
                hook.remove()
        if captured:
            return captured[0]
        return result if isinstance(result, Tensor) else result[0]

    def _arguments(
        self, input_ids: np.ndarray, token_type_ids: np.ndarray, position_ids: np.ndarray
    ) -> dict[str, Any]:
        """The official arguments; both kinds of ids are always given where the class takes them."""
        accepted = signature(self.module.forward).parameters
        compact = self._compact
        if compact is not None:
            input_ids = np.vectorize(compact.__getitem__, otypes=[np.int64])(input_ids)
        ones = torch.ones(input_ids.shape, dtype=torch.long)
        given: dict[str, Any] = {
            "input_ids": torch.tensor(input_ids), "attention_mask": ones, "mask": ones, "use_cache": False,
            "bbox": torch.zeros((*input_ids.shape, 4), dtype=torch.long),
        }  # fmt: skip
        if "segment" in self.roles:
            types = torch.tensor(token_type_ids)
            if (columns := self.layout.segment_columns) > 1:
                types = nn.functional.pad(types[..., None], (0, columns - 1))
            given["token_type_ids"] = types
        if "position" in self.roles or self.layout.computed:
            first = self.layout.first_row(self._settings)
            usual = np.arange(input_ids.shape[1]) + first
            if "position_ids" not in accepted and not (position_ids == usual).all():
                raise NotCheckedError(f"{self.name} takes no position_ids")
            counted = position_ids - (first if self.layout.counted_from_zero else 0)
            given["position_ids"] = torch.tensor(counted)
        return {name: value for name, value in given.items() if name in accepted}

    def _build(self, config: Config) -> nn.Module:
        settings = {key: value for key, value in config.items() if key != "layer_types"}
        official = official_config(self.layout, settings)
        if self.layout.config_at is not None:
            official = getattr(official, self.layout.config_at)
        self._shrink(official)
        module_path, class_name = self.name.rsplit(".", 1)
        with BUILDING, torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
            module: nn.Module = getattr(import_module(module_path), class_name)(official)
        return module.eval()

    def _shrink(self, official: Any) -> None:
        """The config of a model without layers that has only the given words."""
        if self.layout.official_at != "embeddings":
            official.num_hidden_layers = 0
        if self._compact is None:
            return
        for key in {self.layout.pad, self.layout.mask_token} - {None}:
            if isinstance(key, str) and getattr(official, key, None) is not None:
                special = self._compact.setdefault(getattr(official, key), max(self._compact.values()) + 1)
                setattr(official, key, special)
        official.vocab_size = max(max(self._compact.values()) + 1, MIN_VOCABULARY)

    def _numbered(self, vocabulary: Sequence[int]) -> dict[int, int]:
        """Ids from 0 on for the given ones; a small padding id stays what it is, since some count positions from it."""
        pad = self.layout.pad if isinstance(self.layout.pad, int) else self._settings.get(self.layout.pad)
        kept = pad if isinstance(pad, int) and 0 <= pad < MIN_VOCABULARY else None
        free = (i for i in range(len(vocabulary) + 1) if i != kept)
        numbered = {token_id: next(free) for token_id in vocabulary if token_id != kept}
        return numbered if kept is None else {**numbered, kept: kept}

    @torch.no_grad()
    def _load(self, names: Mapping[str, Sequence[str]], tensors: Mapping[str, Tensor]) -> None:
        parameters = dict(self.module.named_parameters())
        at = f"{self.layout.official_at}." if self.layout.official_at else ""
        for role, tensor in tensors.items():
            name = next(name for name in names[role] if name.startswith(at))
            target: Tensor = parameters[name.removeprefix(at)]
            if role.startswith("constant_"):
                target = target[: len(tensor)]
            if role == "token" and self._compact is not None:
                target.zero_()
                target[[self._compact[i] for i in self._vocabulary or ()]] = tensor
                continue
            if target.shape != tensor.shape:
                raise NotCheckedError(
                    f"{name} has the shape {list(tensor.shape)}, {self.name} {list(target.shape)}"
                )
            target.copy_(tensor)


@contextmanager
def as_reason(kind: type[Exception]) -> Iterator[None]:
    """Whatever a class of transformers raises for input that it was not made for, as the reason of a `kind`."""
    try:
        yield
    except kind:
        raise
    except Exception as error:  # a stranger's code: hundreds of classes, each with errors of its own
        reason = str(error).strip() or type(error).__name__
        raise kind(reason.splitlines()[0]) from error


def official_config(layout: EmbeddingLayout, config: Config) -> Any:
    """The official config object of a config.json, whatever the architecture calls itself there."""
    from transformers import AutoConfig

    settings = json.loads(json.dumps(dict(config)), object_hook=_special_float)
    settings.pop("model_type", None)
    return type(AutoConfig.for_model(layout.model_type)).from_dict(settings)


def _special_float(entry: dict[str, Any]) -> Any:
    """Transformers writes infinity as `{"__float__": "Infinity"}`, since JSON has none."""
    return float(entry["__float__"]) if entry.keys() == {"__float__"} else entry


def _submodule(module: nn.Module, name: str) -> nn.Module | None:
    for step in name.split("."):
        module = getattr(module, step, None)  # type: ignore[assignment]  # some set an absent part to None
    return module

"""What rows of the table are written with: predicates on a config, and a row as what differs from another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from typing import Any

from embviz.embedding.layout import Config, EmbeddingLayout, Switch


def never(_: Config) -> bool:
    """Off."""
    return False


def flag(key: str) -> Switch:
    """On where a config entry is true."""
    return lambda config: bool(config[key])


def positive(key: str) -> Switch:
    """On where a config entry is a positive number."""
    return lambda config: (config[key] or 0) > 0


def differ(key: str, other: str = "hidden_size") -> Switch:
    """On where two sizes differ; a size that is not given is the other."""
    return lambda config: config[key] not in (None, config[other])


def root(width: str, switch: str | None = None) -> Callable[[Config], float]:
    """√width, where the switch says so."""
    return lambda config: sqrt(config[width]) if switch is None or config[switch] else 1.0


def like(row: EmbeddingLayout, model_type: str, name: str, official: str, **changes: Any) -> EmbeddingLayout:
    """Another architecture's row: what differs from a given one. Defaults are added to those it has."""
    defaults: Config = {**row.defaults, **changes.pop("defaults", {})}
    return replace(row, model_type=model_type, name=name, official=official, defaults=defaults, **changes)


def number(key: str) -> Callable[[Config], float]:
    """The number that a config entry states."""
    return lambda config: float(config[key])

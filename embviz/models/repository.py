"""What a folder and a repository of the Hub have in common: files with names and sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from embviz.errors import ModelError
from embviz.models.files import File, size_text

MAX_JSON = 1_000_000
"""Largest config.json or tokenizer_config.json that is read, in bytes; real ones have a few thousand."""

MAX_INDEX = 25_000_000
"""Largest index of a sharded checkpoint that is read, in bytes."""


class Repository(Protocol):
    """The files of one model, at one commit."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The files by name, with their sizes in bytes; those of sub-folders as `folder/file`."""

    def open(self, name: str) -> File:
        """A file that is read in pieces."""

    def read(self, name: str, *, keep: bool = False) -> bytes:
        """A small file as a whole.

        Args:
            name: one of `sizes`.
            keep: whether a copy may stay in the Hub cache of this machine.

        Raises:
            OSError: it cannot be read.
        """


def read_bytes(repository: Repository, name: str, limit: int, *, keep: bool = False) -> bytes:
    """A small file.

    Raises:
        ModelError: it is larger than `limit` bytes, or cannot be read.
    """
    size = repository.sizes[name]
    if size > limit:
        raise ModelError(
            "file_too_large", field="model", file=name, size=size_text(size), limit=size_text(limit)
        )
    try:
        return repository.read(name, keep=keep)
    except OSError as error:
        raise ModelError("file", field="model", file=name, reason=error) from error


def read_json(repository: Repository, name: str, limit: int = MAX_JSON) -> dict[str, Any]:
    """A small file as a JSON object.

    Raises:
        ModelError: it is too large, cannot be read, or is not a JSON object.
    """
    try:
        values = json.loads(read_bytes(repository, name, limit))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError("file", field="model", file=name, reason=f"it is not JSON ({error})") from error
    except RecursionError as error:
        raise ModelError("file", field="model", file=name, reason="it is nested too deeply") from error
    if not isinstance(values, dict):
        raise ModelError("file", field="model", file=name, reason="it is not a JSON object")
    return values

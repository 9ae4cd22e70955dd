"""Repositories that bring program code of their own, which never runs: which of them a row describes all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embviz.embedding.layouts import LAYOUTS
from embviz.errors import ModelError

AUTO_CLASSES = ("AutoModel", "AutoConfig")
"""The entries of `auto_map` that name code of the model; code of a tokenizer is looked at with the tokenizer."""


def check_code(name: str, config: Mapping[str, Any]) -> None:
    """Lets a repository pass whose code is its family's own, older than the class of transformers.

    Code of any other name may do anything, whatever model_type stands beside it: jina-embeddings-v2 says "bert" and
    has no position table.

    Args:
        name: what to call the repository.
        config: its config.json.

    Raises:
        ModelError: what its code makes of the input is not known.
    """
    auto_map = config.get("auto_map")
    if not isinstance(auto_map, dict):
        return
    named = {entry: code for entry, code in auto_map.items() if entry.startswith(AUTO_CLASSES)}
    if named and not _is_described(config, named):
        raise ModelError("custom_code", field="model", ref=name, model_type=config.get("model_type"))


def _is_described(config: Mapping[str, Any], named: Mapping[str, Any]) -> bool:
    """Whether all of the code is what the row of this model_type was published with, and the row says the same."""
    row = LAYOUTS.get(str(config.get("model_type")))
    if row is None or row.code is None:
        return False
    files = {f"configuration_{row.code}", f"modeling_{row.code}"}
    if not {_file(code) for code in named.values()} <= files:
        return False
    try:
        return row.code_agrees(config)
    except TypeError:  # a number that is none
        return False


def _file(code: Any) -> str | None:
    """The program file of `[owner/name--]file.Class`."""
    return code.rpartition("--")[2].partition(".")[0] if isinstance(code, str) else None

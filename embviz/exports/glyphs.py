"""Which characters no installed font can draw, and what to draw in their place."""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from typing import Any

import numpy as np


def replace_missing(spec: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The figure with its code point, `U+6771`, for each character that would be an empty box; and those characters."""
    missing = without_glyph(_strings(spec))
    replaced: dict[str, Any] = _renamed(spec, {ord(c): f"U+{ord(c):04X}" for c in missing})
    return replaced, missing


def without_glyph(typed: str) -> str:
    """The characters that no installed font has, as fontconfig knows; where there is no fontconfig, none."""
    visible = sorted({character for character in typed if unicodedata.category(character)[0] not in "CMZ"})
    command = shutil.which("fc-list")
    if command is None or all(map(str.isascii, visible)):
        return ""
    listed = subprocess.run([command, "--format", "%{charset} "], capture_output=True, check=False)  # noqa: S603
    ranges = [
        (int(first, 16), int(last or first, 16))
        for first, _, last in (entry.partition("-") for entry in listed.stdout.decode().split())
    ]
    return "".join(c for c in visible if not any(first <= ord(c) <= last for first, last in ranges))


def _strings(value: Any) -> str:
    """All text in a nest of dicts and lists, joined."""
    if isinstance(value, dict):
        return "".join(map(_strings, value.values()))
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype.kind in "OU"):
        return "".join(map(_strings, value))
    return value if isinstance(value, str) else ""


def _renamed(value: Any, names: dict[int, str]) -> Any:
    """The same nest with characters replaced in all text."""
    if not names:
        return value
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype.kind in "OU"):
        return [_renamed(item, names) for item in value]
    return value.translate(names) if isinstance(value, str) else value

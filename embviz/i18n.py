"""The words of embviz, by key: `locales/en.json` today, other languages as files beside it."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from math import copysign
from typing import TypeGuard

DEFAULT_LANGUAGE = "en"


def languages() -> tuple[str, ...]:
    """The codes of all languages that have a file, English first."""
    files = (resources.files(__package__) / "locales").iterdir()
    codes = {file.name.removesuffix(".json") for file in files if file.name.endswith(".json")}
    return (DEFAULT_LANGUAGE, *sorted(codes - {DEFAULT_LANGUAGE}))


@lru_cache
def catalogue(language: str = DEFAULT_LANGUAGE) -> dict[str, str]:
    """All texts of one language by key; a key that the language lacks comes in English."""
    file = resources.files(__package__) / "locales" / f"{language}.json"
    texts: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return texts if language == DEFAULT_LANGUAGE else {**catalogue(), **texts}


def text(key: str, language: str = DEFAULT_LANGUAGE, /, **values: object) -> str:
    """The text of a key with its values filled in (`str.format`); negative numbers have a true minus, U+2212.

    Raises:
        KeyError: there is no such key, which is a mistake in the code and not of a user.
    """
    shown = {name: _Negative(value) if _is_negative(value) else value for name, value in values.items()}
    return catalogue(language)[key].format(**shown)


class _Negative(float):
    """A negative number that is written with a true minus sign, and without any where nothing but zeros is left."""

    def __format__(self, spec: str) -> str:
        written = super().__format__(spec)
        zero = not any(digit in "123456789" for digit in written) and any(char == "0" for char in written)
        sign = "+" if spec.startswith("+") else ""
        return written.replace("-", sign if zero else "\u2212", 1)


def _is_negative(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and copysign(1, value) < 0

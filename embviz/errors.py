"""Errors that are meant for a user, each one plain sentence.

    EmbvizError
    ├── InputError          a text, an id or an option is wrong
    └── ModelError          a model cannot be opened or cannot be shown exactly
        └── StoppedError    its opening was stopped by the one who had asked for it

The command line prints the sentence and exits with 2; the page shows it at the field it belongs to.
"""

from __future__ import annotations

from typing import Any

from embviz.i18n import text

MAX_NAMED = 1_000
"""The most characters of a value that a sentence repeats."""


class EmbvizError(ValueError):
    """A mistake that its user can mend, said in one plain sentence.

    Args:
        key: the sentence, `error.<key>` in the catalogue of texts.
        field: the field of the Recipe it belongs to ("text", "model", …); None means the whole page.
        values: what the sentence names.
    """

    def __init__(self, key: str, /, *, field: str | None = None, **values: object) -> None:
        self.key, self.field = f"error.{key}", field
        self.values = {name: _named(value) for name, value in values.items()}
        super().__init__(_one_line(text(self.key, **self.values)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.key, self.field, self.values)

    def sentence(self, language: str) -> str:
        """The sentence in another language of the catalogue."""
        return _one_line(text(self.key, language, **self.values))


def _one_line(sentence: str) -> str:
    """The sentence without the line breaks that a value in it may have."""
    return " ".join(sentence.split())


def _again(kind: type[EmbvizError], key: str, field: str | None, values: dict[str, object]) -> EmbvizError:
    """The same error in another process or another copy."""
    return kind(key.removeprefix("error."), field=field, **values)


def _named(value: object) -> object:
    """A value as a sentence can name it: numbers as they are, words by their beginning where they are long."""
    if isinstance(value, int | float):
        return value
    words = str(value)
    return words if len(words) <= MAX_NAMED else words[: MAX_NAMED - 1] + "…"


class InputError(EmbvizError):
    """A text, an id or an option that cannot be used."""


class ModelError(EmbvizError):
    """A model that cannot be opened, or not shown exactly."""


class StoppedError(ModelError):
    """Opening a model was stopped by the one who had asked for it."""

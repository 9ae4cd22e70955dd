"""Errors that are meant for a user, each one plain sentence.

    EmbvizError
    ├── InputError          a text, an id or an option is wrong
    └── ModelError          a model cannot be opened or cannot be shown exactly
        └── StoppedError    its opening was stopped by the one who had asked for it

The command line prints the sentence and exits with 2; the page shows it at the field it belongs to.
"""

from __future__ import annotations

from embviz.i18n import text


class EmbvizError(ValueError):
    """A mistake that its user can mend, said in one plain sentence.

    Args:
        key: the sentence, `error.<key>` in the catalogue of texts.
        field: the field of the Recipe it belongs to ("text", "model", …); None means the whole page.
        values: what the sentence names.
    """

    def __init__(self, key: str, /, *, field: str | None = None, **values: object) -> None:
        self.key, self.field, self.values = f"error.{key}", field, values
        super().__init__(_one_line(text(self.key, **values)))

    def sentence(self, language: str) -> str:
        """The sentence in another language of the catalogue."""
        return _one_line(text(self.key, language, **self.values))


def _one_line(sentence: str) -> str:
    """The sentence without the line breaks that a value in it may have."""
    return " ".join(sentence.split())


class InputError(EmbvizError):
    """A text, an id or an option that cannot be used."""


class ModelError(EmbvizError):
    """A model that cannot be opened, or not shown exactly."""


class StoppedError(ModelError):
    """Opening a model was stopped by the one who had asked for it."""

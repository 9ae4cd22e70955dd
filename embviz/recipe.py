"""Recipe: everything a user chose, as plain values; to JSON, to a URL query, and back unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from textwrap import shorten
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlencode

from embviz.embedding.interventions import INTERVENTIONS, Intervention
from embviz.embedding.projection import MAX_COMPONENTS
from embviz.errors import InputError

MAX_CHARACTERS = 10_000
MAX_QUERY = 500_000
"""A query longer than this is not read: two texts of MAX_CHARACTERS, 12 letters an emoji, and changes are shorter."""
MAX_MODEL = 1_000
"""Characters of a model's reference; the Hub's ids and most paths are far shorter."""
MAX_WHAT_IF = 32
MAX_CHANGES = 100_000
"""Characters of all changes as JSON; ids of every token of a long text are a few ten thousand."""

PcaFit = Literal["input", "parts", "positions", "vocabulary"]
ColorBy = Literal["component", "segment", "position"]
DEFAULT_MODEL = "bundled"


@dataclass(frozen=True)
class Recipe:
    """Everything a user chose.

    Attributes:
        text: sentence A; may be empty.
        text_pair: sentence B; None, empty or white space only means a single sentence and becomes None.
        model: what `load_model` takes.
        revision: a branch, tag or commit of a model on the Hub; None, or blank, means its main branch.
        what_if: changes in the order in which they apply.
        pca_fit: what the PCA is fitted on: the sums of this input, all parts that are drawn, the position
            table, or a sample of the vocabulary.
        special_tokens: whether special tokens are fitted and drawn; they own the first axis where they are.
        pca_components: the principal components on the axes, counted from 1; three of them draw in 3-D.
        color_by: what the colours of the map mean.

    Raises:
        InputError: a value cannot be used; the sentence names it.
    """

    text: str = ""
    text_pair: str | None = None
    model: str = DEFAULT_MODEL
    revision: str | None = None
    what_if: tuple[Intervention, ...] = ()
    pca_fit: PcaFit = "input"
    special_tokens: bool = False
    pca_components: tuple[int, ...] = (1, 2)
    color_by: ColorBy = "component"

    def __post_init__(self) -> None:
        _check_text("text", self.text)
        if self.text_pair is not None:
            _check_text("text_pair", self.text_pair)
            if not self.text_pair.strip():
                object.__setattr__(self, "text_pair", None)
        _check_text("model", self.model, MAX_MODEL)
        if self.revision is not None:
            _check_text("revision", self.revision, MAX_MODEL)
            object.__setattr__(self, "revision", self.revision.strip() or None)
        _check_choice("pca_fit", self.pca_fit, get_args(PcaFit))
        _check_choice("color_by", self.color_by, get_args(ColorBy))
        _check_choice("special_tokens", self.special_tokens, (False, True))
        object.__setattr__(self, "pca_components", _components(self.pca_components))
        object.__setattr__(self, "what_if", _changes(self.what_if))

    def to_dict(self) -> dict[str, Any]:
        """Plain values by field name, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["pca_components"] = list(self.pca_components)
        values["what_if"] = _plain_changes(self.what_if)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """The Recipe of plain values; what is left out has its default.

        Raises:
            InputError: a key or a value is not one of a Recipe.
        """
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise InputError("recipe_field", found=unknown[0], known=", ".join(sorted(known)))
        return cls(**values)

    def to_json(self) -> str:
        """The Recipe as a JSON object."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """The Recipe of a JSON object.

        Raises:
            InputError: it is not JSON, or not a Recipe.
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError("recipe_json") from error
        if not isinstance(values, dict):
            raise InputError("recipe_json")
        return cls.from_dict(values)

    def to_query(self) -> str:
        """The Recipe as a URL query without `?`: the text, and every other field that is not as by default."""
        default = Recipe()
        pairs = [
            (field.name, _to_parameter(getattr(self, field.name)))
            for field in fields(self)
            if field.name == "text" or getattr(self, field.name) != getattr(default, field.name)
        ]
        return urlencode(pairs, errors="surrogatepass")

    @classmethod
    def from_query(cls, query: str) -> Recipe:
        """The Recipe of a URL query, with or without `?`; parameters of others are passed over.

        Raises:
            InputError: a value is not one of a Recipe.
        """
        if len(query) > MAX_QUERY:
            raise InputError("query_length", limit=MAX_QUERY)
        names = {field.name for field in fields(cls)}
        try:
            pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, errors="surrogatepass")
        except UnicodeDecodeError as error:
            raise InputError("query_utf8") from error
        return cls.from_dict({name: _from_parameter(name, value) for name, value in pairs if name in names})


def _check_text(name: str, value: object, limit: int = MAX_CHARACTERS) -> None:
    if not isinstance(value, str):
        raise InputError("not_text", field=name, name=name, kind=type(value).__name__)
    if len(value) > limit:
        raise InputError("text_too_long", field=name, length=len(value), limit=limit)


def _check_choice(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known or type(value) not in {type(choice) for choice in known}:
        raise InputError("choice", field=name, name=name, found=value, known=", ".join(map(str, known)))


def _components(value: object) -> tuple[int, ...]:
    numbers = tuple(value) if isinstance(value, list | tuple) else ()
    whole = all(type(n) is int and 1 <= n <= MAX_COMPONENTS for n in numbers)
    if not whole or len(set(numbers)) != len(numbers) or len(numbers) not in (2, 3):
        raise InputError("pca_components", field="pca_components", limit=MAX_COMPONENTS, found=value)
    return numbers


def _changes(value: object) -> tuple[Intervention, ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_WHAT_IF:
        raise _unknown_change(value)
    changes = tuple(_intervention(change) for change in value)
    length = len(json.dumps(_plain_changes(changes)))
    if length > MAX_CHANGES:
        raise InputError("what_if_too_long", field="what_if", length=length, limit=MAX_CHANGES)
    return changes


def _plain_changes(changes: tuple[Intervention, ...]) -> list[dict[str, Any]]:
    return [
        {
            "type": type(change).__name__,
            **{
                name: list(value) if isinstance(value, tuple) else value
                for name, value in vars(change).items()
            },
        }
        for change in changes
    ]


def _intervention(value: object) -> Intervention:
    if isinstance(value, Intervention):
        return value
    kind = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(kind, str) or kind not in INTERVENTIONS:
        raise _unknown_change(value)
    try:
        return INTERVENTIONS[kind](**{name: argument for name, argument in value.items() if name != "type"})
    except TypeError as error:
        known = ", ".join(field.name for field in fields(INTERVENTIONS[kind])) or "–"
        given = ", ".join(str(name) for name in value if name != "type") or "–"
        raise InputError("what_if_fields", field="what_if", kind=kind, known=known, given=given) from error


def _unknown_change(value: object) -> InputError:
    return InputError("what_if", field="what_if", found=shorten(repr(value), 80, placeholder="…"))


def _to_parameter(value: Any) -> str:
    """Text as it is, numbers and switches short, changes as JSON."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple) and all(type(n) is int for n in value):
        return ",".join(map(str, value))
    if isinstance(value, tuple):
        return json.dumps(_plain_changes(value), separators=(",", ":"))
    return str(value)


def _from_parameter(name: str, value: str) -> Any:
    if name == "special_tokens":
        return {"0": False, "1": True}.get(value, value)
    if name == "pca_components":
        return [int(n) if n.isascii() and n.isdigit() and len(n) < 4 else n for n in value.split(",")]
    if name == "what_if":
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError("recipe_json", field="what_if") from error
    return value

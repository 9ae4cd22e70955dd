"""The catalogue of texts and the code that asks it: no key is missing, and no sentence is dead."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

import embviz
from embviz.i18n import catalogue

PACKAGE = Path(embviz.__file__).parent
PREFIXES = {"text": "", "words": "", "Note": "note."}
"""What a call puts before its first argument; a class that ends with Error puts `error.`"""

JS_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
JS_TEMPLATE = re.compile(r"text\(`([^`]*)`")
JS_KEY = re.compile(r"[a-z]+(\.[a-z0-9_]+)+")


class Asked(NamedTuple):
    """A question to the catalogue: where, which key, and the values that stand there, None where not all do."""

    place: str
    pattern: str
    values: frozenset[str] | None

    @property
    def is_constant(self) -> bool:
        return "*" not in self.pattern


@lru_cache
def python_modules() -> dict[str, ast.Module]:
    files = sorted(PACKAGE.rglob("*.py"))
    return {str(file.relative_to(PACKAGE)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


@lru_cache
def scripts() -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(PACKAGE.glob("ui/static/*.js"))}


@lru_cache
def own_errors() -> frozenset[str]:
    """The classes whose first argument is a key: EmbvizError and what is derived from it."""
    known = {"EmbvizError"}
    classes = [
        (node.name, {base.id for base in node.bases if isinstance(base, ast.Name)})
        for tree in python_modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    for _ in classes:
        known |= {name for name, bases in classes if bases & known}
    return frozenset(known)


def prefix_of(call: ast.Call) -> str | None:
    """What this call puts before its key; None where it asks for no text."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return "error." if name in own_errors() else PREFIXES.get(name)


def keys_in(node: ast.expr) -> Iterator[str]:
    """The keys that an expression can be, `*` for what an f-string fills in; nothing for a variable."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from keys_in(node.body)
        yield from keys_in(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)


@lru_cache
def asked_in_python() -> tuple[Asked, ...]:
    found = []
    for name, tree in python_modules().items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
            prefix = prefix_of(call)
            if prefix is None or isinstance(call.args[0], ast.Starred):
                continue
            values = values_of(call)
            place = f"{name}:{call.lineno}"
            found += [Asked(place, prefix + key, values) for key in keys_in(call.args[0])]
    return tuple(found)


def values_of(call: ast.Call) -> frozenset[str] | None:
    """The names of the values of a call; None where some come in a mapping."""
    if isinstance(call.func, ast.Name) and call.func.id == "Note":
        mapping = call.args[1] if len(call.args) > 1 else ast.Dict([], [])
        if not isinstance(mapping, ast.Dict):
            return None
        keys = [key.value if isinstance(key, ast.Constant) else None for key in mapping.keys]
        return None if None in keys else frozenset(map(str, keys))
    names = [keyword.arg for keyword in call.keywords]
    return None if None in names else frozenset(map(str, names))


@lru_cache
def asked_in_scripts() -> tuple[Asked, ...]:
    """Every string in a script that begins like a key, and every template that `text` is called with."""
    kinds = {key.split(".")[0] for key in catalogue()}
    found = []
    for name, script in scripts().items():
        strings = (match.group(1) for match in JS_STRING.finditer(script))
        keys = [key for key in strings if JS_KEY.fullmatch(key) and key.split(".")[0] in kinds]
        templates = [re.sub(r"\$\{[^}]*\}", "*", match.group(1)) for match in JS_TEMPLATE.finditer(script)]
        found += [Asked(name, key, None) for key in [*keys, *templates]]
    return tuple(found)


@lru_cache
def literals() -> frozenset[str]:
    """Every string constant of Python, and every word of the scripts."""
    constants = {
        node.value
        for tree in python_modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return frozenset(constants).union(*(re.findall(r"\w+", script) for script in scripts().values()))


def as_regex(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", "(.+)"))


def is_filled_in(key: str, asked: Asked) -> bool:
    """Whether a pattern can become this key: what fills it in stands somewhere in the code as well."""
    match = as_regex(asked.pattern).fullmatch(key)
    return match is not None and all(part in literals() for part in match.groups())


def is_used(key: str) -> bool:
    asked = (*asked_in_python(), *asked_in_scripts(), *made_in_python())
    return (
        key in literals()
        or any(is_filled_in(key, question) for question in asked)
        or any(key == prefix + name for prefix, names in named_in_modules().items() for name in names)
    )


@lru_cache
def made_in_python() -> tuple[Asked, ...]:
    """The f-strings that begin like a key, wherever they stand."""
    kinds = tuple({f"{key.split('.')[0]}." for key in catalogue()})
    strings = (
        node
        for tree in python_modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
    )
    return tuple(Asked("", key, None) for node in strings for key in keys_in(node) if key.startswith(kinds))


@lru_cache
def named_in_modules() -> dict[str, frozenset[str]]:
    """By prefix: the constants of the modules that call with a variable, of which each may be what it holds."""
    found: dict[str, set[str]] = {"error.": set(), "note.": set()}
    for tree in python_modules().values():
        nodes = list(ast.walk(tree))
        calls = [node for node in nodes if isinstance(node, ast.Call) and node.args]
        prefixes = {prefix_of(call) for call in calls if not list(keys_in(call.args[0]))}
        constants = {
            node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for prefix in prefixes & set(found):
            found[str(prefix)] |= constants
    return {prefix: frozenset(names) for prefix, names in found.items()}


def keys_of_scripts() -> set[str]:
    return {
        key for key in catalogue() for asked in asked_in_scripts() if as_regex(asked.pattern).fullmatch(key)
    }


def placeholders(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_the_search_finds_the_questions_of_both_languages() -> None:
    """Otherwise the tests below would be true of nothing."""
    python = {asked.pattern for asked in asked_in_python()}

    assert {"page.title", "part.*", "error.text_too_long", "note.surrogates", "absent.*.*"} <= python
    assert "caption.heatmap_none" in python
    assert {"part.*", "cell.no_norm", "strip.option_special"} <= {a.pattern for a in asked_in_scripts()}
    assert {"EmbvizError", "InputError", "ModelError", "StoppedError"} <= own_errors()


@pytest.mark.parametrize("asked_in", [asked_in_python, asked_in_scripts])
def test_every_key_that_is_asked_for_is_there(asked_in: object) -> None:
    assert callable(asked_in)
    missing = {
        f"{asked.place} {asked.pattern}"
        for asked in asked_in()
        if not any(as_regex(asked.pattern).fullmatch(key) for key in catalogue())
    }

    assert not missing


def test_every_text_is_asked_for() -> None:
    assert not [key for key in catalogue() if not is_used(key)]


def test_every_text_gets_the_values_that_it_names() -> None:
    """Where all of them stand in the call; a missing one would be a KeyError in place of a sentence."""
    lacking = {
        f"{asked.place} {asked.pattern}": missing
        for asked in asked_in_python()
        if asked.is_constant and asked.values is not None and asked.pattern in catalogue()
        if (missing := placeholders(catalogue()[asked.pattern]) - asked.values)
    }

    # The page fills these in itself, in the browser.
    assert not {place: names for place, names in lacking.items() if place.split()[1] not in keys_of_scripts()}


def test_texts_of_the_scripts_have_plain_placeholders_only() -> None:
    """`words.js` replaces {name} and knows no format."""
    for key in keys_of_scripts():
        rest = re.sub(r"\{[A-Za-z_]\w*\}", "", catalogue()[key])
        assert not re.search(r"[{}]", rest), key


def test_every_text_is_one_that_str_format_reads() -> None:
    for key, sentence in catalogue().items():
        assert all(re.fullmatch(r"[a-z_]+", name) for name in placeholders(sentence)), key
        assert sentence == sentence.strip() or key.startswith("strip."), key

"""A Recipe goes to JSON and to a URL query and back unchanged, and refuses what is none with one sentence."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args
from urllib.parse import parse_qs, quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import embviz
from embviz import InputError, Recipe
from embviz.embedding.interventions import INTERVENTIONS, Intervention
from embviz.recipe import ColorBy, PcaFit
from tests.reference.examples import examples

# Everything a str can hold: control characters, lone surrogates, unassigned code points, what a URL takes apart.
ANYTHING = st.text(st.characters(codec=None), max_size=60) | st.text(
    "&=%+#;? \n\x00\ud800\udfffé𝄞", max_size=60
)
NUMBERS = st.floats(-100, 100, allow_nan=False) | st.integers(-100, 100)
SEEDS, INDICES = st.integers(0, 2**32 - 1), st.integers(0, 10**12)
IDS = st.lists(INDICES, max_size=6).map(tuple)
KINDS: dict[str, st.SearchStrategy[Intervention]] = {
    "ReplaceToken": st.builds(embviz.ReplaceToken, INDICES, ANYTHING.filter(bool)),
    "SetSegments": st.builds(embviz.SetSegments, IDS),
    "FlipSegment": st.builds(embviz.FlipSegment, INDICES),
    "SwapSegments": st.just(embviz.SwapSegments()),
    "AllSegments": st.builds(embviz.AllSegments, INDICES),
    "MeanSegments": st.just(embviz.MeanSegments()),
    "ScaleSegmentDifference": st.builds(embviz.ScaleSegmentDifference, NUMBERS),
    "ShiftPositions": st.builds(embviz.ShiftPositions, st.integers(-600, 600), st.booleans()),
    "ReversePositions": st.builds(embviz.ReversePositions, st.booleans()),
    "ShufflePositions": st.builds(embviz.ShufflePositions, SEEDS, st.booleans()),
    "ConstantPosition": st.builds(embviz.ConstantPosition, INDICES),
    "SetPositions": st.builds(embviz.SetPositions, IDS),
    "MovePosition": st.builds(embviz.MovePosition, INDICES, INDICES),
    "Scale": st.builds(embviz.Scale, st.sampled_from(["token", "segment", "position"]), NUMBERS),
    "NoLayerNorm": st.just(embviz.NoLayerNorm()),
    "LayerNormEps": st.builds(embviz.LayerNormEps, st.floats(1e-20, 100)),
    "Dropout": st.builds(embviz.Dropout, st.floats(0, 1) | st.integers(0, 1), SEEDS),
}
CHANGES = st.one_of(*KINDS.values())
RECIPES = st.builds(
    Recipe,
    text=ANYTHING,
    text_pair=st.none() | ANYTHING,
    model=ANYTHING,
    what_if=st.lists(CHANGES, max_size=4).map(tuple),
    pca_fit=st.sampled_from(get_args(PcaFit)),
    special_tokens=st.booleans(),
    pca_components=st.lists(st.integers(1, 10), min_size=2, max_size=3, unique=True).map(tuple),
    color_by=st.sampled_from(get_args(ColorBy)),
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANYTHING,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANYTHING, inner, max_size=3),
    max_leaves=6,
)
FIELD_NAMES = [field.name for field in fields(Recipe)]


@examples(100)
@given(RECIPES)
def test_query_brings_back_the_same_recipe(recipe: Recipe) -> None:
    assert Recipe.from_query(recipe.to_query()) == recipe
    assert Recipe.from_query("?" + recipe.to_query()) == recipe


def test_every_change_is_tried() -> None:
    assert set(KINDS) == set(INTERVENTIONS)


@pytest.mark.parametrize("kind", KINDS)
@examples(20)
@given(data=st.data())
def test_each_change_comes_back_as_it_was(kind: str, data: st.DataObject) -> None:
    """By a query, by JSON, and as plain values, where a tuple is a list; it can be a key on every way."""
    change = data.draw(KINDS[kind])
    recipe = Recipe("hello", what_if=(change,))

    assert Recipe.from_query(recipe.to_query()).what_if == (change,)
    assert Recipe.from_json(recipe.to_json()).what_if == (change,)
    plain = recipe.to_dict()["what_if"]
    assert plain[0]["type"] == kind
    assert not any(isinstance(value, tuple) for value in plain[0].values())
    assert {change: 1}[Recipe.from_dict({"what_if": plain}).what_if[0]] == 1


def test_a_change_for_every_token_of_a_long_text_fits_into_a_query() -> None:
    ids = tuple(range(4_096))
    recipe = Recipe("👩" * 10_000, "👩" * 10_000, what_if=(embviz.SetPositions(ids), embviz.SetSegments(ids)))

    assert Recipe.from_query(recipe.to_query()) == recipe


def test_changes_that_no_query_could_hold_are_refused() -> None:
    with pytest.raises(InputError, match=r"changes have .* the limit is 100,000") as refused:
        Recipe("", what_if=(embviz.SetPositions((1_000,) * 8_192),) * 5)

    assert refused.value.field == "what_if"


@examples(100)
@given(RECIPES)
def test_query_is_ascii_without_white_space(recipe: Recipe) -> None:
    """It can stand in an address as it is."""
    query = recipe.to_query()

    assert query.isascii()
    assert query == "".join(query.split())
    assert "#" not in query


@examples(100)
@given(RECIPES)
def test_json_brings_back_the_same_recipe(recipe: Recipe) -> None:
    """JSON has no halves of a pair side by side: it reads them as the character that they make."""
    back = Recipe.from_json(recipe.to_json())

    assert back.to_dict() == _paired(recipe.to_dict())
    assert Recipe.from_dict(recipe.to_dict()) == recipe


@examples(100)
@given(RECIPES)
def test_recipe_is_a_key(recipe: Recipe) -> None:
    assert {recipe: 1}[Recipe.from_dict(recipe.to_dict())] == 1


def test_nothing_means_the_default_recipe() -> None:
    """The text is always there, so that an address of an empty input differs from one that names no view."""
    assert Recipe().to_query() == "text="
    assert (
        Recipe.from_query("text=")
        == Recipe.from_query("")
        == Recipe.from_query("?")
        == Recipe.from_json("{}")
        == Recipe()
    )


@examples(100)
@given(RECIPES)
def test_query_has_the_text_and_leaves_defaults_out(recipe: Recipe) -> None:
    changed = {name for name in FIELD_NAMES if getattr(recipe, name) != getattr(Recipe(), name)}

    # Python's own reader of queries; what the surrogates become does not matter here.
    assert set(parse_qs(recipe.to_query(), keep_blank_values=True)) == {"text", *changed}


def test_query_is_readable() -> None:
    """A query that a person writes by hand is understood; the names are those of the fields."""
    query = "text=my+dog%20is&text_pair=cute&special_tokens=1&pca_components=1,2,3&pca_fit=positions"

    assert Recipe.from_query(query) == Recipe(
        "my dog is", "cute", special_tokens=True, pca_components=(1, 2, 3), pca_fit="positions"
    )


@pytest.mark.parametrize("blank", ["", " ", "\t\r\n", "\u3000", "\u00a0 \u2003"])
def test_blank_second_sentence_means_a_single_one(blank: str) -> None:
    """On every path: the constructor, plain values, JSON, the query."""
    single = Recipe("hello")

    assert Recipe("hello", blank) == single
    assert Recipe.from_dict({"text": "hello", "text_pair": blank}) == single
    assert Recipe.from_json(json.dumps({"text": "hello", "text_pair": blank})) == single
    assert Recipe.from_query(f"text=hello&text_pair={quote(blank)}") == single
    assert single.text_pair is None


def test_parameters_of_others_are_passed_over() -> None:
    """Gradio and hosting services add their own (`__theme`, `__sign`)."""
    assert Recipe.from_query("__theme=dark&text=hello&utm_source=x") == Recipe("hello")


def test_json_of_another_thing_is_refused() -> None:
    """Unlike a query, JSON has one writer: an unknown field is a mistake, and it is named."""
    with pytest.raises(InputError, match="colour"):
        Recipe.from_json('{"colour": "red"}')


@pytest.mark.parametrize("field", ["text", "text_pair"])
def test_longest_text_is_10_000_characters(field: str) -> None:
    """The refusal says both numbers and belongs to the field."""
    Recipe.from_dict({field: "a" * 10_000})
    with pytest.raises(InputError, match=r"10,001 .*10,000") as refused:
        Recipe.from_dict({field: "a" * 10_001})

    assert refused.value.field == field


@pytest.mark.parametrize("character", ["a", "é", "語", "👩"])
def test_longest_texts_fit_into_a_query(character: str) -> None:
    recipe = Recipe(character * 10_000)

    assert Recipe.from_query(recipe.to_query()) == recipe


def _change(**values: Any) -> str:
    return "what_if=" + quote(json.dumps([values]))


@pytest.mark.parametrize(
    "query",
    [
        "pca_fit=all",
        "color_by=",
        "special_tokens=2",
        "special_tokens=true",
        "pca_components=",
        "pca_components=1",
        "pca_components=1,1",
        "pca_components=0,1",
        "pca_components=1,11",
        "pca_components=1,2,3,4",
        "pca_components=%C2%B2,1",
        "pca_components=1,99999999999999999999",
        "what_if=",
        "what_if=%00",
        "what_if=1",
        "what_if=null",
        "what_if={}",
        "what_if=[[]]",
        "what_if=" + "[" * 50_000,
        "what_if=[" + "9" * 5_000 + "]",
        "what_if=" + json.dumps([{"type": "SwapSegments"}] * 33),
        _change(type="__import__"),
        _change(type="SwapSegments", extra=1),
        _change(type="ShiftPositions"),
        _change(type="ShiftPositions", k=1.5),
        _change(type="ShiftPositions", k=True),
        _change(type="Scale", component="summed", factor=1),
        _change(type="Scale", component="token", factor=float("nan")),
        _change(type="Scale", component="token", factor=float("inf")),
        _change(type="Scale", component="token", factor=101),
        "text=" + "a" * 10_001,
        "x" * 1_000_000,
        "text=%FF",
        _change(type=["SwapSegments"]),
        _change(type="Scale", component="token", factor=10**400),
        _change(type="ShiftPositions", k=1, keep_first=[1]),
        _change(type="SetSegments", ids="0101"),
        _change(type="SetSegments", ids=[0, [1]]),
        _change(type="SetPositions", ids=[0.5]),
        _change(type="SetPositions", ids={"0": 1}),
        _change(type="SetPositions", ids=[0] * 8_193),
        _change(type="FlipSegment", index=-1),
        _change(type="FlipSegment", index=None),
        _change(type="MovePosition", index=0),
        _change(type="Dropout", p=2),
        _change(type="Dropout", p=0.5, seed=-1),
        _change(type="LayerNormEps", eps=0),
        _change(type="NoLayerNorm", eps=0),
        _change(type="ReplaceToken", index=0, piece=""),
        _change(type="ReplaceToken", index=0, piece=["the"]),
        _change(type="ScaleSegmentDifference", k="3"),
        _change(type="TokenIds"),
    ],
    ids=lambda query: query[:60],
)
def test_hostile_query_is_refused_with_a_sentence(query: str) -> None:
    with pytest.raises(InputError) as refused:
        Recipe.from_query(query)

    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    "values",
    [
        "",
        "nothing",
        "[]",
        "1",
        "NaN",
        '{"text": "a"',
        '{"what_if": {"type": "SwapSegments"}}',
        '{"special_tokens": 1}',
        '{"pca_components": [1.0, 2]}',
        '{"pca_components": null}',
        '{"pca_fit": {}}',
        '{"text": 1}',
        '{"text": null}',
        '{"model": null}',
        "[" * 100_000,
    ],
    ids=lambda values: values[:40],
)
def test_hostile_json_is_refused_with_a_sentence(values: str) -> None:
    with pytest.raises(InputError) as refused:
        Recipe.from_json(values)

    assert str(refused.value).endswith(".")


@examples(100)
@given(st.sampled_from(FIELD_NAMES), ANYTHING)
@example("text", "a&text_pair=b#c")
def test_any_value_in_a_query_is_a_recipe_or_refused(name: str, value: str) -> None:
    """Never another exception, whatever stands in the address; a Recipe that comes out keeps its promises."""
    try:
        recipe = Recipe.from_query(f"{name}={quote(value, errors='surrogatepass')}")
    except InputError:
        return
    assert Recipe.from_query(recipe.to_query()) == recipe


@examples(100)
@given(st.sampled_from(FIELD_NAMES), JSON_VALUES)
def test_any_value_in_json_is_a_recipe_or_refused(name: str, value: Any) -> None:
    """The same for JSON, where a value need not be text."""
    try:
        recipe = Recipe.from_dict({name: value})
    except InputError:
        return
    assert Recipe.from_dict(recipe.to_dict()) == recipe


def _paired(value: Any) -> Any:
    """The same nest with pairs of surrogates joined, as JSON reads them (RFC 8259, section 7)."""
    if isinstance(value, dict):
        return {key: _paired(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_paired(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return value

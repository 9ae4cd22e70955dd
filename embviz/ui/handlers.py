"""What the page asks for: plain values in, JSON for the views and sentences for the fields out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qs, parse_qsl

from embviz.errors import EmbvizError, InputError, ModelError
from embviz.i18n import text as words
from embviz.recipe import DEFAULT_MODEL, MAX_QUERY, Recipe

EXAMPLE = Recipe(text="The bank raised interest rates.", text_pair="We sat on the river bank.")
"""What the page opens with."""

FIELDS = ("text", "text_pair", "model", "what_if", "page")
"""Where a sentence can stand on the page."""

MAX_NOTES = 2
"""Sentences under one field; notes about single tokens stand at their tokens as well."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What the page gets back.

    Attributes:
        recipe: what was asked for, or what is shown instead.
        parts: the decomposition, docs/payload.md; None keeps the last good view.
        map: the projection; None keeps the last good view.
        messages: one sentence for each of `FIELDS`, or "".
        failed: whether the sentences say why what was asked for is not what is shown.
        opening: JSON for the page's opening panel: which model has to be opened first, or how that ended.
    """

    recipe: Recipe
    parts: str | None = None
    map: str | None = None
    messages: dict[str, str] = field(default_factory=lambda: dict.fromkeys(FIELDS, ""))
    failed: bool = False
    opening: str | None = None


def show(text: str, text_pair: str | None, model: str, **choices: Any) -> Shown:
    """The views of what the form says.

    Args:
        text: sentence A.
        text_pair: sentence B; blank means a single sentence.
        model: what `load_model` takes.
        choices: other fields of the Recipe.
    """
    values = {"text": text, "text_pair": text_pair, "model": model, **choices}
    return _answer(lambda: _if_ready(Recipe.from_dict(values), draw))


def open_query(query: str) -> Shown:
    """The views of the page's address; the example where it names no text, or cannot be used."""
    try:
        recipe = Recipe.from_query(query)
        asked = parse_qs(query.removeprefix("?"), keep_blank_values=True, errors="surrogatepass")
        if "text" not in asked and "text_pair" not in asked:
            recipe = replace(recipe, text=EXAMPLE.text, text_pair=EXAMPLE.text_pair)
        if _is_ready(recipe):
            return draw(recipe)
        return replace(draw(EXAMPLE), recipe=recipe, opening=_ask_to_open(recipe, meanwhile=True))
    except EmbvizError as error:
        rescued = _texts_of(query)
        shown = _answer(lambda: draw(rescued))
        key = "page.bad_address" if rescued is EXAMPLE else "page.bad_choice"
        messages = {**dict.fromkeys(FIELDS, ""), "page": words(key, reason=error)}
        return shown if shown.failed else replace(shown, messages=messages, failed=True)


def _texts_of(query: str) -> Recipe:
    """The texts of an address that has something else wrong with it; the example where it has none."""
    asked = dict(parse_qsl(query[:MAX_QUERY].removeprefix("?"), keep_blank_values=True, errors="replace"))
    try:
        return Recipe(text=asked["text"], text_pair=asked.get("text_pair"))
    except (KeyError, EmbvizError):
        return EXAMPLE


def window(query: str, start: int) -> Shown:
    """The views of another stretch of a long input, from token `start` on."""
    return _answer(lambda: _if_ready(Recipe.from_query(query), draw, _whole("start", start)))


def map_only(query: str, **choices: Any) -> Shown:
    """The map of the same input with other choices; `parts` stays as it is."""
    return _answer(
        lambda: _if_ready(Recipe.from_dict({**Recipe.from_query(query).to_dict(), **choices}), _draw_map)
    )


def change(query: str, what_if: Any, start: int = 0) -> Shown:
    """The views of the same input with other changes.

    Args:
        query: the Recipe of what is on the page.
        what_if: its new changes, plain values as in a Recipe's JSON.
        start: the first token whose vectors are sent.
    """

    def changed() -> Shown:
        recipe = Recipe.from_dict({**Recipe.from_query(query).to_dict(), "what_if": what_if})
        first = _whole("start", start)
        return _if_ready(recipe, _draw_exactly, first)

    return _answer(changed)


def verify(query: str) -> str:
    """The verified mark as JSON: `state` ("ok", "different" or "unknown"), `value` and one sentence."""
    from embviz.analysis import decompose
    from embviz.embedding.verification import TOLERANCE

    try:
        recipe = Recipe.from_query(query)
        # It may have left the few that stay open: whoever waits for a mark must not open it.
        if not _is_ready(recipe):
            raise ModelError("verify_closed", field="model", ref=unopened(recipe))
        _, decomposition = decompose(recipe)
    except EmbvizError as error:
        return json.dumps({"query": query, "state": "unknown", "value": None, "text": str(error)})
    value = decomposition.verified
    if value is None:
        state, sentence = "unknown", decomposition.verified_note
    elif value <= TOLERANCE:
        state, sentence = "ok", words("verified.ok", value=f"{value:.0e}" if value else "0")
    else:
        state, sentence = "different", words("verified.different", value=value, tolerance=TOLERANCE)
    note = decomposition.verified_note
    return json.dumps({"query": query, "state": state, "value": value, "text": sentence, "note": note})


def explain(
    text: str,
    text_pair: str = "",
    model: str = DEFAULT_MODEL,
    vectors: bool = False,
) -> dict[str, Any]:
    """Take the input layer's answer to a text or a pair apart.

    Args:
        text: sentence A.
        text_pair: sentence B; blank means a single sentence.
        model: "bundled", "untrained:all-MiniLM-L6-v2", "untrained:bert-base" or an id of the Hugging Face Hub.
        vectors: whether the arrays are wanted too.

    Returns:
        The JSON of `python -m embviz explain --json`: model, tokens, ids, shape, verified, absent, notes.
    """
    import gradio as gr

    from embviz.analysis import analyze
    from embviz.exports import explain_dict

    try:
        if not isinstance(vectors, bool):
            raise InputError("choice", name="vectors", found=vectors, known="true, false")
        return explain_dict(analyze(Recipe(text=text, text_pair=text_pair, model=model)), vectors=vectors)
    except EmbvizError as error:
        raise gr.Error(str(error), print_exception=False) from error


def sendable(text: str) -> str:
    """The text as it can be sent: UTF-8 has no lone surrogates."""
    from embviz.models.tokenizer import repair_surrogates

    return repair_surrogates(text)


def _answer(draw: Callable[[], Shown]) -> Shown:
    """The views, or the sentence that says why not, at its field."""
    try:
        return draw()
    except EmbvizError as error:
        return Shown(EXAMPLE, messages=_at_field(error), failed=True)


def _at_field(error: EmbvizError) -> dict[str, str]:
    return messages_of(error.field, str(error))


def messages_of(field: str | None, sentence: str) -> dict[str, str]:
    """One sentence at its field, or at the page where it belongs to none; nothing at the others."""
    return {**dict.fromkeys(FIELDS, ""), field if field in FIELDS else "page": sentence}


def unopened(recipe: Recipe) -> str:
    """What to call a model that is not open yet."""
    return recipe.model if recipe.revision is None else f"{recipe.model}@{recipe.revision}"


def _is_ready(recipe: Recipe) -> bool:
    """Whether the answer needs no network; what does is given to opening.py, so that no drawing waits behind it."""
    from embviz.models.loading import is_at_hand

    return is_at_hand(recipe.model, recipe.revision, recipe.text, recipe.text_pair)


def _ask_to_open(recipe: Recipe, start: int = 0, *, meanwhile: bool = False) -> str:
    """Tells the page which model it has to have opened first; see opening.py.

    Args:
        recipe: what is wanted.
        start: the first token whose vectors are wanted.
        meanwhile: whether another input is drawn for so long, which the page must not take for what is wanted.
    """
    asked = {"state": "ask", "id": token_hex(8), "ref": unopened(recipe), "query": recipe.to_query()}
    return json.dumps({**asked, "start": start, "meanwhile": meanwhile})


def _if_ready(recipe: Recipe, drawing: Callable[[Recipe, int], Shown], start: int = 0) -> Shown:
    """The drawing of a Recipe from token `start` on, or the question to have its model opened first."""
    return drawing(recipe, start) if _is_ready(recipe) else Shown(recipe, opening=_ask_to_open(recipe, start))


def draw(recipe: Recipe, start: int = 0) -> Shown:
    """The views of a Recipe; opens its model where it is not open.

    Changes that do not fit another text or another model are left out, which is said beside their controls.

    Raises:
        EmbvizError: something in the Recipe cannot be used.
    """
    try:
        return _draw_exactly(recipe, start)
    except EmbvizError as error:
        if error.field != "what_if" or not recipe.what_if:
            raise
        shown = _draw_exactly(replace(recipe, what_if=()), start)
        said = words("page.changes_left_out", reason=error)
        return replace(shown, messages={**shown.messages, "what_if": said}, failed=True)


def _draw_exactly(recipe: Recipe, start: int) -> Shown:
    from embviz.analysis import analyze
    from embviz.ui.payload import map_json, parts_json

    analysis = analyze(recipe)
    messages = dict.fromkeys(FIELDS, "")
    for name in ("text", "text_pair"):  # what is said about the model stands in its card
        about = [note.sentence() for note in analysis.after.notes if note.about == name]
        messages[name] = " ".join(about[:MAX_NOTES])
    return Shown(recipe, parts_json(analysis, start), map_json(analysis), messages)


def _draw_map(recipe: Recipe, _: int) -> Shown:
    from embviz.analysis import analyze
    from embviz.ui.payload import map_json

    return Shown(recipe, None, map_json(analyze(recipe)))


def _whole(name: str, value: object) -> int:
    if type(value) is not int:
        raise InputError("whole_number", name=name, found=value)
    return value

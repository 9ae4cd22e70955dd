"""What the wires of the page call: a Gradio event in, the values of its outputs out; handlers.py draws."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gradio as gr

from embviz.recipe import DEFAULT_MODEL
from embviz.ui import handlers, opening
from embviz.ui.beside import beside
from embviz.ui.suggestions import EXAMPLES

_IDLE = json.dumps({"state": "idle"})


def open_address(query: str) -> list[Any]:
    """The form and the views of the Recipe in the page's address."""
    return _form_and_views(handlers.open_query(query or ""))


def show(text: str, text_pair: str, model: str, options: str) -> list[Any]:
    """The views of what the form says, drawn with the choices above the map."""
    return _views(handlers.show(text, text_pair, _named(model), **_map_choices(json.loads(options))))


def swap(text: str, text_pair: str, model: str, options: str) -> list[Any]:
    """The same with the two sentences exchanged, which the browser has done already."""
    shown = handlers.show(text, text_pair, _named(model), **_map_choices(json.loads(options)))
    return [text, text_pair, gr.skip(), *_views(shown)]


def example(event: gr.EventData) -> list[Any]:
    """The form and the views of one of the examples, for the model that is chosen."""
    sentences = EXAMPLES.get(event.key)
    if sentences is None:
        return [gr.skip()] * (3 + 3 + len(handlers.FIELDS))
    shown = handlers.show(*sentences, event.model, **_map_choices(event.options))
    return [*sentences, event.model, *_views(shown)]


def move_window(event: gr.EventData) -> list[Any]:
    """The views of another stretch of a long input."""
    return _views(handlers.window(event.query, event.start), settles=False)


def change(event: gr.EventData) -> list[Any]:
    """The views of the same input with other changes."""
    return _views(handlers.change(event.query, event.what_if, event.start))


def draw_map(event: gr.EventData) -> list[Any]:
    """The map of the same input with other choices."""
    shown = handlers.map_only(event.query, **_map_choices(event.options))
    if shown.map is None:
        return _views(shown)
    # The sentences under the form are about the input, which is the same as before.
    return [gr.skip(), _sent(shown.map), gr.skip(), *(gr.skip() for _ in handlers.FIELDS)]


def open_model(event: gr.EventData) -> Iterator[list[Any]]:
    """How far the opening of a model is, and then the views, or why there are none."""
    skips = [gr.skip() for _ in handlers.FIELDS]
    for step in opening.open_views(event.query, event.token, event.start, download=event.download is True):
        if isinstance(step, str):
            yield [gr.skip(), gr.skip(), _no_markup(step), *skips]
        else:
            yield _views(step)


def cancel(event: gr.EventData) -> None:
    """Stops an opening."""
    opening.cancel(event.token)


def verify(event: gr.EventData) -> str:
    """The verified mark, as JSON for the model's card."""
    return handlers.verify(event.query)


def through_layers(event: gr.EventData) -> str:
    """The answer of the tab Layers, as JSON for its view."""
    from embviz.ui.layers_view import layers  # numpy and the figures arrive after the first answer

    return _no_markup(layers(event.query, event.start, download=event.download is True))


def side_by_side(event: gr.EventData) -> str:
    """Two inputs side by side, as JSON for their tab."""
    return _no_markup(beside(event.query, event.other))


def _map_choices(options: dict[str, Any]) -> dict[str, Any]:
    """The Recipe's fields that the map's toolbar and the what-if set; nothing else that a browser may send."""
    names = ("pca_fit", "special_tokens", "pca_components", "color_by", "what_if")
    return {name: options[name] for name in names if name in options}


def _form_and_views(shown: handlers.Shown) -> list[Any]:
    recipe = shown.recipe
    text, pair = handlers.sendable(recipe.text), handlers.sendable(recipe.text_pair or "")
    return [text, pair, handlers.unopened(recipe), *_views(shown)]


def _named(model: str | None) -> str:
    """The model as it was typed; an empty box means the one that is always there."""
    return (model or "").strip() or DEFAULT_MODEL


def _views(shown: handlers.Shown, *, settles: bool = True) -> list[Any]:
    """The values of the outputs: `parts`, `map`, `opening`, one notice a field; None keeps the last good view.

    With `settles` these views are what was asked for last, so that no opening is waited for any more.
    """
    kind = "error" if shown.failed else "notice"
    notices = [json.dumps({"kind": kind, "text": shown.messages.get(field, "")}) for field in handlers.FIELDS]
    panel = shown.opening or (_IDLE if settles and shown.parts else None)
    return [_sent(shown.parts), _sent(shown.map), _sent(panel), *map(_no_markup, notices)]


def _sent(value: str | None) -> Any:
    return gr.skip() if value is None else _no_markup(value)


def _no_markup(value: str) -> str:
    """The same JSON without a single `<`: whatever a browser or a proxy makes of it, it holds no markup."""
    return value.replace("<", "\\u003c")

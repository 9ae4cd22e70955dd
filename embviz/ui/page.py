"""The page: what stands where, and which wire leads from which control to which handler.

Everything that is drawn comes from two JSON strings (docs/payload.md) that the browser keeps in one store;
selecting a token or a dimension therefore needs no wire at all. A wire only asks for other numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypedDict

import gradio as gr
from gradio.events import api as add_endpoint

from embviz.i18n import text
from embviz.recipe import DEFAULT_MODEL
from embviz.ui import handlers, opening
from embviz.ui.plotview import create_mailbox, create_notice, create_view
from embviz.ui.suggestions import EXAMPLES, choices
from embviz.ui.tabs import (
    create_changes_tab,
    create_heatmap_tab,
    create_layers_tab,
    create_map_tab,
    create_table_tab,
)


class Wire(TypedDict):
    """Settings that every wire to a handler shares."""

    show_progress: str
    api_visibility: str
    trigger_mode: str
    concurrency_id: str
    concurrency_limit: int


# Two computations at a time kept a class of thirty fastest; all wires share that one limit.
_WIRE: Wire = {
    "show_progress": "hidden",
    "api_visibility": "private",
    "trigger_mode": "always_last",
    "concurrency_id": "compute",
    "concurrency_limit": 2,
}
# The mark takes seconds the first time: it has a place of its own, so that no drawing waits behind it.
_VERIFY: Wire = {**_WIRE, "concurrency_id": "verify", "concurrency_limit": 1}
# The layers take a second, or a download: no drawing waits behind them either.
# The view asks one thing at a time; of questions that overlap, "always_last" was seen to lose the last.
_LAYERS: Wire = {**_WIRE, "trigger_mode": "multiple", "concurrency_id": "layers", "concurrency_limit": 2}
# An opening waits for a distant server most of its time; each has its own, whatever the browser asks meanwhile.
_OPENING: Wire = {
    **_WIRE,
    "trigger_mode": "multiple",
    "concurrency_id": "opening",
    "concurrency_limit": 4,
}

# The choices above the map live in the browser; they travel with every Show, in the place of an unseen box.
_ASK = "(text, pair, model) => [text, pair, model, window.embviz.ask()]"
_ASK_SWAPPED = "(text, pair, model) => [pair, text, model, window.embviz.ask()]"
# A Recipe too long for a request line stands after the #, which no browser sends (static/address.js).
_ADDRESS = "() => [new URLSearchParams(location.hash.slice(1)).get('r') ?? location.search.slice(1)]"
_IDLE = json.dumps({"state": "idle"})
_SETTLED = "() => window.embviz.settled()"
_FAILED = "() => window.embviz.failed()"
_LAYERS_SETTLED = "() => window.embviz.layersSettled()"
_LAYERS_FAILED = "() => window.embviz.layersSettled(true)"
_NOT_OPENED = "() => window.embviz.notOpened()"


@dataclass(frozen=True, eq=False)
class Form:
    """The components that a user fills in, and the views that report something."""

    text: gr.Textbox
    text_pair: gr.Textbox
    model: gr.Dropdown
    show: gr.Button
    swap: gr.Button
    options: gr.Textbox
    examples: gr.HTML
    card: gr.HTML
    opening: gr.HTML

    @property
    def recipe(self) -> list[Any]:
        """The three fields that an opened link or an example fills in."""
        return [self.text, self.text_pair, self.model]


def build_page() -> gr.Blocks:
    """The page as a Gradio app that nobody has launched yet; `server.serve` launches it as it is meant to be."""
    page: gr.Blocks
    with gr.Blocks(
        title=text("page.title"), fill_width=True, analytics_enabled=False, delete_cache=(3600, 3600)
    ) as page:
        create_view("header")
        notices = {"page": create_notice("page")}
        mailboxes = [create_mailbox("parts"), create_mailbox("map")]
        with gr.Row(elem_id="embviz-page"):
            form = _create_form(notices)
            strip = create_view("strip", events=("window",))
            with gr.Tabs(elem_id="embviz-tabs"):
                projection = create_map_tab()
                create_heatmap_tab()
                create_changes_tab()
                layers = create_layers_tab()
                create_table_tab()
            create_view("cell")
        create_view("footer")
        outputs = [*mailboxes, form.opening, *(notices[field] for field in handlers.FIELDS)]
        _wire_form(page, form, outputs)
        _wire_views(form, strip, projection, outputs)
        answered = layers.layers(_layers, None, layers, **_LAYERS)
        answered.success(None, None, None, js=_LAYERS_SETTLED, api_visibility="private")
        answered.failure(None, None, None, js=_LAYERS_FAILED, api_visibility="private")
        add_endpoint(handlers.explain, api_name="explain", concurrency_id="compute", concurrency_limit=2)
    page.queue(max_size=64, default_concurrency_limit=2)
    return page


def _create_form(notices: dict[str, gr.HTML]) -> Form:
    """The left column: the sentences, the examples and the model; adds the fields' notices to `notices`."""
    with gr.Column(elem_id="embviz-form"):
        with gr.Column(elem_classes="ev-card", elem_id="embviz-sentences"):
            # One line that grows: with two, Gradio would take Enter for a new line.
            box = gr.Textbox(label=text("form.text"), lines=1, max_lines=8, elem_id="embviz-text")
            notices["text"] = create_notice("text")
            pair = gr.Textbox(label=text("form.text_pair"), lines=1, max_lines=8, elem_id="embviz-text-pair")
            notices["text_pair"] = create_notice("text-pair")
            with gr.Row(elem_id="embviz-buttons"):
                show = gr.Button(
                    text("form.show"), variant="primary", elem_id="embviz-show", scale=3, min_width=80
                )
                swap = gr.Button(text("form.swap"), elem_id="embviz-swap", scale=1, min_width=80)
            examples = create_view("examples", events=("example",))
        with gr.Column(elem_classes="ev-card", elem_id="embviz-model-box"):
            model = gr.Dropdown(
                choices(),
                value=DEFAULT_MODEL,
                label=text("form.model"),
                allow_custom_value=True,
                elem_id="embviz-model",
            )
            notices["model"] = create_notice("model")
            panel = create_view("opening", events=("open", "cancel"))
            card = create_view("modelcard", events=("verify",), elem_id="embviz-card")
        options = gr.Textbox(visible=False)
    return Form(box, pair, model, show, swap, options, examples, card, panel)


def _wire_form(page: gr.Blocks, form: Form, outputs: list[Any]) -> None:
    """Everything that draws another input: opening the page, Show, swap, the examples, the model."""
    inputs = [*form.recipe, form.options]
    everything = [*form.recipe, *outputs]
    opened = page.load(_open, form.options, everything, js=_ADDRESS, **_WIRE)
    shown = gr.on(
        [form.show.click, form.text.submit, form.text_pair.submit, form.model.input],
        _show,
        inputs,
        outputs,
        js=_ASK,
        **_WIRE,
    )
    swapped = form.swap.click(_swap, inputs, everything, js=_ASK_SWAPPED, **_WIRE)
    picked = form.examples.example(_example, None, everything, **_WIRE)
    for event in (opened, shown, swapped, picked):
        _tell_end(event)


def _wire_views(form: Form, strip: gr.HTML, projection: gr.HTML, outputs: list[Any]) -> None:
    """What a drawn view asks for: another window of tokens, another map, the verified mark."""
    _tell_end(strip.window(_window, None, outputs, **_WIRE))
    _tell_end(projection.options(_options, None, outputs, **_WIRE))
    form.card.verify(_verify, None, form.card, **_VERIFY)
    opened = form.opening.open(_open_model, None, outputs, **_OPENING)
    opened.failure(None, None, None, js=_NOT_OPENED, api_visibility="private")
    # Out of the queue: it must reach the opening that holds a place in it.
    form.opening.cancel(_cancel, None, None, queue=False, show_progress="hidden", api_visibility="private")


def _tell_end(event: Any) -> None:
    """Lets the browser know how a question to the server ended, so that a view never stays marked as busy."""
    event.then(None, None, None, js=_SETTLED, api_visibility="private")
    event.failure(None, None, None, js=_FAILED, api_visibility="private")


def _open(query: str) -> list[Any]:
    """The form and the views of the Recipe in the page's address."""
    return _form_and_views(handlers.open_query(query or ""))


def _show(text: str, text_pair: str, model: str, options: str) -> list[Any]:
    """The views of what the form says, drawn with the choices above the map."""
    return _views(handlers.show(text, text_pair, _named(model), **_map_choices(json.loads(options))))


def _swap(text: str, text_pair: str, model: str, options: str) -> list[Any]:
    """The same with the two sentences exchanged, which the browser has done already."""
    shown = handlers.show(text, text_pair, _named(model), **_map_choices(json.loads(options)))
    return [text, text_pair, gr.skip(), *_views(shown)]


def _example(event: gr.EventData) -> list[Any]:
    """The form and the views of one of the examples, for the model that is chosen."""
    sentences = EXAMPLES.get(event.key)
    if sentences is None:
        return [gr.skip()] * (3 + 3 + len(handlers.FIELDS))
    shown = handlers.show(*sentences, event.model, **_map_choices(event.options))
    return [*sentences, event.model, *_views(shown)]


def _window(event: gr.EventData) -> list[Any]:
    """The views of another stretch of a long input."""
    return _views(handlers.window(event.query, event.start), settles=False)


def _options(event: gr.EventData) -> list[Any]:
    """The map of the same input with other choices."""
    shown = handlers.map_only(event.query, **_map_choices(event.options))
    if shown.map is None:
        return _views(shown)
    # The sentences under the form are about the input, which is the same as before.
    return [gr.skip(), _sent(shown.map), gr.skip(), *(gr.skip() for _ in handlers.FIELDS)]


def _open_model(event: gr.EventData) -> Iterator[list[Any]]:
    """How far the opening of a model is, and then the views, or why there are none."""
    skips = [gr.skip() for _ in handlers.FIELDS]
    for step in opening.open_views(event.query, event.token, event.start, download=event.download is True):
        if isinstance(step, str):
            yield [gr.skip(), gr.skip(), _no_markup(step), *skips]
        else:
            yield _views(step)


def _cancel(event: gr.EventData) -> None:
    """Stops an opening."""
    opening.cancel(event.token)


def _verify(event: gr.EventData) -> str:
    """The verified mark, as JSON for the model's card."""
    return handlers.verify(event.query)


def _layers(event: gr.EventData) -> str:
    """The answer of the tab Layers, as JSON for its view."""
    from embviz.ui.layers_view import layers  # numpy and the figures arrive after the first answer

    return _no_markup(layers(event.query, event.start, download=event.download is True))


def _map_choices(options: dict[str, Any]) -> dict[str, Any]:
    """The Recipe's fields that the map's toolbar sets; whatever a browser may send, nothing else gets through."""
    names = ("pca_fit", "special_tokens", "pca_components", "color_by")
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

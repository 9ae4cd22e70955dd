"""The page: what stands where, and which wire leads from which control to which handler.

Everything that is drawn comes from two JSON strings (docs/payload.md) that the browser keeps in one store;
selecting a token or a dimension therefore needs no wire at all. A wire only asks for other numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypedDict

import gradio as gr
from gradio.events import api as add_endpoint

from embviz.i18n import text
from embviz.ui import handlers
from embviz.ui.plotview import create_mailbox, create_notice, create_view
from embviz.ui.tabs import create_heatmap_tab, create_map_tab, create_table_tab

# The models of the page's menu: the texts' key and the reference that a Recipe holds.
MODELS = (("model.bundled", "bundled"), ("model.untrained", "untrained:bert-base"))

# The examples, by their key in the catalogue of texts; a sentence is data and is the same in every language.
EXAMPLES = {
    "example.same_word": ("The bank raised interest rates.", "We sat on the river bank."),
    "example.dog": ("my dog is cute", "he likes playing"),
    "example.order": ("The dog bites the man.", "The man bites the dog."),
    "example.single": ("I like strawberries", ""),
    "example.japanese": ("私は学習が好きです", ""),
    "example.markup": ("<b>Is 2 < 3?</b> [SEP] 👩‍🚀 naïve $x^2$", "<img src=x onerror=alert(1)>"),
}


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

# The choices above the map live in the browser; they travel with every Show, in the place of an unseen box.
_ASK = "(text, pair, model) => [text, pair, model, window.embviz.ask()]"
_ASK_SWAPPED = "(text, pair, model) => [pair, text, model, window.embviz.ask()]"
# A Recipe too long for a request line stands after the #, which no browser sends (static/address.js).
_ADDRESS = "() => [new URLSearchParams(location.hash.slice(1)).get('r') ?? location.search.slice(1)]"
_SETTLED = "() => window.embviz.settled()"
_FAILED = "() => window.embviz.failed()"


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
                create_table_tab()
            create_view("cell")
        create_view("footer")
        outputs = [*mailboxes, *(notices[field] for field in handlers.FIELDS)]
        _wire_form(page, form, outputs)
        _wire_views(form, strip, projection, outputs)
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
            choices = [(text(key), ref) for key, ref in MODELS]
            model = gr.Dropdown(
                choices,
                value=MODELS[0][1],
                label=text("form.model"),
                filterable=False,
                elem_id="embviz-model",
            )
            notices["model"] = create_notice("model")
            card = create_view("modelcard", events=("verify",), elem_id="embviz-card")
        options = gr.Textbox(visible=False)
    return Form(box, pair, model, show, swap, options, examples, card)


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


def _tell_end(event: Any) -> None:
    """Lets the browser know how a question to the server ended, so that a view never stays marked as busy."""
    event.then(None, None, None, js=_SETTLED, api_visibility="private")
    event.failure(None, None, None, js=_FAILED, api_visibility="private")


def _open(query: str) -> list[Any]:
    """The form and the views of the Recipe in the page's address."""
    return _form_and_views(handlers.open_query(query or ""))


def _show(text: str, text_pair: str, model: str, options: str) -> list[Any]:
    """The views of what the form says, drawn with the choices above the map."""
    return _views(handlers.show(text, text_pair, model, **_map_choices(json.loads(options))))


def _swap(text: str, text_pair: str, model: str, options: str) -> list[Any]:
    """The same with the two sentences exchanged, which the browser has done already."""
    shown = handlers.show(text, text_pair, model, **_map_choices(json.loads(options)))
    return [text, text_pair, gr.skip(), *_views(shown)]


def _example(event: gr.EventData) -> list[Any]:
    """The form and the views of one of the examples, for the model that is chosen."""
    sentences = EXAMPLES.get(event.key)
    if sentences is None:
        return [gr.skip()] * (3 + 2 + len(handlers.FIELDS))
    shown = handlers.show(*sentences, event.model, **_map_choices(event.options))
    return [*sentences, gr.skip(), *_views(shown)]


def _window(event: gr.EventData) -> list[Any]:
    """The views of another stretch of a long input."""
    return _views(handlers.window(event.query, event.start))


def _options(event: gr.EventData) -> list[Any]:
    """The map of the same input with other choices."""
    shown = handlers.map_only(event.query, **_map_choices(event.options))
    if shown.map is None:
        return _views(shown)
    # The sentences under the form are about the input, which is the same as before.
    return [gr.skip(), _sent(shown.map), *(gr.skip() for _ in handlers.FIELDS)]


def _verify(event: gr.EventData) -> str:
    """The verified mark, as JSON for the model's card."""
    return handlers.verify(event.query)


def _map_choices(options: dict[str, Any]) -> dict[str, Any]:
    """The Recipe's fields that the map's toolbar sets; whatever a browser may send, nothing else gets through."""
    names = ("pca_fit", "special_tokens", "pca_components", "color_by")
    return {name: options[name] for name in names if name in options}


def _form_and_views(shown: handlers.Shown) -> list[Any]:
    recipe = shown.recipe
    text, pair = handlers.sendable(recipe.text), handlers.sendable(recipe.text_pair or "")
    return [text, pair, _listed(recipe.model), *_views(shown)]


def _listed(model: str) -> Any:
    """The model for the menu, which keeps its choice where it lists no such model."""
    return model if model in {ref for _, ref in MODELS} else gr.skip()


def _views(shown: handlers.Shown) -> list[Any]:
    """The values of the outputs: `parts`, `map` and one notice a field; what is None keeps the last good view."""
    kind = "error" if shown.failed else "notice"
    notices = [json.dumps({"kind": kind, "text": shown.messages.get(field, "")}) for field in handlers.FIELDS]
    return [_sent(shown.parts), _sent(shown.map), *map(_no_markup, notices)]


def _sent(value: str | None) -> Any:
    return gr.skip() if value is None else _no_markup(value)


def _no_markup(value: str) -> str:
    """The same JSON without a single `<`: whatever a browser or a proxy makes of it, it holds no markup."""
    return value.replace("<", "\\u003c")

"""The page: what stands where, and which wire leads from which control to which handler.

Everything that is drawn comes from two JSON strings (docs/payload.md) that the browser keeps in one store;
selecting a token or a dimension therefore needs no wire at all. A wire only asks for other numbers.
"""

from __future__ import annotations

from typing import Any, TypedDict

import gradio as gr
from gradio.events import api as add_endpoint

from embviz.i18n import text
from embviz.ui import answers, handlers
from embviz.ui.form import Form, create_form
from embviz.ui.plotview import create_mailbox, create_notice, create_view
from embviz.ui.tabs import (
    create_beside_tab,
    create_changes_tab,
    create_heatmap_tab,
    create_layers_tab,
    create_map_tab,
    create_table_tab,
)


class Slots(TypedDict):
    """How many of the same kind run at once."""

    concurrency_id: str
    concurrency_limit: int


class Wire(Slots):
    """Settings that every wire to a handler shares."""

    show_progress: str
    api_visibility: str
    trigger_mode: str


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

# Whoever asks by program may name a distant model too, and the page must not wait for that one.
_EXPLAIN: Slots = {"concurrency_id": "explain", "concurrency_limit": 4}
# The second model may have to be opened: it keeps no drawing waiting.
_BESIDE: Wire = {**_WIRE, "concurrency_id": "beside", "concurrency_limit": 2}

# The choices above the map live in the browser; they travel with every Show, in the place of an unseen box.
_ASK = "async (text, pair, model) => [text, pair, model, await window.embviz.ask(text, pair)]"
_ASK_SWAPPED = "async (text, pair, model) => [pair, text, model, await window.embviz.ask(pair, text)]"
# A Recipe too long for a request line stands after the #, which no browser sends (static/address.js).
_ADDRESS = "() => [new URLSearchParams(location.hash.slice(1)).get('r') ?? location.search.slice(1)]"
_SETTLED = "() => window.embviz.settled()"
_CHANGED = "() => window.embviz.changed()"
_FAILED = "() => window.embviz.failed()"
_LAYERS_SETTLED = "() => window.embviz.layersSettled()"
_LAYERS_FAILED = "() => window.embviz.layersSettled(true)"
_BESIDE_SETTLED = "() => window.embviz.besideSettled()"
_BESIDE_FAILED = "() => window.embviz.besideSettled(true)"
_NOT_OPENED = "() => window.embviz.notOpened()"


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
            form = create_form(notices)
            strip = create_view("strip", events=("window",))
            with gr.Tabs(elem_id="embviz-tabs"):
                projection = create_map_tab()
                create_heatmap_tab()
                create_changes_tab()
                layers = create_layers_tab()
                create_table_tab()
                compared = create_beside_tab()
            create_view("cell")
        create_view("footer")
        outputs = [*mailboxes, form.opening, *(notices[field] for field in handlers.FIELDS)]
        _wire_form(page, form, outputs)
        _wire_views(form, strip, projection, outputs)
        answered = layers.layers(answers.through_layers, None, layers, **_LAYERS)
        answered.success(None, None, None, js=_LAYERS_SETTLED, api_visibility="private")
        answered.failure(None, None, None, js=_LAYERS_FAILED, api_visibility="private")
        answered = compared.compare(answers.side_by_side, None, compared, **_BESIDE)
        answered.success(None, None, None, js=_BESIDE_SETTLED, api_visibility="private")
        answered.failure(None, None, None, js=_BESIDE_FAILED, api_visibility="private")
        add_endpoint(handlers.explain, api_name="explain", **_EXPLAIN)
    page.queue(max_size=64, default_concurrency_limit=2)
    return page


def _wire_form(page: gr.Blocks, form: Form, outputs: list[Any]) -> None:
    """Everything that draws another input: opening the page, Show, swap, the examples, the model."""
    inputs = [*form.recipe, form.options]
    everything = [*form.recipe, *outputs]
    opened = page.load(answers.open_address, form.options, everything, js=_ADDRESS, **_WIRE)
    shown = gr.on(
        [form.show.click, form.text.submit, form.text_pair.submit, form.model.input],
        answers.show,
        inputs,
        outputs,
        js=_ASK,
        **_WIRE,
    )
    swapped = form.swap.click(answers.swap, inputs, everything, js=_ASK_SWAPPED, **_WIRE)
    picked = form.examples.example(answers.example, None, everything, **_WIRE)
    for event in (opened, shown, swapped, picked):
        _tell_end(event)


def _wire_views(form: Form, strip: gr.HTML, projection: gr.HTML, outputs: list[Any]) -> None:
    """What a drawn view asks for: another window of tokens, another map, the verified mark."""
    _tell_end(strip.window(answers.move_window, None, outputs, **_WIRE))
    changed = form.what_if.change(answers.change, None, outputs, **_WIRE)
    _tell_end(changed, _CHANGED)
    _tell_end(projection.options(answers.draw_map, None, outputs, **_WIRE))
    form.card.verify(answers.verify, None, form.card, **_VERIFY)
    opened = form.opening.open(answers.open_model, None, outputs, **_OPENING)
    opened.failure(None, None, None, js=_NOT_OPENED, api_visibility="private")
    # Out of the queue: it must reach the opening that holds a place in it.
    form.opening.cancel(
        answers.cancel, None, None, queue=False, show_progress="hidden", api_visibility="private"
    )


def _tell_end(event: Any, end: str = _SETTLED) -> None:
    """Lets the browser know how a question to the server ended, so that a view never stays marked as busy."""
    event.then(None, None, None, js=end, api_visibility="private")
    event.failure(None, None, None, js=_FAILED, api_visibility="private")

"""The left column of the page: sentences, examples, what-if and model. Layout only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from embviz.i18n import text
from embviz.recipe import DEFAULT_MODEL
from embviz.ui.plotview import create_notice, create_view
from embviz.ui.suggestions import choices


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
    what_if: gr.HTML

    @property
    def recipe(self) -> list[Any]:
        """The three fields that an opened link or an example fills in."""
        return [self.text, self.text_pair, self.model]


def create_form(notices: dict[str, gr.HTML]) -> Form:
    """The left column, in the row of the moment; adds the fields' notices to `notices`."""
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
        with gr.Column(elem_classes="ev-card", elem_id="embviz-what-if-box"):
            what_if = create_view("whatif", events=("change",), elem_id="embviz-what-if")
            notices["what_if"] = create_notice("what-if")
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
    return Form(box, pair, model, show, swap, options, examples, card, panel, what_if)

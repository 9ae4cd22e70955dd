"""The parts of the page that we draw ourselves: `gr.HTML` with a constant template and one line of JavaScript.

Gradio's own plot component has no click event, an older plotly.js and no dark mode; its HTML component has
events, and a template that never changes is never written over. A value reaches the browser as a string that
`static/main.js` hands on; no user's text ever stands in a template, where it would be run as code.

Factory functions and no subclass: Gradio writes a stub file next to the source of every subclass it meets.
"""

from __future__ import annotations

import gradio as gr

# The events are spelled out in quotes because Gradio looks for the quoted name of an event in this source.
# The modules of the page may arrive after Gradio has drawn the component; then the component waits for them.
_JS_ON_LOAD = """
const gradio = {{ trigger, watch, props, events: [{events}] }};
const mount = () => window.embviz ? window.embviz.mount("{name}", element, gradio) : setTimeout(mount, 20);
mount();
"""


def create_view(
    name: str, *, events: tuple[str, ...] = (), elem_id: str | None = None, value: str | None = None
) -> gr.HTML:
    """A view that the browser draws and fills.

    Args:
        name: which view of `static/main.js` it is; also its CSS class, `ev-<name>`.
        events: what the view reports to Python; the component then has an event method of each name.
        elem_id: the id of the element; a view that the page has once is called `embviz-<name>`.
        value: JSON that it begins with.
    """
    quoted = ", ".join(f'"{event}"' for event in events)
    return gr.HTML(
        value=value,
        html_template=f'<div class="ev-{name}"></div>',
        js_on_load=_JS_ON_LOAD.format(name=name, events=quoted),
        elem_id=elem_id or f"embviz-{name}",
        elem_classes="ev-view",
        apply_default_css=False,
        container=False,
        padding=False,
    )


def create_notice(field: str) -> gr.HTML:
    """The place under a field where one sentence about it can stand.

    Its value is a JSON object, `{"kind": "error" | "notice", "text": "…"}`.
    """
    return create_view("notice", elem_id=f"embviz-notice-{field}")


def create_mailbox(name: str) -> gr.HTML:
    """An unseen component whose value is JSON for the browser's store: `parts` or `map` of docs/payload.md."""
    return create_view(name, elem_id=f"embviz-{name}")

"""The tabs under the strip: layout only; each function returns the components that page.py wires."""

from __future__ import annotations

import json

import gradio as gr

from embviz.i18n import text
from embviz.ui.plotview import create_view
from embviz.ui.suggestions import choices


def create_map_tab() -> gr.HTML:
    """The PCA map with its choices; it reports "options" when one of them needs the server."""
    with gr.Tab(text("tab.map"), id="map"):
        return create_view("projection", events=("options",))


def create_heatmap_tab() -> gr.HTML:
    """The five heatmaps, token × dimension."""
    with gr.Tab(text("tab.heatmaps"), id="heatmaps"):
        return create_view("heatmaps")


def create_changes_tab() -> gr.HTML:
    """What a what-if moved: bars, changed numbers, the segment lens."""
    with gr.Tab(text("tab.changes"), id="changes"):
        return create_view("changes")


def create_layers_tab() -> gr.HTML:
    """How far each token moved in every layer; it reports "layers" when it is seen and lacks the numbers."""
    with gr.Tab(text("tab.layers"), id="layers"):
        return create_view("layers", events=("layers",))


def create_table_tab() -> gr.HTML:
    """The same numbers as two tables: the tokens, and all dimensions of the selected token."""
    with gr.Tab(text("tab.table"), id="table"):
        return create_view("tables")


def create_beside_tab() -> gr.HTML:
    """Two inputs in one view; it reports "compare", and begins with the models that can be chosen."""
    with gr.Tab(text("tab.beside"), id="beside"):
        return create_view("beside", events=("compare",), value=json.dumps({"models": choices()}))

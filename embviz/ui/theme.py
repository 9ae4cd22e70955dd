"""Gradio's theme in the colours of the page.

The colours themselves live in `static/embviz.css` as variables, light and dark; the theme points at them.
Only the background and the ink are written out: Gradio paints them before any style sheet has arrived.
"""

from __future__ import annotations

import gradio as gr

# Gradio ships only a Cyrillic subset of its half-bold weights, so that bold Latin text fell to another font.
_WEIGHTS = (400, 700)

_QUIET = "none"


def create_theme() -> gr.themes.Base:
    """The theme of the page, made of fonts from our own host and of the page's own colours."""
    theme = gr.themes.Base(
        font=[_font("Source Sans Pro"), "ui-sans-serif", "system-ui", "sans-serif"],
        font_mono=[_font("IBM Plex Mono"), "ui-monospace", "monospace"],
        radius_size=gr.themes.sizes.radius_md,
        spacing_size=gr.themes.sizes.spacing_md,
    )
    return theme.set(
        **_both("body_background_fill", "#fbfbfa", "#0f1113"),
        **_both("body_text_color", "#1b1f24", "#e8eaed"),
        **_from_css("body_text_color_subdued", "mute"),
        **_from_css("background_fill_primary", "panel"),
        **_from_css("background_fill_secondary", "bg"),
        **_from_css("border_color_primary", "line"),
        **_from_css("border_color_accent", "line"),
        **_from_css("color_accent_soft", "hover"),
        color_accent="var(--ev-focus)",
        **_from_css("link_text_color", "link"),
        **_from_css("block_background_fill", "panel"),
        **_from_css("block_border_color", "line"),
        block_border_width="0px",
        block_shadow=_QUIET,
        block_padding="0px",
        block_title_text_weight="700",
        **_from_css("block_title_text_color", "ink"),
        **_from_css("block_info_text_color", "mute"),
        **_from_css("input_background_fill", "bg"),
        **_from_css("input_background_fill_focus", "bg"),
        **_from_css("input_border_color", "edge"),
        **_from_css("input_border_color_focus", "focus"),
        **_from_css("input_placeholder_color", "mute"),
        input_radius="8px",
        input_shadow=_QUIET,
        input_shadow_focus=_QUIET,
        **_from_css("button_primary_background_fill", "ink"),
        **_from_css("button_primary_background_fill_hover", "ink-soft"),
        **_from_css("button_primary_text_color", "panel"),
        **_from_css("button_primary_text_color_hover", "panel"),
        **_from_css("button_primary_border_color", "ink"),
        **_from_css("button_secondary_background_fill", "panel"),
        **_from_css("button_secondary_background_fill_hover", "hover"),
        **_from_css("button_secondary_text_color", "ink"),
        **_from_css("button_secondary_border_color", "edge"),
        button_large_radius="8px",
        button_medium_radius="8px",
        button_border_width="1px",
    )


def _font(name: str) -> gr.themes.LocalFont:
    return gr.themes.LocalFont(name, weights=_WEIGHTS)


def _both(name: str, light: str, dark: str) -> dict[str, str]:
    """One setting of the theme, for light and for dark."""
    return {name: light, f"{name}_dark": dark}


def _from_css(name: str, variable: str) -> dict[str, str]:
    """One setting of the theme, taken from a variable of the style sheet that knows light and dark itself."""
    return _both(name, f"var(--ev-{variable})", f"var(--ev-{variable})")

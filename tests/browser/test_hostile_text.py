"""Text of a user is text on the page, and nothing else: typed or sent in a link."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.serving import Served
from tests.browser.visit import BANK, TABS, open_page, open_tab, show, tokens, wait_for_another_input

HOSTILE = {
    "image": '<img src=x onerror="window.hacked = 1">',
    "script": "</script><script>window.hacked = 1</script>",
    "template": "${window.hacked = 1} {{constructor.constructor('window.hacked = 1')()}}",
    "formula and markdown": "$x^2$ $$y$$ **bold** [link](javascript:window.hacked=1)",
    "bold": "<b>bold</b> &lt;i&gt; <br>",
    "right to left": "שלום עולם \u202eabc مرحبا",
    "control characters": "a\x07b\x1bc\u200bd",
    "emoji": "👩‍🚀 naïve café 🇯🇵",
    "long word": "w" * 100,
}
_texts = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())


@_texts
def test_typed_text_stays_text(page: Page, served: Served, text: str) -> None:
    """It is never run or read as markup, in any view, and the field still holds it."""
    open_page(page, served)

    show(page, text, text)

    wait_for_another_input(page, BANK)
    _look_everywhere(page)
    _assert_nothing_ran(page)
    expect(page.locator("#embviz-text textarea")).to_have_value(text)


@_texts
def test_text_in_an_address_stays_text(page: Page, served: Served, text: str) -> None:
    """The same for a link that someone sends."""
    open_page(page, served, text=text, text_pair=text)

    assert tokens(page) != BANK
    _look_everywhere(page)
    _assert_nothing_ran(page)


@pytest.mark.parametrize("field", ["model", "pca_fit", "what_if", "color_by", "pca_components"])
def test_wrong_field_of_an_address_is_a_sentence(page: Page, served: Served, field: str) -> None:
    """A link that describes no view shows the example, and the sentence about it holds no markup."""
    open_page(page, served, **{field: HOSTILE["image"]})

    assert tokens(page) == BANK
    expect(page.locator(".ev-error:visible, .ev-notice:visible").filter(has_text=".").first).to_be_visible()
    _assert_nothing_ran(page)


def test_markup_is_shown_as_typed(page: Page, served: Served) -> None:
    """The pieces of a tag are on the strip, sign by sign."""
    open_page(page, served, text="<b>x</b>")

    assert tokens(page) == ["[CLS]", "<", "b", ">", "x", "<", "/", "b", ">", "[SEP]"]


def _look_everywhere(page: Page) -> None:
    """Opens each tab and moves the pointer over the map, whose hover text names tokens."""
    for tab in reversed(TABS):
        open_tab(page, tab)
        page.wait_for_timeout(100)
    box = page.locator("#embviz-projection .ev-plot").bounding_box()
    assert box is not None
    for step in range(1, 10):
        page.mouse.move(box["x"] + box["width"] * step / 10, box["y"] + box["height"] / 2)


def _assert_nothing_ran(page: Page) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src=x], #embviz-page a[href^=javascript], .ev-piece b").count() == 0

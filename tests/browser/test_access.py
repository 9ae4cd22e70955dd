"""The page for everyone: keyboard, light and dark, narrow windows, and what axe-core finds."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.serving import Served
from tests.browser.visit import (
    DOG,
    SELECTED,
    TABS,
    luminance,
    open_page,
    open_tab,
    selection,
    wait_for_tokens,
)

REACHED = ("embviz-text", "embviz-text-pair", "embviz-show", "embviz-strip", "embviz-tabs", "embviz-cell")


def test_arrow_keys_move_the_token_and_the_dimension(page: Page, served: Served) -> None:
    """On the strip they move the token and the focus with it, in the cell's tiles the dimension."""
    open_page(page, served)
    page.click("#embviz-strip [data-token='2'] .ev-head")

    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")

    expect(page.locator(SELECTED)).to_have_attribute("data-token", "4")
    expect(page.locator(SELECTED)).to_be_focused()
    dimension = selection(page)[1]
    page.focus("#embviz-cell .ev-tiles")
    page.keyboard.press("ArrowRight")
    assert selection(page) == [4, dimension + 1]


def test_a_pair_is_typed_and_shown_with_the_keyboard_alone(page: Page, served: Served) -> None:
    """Tab leads from sentence A to B, and Enter shows the pair."""
    open_page(page, served)
    page.focus("#embviz-text textarea")

    page.keyboard.press("Control+A")
    page.keyboard.type("my dog is cute")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("he likes playing")
    page.keyboard.press("Enter")

    wait_for_tokens(page, DOG)


def test_tab_key_reaches_everything(page: Page, served: Served) -> None:
    """Both fields, the button, the strip, the tabs and the cell are stops of the tab key."""
    open_page(page, served)
    reached = set()

    for _ in range(60):
        page.keyboard.press("Tab")
        reached |= set(
            page.evaluate(
                "all => all.filter((id) => document.activeElement?.closest('#' + id))", list(REACHED)
            )
        )

    assert reached == set(REACHED)


def test_dark_is_dark_everywhere(page: Page, served: Served) -> None:
    """Where the system is dark, the page and its figures have light letters on a dark ground."""
    page.emulate_media(color_scheme="dark")
    open_page(page, served)
    open_tab(page, "Map")

    assert luminance(page, "body", "backgroundColor") < 0.1
    assert luminance(page, "#embviz-cell h2", "color") > 0.5
    assert luminance(page, "#embviz-projection .xtick text", "fill") > 0.3


def test_light_is_light_everywhere(page: Page, served: Served) -> None:
    """Where the system is light, the page and its figures have dark letters on a light ground."""
    open_page(page, served)
    open_tab(page, "Map")

    assert luminance(page, "body", "backgroundColor") > 0.9
    assert luminance(page, "#embviz-cell h2", "color") < 0.2
    assert luminance(page, "#embviz-projection .xtick text", "fill") < 0.4


def test_theme_button_turns_page_and_figures_dark(page: Page, served: Served) -> None:
    """One click turns everything dark without asking the server, and a reload keeps it."""
    open_page(page, served)
    open_tab(page, "Map")

    page.click("#embviz-header .ev-icon")

    page.wait_for_function(
        "getComputedStyle(document.querySelector('#embviz-projection .xtick text')).fill !== 'rgb(0, 0, 0)'"
    )
    expect(page.locator("body")).to_have_class(r"dark")
    page.reload()
    expect(page.locator("#embviz-strip .ev-column").first).to_be_visible(timeout=60_000)
    assert luminance(page, "body", "backgroundColor") < 0.1


@pytest.mark.parametrize("width", [1440, 1024, 720, 390, 320])
@pytest.mark.parametrize(
    "text", ["The bank raised interest rates.", "w" * 100], ids=["sentence", "long word"]
)
def test_nothing_scrolls_sideways(page: Page, served: Served, width: int, text: str) -> None:
    """From 1440 down to 320 px no tab is wider than the window, whatever was typed."""
    page.set_viewport_size({"width": width, "height": 800})
    open_page(page, served, text=text, text_pair="We sat on the river bank.")

    for tab in TABS:
        open_tab(page, tab)
        page.wait_for_timeout(200)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{tab} is {wide} px too wide"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_serious(page: Page, served: Served, scheme: str, width: int) -> None:
    """axe-core finds nothing serious or critical on any tab, light or dark, wide or narrow."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, served)
    expect(page.locator("#embviz-card .ev-good")).to_be_visible(timeout=60_000)
    found = []

    for tab in TABS:
        open_tab(page, tab)
        page.wait_for_timeout(300)
        for violation in Axe().run(page).response["violations"]:
            if violation["impact"] in {"serious", "critical"}:
                where = [node["target"] for node in violation["nodes"]]
                found.append(f"{tab}: {violation['id']} at {where}")

    assert found == []

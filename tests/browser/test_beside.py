"""The tab "Side by side" in a real Chromium: presets, the form, the link, the keyboard, narrow windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

import embviz
from tests.browser.serving import Served
from tests.browser.visit import BANK, DOG, open_page, show, wait_for_tokens

TEXTS: dict[str, Any] = {"text": "The bank raised interest rates.", "text_pair": "We sat on the river bank."}
RECIPE = embviz.Recipe(TEXTS["text"], TEXTS["text_pair"])
UNTRAINED = replace(RECIPE, model="untrained:all-MiniLM-L6-v2")
THIS, OTHER = ".ev-side-this", ".ev-side-other"


def open_tab(page: Page) -> None:
    page.get_by_role("tab", name="Side by side", exact=True).click()
    expect(page.locator(".ev-besideform")).to_be_visible()


def wait_for_result(page: Page) -> None:
    expect(page.locator(".ev-beside .ev-plot .main-svg").first).to_be_visible()


def pieces(page: Page, side: str) -> list[str]:
    return page.locator(f"{side} .ev-piece").all_text_contents()


def colours(page: Page, side: str) -> int:
    """How many colours the first tile of a strip has."""
    count: int = page.locator(f"{side} canvas").first.evaluate(
        """(canvas) => new Set(new Uint32Array(canvas.getContext("2d")
            .getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    )
    return count


def second(page: Page) -> embviz.Recipe:
    """The second Recipe of the page's address."""
    return embviz.Recipe.from_query(parse_qs(urlsplit(page.url).query)["beside"][0])


def test_the_same_untrained_is_one_click(page: Page, served: Served) -> None:
    """Both strips, both on one map with filled and open markers, and the numbers of the library."""
    open_page(page, served)
    open_tab(page)

    page.get_by_role("button", name="the same, untrained").click()
    wait_for_result(page)

    assert pieces(page, THIS) == pieces(page, OTHER) == BANK
    assert colours(page, THIS) > 20
    assert colours(page, OTHER) > 20
    expect(page.locator(f"{OTHER} h3")).to_contain_text("all-MiniLM-L6-v2, untrained")
    comparison = embviz.compare(RECIPE, UNTRAINED)
    expect(page.locator(".ev-result .ev-say").first).to_have_text(embviz.figures.beside_caption(comparison))
    row = page.locator(".ev-beside tbody tr", has_text="position").first.locator("td")
    norms = [side.mean_norms["position"] for side in (comparison.this, comparison.other)]
    assert row.all_text_contents()[:2] == [f"{norm:.3f}" for norm in norms]
    legend = page.locator(".ev-beside .legendtext").all_text_contents()
    assert [name.strip() for name in legend] == ["this page", "the other"]
    page.wait_for_function("location.search.includes('beside=')")
    assert second(page) == UNTRAINED


def test_a_link_opens_the_comparison_again(page: Page, served: Served) -> None:
    """The tab is open, the form is filled in and the result is there."""
    open_page(page, served, **TEXTS, beside=UNTRAINED.to_query())

    wait_for_result(page)

    expect(page.get_by_role("tab", name="Side by side")).to_have_attribute("aria-selected", "true")
    assert page.locator(".ev-besideform select").input_value() == UNTRAINED.model
    assert pieces(page, OTHER) == BANK
    assert second(page) == UNTRAINED


def test_a_long_comparison_stands_behind_the_hash(page: Page, served: Served) -> None:
    """Where a server would refuse the request line; opened again, it is there."""
    long = replace(RECIPE, text="the dog bites the man . " * 300)
    open_page(page, served)
    open_tab(page)
    page.fill(".ev-besideform textarea >> nth=0", long.text)
    page.get_by_role("button", name="Compare", exact=True).click()
    wait_for_result(page)
    page.wait_for_function("location.hash.includes('beside=')")

    address = page.url
    page.goto("about:blank")
    page.goto(address)
    wait_for_result(page)

    assert len(urlsplit(address).query) < 100
    assert pieces(page, OTHER)[1:4] == ["the", "dog", "bites"]
    expect(page.locator(f"{OTHER} .ev-say")).to_contain_text("0 to 63 of")


def test_another_sentence_is_typed_and_compared_with_enter(page: Page, served: Served) -> None:
    open_page(page, served)
    open_tab(page)

    page.fill(".ev-besideform textarea >> nth=0", "my dog is cute")
    page.fill(".ev-besideform textarea >> nth=1", "he likes playing")
    page.press(".ev-besideform textarea >> nth=1", "Enter")
    wait_for_result(page)

    assert pieces(page, THIS) == BANK
    assert pieces(page, OTHER) == DOG
    page.wait_for_function("location.search.includes('beside=')")
    assert second(page) == embviz.Recipe("my dog is cute", "he likes playing")


def test_words_in_another_order_keep_their_marks_at_the_end(page: Page, served: Served) -> None:
    """The full stop ends the sentence still; a selected word is selected where it stands now."""
    open_page(page, served)
    open_tab(page)

    page.get_by_role("button", name="words in another order").click()
    wait_for_result(page)
    page.click(f"{THIS} [data-token='4'] .ev-head")

    assert pieces(page, OTHER)[1:7] == ["rates", "interest", "raised", "bank", "the", "."]
    expect(page.locator(f"{THIS} [aria-selected=true]")).to_have_attribute("data-token", "4")
    expect(page.locator(f"{OTHER} [aria-selected=true]")).to_have_attribute("data-token", "2")
    expect(page.locator(".ev-beside .ev-overlay circle")).to_have_count(2)


def test_without_the_what_if_is_off_where_there_is_none(page: Page, served: Served) -> None:
    open_page(page, served)
    open_tab(page)

    without = page.get_by_role("button", name="the same without the what-if")
    expect(without).to_be_disabled()
    assert without.get_attribute("title")


def test_a_change_is_compared_with_what_was_before(page: Page, served: Served) -> None:
    changed = replace(RECIPE, what_if=(embviz.SwapSegments(),))
    open_page(page, served, **dict(parse_qsl(changed.to_query())))
    open_tab(page)

    page.get_by_role("button", name="the same without the what-if").click()
    wait_for_result(page)

    names = page.locator(f"{THIS} [data-token='2'] .ev-name, {OTHER} [data-token='2'] .ev-name")
    assert names.all_text_contents() == ["EB", "E2", "EA", "E2"]
    expect(page.locator(f"{THIS} h3")).to_contain_text("with the what-if")
    page.wait_for_function("location.search.includes('beside=')")
    assert second(page) == RECIPE


def test_another_input_on_the_page_is_compared_at_once(page: Page, served: Served) -> None:
    open_page(page, served, **TEXTS, beside=UNTRAINED.to_query())
    wait_for_result(page)

    show(page, "my dog is cute", "he likes playing")
    wait_for_tokens(page, DOG)

    expect(page.locator(f"{THIS} .ev-piece")).to_have_text(DOG)
    assert pieces(page, OTHER) == BANK


def test_a_model_of_another_width_has_a_map_of_its_own(page: Page, served: Served) -> None:
    other = replace(RECIPE, model="untrained:bert-base")
    open_page(page, served, **TEXTS, beside=other.to_query())
    wait_for_result(page)

    expect(page.locator(".ev-beside .ev-plot .main-svg:visible").nth(2)).to_be_visible()
    expect(page.locator(".ev-maps .ev-host:visible")).to_have_count(2)
    expect(page.locator(".ev-result .ev-say").first).to_contain_text("no dimension is common")
    expect(page.locator(f"{OTHER} .ev-legend .ev-scale")).to_have_count(2)


def test_a_mistake_is_a_sentence_at_the_form(page: Page, served: Served) -> None:
    open_page(page, served, **TEXTS, beside="text=a&model=nobody/nothing")

    error = page.locator(".ev-besideform .ev-error")
    expect(error).to_contain_text("nobody/nothing")
    expect(error).to_have_attribute("role", "alert")
    expect(page.locator(".ev-result")).to_be_hidden()


def test_markup_stays_text(page: Page, served: Served) -> None:
    text = "<img src=x onerror=window.hacked=1>"
    open_page(page, served, **TEXTS, beside=embviz.Recipe(text).to_query())
    wait_for_result(page)

    assert "<" in pieces(page, OTHER)
    assert page.evaluate("window.hacked") is None


def test_arrow_keys_move_along_each_strip(page: Page, served: Served) -> None:
    open_page(page, served, **TEXTS, beside=UNTRAINED.to_query())
    wait_for_result(page)
    page.focus(f"{OTHER} [aria-selected=true]")

    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")

    chosen = page.locator(f"{OTHER} [aria-selected=true]")
    expect(chosen).to_have_attribute("data-token", "4")
    expect(chosen).to_be_focused()
    expect(page.locator(f"{THIS} [aria-selected=true]")).to_have_attribute("data-token", "4")


@pytest.mark.parametrize("width", [1440, 1024, 390, 320])
@pytest.mark.parametrize("model", ["untrained:all-MiniLM-L6-v2", "untrained:bert-base"])
def test_the_page_never_scrolls_sideways(page: Page, served: Served, width: int, model: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    open_page(page, served, **TEXTS, beside=embviz.Recipe("w" * 100, "we sat", model=model).to_query())
    wait_for_result(page)

    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_serious(page: Page, served: Served, scheme: Any, width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    changed = replace(RECIPE, what_if=(embviz.SwapSegments(),))
    open_page(page, served, **TEXTS, beside=changed.to_query())
    wait_for_result(page)
    page.wait_for_timeout(300)

    found = [
        f"{violation['id']} at {[node['target'] for node in violation['nodes']]}"
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in {"serious", "critical"}
    ]

    assert found == []


def test_the_same_comparison_twice_ends_twice(page: Page, served: Served) -> None:
    """An answer that is the same as before is an answer too: nothing waits for ever."""
    open_page(page, served)
    open_tab(page)
    for _ in range(2):
        page.get_by_role("button", name="Compare").click()
        wait_for_result(page)
        expect(page.locator(".ev-comparing")).to_be_empty(timeout=20_000)

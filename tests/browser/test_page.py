"""The page as a person uses it, in a real Chromium.

Every test that uses `page` also claims, when it ends, that no error was logged and no other host was asked
(conftest.py).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

import embviz
from tests.browser.conftest import Record
from tests.browser.serving import Served
from tests.browser.visit import (
    BANK,
    DOG,
    SELECTED,
    STRAWBERRIES,
    TABS,
    open_page,
    open_tab,
    selection,
    show,
    tokens,
    wait_for_tokens,
)


def test_first_view_is_drawn_with_nothing_typed(page: Page, served: Served) -> None:
    """The default pair is there: its tokens, tiles of many colours, a map with points, and one cell."""
    open_page(page, served)

    assert tokens(page) == BANK
    assert _colours_of_a_tile(page) > 20
    expect(page.locator("#embviz-projection .scatterlayer .point").first).to_be_attached()
    expect(page.locator("#embviz-cell h2")).not_to_be_empty()
    _assert_cell_is_true(page)


def test_typing_a_pair_and_pressing_show(page: Page, served: Served) -> None:
    """Two typed sentences become the tokens of the pair."""
    open_page(page, served)

    show(page, "my dog is cute", "he likes playing")

    wait_for_tokens(page, DOG)


def test_typing_and_pressing_enter(page: Page, served: Served) -> None:
    """Enter in the field is as good as the button."""
    open_page(page, served)
    page.fill("#embviz-text-pair textarea", "")
    page.fill("#embviz-text textarea", "I like strawberries")

    page.press("#embviz-text textarea", "Enter")

    wait_for_tokens(page, STRAWBERRIES)


def test_clicking_a_token_selects_it_without_a_request(page: Page, served: Served, record: Record) -> None:
    """The strip and the cell show the clicked token, and the server was not asked."""
    open_page(page, served)
    _wait_until_quiet(page)
    before = len(record.requests)

    page.click("#embviz-strip [data-token='5'] .ev-head")

    expect(page.locator(SELECTED)).to_have_attribute("data-token", "5")
    expect(page.locator("#embviz-cell h2")).to_have_text("rates")
    _assert_cell_is_true(page)
    assert record.requests[before:] == []


def test_hovering_lights_up_a_token_without_a_request(page: Page, served: Served, record: Record) -> None:
    """The token under the pointer is marked, and the server was not asked."""
    open_page(page, served)
    _wait_until_quiet(page)
    before = len(record.requests)

    page.hover("#embviz-strip [data-token='6'] .ev-head")

    expect(page.locator("#embviz-strip .ev-hovered")).to_have_attribute("data-token", "6")
    assert record.requests[before:] == []


def test_clicking_a_tile_of_the_cell_selects_a_dimension(page: Page, served: Served) -> None:
    """A click into the large tile chooses its dimension, and the numbers follow."""
    open_page(page, served)
    before = selection(page)

    page.click("#embviz-cell .ev-tiles canvas >> nth=0", position={"x": 50, "y": 20})

    assert selection(page)[0] == before[0]
    assert selection(page)[1] != before[1]
    _assert_cell_is_true(page)


def test_clicking_a_heatmap_cell_selects_token_and_dimension(page: Page, served: Served) -> None:
    """A click into a heatmap chooses its row and column, and the numbers follow."""
    open_page(page, served)
    open_tab(page, "Heatmaps")
    before = selection(page)
    area = page.locator("#embviz-heatmaps .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None

    page.mouse.click(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.8)

    page.wait_for_function(
        "before => window.eyes.selection().every((one, at) => one !== before[at])", arg=before
    )
    _assert_cell_is_true(page)


def test_clicking_a_point_of_the_map_selects_its_token(page: Page, served: Served) -> None:
    """A click on a point of the map chooses its token."""
    open_page(page, served)
    page.click("#embviz-strip [data-token='0'] .ev-head")
    point = page.locator("#embviz-projection .scatterlayer .point").last
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box is not None

    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    page.wait_for_function("window.eyes.selection()[0] !== 0")
    _assert_cell_is_true(page)


def test_selected_cell_has_the_arithmetic_through_layer_norm(page: Page, served: Served) -> None:
    """(sum − μ) / σ × γ + β, with the numbers on the page, is the LayerNorm on the page."""
    open_page(page, served)
    page.click("#embviz-strip [data-token='2'] .ev-head")

    mean, std, scaled, weight, bias, result = _arithmetic(page)

    summed = page.evaluate("window.eyes.numbers().summed")
    assert (summed - mean) / std == pytest.approx(scaled, abs=1e-5)
    assert scaled * weight + bias == pytest.approx(result, abs=1e-5)


@pytest.mark.parametrize("tab", TABS)
def test_tab_draws(page: Page, served: Served, tab: str) -> None:
    """Each tab draws when it is opened, and says in one sentence or table what there is to see."""
    open_page(page, served)

    open_tab(page, tab)

    seen = page.get_by_role("tabpanel").locator("visible=true").first.inner_text()
    assert ("Nothing is changed" if tab in {"What changed", "Layers"} else "bank") in seen


def test_address_holds_the_recipe_and_a_reload_restores_it(page: Page, served: Served) -> None:
    """What was shown stands in the address, and opening it again shows the same, form included."""
    open_page(page, served)
    show(page, "my dog is cute", "he likes playing")
    wait_for_tokens(page, DOG)
    page.wait_for_url("**text=my+dog+is+cute**")

    page.reload()

    wait_for_tokens(page, DOG)
    expect(page.locator("#embviz-text textarea")).to_have_value("my dog is cute")
    expect(page.locator("#embviz-text-pair textarea")).to_have_value("he likes playing")


def test_address_of_a_recipe_opens_it(page: Page, served: Served) -> None:
    """The query that `Recipe.to_query` writes opens that view, with the 768 dimensions of bert-base here."""
    recipe = embviz.Recipe(text="I like strawberries", model="untrained:bert-base")

    open_page(page, served, **_query(recipe))

    assert tokens(page) == STRAWBERRIES
    expect(page.locator("#embviz-pick-dim")).to_have_attribute("max", "767")


def test_too_long_text_is_one_sentence_at_its_field(page: Page, served: Served) -> None:
    """The server refuses more than 10,000 characters, the last view stays, and the next Show works again."""
    open_page(page, served)

    show(page, "a " * 5001, "short")

    notice = page.locator("#embviz-notice-text")
    expect(notice).to_contain_text("10,002 characters")
    assert tokens(page) == BANK
    show(page, "I like strawberries", "")
    wait_for_tokens(page, STRAWBERRIES)
    expect(notice).not_to_contain_text("characters")


def test_long_input_is_cut_visibly_and_its_end_can_be_reached(page: Page, served: Served) -> None:
    """702 tokens are cut to the 512 positions, both numbers are said, and the keys lead to the last and on."""
    open_page(page, served)

    show(page, "dog " * 700, "")

    page.wait_for_function("window.eyes.tokens().length === 512")
    expect(page.locator(".ev-notice:visible", has_text="702")).to_contain_text("512")
    page.click("#embviz-strip [data-token='3'] .ev-head")
    page.keyboard.press("End")
    expect(page.locator(SELECTED)).to_have_attribute("data-token", "511")
    expect(page.locator(SELECTED)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(SELECTED)).to_have_attribute("data-token", "510")


def test_empty_sentences_show_the_special_tokens(page: Page, served: Served) -> None:
    """Nothing typed is an input too: [CLS] and [SEP]."""
    open_page(page, served)

    show(page, "", "  ")

    wait_for_tokens(page, ["[CLS]", "[SEP]"])


def test_verified_mark_turns_up(page: Page, served: Served) -> None:
    """The comparison with the official module arrives by itself, and is fine."""
    open_page(page, served)

    expect(page.locator("#embviz-card .ev-good")).to_be_visible(timeout=60_000)


def test_a_visit_asks_only_its_own_host(page: Page, served: Served, record: Record) -> None:
    """All tabs and a new pair make requests, and every one goes to the page's own address."""
    open_page(page, served)
    for tab in TABS:
        open_tab(page, tab)
    show(page, "my dog is cute", "he likes playing")
    wait_for_tokens(page, DOG)

    assert len(record.requests) > 10
    assert record.foreign(served.url) == []


def _query(recipe: embviz.Recipe) -> dict[str, str]:
    return dict(parse_qsl(recipe.to_query()))


def _wait_until_quiet(page: Page) -> None:
    """Waits until plotly.js is there and the verified mark has come: nothing is asked after that."""
    expect(page.locator("#embviz-projection .main-svg").first).to_be_visible()
    expect(page.locator("#embviz-card .ev-good")).to_be_visible(timeout=60_000)
    page.wait_for_timeout(500)


def _assert_cell_is_true(page: Page) -> None:
    """The five numbers of the cell panel are those of the library, and the first three add up to the fourth."""
    token, dim = selection(page)
    recipe = embviz.Recipe.from_query(page.evaluate("window.eyes.state().parts.query"))
    d = embviz.load_model(recipe.model).decompose(recipe.text, recipe.text_pair)
    arrays = {name: getattr(d, name) for name in ("token", "segment", "position", "summed", "normalized")}

    shown = {name: _number(page, f"#embviz-cell [data-part={name}] .ev-number b") for name in arrays}

    assert shown == {
        name: pytest.approx(float(array[token, dim]), abs=1e-6) for name, array in arrays.items()
    }
    assert shown["token"] + shown["segment"] + shown["position"] == pytest.approx(shown["summed"], abs=1e-6)


def _arithmetic(page: Page) -> list[float]:
    """μ, σ, the scaled sum, γ, β and the result, as the cell panel lists them."""
    lines: list[Any] = page.locator("#embviz-cell .ev-calc dd").evaluate_all(
        "all => all.map((one) => one.title)"
    )
    return [float(number) for number in lines]


def _number(page: Page, selector: str) -> float:
    """A number with all its digits, which the page keeps in the title of the rounded one."""
    return float(page.locator(selector).get_attribute("title") or "nan")


def _colours_of_a_tile(page: Page) -> int:
    """How many colours the first tile of the strip has."""
    count: int = page.locator("#embviz-strip canvas").first.evaluate(
        "canvas => new Set(new Uint32Array("
        "canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"
    )
    return count

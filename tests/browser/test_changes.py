"""The tabs What changed and Layers: opened by an address with a what-if, as a reader with a link does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

import embviz
from embviz.embedding.interventions import Intervention
from embviz.recipe import Recipe
from embviz.ui.payload import parts_json
from tests.browser.conftest import Record
from tests.browser.serving import Served, serve
from tests.browser.visit import SELECTED, choose_tab, open_page, open_tab, selection
from tests.conftest import HUB
from tests.fake_hub import FakeHub, Repo
from tests.models.stand_ins import write_bert

PAIR = ("The bank raised interest rates.", "We sat on the river bank.")
SHIFT = embviz.ShiftPositions(1)
RECEIVE = """async (json) => {
    const { base } = JSON.parse(document.getElementById("embviz-boot").textContent);
    (await import(new URL(base + "/store.js", document.baseURI).href)).receiveParts(json);
}"""
CHANGES, LAYERS = "#embviz-changes", "#embviz-layers"


def open_changed(page: Page, served: Served, *what_if: Intervention, text: str = PAIR[0]) -> None:
    open_page(page, served, **dict(parse_qsl(Recipe(text, PAIR[1], what_if=what_if).to_query())))


def open_both(page: Page) -> None:
    open_tab(page, "What changed")
    expect(page.locator(f"{CHANGES} .heatmaplayer").first).to_be_visible()
    open_tab(page, "Layers")
    expect(page.locator(f"{LAYERS} .heatmaplayer").first).to_be_visible(timeout=60_000)


def test_a_link_with_a_what_if_shows_who_moved_and_by_how_much(page: Page, served: Served) -> None:
    """A shift by one: [CLS] makes more than half of it, 0.0265 on average (science.md §5)."""
    open_changed(page, served, SHIFT)
    open_tab(page, "What changed")

    bars, delta, lens = page.locator(f"{CHANGES} section").all()
    expect(bars.locator(".ev-say")).to_contain_text("“[CLS]” (token 0) alone makes")
    expect(bars.locator(".barlayer .point")).to_have_count(32)
    expect(bars).to_contain_text("mean 0.0265")
    expect(delta.locator(".heatmaplayer image, .heatmaplayer .hm")).not_to_have_count(0)
    expect(delta.locator(".ev-say")).to_contain_text("99 (0.12)")
    expect(lens.locator(".ev-say")).to_contain_text("1.60 before")


def test_a_click_in_a_row_selects_its_token_and_in_a_heatmap_its_dimension_too(
    page: Page, served: Served
) -> None:
    open_changed(page, served, SHIFT)
    open_tab(page, "What changed")
    bars, delta, _ = page.locator(f"{CHANGES} section").all()
    expect(bars.locator(".barlayer .point").first).to_be_visible()

    panel = bars.locator(".nsewdrag").first
    box = panel.bounding_box()
    assert box is not None
    panel.click(
        position={"x": box["width"] * 0.8, "y": box["height"] * 5.5 / 16}
    )  # right of the bar of token 5
    expect(page.locator(SELECTED)).to_have_attribute("data-token", "5")

    expect(delta.locator(".heatmaplayer").first).to_be_visible()
    panel = delta.locator(".nsewdrag").first
    box = panel.bounding_box()
    assert box is not None
    panel.click(position={"x": box["width"] * 200.5 / 384, "y": box["height"] * 8.5 / 16})
    page.wait_for_function("window.eyes.selection()[0] === 8")
    assert abs(selection(page)[1] - 200) <= 1


def test_the_numbers_are_there_as_tables_that_the_keyboard_moves_in(page: Page, served: Served) -> None:
    open_changed(page, served, SHIFT)
    open_tab(page, "What changed")
    fold = page.locator(f"{CHANGES} section").first.locator("details")

    fold.locator("summary").focus()
    page.keyboard.press("Enter")

    rows = fold.locator("tbody tr")
    expect(rows).to_have_count(16)
    expect(rows.nth(0)).to_contain_text("0.249")
    rows.nth(2).locator("button").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(SELECTED)).to_have_attribute("data-token", "3")
    expect(rows.nth(3).locator("button")).to_be_focused()


def test_dimensions_can_be_put_in_the_order_of_their_change_in_both_tabs(page: Page, served: Served) -> None:
    open_changed(page, served, SHIFT)
    for tab, view in (
        ("What changed", f"{CHANGES} section:nth-of-type(2)"),
        ("Heatmaps", "#embviz-heatmaps"),
    ):
        open_tab(page, tab)
        expect(page.locator(f"{view} .heatmaplayer").first).to_be_visible()
        page.locator(f"{view} .ev-toolbar select").first.select_option(label="by change")
        expect(page.locator(f"{view} .xtick text").first).to_have_text("99")


def test_without_a_what_if_both_tabs_say_so_and_ask_nothing(page: Page, served: Served) -> None:
    open_page(page, served)
    expect(page.locator("#embviz-card .ev-good")).to_be_visible(
        timeout=60_000
    )  # the mark's own question is over
    before = page.evaluate("performance.getEntriesByType('resource').length")
    for tab, view in (("What changed", CHANGES), ("Layers", LAYERS)):
        open_tab(page, tab)
        expect(page.locator(f"{view} .ev-nothing")).to_contain_text("Nothing is changed.")
        expect(page.locator(f"{view} .ev-plot:visible")).to_have_count(0)
    assert (
        page.evaluate(
            "n => performance.getEntriesByType('resource').slice(n).filter((e) => e.name.includes('queue/join'))",
            before,
        )
        == []
    )
    open_tab(page, "Heatmaps")
    options = page.locator("#embviz-heatmaps .ev-toolbar select").first.locator("option")
    expect(options).to_have_text(["as is", "by variance of the sum"])


def test_changes_that_cancel_say_that_nothing_changed(page: Page, served: Served) -> None:
    open_changed(page, served, embviz.SwapSegments(), embviz.SwapSegments())

    for tab, view in (("What changed", CHANGES), ("Layers", LAYERS)):
        open_tab(page, tab)
        expect(page.locator(f"{view} .ev-nothing")).to_contain_text("change nothing")


def test_the_layers_come_when_their_tab_is_opened_and_a_click_selects(page: Page, served: Served) -> None:
    """Not before; after a shift by 50 the sentence keeps a cosine of 0.842 (science.md §5)."""
    open_changed(page, served, embviz.ShiftPositions(50))
    expect(page.locator(f"{LAYERS} .heatmaplayer")).to_have_count(0)

    open_tab(page, "Layers")

    expect(page.locator(f"{LAYERS} .ev-say")).to_contain_text("0.842", timeout=60_000)
    expect(page.locator(f"{LAYERS} .ev-wait")).to_be_hidden()
    drags = page.locator(f"{LAYERS} .nsewdrag")
    panel = drags.nth(0) if "xy" in (drags.nth(0).get_attribute("data-subplot") or "") else drags.nth(1)
    box = panel.bounding_box()
    assert box is not None
    panel.click(position={"x": box["width"] * 3.5 / 7, "y": box["height"] * 9.5 / 16})
    expect(page.locator(SELECTED)).to_have_attribute("data-token", "9")
    page.locator(f"{LAYERS} summary").click()
    expect(page.locator(f"{LAYERS} tbody tr")).to_have_count(18)


def test_a_piece_of_markup_stays_text_in_both_tabs(page: Page, served: Served) -> None:
    open_changed(page, served, SHIFT, text="<img src=x onerror=alert(1)> <b>bold</b>")
    open_both(page)

    assert page.locator("#embviz-tabs img, #embviz-tabs section b b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways(
    page: Page, served: Served, scheme: str, width: int
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    open_changed(page, served, SHIFT)
    found = []

    for tab, view in (("What changed", CHANGES), ("Layers", LAYERS)):
        open_tab(page, tab)
        expect(page.locator(f"{view} .heatmaplayer").first).to_be_visible(timeout=60_000)
        for summary in page.locator(f"{view} summary").all():
            summary.click()
        page.wait_for_timeout(300)
        for violation in Axe().run(page).response["violations"]:
            if violation["impact"] in {"serious", "critical"}:
                where = [node["target"] for node in violation["nodes"]]
                found.append(f"{tab}: {violation['id']} at {where}")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{tab} is {wide} px too wide"
    assert not found


def test_of_changes_that_follow_each_other_quickly_the_last_is_shown(page: Page, served: Served) -> None:
    """As a slider makes them; meanwhile the tab says that it waits, and the last figure stays."""
    open_changed(page, served, SHIFT)
    open_tab(page, "Layers")
    expect(page.locator(f"{LAYERS} .ev-say")).to_contain_text("0.0544 at the input", timeout=60_000)

    for k in (3, 5, 50):
        recipe = Recipe(*PAIR, what_if=(embviz.ShiftPositions(k),))
        page.evaluate(RECEIVE, parts_json(embviz.analyze(recipe)))
        page.wait_for_timeout(60)
    expect(page.locator(f"{LAYERS} .ev-wait")).to_be_visible()
    expect(page.locator(f"{LAYERS} .heatmaplayer").first).to_be_visible()

    expect(page.locator(f"{LAYERS} .ev-say")).to_contain_text("0.842")
    expect(page.locator(f"{LAYERS} .ev-wait")).to_be_hidden()


@pytest.fixture
def hub_of_bert(tmp_path: Path) -> Iterator[FakeHub]:
    HUB.reset()
    HUB.repos = {"tiny/bert": Repo(write_bert(tmp_path / "bert", hidden_size=96, intermediate_size=4096))}
    yield HUB
    HUB.reset()


def test_the_layers_of_a_model_of_the_hub_are_fetched_only_on_a_click(
    context: BrowserContext, record: Record, hub_of_bert: FakeHub, tmp_path: Path
) -> None:
    """The tab names the size first; the button fetches them, and the figure comes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "0")
        patch.setenv("HF_HOME", str(tmp_path / "hf-home"))
        with serve() as served:
            page = context.new_page()
            record.watch(page)
            recipe = Recipe("my dog is cute", "he likes the dog", model="tiny/bert", what_if=(SHIFT,))
            open_page(page, served, **dict(parse_qsl(recipe.to_query())))
            page.wait_for_function(
                "window.eyes.state().parts.model.model_type === 'bert' && window.eyes.state().parts.changes"
            )
            choose_tab(page, "Layers")

            button = page.locator(f"{LAYERS} .ev-question button")
            expect(button).to_have_text(re.compile(r"Download [\d.]+ [kKM]B"), timeout=60_000)
            expect(page.locator(f"{LAYERS} .heatmaplayer")).to_have_count(0)
            asked = len(hub_of_bert.log)
            button.click()

            expect(page.locator(f"{LAYERS} .heatmaplayer").first).to_be_visible(timeout=60_000)
            assert len(hub_of_bert.log) > asked
            expect(page.locator(f"{LAYERS} .ev-say")).to_contain_text("in the last of 1")
    assert record.errors == []

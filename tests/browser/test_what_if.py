"""The what-if part of the page: flipping, moving, sliding, taking back, and the address that keeps it."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.serving import Served
from tests.browser.visit import open_page, show

BANNER, PANEL = "#embviz-strip .ev-banner", "#embviz-what-if"
RAISED = "#embviz-strip [data-token='3']"


def changes(page: Page) -> list[dict[str, object]]:
    """The changes of the Recipe on the page."""
    found: list[dict[str, object]] = page.evaluate("window.eyes.state().parts.recipe.what_if")
    return found


def wait_for_changes(page: Page, *expected: dict[str, object]) -> None:
    page.wait_for_function(
        "wanted => JSON.stringify(window.eyes.state().parts.recipe.what_if) === wanted",
        arg=json.dumps(expected, separators=(",", ":")),
    )


def field(page: Page, label: str) -> Locator:
    """The field beside a slider."""
    return page.locator(f"{PANEL} .ev-slider", has_text=label).locator("input[type=number]")


def test_the_controls_are_in_sight(page: Page, served: Served) -> None:
    """On a wide screen the what-if is open; nothing is changed, and nothing claims so."""
    open_page(page, served)

    expect(page.locator(f"{PANEL} select").first).to_be_visible()
    expect(page.locator(BANNER)).to_be_hidden()
    expect(page.locator("#embviz-strip .ev-changed")).to_have_count(0)


def test_a_click_on_a_segment_flips_it_and_another_takes_it_back(page: Page, served: Served) -> None:
    """The cell says A → B, sum and LayerNorm are outlined, the others are as they were; the banner says it in words."""
    open_page(page, served)
    page.click(f"{RAISED} [data-part=segment]")
    wait_for_changes(page, {"type": "FlipSegment", "index": 3})

    expect(page.locator(f"{RAISED} [data-part=segment]")).to_contain_text("EA → EB")
    assert page.locator("#embviz-strip .ev-changed").count() == 3
    expect(page.locator(f"{RAISED} .ev-changed")).to_have_count(3)
    expect(page.locator(BANNER)).to_contain_text("raised (3) in segment B")
    expect(page.locator(f"{RAISED} .ev-moved")).not_to_have_text("0.000")
    expect(page.locator("#embviz-strip [data-token='4'] .ev-moved")).to_have_text("0.000")

    page.click(f"{RAISED} [data-part=segment]")
    wait_for_changes(page)
    expect(page.locator(BANNER)).to_be_hidden()


def test_the_keyboard_flips_and_moves(page: Page, served: Served) -> None:
    """F flips the segment of the focused token, P opens a field for its position."""
    open_page(page, served)
    page.click(f"{RAISED} .ev-head")
    page.keyboard.press("f")
    wait_for_changes(page, {"type": "FlipSegment", "index": 3})
    expect(page.locator(RAISED)).to_be_focused()

    page.keyboard.press("p")
    page.keyboard.type("40")
    page.keyboard.press("Enter")

    wait_for_changes(
        page, {"type": "FlipSegment", "index": 3}, {"type": "MovePosition", "index": 3, "position": 40}
    )
    expect(page.locator(f"{RAISED} [data-part=position]")).to_contain_text("E3 → E40")
    expect(page.locator(RAISED)).to_be_focused()


def test_a_click_on_a_position_asks_for_another_and_escape_leaves_it(page: Page, served: Served) -> None:
    open_page(page, served)
    page.click(f"{RAISED} [data-part=position]")
    page.keyboard.type("9")
    page.keyboard.press("Escape")
    expect(page.locator(f"{RAISED} input")).to_have_count(0)
    assert changes(page) == []

    page.click(f"{RAISED} [data-part=position]")
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    wait_for_changes(page, {"type": "MovePosition", "index": 3, "position": 9})


def test_a_slider_shifts_positions_and_the_measured_distance_is_said(page: Page, served: Served) -> None:
    """Five steps of the arrow key are a shift of 5, which moves the sums 0.0431 on average (science.md §5)."""
    open_page(page, served)
    page.locator(f"{PANEL} .ev-slider", has_text="by").locator("input[type=range]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")

    wait_for_changes(page, {"type": "ShiftPositions", "k": 5, "keep_first": False})
    mean = page.evaluate("window.eyes.state().parts.what_if.moved.summed.mean")
    assert mean == pytest.approx(0.0431, abs=5e-5)
    page.get_by_label("keep the first token").check()
    wait_for_changes(page, {"type": "ShiftPositions", "k": 5, "keep_first": True})
    expect(page.locator("#embviz-strip [data-token='0'] .ev-moved")).to_have_text("0.000")


def test_the_cell_has_both_columns(page: Page, served: Served) -> None:
    """Each number that changed has the former one beside it, and those are the numbers without the change."""
    open_page(page, served)
    page.click(f"{RAISED} .ev-head")
    before = page.evaluate("window.eyes.numbers()")
    field(page, "position ×").fill("2")
    page.keyboard.press("Enter")
    wait_for_changes(page, {"type": "Scale", "component": "position", "factor": 2})

    for part in ("position", "summed", "normalized"):
        was = page.locator(f"#embviz-cell [data-part={part}] s").inner_text()
        assert float(was.replace("−", "-")) == pytest.approx(before[part], abs=5e-5)
    expect(page.locator("#embviz-cell [data-part=token] s")).to_be_hidden()
    expect(page.locator("#embviz-cell .ev-calc s")).not_to_have_count(0)


def test_the_map_shows_where_the_sums_were(page: Page, served: Served) -> None:
    """Hollow squares and arrows in the same basis: the axes keep their shares."""
    open_page(page, served)
    axes = page.evaluate("window.eyes.state().map.axes.parts")
    page.locator(f"{PANEL} select").first.select_option("swap")
    wait_for_changes(page, {"type": "SwapSegments"})

    traces = page.evaluate("window.eyes.state().map.parts.data.map((trace) => trace.meta)")
    assert {"before", "moved"} <= set(traces)
    assert page.evaluate("window.eyes.state().map.axes.parts") == axes


def test_a_change_is_taken_back_and_all_are_reset(page: Page, served: Served) -> None:
    open_page(
        page,
        served,
        text="my dog is cute",
        what_if='[{"type":"ShiftPositions","k":2},{"type":"NoLayerNorm"}]',
    )
    expect(page.locator(f"{BANNER} li")).to_have_count(2)
    expect(page.locator("#embviz-strip .ev-reason")).to_contain_text("switched off")

    page.get_by_label("Take back: no LayerNorm").click()
    wait_for_changes(page, {"type": "ShiftPositions", "k": 2, "keep_first": False})
    page.locator(BANNER).get_by_role("button", name="Reset").click()
    wait_for_changes(page)
    expect(page.locator(BANNER)).to_be_hidden()


def test_the_address_keeps_the_changes(page: Page, served: Served) -> None:
    """A reload shows the same changes, in the controls too."""
    open_page(page, served)
    field(page, "segment ×").fill("0")
    page.keyboard.press("Enter")
    wait_for_changes(page, {"type": "Scale", "component": "segment", "factor": 0})
    page.wait_for_url("**what_if=**")
    asked = json.loads(parse_qs(urlsplit(page.url).query)["what_if"][0])
    assert asked == [{"type": "Scale", "component": "segment", "factor": 0}]

    page.reload()
    page.wait_for_function("window.eyes.tokens().length > 0", timeout=60_000)
    expect(page.locator(BANNER)).to_contain_text("segment removed")
    expect(field(page, "segment ×")).to_have_value("0")


def test_another_sentence_keeps_what_means_no_single_token(page: Page, served: Served) -> None:
    """The shift stays for the next input; the flipped third token does not."""
    open_page(page, served, text="my dog is cute", text_pair="he likes playing",
              what_if='[{"type":"FlipSegment","index":3},{"type":"ShiftPositions","k":2}]')  # fmt: skip

    show(page, "I like strawberries", "")

    page.wait_for_function("window.eyes.tokens().includes('straw')")
    assert changes(page) == [{"type": "ShiftPositions", "k": 2, "keep_first": False}]


def test_changes_that_cancel_say_so(page: Page, served: Served) -> None:
    open_page(page, served, text="my dog", what_if='[{"type":"SwapSegments"},{"type":"SwapSegments"}]')

    expect(page.locator(BANNER)).to_contain_text("change nothing")
    expect(page.locator("#embviz-strip .ev-changed")).to_have_count(0)


def test_a_refused_change_keeps_the_view_and_says_why(page: Page, served: Served) -> None:
    """A piece that the vocabulary does not have is one sentence at the controls; nothing else changes."""
    open_page(page, served)
    box = page.get_by_label("another piece in its place")
    box.fill("strawberries")
    box.press("Enter")

    expect(page.locator("#embviz-notice-what-if")).to_contain_text("strawberries")
    assert changes(page) == []
    box.fill("river")
    box.press("Enter")
    wait_for_changes(page, {"type": "ReplaceToken", "index": 2, "piece": "river"})
    expect(page.locator("#embviz-notice-what-if")).not_to_contain_text("strawberries")
    expect(page.locator("#embviz-strip [data-token='2'] .ev-piece")).to_have_text("river")


def test_a_sentence_typed_while_a_slider_is_answered_is_what_is_shown(page: Page, served: Served) -> None:
    """Questions are answered in their order: the strip ends with the sentence in the box, and with the shift."""
    open_page(page, served)
    page.locator(f"{PANEL} .ev-slider", has_text="by").locator("input[type=range]").focus()
    for round_ in range(4):
        page.locator(f"{PANEL} .ev-slider", has_text="by").locator("input[type=range]").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.fill("#embviz-text textarea", f"Sentence number {round_} here.")
        page.press("#embviz-text textarea", "Enter")
        shift = {"type": "ShiftPositions", "k": 2 * round_ + 2, "keep_first": False}
        page.wait_for_function("piece => window.eyes.tokens()[3] === piece", arg=str(round_))
        wait_for_changes(page, shift)
        page.wait_for_timeout(300)
        assert page.evaluate("window.eyes.tokens()[3]") == str(round_)
        assert changes(page) == [shift]


def test_a_choice_of_the_map_and_a_slider_at_once_both_count(page: Page, served: Served) -> None:
    open_page(page, served)
    page.evaluate("""() => {
        const range = document.querySelectorAll("#embviz-what-if .ev-slider input[type=range]")[1];
        const slide = (value) => {
            range.value = value;
            range.dispatchEvent(new Event("input", { bubbles: true }));
        };
        slide(7);
        const colour = [...document.querySelectorAll("#embviz-projection select")].at(-1);
        colour.value = "segment";
        colour.dispatchEvent(new Event("change", { bubbles: true }));
        slide(8);
    }""")

    wait_for_changes(page, {"type": "ShiftPositions", "k": 8, "keep_first": False})
    page.wait_for_function("""() => {
        const query = new URLSearchParams(window.eyes.state().map.query);
        return query.get("color_by") === "segment" && (query.get("what_if") ?? "").includes('"k":8');
    }""")
    page.wait_for_url("**color_by=segment**")


def test_a_double_click_takes_one_change_back(page: Page, served: Served) -> None:
    """The second click finds the change gone, and leaves the others."""
    flips = json.dumps([{"type": "FlipSegment", "index": index} for index in (1, 2, 3)])
    open_page(page, served, text="my dog is cute", text_pair="he likes playing", what_if=flips)

    page.get_by_label("Take back: my (1) in segment B").dblclick()

    wait_for_changes(page, {"type": "FlipSegment", "index": 2}, {"type": "FlipSegment", "index": 3})
    page.wait_for_timeout(500)
    assert len(changes(page)) == 2


def test_on_a_phone_the_controls_are_folded(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, served)

    expect(page.locator(f"{PANEL} select").first).to_be_hidden()
    page.locator(f"{PANEL} summary").click()
    expect(page.locator(f"{PANEL} select").first).to_be_visible()

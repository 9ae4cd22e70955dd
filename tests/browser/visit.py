"""What the browser tests do on the page and read from it."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.browser.serving import Served

# What transformers' BertTokenizerFast makes of the sentences.
BANK = "[CLS] the bank raised interest rates . [SEP] we sat on the river bank . [SEP]".split()
DOG = "[CLS] my dog is cute [SEP] he likes playing [SEP]".split()
STRAWBERRIES = "[CLS] i like straw ##berries [SEP]".split()

TABS = ("Map", "Heatmaps", "What changed", "Layers", "Table")
SELECTED = "#embviz-strip [aria-selected=true]"

# Reads the page's one store; it is the same module that the page itself has imported.
_EYES = """
window.eyes = (() => {
    let store = null;
    const look = async () => {
        const boot = document.getElementById("embviz-boot");  // Gradio adds it to the head after a while
        if (!boot) return setTimeout(look, 20);
        store = await import(new URL(JSON.parse(boot.textContent).base + "/store.js", document.baseURI).href);
    };
    look();
    const state = () => store?.current();
    return {
        state,
        tokens: () => state()?.parts?.tokens.map((token) => token.piece) ?? [],
        row: (name, token) => store.row(name, token),
        selection: () => [state()?.token, state()?.dim],
        numbers: () => {
            const { token, dim } = state();
            const names = ["token", "segment", "position", "summed", "normalized"];
            return Object.fromEntries(names.map((name) => [name, store.row(name, token)?.[dim] ?? null]));
        },
    };
})();
"""


def open_page(page: Page, served: Served, /, **query: str) -> None:
    """Opens the page with this query and waits until the strip is drawn."""
    page.add_init_script(_EYES)
    page.goto(served.url + ("/?" + urlencode(query) if query else "/"))
    page.wait_for_function("window.eyes.tokens().length > 0", timeout=60_000)
    expect(page.locator("#embviz-strip .ev-column").first).to_be_visible()


def show(page: Page, text: str, text_pair: str) -> None:
    """Types both sentences and presses Show."""
    page.fill("#embviz-text textarea", text)
    page.fill("#embviz-text-pair textarea", text_pair)
    page.click("#embviz-show")


def tokens(page: Page) -> list[str]:
    """The pieces on the strip, as a person reads them."""
    return page.locator("#embviz-strip .ev-column .ev-piece").all_text_contents()


def wait_for_tokens(page: Page, pieces: list[str]) -> None:
    """Waits until the strip shows these pieces."""
    expect(page.locator("#embviz-strip .ev-column .ev-piece")).to_have_text(pieces)


def wait_for_another_input(page: Page, pieces: list[str]) -> None:
    """Waits until the page has an input of other pieces than these."""
    page.wait_for_function("before => window.eyes.tokens().join() !== before.join()", arg=pieces)


def selection(page: Page) -> list[int]:
    """The selected token and dimension."""
    chosen: list[int] = page.evaluate("window.eyes.selection()")
    return chosen


def open_tab(page: Page, name: str) -> None:
    """Opens a tab and waits until it has drawn what belongs there."""
    choose_tab(page, name)
    content = {
        "Map": "#embviz-projection .ev-plot .main-svg >> nth=0",
        "Heatmaps": "#embviz-heatmaps .heatmaplayer >> nth=0",
        "What changed": "#embviz-changes :is(.ev-nothing, .barlayer):visible >> nth=0",
        "Layers": "#embviz-layers :is(.ev-nothing, .heatmaplayer):visible >> nth=0",
        "Table": "#embviz-tables tbody tr >> nth=0",
    }
    expect(page.locator(content[name])).to_be_visible()


def choose_tab(page: Page, name: str) -> None:
    """Opens a tab, also where a narrow window has put it behind the dots."""
    tab = page.get_by_role("tab", name=name, exact=True)
    if tab.is_visible():
        tab.click()
        return
    page.locator("#embviz-tabs .overflow-menu > button").click()
    page.locator("#embviz-tabs .overflow-dropdown").get_by_text(name, exact=True).click()


def luminance(page: Page, selector: str, property_name: str) -> float:
    """How bright a colour of the page is, from 0 for black to 1 for white."""
    colour: str = page.locator(selector).first.evaluate(
        "(element, name) => getComputedStyle(element)[name]", property_name
    )
    red, green, blue = (float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

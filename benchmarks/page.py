"""What the page costs in a browser: first drawing, a new pair, hovering, and bytes."""

from __future__ import annotations

import time
from itertools import count, cycle
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.processes import BARE, seconds_to_import
from benchmarks.table import Row, alternate
from tests.browser.serving import Served, serve

CLOCKS = Path(__file__).parent / "page.js"
FRAME_MS = 1000 / 60

# Sixteen tokens each with [CLS] and [SEP]; two, so that every Show changes something.
PAIRS = (
    ("The bank raised interest rates.", "We sat on the river bank."),
    ("A dog barked at night.", "They walk in a green park."),
)
DRAWN = """() =>
    document.querySelectorAll("#embviz-strip canvas").length > 0 &&
    document.querySelector("#embviz-projection .main-svg .scatterlayer .trace") !== null
"""


def open_page(browser: Browser, url: str) -> Page:
    """A tab with the clocks in it, at this address."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(path=CLOCKS)
    page.goto(url)
    return page


def first_drawing(browser: Browser, runs: int) -> Row:
    """Time from the first answer until the default example is drawn, beside importing torch and scikit-learn."""

    def drawn() -> float:
        with serve() as served:
            started = time.perf_counter()
            page = open_page(browser, served.url)
            page.wait_for_function(DRAWN, polling=50, timeout=60_000)
            seconds = time.perf_counter() - started
            page.close()
            return seconds

    ours, imports = alternate(runs, drawn, seconds_to_import)
    return Row(
        "default example drawn, after the 200", ours, imports, 1.5, "s", "import torch and scikit-learn"
    )


def answers(browser: Browser, served: Served, runs: int) -> list[Row]:
    """From a click until all visible views of 16 tokens are painted: of a new pair, and of a flipped segment."""
    page = open_page(browser, served.url)
    page.wait_for_function(DRAWN, timeout=60_000)
    with serve(BARE) as bare_page:
        bare = open_page(browser, bare_page.url)
        bare.wait_for_selector("textarea")
        texts = (f"text number {number} to turn round" for number in count())
        pairs = (PAIRS[number % 2] for number in count(1))
        flipped = cycle(range(1, 7))

        def show() -> float:
            _type_pair(page, *next(pairs))
            return _milliseconds(page, "clocks.press('#embviz-show')")

        def flip() -> float:
            cell = f"#embviz-strip [data-token='{next(flipped)}'] [data-part=segment]"
            return _milliseconds(page, f'clocks.press("{cell}")')

        def round_trip() -> float:
            return _milliseconds(bare, f"clocks.roundTrip('{next(texts)}')")

        def draw() -> float:
            return _milliseconds(page, "clocks.draw()")

        rows = []
        for what, act, limit in (
            ("a new pair of 16 tokens, click to painted", show, 3),
            ("a segment flipped, click to painted", flip, 2),
        ):
            for warm_up in (act, round_trip, draw):
                warm_up()
            ours, empty, drawing = alternate(runs, act, round_trip, draw)
            against = f"an empty Gradio event ({empty:.0f} ms) and the drawing ({drawing:.0f} ms)"
            rows.append(Row(what, ours, empty + drawing, limit, "ms", against))
        bare.close()
    page.close()
    return rows


def hover(browser: Browser, served: Served, runs: int) -> list[Row]:
    """Lighting up a token in all views: work within its frame, and requests (none is fine)."""
    page = open_page(browser, served.url)
    page.wait_for_function(DRAWN, timeout=60_000)
    page.wait_for_timeout(1000)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))

    times = [_milliseconds(page, f"clocks.hover({number % 14 + 1})") for number in range(4 * runs)]

    page.close()
    return [
        Row("hover, light up a token in all views", median(times), FRAME_MS, 1, "ms", "one frame"),
        Row("hover, requests", len(requests), 1, 0, "", "no request at all"),
    ]


def heatmap_bytes(browser: Browser, served: Served) -> Row:
    """All bytes that one Show receives, everything else included, beside the float32 of the cells on screen."""
    page = open_page(browser, served.url)
    page.wait_for_function(DRAWN, timeout=60_000)
    page.wait_for_timeout(2000)
    received: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.dataReceived", lambda event: received.append(event["dataLength"]))

    _type_pair(page, *PAIRS[1])
    _milliseconds(page, "clocks.press('#embviz-show')")

    cells = page.evaluate(_CELLS)
    page.close()
    against = f"float32 of the {cells:,} cells on screen"
    return Row("bytes of one Show", sum(received) / 1000, cells * 4 / 1000, 1.4, "kB", against)


_CELLS = """async () => {
    const boot = JSON.parse(document.getElementById("embviz-boot").textContent);
    const { current } = await import(new URL(boot.base + "/store.js", document.baseURI).href);
    const { parts } = current();
    const shown = Object.values(parts.parts).filter((part) => part.absent === undefined).length;
    return shown * (parts.stop - parts.start) * parts.width;
}"""


def _type_pair(page: Page, text: str, text_pair: str) -> None:
    page.fill("#embviz-text textarea", text)
    page.fill("#embviz-text-pair textarea", text_pair)
    page.wait_for_timeout(300)


def _milliseconds(page: Page, expression: str) -> float:
    result: float = page.evaluate(f"window.{expression}")
    return result

"""The exported page, opened from disk in a real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

import embviz
from embviz import figures
from embviz.exports import to_html
from tests.browser.conftest import Record

HOSTILE = (
    "<script>document.title='hacked'</script> <img src=x onerror=\"document.title='hacked'\"> $x^2$ &lt;b&gt;"
)


def _export(folder: Path, components: tuple[int, ...]) -> Path:
    """The export of a text that is markup, with all figures."""
    analysis = embviz.analyze(embviz.Recipe(HOSTILE, "\u202eabc", pca_components=components))
    drawn = {draw.__name__: draw(analysis) for draw in (figures.pca, figures.normalized_pca, figures.heatmap)}
    file = folder / "page.html"
    file.write_bytes(to_html(analysis, drawn))
    return file


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _export(tmp_path_factory.mktemp("export"), (1, 2))


def _open(tab: Page, file: Path) -> None:
    """Opens the page and waits until its three figures are drawn; without a GPU the third dimension takes long."""
    tab.goto(file.as_uri(), wait_until="commit")
    tab.wait_for_function(
        "document.querySelectorAll('.figure .js-plotly-plot').length === 3", timeout=120_000
    )


@pytest.mark.parametrize(
    ("scheme", "background"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 18, 18)")]
)
def test_export_is_drawn_and_asks_nobody(
    browser: Browser, record: Record, exported: Path, scheme: Literal["light", "dark"], background: str
) -> None:
    """All figures are drawn without an error message, no script of the text runs, and nothing else is loaded."""
    tab = browser.new_page(color_scheme=scheme)
    record.watch(tab)
    _open(tab, exported)

    assert record.errors == []
    assert {url for url in record.requests if not url.startswith(("data:", "blob:"))} == {exported.as_uri()}
    assert tab.title() == "embviz: the input layer of all-MiniLM-L6-v2"
    assert HOSTILE in tab.inner_text("body")
    assert tab.locator("img[src=x]").count() == 0
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == background
    tab.close()


def test_export_fits_a_phone(browser: Browser, exported: Path) -> None:
    """390 px wide: the page does not scroll sideways; wide tables and figures do so for themselves."""
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    _open(tab, exported)

    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.close()


def test_map_in_three_dimensions_is_drawn(browser: Browser, record: Record, tmp_path: Path) -> None:
    """The page's own rules for content allow what WebGL needs."""
    tab = browser.new_page()
    record.watch(tab)
    _open(tab, _export(tmp_path, (1, 2, 3)))

    assert tab.locator(".figure canvas").count() > 0
    assert record.errors == []
    tab.close()

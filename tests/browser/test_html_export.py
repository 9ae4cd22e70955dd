"""The exported page, opened from disk in a real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

import embviz
from embviz import figures
from embviz.exports import to_html
from tests.browser.conftest import Record

HOSTILE = (
    "<script>document.title='hacked'</script> <img src=x onerror=\"document.title='hacked'\"> $x^2$ &lt;b&gt;"
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a text that is markup, with all figures, a map in three dimensions among them."""
    analysis = embviz.analyze(embviz.Recipe(HOSTILE, "\u202eabc", pca_components=(1, 2, 3)))
    drawn = {draw.__name__: draw(analysis) for draw in (figures.pca, figures.normalized_pca, figures.heatmap)}
    file = tmp_path_factory.mktemp("export") / "page.html"
    file.write_bytes(to_html(analysis, drawn))
    return file


@pytest.mark.parametrize(
    ("scheme", "background"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 18, 18)")]
)
def test_export_is_drawn_and_asks_nobody(
    browser: Browser, record: Record, exported: Path, scheme: Literal["light", "dark"], background: str
) -> None:
    """All figures are drawn without an error message, no script of the text runs, and nothing else is loaded."""
    tab = browser.new_page(color_scheme=scheme)
    record.watch(tab)
    tab.goto(exported.as_uri())
    tab.wait_for_function("document.querySelectorAll('.figure .js-plotly-plot').length === 3")

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
    tab.goto(exported.as_uri())
    tab.wait_for_function("document.querySelectorAll('.figure .js-plotly-plot').length === 3")

    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    tab.close()

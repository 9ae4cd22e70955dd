"""Opening models in the page, from a fake Hub on this machine: progress, views, what they lack, failures, Cancel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import BrowserContext, Page, expect
from safetensors.torch import save_file

from tests.browser.conftest import Record
from tests.browser.serving import Served, serve
from tests.browser.visit import _EYES, BANK, open_page, open_tab, tokens
from tests.conftest import HUB
from tests.fake_hub import FakeHub, Repo
from tests.models.stand_ins import NORM, POSITION, SEGMENT, VOCAB, WORD, write_texts

WIDTH = 96
STALE, PANEL, NOTICE = "#embviz-strip .ev-stale", "#embviz-opening .ev-panel", "#embviz-notice-model"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A DistilBERT and a RoBERTa with random weights."""
    root = tmp_path_factory.mktemp("repositories")
    _write(root / "distilbert", positions=512, model_type="distilbert", dim=WIDTH)
    _write(root / "roberta", positions=34, segments=1, model_type="roberta", pad_token_id=1)
    return {f"tiny/{folder.name}": folder for folder in root.iterdir()}


@pytest.fixture(scope="module")
def online(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page on a server that reaches the fake Hub, with an empty cache."""
    settings = {"HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path_factory.mktemp("hf-home"))}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        assert os.environ["HF_ENDPOINT"] == HUB.url
        with serve() as page:
            yield page


@pytest.fixture
def hub_of_two(folders: dict[str, Path]) -> Iterator[FakeHub]:
    HUB.reset()
    HUB.repos = {name: Repo(folder) for name, folder in folders.items()}
    yield HUB
    HUB.reset()


@pytest.fixture
def tab(context: BrowserContext, record: Record, online: Served, hub_of_two: FakeHub) -> Iterator[Page]:
    """An empty tab on that server; no error is logged in it and no other host is asked."""
    assert hub_of_two.repos
    page = context.new_page()
    record.watch(page)
    yield page

    assert record.errors == []
    assert record.foreign(online.url) == []


def test_opening_shows_progress_and_then_the_model_without_segments(
    tab: Page, online: Served, hub_of_two: FakeHub
) -> None:
    """The panel says what is read, the old view says that it is the old one, and then DistilBERT stands there."""
    open_page(tab, online)
    hub_of_two.bandwidth = 60_000.0
    _choose(tab, "tiny/distilbert")

    expect(tab.locator(PANEL)).to_contain_text("tiny/distilbert")
    expect(tab.locator(STALE)).to_contain_text("all-MiniLM-L6-v2")
    expect(tab.locator(f"{PANEL} .ev-what")).to_contain_text(" of ")
    assert tokens(tab) == BANK

    tab.wait_for_function("window.eyes.state().parts.model.model_type === 'distilbert'")
    expect(tab.locator(PANEL)).to_be_hidden()
    expect(tab.locator(STALE)).to_be_hidden()
    reason = "no segment table"
    expect(tab.locator("#embviz-strip .ev-reason")).to_contain_text(reason)
    expect(tab.locator("#embviz-cell [data-part=segment]")).to_contain_text(reason)
    for name in ("Heatmaps", "Table"):
        open_tab(tab, name)
        expect(tab.locator(".ev-absences:visible")).to_contain_text(reason)
    expect(tab.locator("#embviz-header p")).to_have_text(
        "How DistilBERT builds its input: token + position → LayerNorm"
    )
    tab.wait_for_url("**model=tiny%2Fdistilbert**")


def test_roberta_counts_positions_from_two(tab: Page, online: Served) -> None:
    """An address with a RoBERTa opens it; positions begin at row 2, and the card says what its segments are."""
    open_page(tab, online, text="my dog", model="tiny/roberta")

    tab.wait_for_function("window.eyes.state().parts.model.model_type === 'roberta'")
    expect(tab.locator("#embviz-strip .ev-column").first).to_contain_text("E2")
    expect(tab.locator("#embviz-card")).to_contain_text("one row")
    expect(tab.locator("#embviz-card")).to_contain_text("32 tokens")
    expect(tab.locator("#embviz-text textarea")).to_have_value("my dog")
    expect(tab.locator("#embviz-model input")).to_have_value("tiny/roberta")


def test_the_selection_of_an_address_waits_for_its_model(
    tab: Page, online: Served, hub_of_two: FakeHub
) -> None:
    """While the example stands in, which has fewer tokens, the address keeps its own token and dimension."""
    hub_of_two.bandwidth = 60_000.0
    tab.add_init_script(_EYES)
    tab.goto(f"{online.url}/?text={'my+dog+' * 14}&model=tiny%2Fdistilbert@main#t=25&d=7")
    tab.wait_for_function("window.eyes?.state()?.parts?.model.model_type === 'bert'")
    tab.wait_for_timeout(500)
    assert tab.url.endswith("#t=25&d=7")

    tab.wait_for_function("window.eyes.state().parts.model.model_type === 'distilbert'")

    tab.wait_for_timeout(500)
    assert tab.evaluate("(({ token, dim }) => [token, dim])(window.eyes.state())") == [25, 7]
    assert tab.url.endswith("#t=25&d=7")


def test_typo_keeps_the_last_view(tab: Page, online: Served) -> None:
    """A model that is not there is one sentence at the field; the view stays, and says which model it shows."""
    open_page(tab, online)
    _choose(tab, "tiny/distilbrt")

    expect(tab.locator(NOTICE)).to_contain_text("tiny/distilbrt")
    expect(tab.locator(PANEL)).to_be_hidden()
    expect(tab.locator(STALE)).to_contain_text("still shows all-MiniLM-L6-v2")
    assert tokens(tab) == BANK


def test_cancel_stops_the_reading(tab: Page, online: Served, hub_of_two: FakeHub) -> None:
    """Cancel ends an opening that would take long, says so, and the next model opens."""
    open_page(tab, online)
    hub_of_two.faults.silent = (r"/tiny/distilbert/resolve/",)
    _choose(tab, "tiny/distilbert@main")

    tab.click(f"{PANEL} button")

    expect(tab.locator(NOTICE)).to_contain_text("was stopped", timeout=5_000)
    expect(tab.locator(PANEL)).to_be_hidden()
    assert tokens(tab) == BANK
    _choose(tab, "tiny/roberta")
    tab.wait_for_function("window.eyes.state().parts.model.model_type === 'roberta'")


def _choose(page: Page, model: str) -> None:
    """Types a model and presses Enter."""
    page.fill("#embviz-model input", model)
    page.press("#embviz-model input", "Enter")


def _write(folder: Path, *, positions: int, segments: int = 0, **config: Any) -> None:
    sizes = {"hidden_size": WIDTH, "max_position_embeddings": positions, "vocab_size": len(VOCAB)}
    write_texts(folder, **sizes, type_vocab_size=segments or 2, **config)
    generator = torch.Generator().manual_seed(3)
    shapes = {WORD: (len(VOCAB), WIDTH), POSITION: (positions, WIDTH), NORM[0]: (WIDTH,), NORM[1]: (WIDTH,)}
    if segments:
        shapes[SEGMENT] = (segments, WIDTH)
    weights = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

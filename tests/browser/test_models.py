"""Opening models in the page, from a fake Hub on this machine: progress, views, what they lack, failures, Cancel."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import BrowserContext, Locator, Page, expect
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
    """Models with random weights: without segments, with one segment, without LayerNorm, with one part more, not all
    numbers, in the old format.
    """
    root = tmp_path_factory.mktemp("repositories")
    words, positions, gain, bias = (len(VOCAB), WIDTH), (64, WIDTH), (WIDTH,), (WIDTH,)
    bert = {WORD: words, POSITION: positions, SEGMENT: (2, WIDTH), NORM[0]: gain, NORM[1]: bias}
    segmentless = {name: shape for name, shape in bert.items() if name != SEGMENT}
    _write(root / "distilbert", segmentless, model_type="distilbert", dim=WIDTH)
    _write(
        root / "roberta",
        bert | {SEGMENT: (1, WIDTH)},
        model_type="roberta",
        type_vocab_size=1,
        pad_token_id=1,
    )
    _write(root / "gpt2", {"wte.weight": words, "wpe.weight": positions}, model_type="gpt2", n_embd=WIDTH)
    task = {"embeddings.task_type_embeddings.weight": (3, WIDTH)}
    _write(root / "ernie", bert | task, model_type="ernie", use_task_id=True, task_type_vocab_size=3)
    weights = _write(root / "strange", bert)
    weights[WORD][VOCAB.index("dog"), 7] = float("nan")
    _save(root / "strange", weights)
    weights = _write(root / "old", bert)
    (root / "old" / "model.safetensors").unlink()
    torch.save(weights, root / "old" / "pytorch_model.bin", _use_new_zipfile_serialization=False)
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
def hub_of_tiny(folders: dict[str, Path]) -> Iterator[FakeHub]:
    HUB.reset()
    HUB.repos = {name: Repo(folder) for name, folder in folders.items()}
    yield HUB
    HUB.reset()


@pytest.fixture
def tab(context: BrowserContext, record: Record, online: Served, hub_of_tiny: FakeHub) -> Iterator[Page]:
    """An empty tab on that server; no error is logged in it and no other host is asked."""
    assert hub_of_tiny.repos
    page = context.new_page()
    record.watch(page)
    yield page

    assert record.errors == []
    assert record.foreign(online.url) == []


def test_opening_shows_progress_and_then_the_model_without_segments(
    tab: Page, online: Served, hub_of_tiny: FakeHub
) -> None:
    """The panel says what is read, the old view says that it is the old one, and then DistilBERT stands there."""
    open_page(tab, online)
    hub_of_tiny.bandwidth = 12_000.0
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
    expect(tab.locator("#embviz-card")).to_contain_text("62 tokens")
    expect(tab.locator("#embviz-text textarea")).to_have_value("my dog")
    expect(tab.locator("#embviz-model input")).to_have_value("tiny/roberta")


def test_the_selection_of_an_address_waits_for_its_model(
    tab: Page, online: Served, hub_of_tiny: FakeHub
) -> None:
    """While the example stands in, which has fewer tokens, the address keeps its own token and dimension."""
    hub_of_tiny.bandwidth = 60_000.0
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


def test_cancel_stops_the_reading(tab: Page, online: Served, hub_of_tiny: FakeHub) -> None:
    """Cancel ends an opening that would take long, says so, and the next model opens."""
    open_page(tab, online)
    hub_of_tiny.faults.silent = (r"/tiny/ernie/resolve/",)
    _choose(tab, "tiny/ernie@main")

    tab.click(f"{PANEL} button")

    expect(tab.locator(NOTICE)).to_contain_text("was stopped", timeout=5_000)
    expect(tab.locator(PANEL)).to_be_hidden()
    assert tokens(tab) == BANK
    _choose(tab, "tiny/roberta")
    tab.wait_for_function("window.eyes.state().parts.model.model_type === 'roberta'")


def test_gpt2_has_neither_segments_nor_a_layer_norm(tab: Page, online: Served) -> None:
    """Both rows say why they are empty, and the sum is what enters the first block."""
    open_page(tab, online, text="my dog", model="tiny/gpt2")

    tab.wait_for_function("window.eyes.state().parts.model.model_type === 'gpt2'")
    expect(tab.locator("#embviz-strip .ev-reason")).to_have_count(2)
    expect(tab.locator("#embviz-header p")).to_have_text("How GPT-2 builds its input: token + position")
    for name in ("Map", "Heatmaps", "Table"):
        open_tab(tab, name)
    assert tab.evaluate("window.eyes.numbers().normalized") is None


def test_a_vector_that_is_added_to_every_token_is_a_term_of_the_sum(tab: Page, online: Served) -> None:
    """ERNIE's task row is named in the cell's sum, and the four terms add up to it."""
    open_page(tab, online, text="my dog", model="tiny/ernie")

    tab.wait_for_function("window.eyes.state().parts.model.model_type === 'ernie'")
    tab.click("#embviz-strip [data-token='1'] .ev-head")
    cell = tab.locator("#embviz-cell")
    expect(cell.locator("[data-part=constant]")).to_be_visible()
    terms = [_number(cell, part) for part in ("token", "segment", "position", "constant")]
    assert sum(terms) == pytest.approx(_number(cell, "summed"), abs=2e-4)


def test_a_vector_that_is_no_number_is_named_and_not_drawn_as_zero(tab: Page, online: Served) -> None:
    """The page says which token it is; the heatmap leaves its place empty and the map leaves it out."""
    open_page(tab, online, text="my dog is cute", model="tiny/strange")

    tab.wait_for_function("window.eyes.state().parts.model.name === 'tiny/strange'")
    expect(tab.locator("#embviz-notice-text")).to_contain_text("dog")
    open_tab(tab, "Map")
    expect(tab.locator("#embviz-projection")).to_contain_text("left out")
    assert tab.evaluate("Number.isNaN(window.eyes.state().parts && window.eyes.row('summed', 2)[7])")
    open_tab(tab, "Table")
    expect(tab.locator("#embviz-tables")).not_to_contain_text("undefined")


def test_the_old_format_is_read_as_a_whole_only_when_asked(tab: Page, online: Served) -> None:
    """The refusal has a button with the file's size, and the button opens the model."""
    open_page(tab, online)
    _choose(tab, "tiny/old")

    button = tab.locator("#embviz-opening .ev-more", has_text="kB")
    expect(button).to_be_visible()
    assert tokens(tab) == BANK
    button.click()
    tab.wait_for_function("window.eyes.state().parts.model.name === 'tiny/old'")
    expect(tab.locator(PANEL)).to_be_hidden()


def _choose(page: Page, model: str) -> None:
    """Types a model and presses Enter."""
    page.fill("#embviz-model input", model)
    page.press("#embviz-model input", "Enter")


def _number(cell: Locator, part: str) -> float:
    """The value of a part in the cell panel."""
    text = cell.locator(f"[data-part={part}]").first.inner_text()
    found = re.search(r"[+−-]?\d+\.\d+", text)
    assert found, text
    return float(found[0].replace("−", "-"))


def _write(folder: Path, shapes: Mapping[str, tuple[int, ...]], **config: Any) -> dict[str, torch.Tensor]:
    """A repository with random weights of these shapes, which it gives back."""
    settings = {"hidden_size": WIDTH, "max_position_embeddings": 64, "vocab_size": len(VOCAB)}
    write_texts(folder, **settings | config)
    generator = torch.Generator().manual_seed(3)
    weights = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    _save(folder, weights)
    return weights


def _save(folder: Path, weights: dict[str, torch.Tensor]) -> None:
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

"""Whatever waits for a distant server waits in a place of its own, so that nobody else waits with it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from embviz.recipe import Recipe
from embviz.ui import handlers, opening
from embviz.ui.page import build_page
from tests.fake_hub import FakeHub, Repo
from tests.models.stand_ins import write_tiny


@pytest.fixture
def tiny(hub: FakeHub, tmp_path: Path) -> FakeHub:
    """A Hub with one tiny model, `org/tiny`, that a first text has opened."""
    write_tiny(tmp_path / "tiny", hidden_size=1024)  # its word rows lie behind what is read with the header
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    query = Recipe(text="my dog", model="org/tiny").to_query()
    *_, last = opening.open_views(query, "first")
    assert isinstance(last, handlers.Shown)
    assert last.parts is not None
    return hub


def test_a_text_whose_rows_are_here_is_drawn_at_once(tiny: FakeHub) -> None:
    asked = len(tiny.log)

    shown = handlers.show("dog my", None, "org/tiny")

    assert shown.parts is not None
    assert len(tiny.log) == asked


def test_a_text_whose_rows_are_not_here_is_given_to_the_opening(tiny: FakeHub) -> None:
    """In the place where things are computed nothing is asked of the Hub, however slow it is."""
    tiny.faults.silent = (".",)
    asked = len(tiny.log)

    shown = handlers.show("he likes france", None, "org/tiny")

    assert shown.parts is None
    assert json.loads(shown.opening or "")["state"] == "ask"
    assert len(tiny.log) == asked


def test_the_opening_reads_such_a_text(tiny: FakeHub) -> None:
    query = Recipe(text="he likes france", model="org/tiny").to_query()
    asked = len(tiny.log)

    *_, last = opening.open_views(query, "second")

    assert isinstance(last, handlers.Shown)
    assert last.parts is not None
    assert len(tiny.log) > asked
    assert handlers.show("he likes france", None, "org/tiny").parts is not None


def test_the_mark_opens_no_model(hub: FakeHub) -> None:
    """It has one place for all visitors."""
    mark = json.loads(handlers.verify(Recipe(text="my dog", model="org/tiny").to_query()))

    assert mark["state"] == "unknown"
    assert "org/tiny" in mark["text"]
    assert hub.log == []


def test_the_page_waits_for_no_program_that_asks_for_a_slow_model(tiny: FakeHub) -> None:
    """While `/explain` waits for the Hub in its own place, a page is drawn."""
    tiny.faults.silent = (".",)
    failed: list[Exception] = []

    def ask() -> None:
        try:
            handlers.explain("he likes france", model="org/tiny")
        except Exception as error:  # noqa: BLE001 - the Hub goes away at the end
            failed.append(error)

    waiting = threading.Thread(target=ask, daemon=True)
    waiting.start()
    assert handlers.show("my dog", None, "bundled").parts is not None
    assert waiting.is_alive()
    tiny.reset()
    waiting.join(60)


def test_what_may_wait_for_the_network_has_places_of_its_own() -> None:
    ids = {}
    for wire in build_page().fns.values():
        ids[getattr(wire.fn, "__name__", "")] = (wire.concurrency_id, wire.concurrency_limit)

    assert ids["explain"] == ("explain", 4)
    assert ids["open_model"] == ("opening", 4)
    assert ids["verify"][0] == "verify"
    assert ids["side_by_side"][0] == "beside"
    assert ids["through_layers"][0] == "layers"
    drawing = ("show", "swap", "example", "move_window", "change", "draw_map", "open_address")
    assert {ids[name][0] for name in drawing} == {"compute"}

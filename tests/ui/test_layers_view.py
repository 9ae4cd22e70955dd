"""The tab Layers: numbers for the bundled model, a question first for a model of the Hub, else a reason."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import embviz
from embviz.analysis import through_encoder
from embviz.models.encoder import Encoder
from embviz.recipe import Recipe
from embviz.ui import layers_view
from embviz.ui.layers_view import layers
from tests.fake_hub import FakeHub, Repo
from tests.models.stand_ins import config, write_bert

PAIR = ("The bank raised interest rates.", "We sat on the river bank.")
SHIFT = (embviz.ShiftPositions(1),)


def ask(recipe: Recipe, start: Any = 0, *, download: bool = False) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(layers(recipe.to_query(), start, download=download))
    return answer


def typed(array: dict[str, str]) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(array["bdata"]), "<f4")


def test_the_bundled_model_answers_at_once() -> None:
    recipe = Recipe(*PAIR, what_if=SHIFT)
    answer = ask(recipe)
    movement = through_encoder(embviz.analyze(recipe))

    assert answer["state"] == "ok"
    assert answer["query"] == recipe.to_query()
    assert np.allclose(typed(answer["distances"]).reshape(16, 7), movement.distances.T, atol=1e-6)
    assert np.allclose(typed(answer["means"]), movement.mean_distances, atol=1e-6)
    assert np.allclose(typed(answer["yardstick"]), 1 - movement.random_cosines, atol=1e-6)


def test_a_long_input_gets_the_rows_of_its_window() -> None:
    answer = ask(Recipe("the dog bites the man . " * 20, what_if=SHIFT), 30)

    assert answer["start"] == 30
    assert answer["figure"]["layout"]["yaxis"]["tickvals"][0] == 30
    assert len(typed(answer["distances"])) == 64 * 7


@pytest.mark.parametrize("what_if", [(), (embviz.ShiftPositions(0),)])
def test_nothing_changed_is_said_without_running_the_layers(what_if: Any) -> None:
    answer = ask(Recipe(*PAIR, what_if=what_if))

    assert answer["state"] == "none"
    assert "othing" in answer["text"]


def test_a_broken_question_gets_its_sentence() -> None:
    answer = json.loads(layers("text=a&pca_fit=everything", "first"))  # type: ignore[arg-type]

    assert answer["state"] == "none"
    assert "pca_fit" in answer["text"]


def test_a_model_of_the_hub_is_asked_for_and_fetched_only_then(hub: FakeHub, tmp_path: Path) -> None:
    """The question names the size of the layers: the tensors of the model above its input layer."""
    folder = write_bert(tmp_path / "bert")
    hub.repos = {"tiny/bert": Repo(folder)}
    recipe = Recipe("my dog is cute", "he likes the dog", model="tiny/bert", what_if=SHIFT)

    embviz.analyze(recipe)
    question = ask(recipe)
    assert question["state"] == "ask"
    assert question["size"] in question["text"]
    assert question["size"].endswith(("kB", "KB", "MB"))
    asked = len(hub.log)
    assert ask(recipe)["state"] == "ask"
    assert len(hub.log) == asked

    answer = ask(recipe, download=True)
    assert answer["state"] == "ok"
    assert len(typed(answer["means"])) == 1 + config()["num_hidden_layers"]
    assert ask(recipe)["state"] == "ok"


def test_a_model_that_is_not_open_any_more_is_not_opened_here(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos = {"tiny/bert": Repo(write_bert(tmp_path / "bert"))}
    recipe = Recipe("my dog is cute", model="tiny/bert", what_if=SHIFT)

    for download in (False, True):
        answer = ask(recipe, download=download)
        assert answer["state"] == "none"
        assert answer["text"] == "tiny/bert is not open any more; press Show to open it again."
    assert hub.log == []


def test_a_shared_server_gives_a_download_the_time_of_an_opening(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repos = {"tiny/bert": Repo(write_bert(tmp_path / "bert"))}
    recipe = Recipe("my dog is cute", model="tiny/bert", what_if=SHIFT)
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")
    embviz.analyze(recipe)
    monkeypatch.setattr(layers_view, "OPENING_SECONDS", 0.0)

    answer = ask(recipe, download=True)
    assert answer["state"] == "none"
    assert "took more than 0 seconds" in answer["text"]

    monkeypatch.delenv("EMBVIZ_PUBLIC")
    assert ask(recipe, download=True)["state"] == "ok"


def test_without_a_yardstick_the_rest_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "random_cosines", lambda *_: np.full(7, np.nan))
    answer = ask(Recipe(*PAIR, what_if=SHIFT))

    assert answer["state"] == "ok"
    assert [trace["meta"] for trace in answer["figure"]["data"]] == ["mean", "tokens"]
    assert "nan" not in answer["sentence"].lower()
    assert "dotted" not in answer["sentence"]
    assert np.isnan(typed(answer["yardstick"])).all()

"""load_model end to end: what is told on the way, what stops it, and what a page finds in odd files."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import embviz
from embviz.errors import ModelError, StoppedError
from embviz.models import limits, loading
from embviz.models.references import BUNDLED
from embviz.models.sources import bundled_folder, open_model
from embviz.models.watch import Progress, in_parallel, watching
from tests.fake_hub import FakeHub, Repo
from tests.models.stand_ins import WORD, write_json, write_tiny


@pytest.fixture
def slow(hub: FakeHub, tmp_path: Path) -> FakeHub:
    """A Hub with `org/tiny`, whose weights never come."""
    write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    hub.faults.silent = ("safetensors",)
    return hub


def test_progress_is_told(hub: FakeHub, tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    seen: list[Progress] = []
    outer: list[Progress] = []

    with watching(outer.append):
        embviz.load_model("org/tiny", progress=seen.append)

    assert {"config.json", "model.safetensors"} <= {step.what for step in seen}
    assert seen[-1].done <= seen[-1].total
    assert outer == seen


def test_cancel_stops_a_silent_opening(slow: FakeHub) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    with pytest.raises(StoppedError):
        embviz.load_model("org/tiny", cancel=cancel)
    slow.faults.silent = ()
    assert embviz.load_model("org/tiny").card.name == "org/tiny"


@pytest.mark.usefixtures("slow")
def test_shared_server_limits_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")
    monkeypatch.setattr(loading, "OPENING_SECONDS", 0.3)
    assert limits.is_public()
    with pytest.raises(ModelError, match=r"0\.3 seconds"):
        embviz.load_model("org/tiny")


@pytest.mark.usefixtures("slow")
def test_who_waits_for_anothers_opening_can_leave() -> None:
    first, second = threading.Event(), threading.Event()
    errors: list[ModelError] = []

    def load(cancel: threading.Event) -> None:
        try:
            embviz.load_model("org/tiny", cancel=cancel)
        except ModelError as error:
            errors.append(error)

    threads = [threading.Thread(target=load, args=(event,)) for event in (first, second)]
    for thread in threads:
        thread.start()
    second.set()
    threads[1].join(10)
    assert not threads[1].is_alive()
    assert threads[0].is_alive()
    first.set()
    threads[0].join(10)
    assert [type(error) for error in errors] == [StoppedError, StoppedError]


def test_the_first_error_ends_parallel_work() -> None:
    released = threading.Event()

    def wait() -> None:
        released.wait(30)

    def fail() -> None:
        raise OSError("first")

    with pytest.raises(OSError, match="first"):
        in_parallel([wait, fail])
    released.set()


def test_a_failed_opening_loses_nothing(hub: FakeHub, tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    model = embviz.load_model("org/tiny")
    with pytest.raises(ModelError):
        embviz.load_model("org/other")
    assert embviz.load_model("org/tiny") is model
    assert model.decompose("my dog").output is not None


def test_old_models_leave(hub: FakeHub, tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    for number in range(loading.MAX_OPEN_MODELS + 3):
        hub.repos[f"org/m{number}"] = Repo(tmp_path / "tiny")
        embviz.load_model(f"org/m{number}")
    assert len(loading._open) == loading.MAX_OPEN_MODELS


@pytest.mark.parametrize("prefix", ["", "bert.", "0.auto_model.", "model."])
def test_prefixes(prefix: str, tmp_path: Path) -> None:
    """EV156"""
    truth = write_tiny(tmp_path, prefix=prefix)
    d = embviz.load_model(str(tmp_path)).decompose("my dog", "is cute")
    assert torch.equal(torch.tensor(d.token), truth[f"{prefix}{WORD}"][torch.tensor(d.input_ids)])


def test_stray_position_ids() -> None:
    """EV159: the published MiniLM file has a buffer of positions, which nobody wants."""
    tensors = open_model(BUNDLED).tensors
    assert "embeddings.position_ids" in tensors
    assert tensors.shape("embeddings.position_ids") == (1, 512)
    assert embviz.load_model().decompose("hello").output is not None


def test_unknown_architecture_is_named_before_its_tables_are_read(hub: FakeHub, tmp_path: Path) -> None:
    """EV160, EV162: the sentence names what was found and what is known; no table was read."""
    write_tiny(tmp_path / "m", model_type="brandnew", vocab_size=100_000)
    hub.repos["org/m"] = Repo(tmp_path / "m")
    with pytest.raises(ModelError) as caught:
        embviz.load_model("org/m")
    assert "brandnew" in str(caught.value)
    assert "bert" in str(caught.value)
    assert hub.sent("^/[0-9a-f]{64}") <= 65_536


def test_nan_stays_in_its_row(tmp_path: Path) -> None:
    """EV106: the row of “france” (id 2605) is NaN; the others are as ever."""
    weights = load_file(bundled_folder() / "model.safetensors")
    weights[WORD] = weights[WORD].clone()
    weights[WORD][2605] = float("nan")
    save_file(weights, tmp_path / "model.safetensors")
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((bundled_folder() / name).read_bytes())
    text = "The capital of France is Paris."

    d, fine = embviz.load_model(str(tmp_path)).decompose(text), embviz.load_model().decompose(text)

    for part, right in ((d.token, fine.token), (d.summed, fine.summed), (d.output, fine.output)):
        assert part is not None
        assert right is not None
        nan = np.isnan(part).any(axis=1)
        assert np.flatnonzero(nan).tolist() == [4]
        assert np.array_equal(part[~nan], right[~nan])


def test_model_card_of_the_hub_shows_its_commit(hub: FakeHub, tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    files = open_model("org/tiny")
    assert files.revision is not None
    assert files.revision[:7] in files.origin
    assert files.sizes["model.safetensors"] == (tmp_path / "tiny" / "model.safetensors").stat().st_size


def test_files_that_hold_more_than_they_should(tmp_path: Path) -> None:
    """A config.json that is a list, and a tokenizer_config.json that is a number."""
    write_tiny(tmp_path)
    write_json(tmp_path / "config.json", [1])
    with pytest.raises(ModelError, match=r"config\.json"):
        open_model(str(tmp_path))
    write_tiny(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("[UNK]", encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(3), encoding="utf-8")
    with pytest.raises(ModelError, match=r"tokenizer_config\.json"):
        open_model(str(tmp_path)).tokenizer(16)

"""Bad input: each gets one sentence that names the thing and the next step, and nothing else happens."""

from __future__ import annotations

import json
import pickle
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import embviz
from embviz.errors import ModelError, StoppedError
from embviz.models.hub import check_id, check_revision
from embviz.models.sources import open_model
from embviz.models.watch import Progress, watching
from tests.fake_hub import FakeHub, Repo
from tests.models import stand_ins
from tests.models.stand_ins import WORD, write_json, write_texts, write_tiny


def refusal(ref: str, **options: Any) -> str:
    """The one sentence that refuses a model."""
    with pytest.raises(ModelError) as caught:
        embviz.load_model(ref, **options)
    sentence = str(caught.value)
    assert "Traceback" not in sentence
    assert "\n" not in sentence
    assert caught.value.field == "model"
    return sentence


@pytest.fixture
def tiny(hub: FakeHub, tmp_path: Path) -> FakeHub:
    """A Hub with one tiny model, `org/tiny`."""
    write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    return hub


# The Hub refuses


@pytest.mark.usefixtures("tiny")
def test_typo() -> None:
    """EV142: the sentence names what was typed and what was probably meant."""
    sentence = refusal("bert-base-uncasd")

    assert "bert-base-uncasd" in sentence
    assert "google-bert/bert-base-uncased" in sentence
    assert "spelling" in sentence


def test_private(tiny: FakeHub) -> None:
    tiny.repos["org/tiny"].private = True
    assert "org/tiny" in refusal("org/tiny")


def test_gated(tiny: FakeHub) -> None:
    tiny.repos["org/tiny"].gated = True
    assert "gated" in refusal("org/tiny")


@pytest.mark.usefixtures("tiny")
def test_revision_that_is_not_there() -> None:
    assert "“v9”" in refusal("org/tiny", revision="v9")


def test_rate_limit(tiny: FakeHub) -> None:
    tiny.faults.status.append(("resolve", 429, 99))
    assert "five minutes" in refusal("org/tiny")


def test_fault_of_the_hub(tiny: FakeHub) -> None:
    tiny.faults.status.append(("^/api/models", 503, 99))
    assert "503" in refusal("org/tiny")


def test_short_fault_is_waited_out(tiny: FakeHub) -> None:
    tiny.faults.status.append(("config.json", 503, 1))
    assert embviz.load_model("org/tiny").card.name == "org/tiny"


def test_login_page_of_a_network(tiny: FakeHub) -> None:
    tiny.faults.html = True
    assert "login page" in refusal("org/tiny")


@pytest.mark.usefixtures("tiny")
def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
        assert "cannot be reached" in refusal("org/tiny")


def test_offline(tiny: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """EV144: nothing is asked, and the sentence says that embviz is offline."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    sentence = refusal("org/tiny")

    assert "offline" in sentence
    assert "org/tiny" in sentence
    assert tiny.log == []


def test_silent_server(tiny: FakeHub) -> None:
    tiny.faults.silent = ("safetensors",)
    with watching(seconds=0.5), pytest.raises(ModelError, match=r"0\.5 seconds"):
        open_model("org/tiny")


def test_silent_server_without_a_limit(tiny: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    from embviz.models import hub as hub_module

    monkeypatch.setattr(hub_module, "TIMEOUT", 0.2)
    tiny.faults.silent = ("^/api/models",)
    assert "does not answer" in refusal("org/tiny")


def test_server_that_ignores_ranges(tiny: FakeHub) -> None:
    tiny.faults.ignore_range = True
    assert "does not send parts of model.safetensors" in refusal("org/tiny")


def test_server_that_sends_another_range(tiny: FakeHub) -> None:
    tiny.faults.shift_range = True
    assert "something else" in refusal("org/tiny")


def test_server_that_sends_less_than_it_says(tiny: FakeHub) -> None:
    tiny.faults.cut = True
    assert "org/tiny" in refusal("org/tiny")


def test_link_that_is_refused_at_once(tiny: FakeHub) -> None:
    tiny.faults.status.append(("^/[0-9a-f]{64}", 403, 99))
    assert "link" in refusal("org/tiny") or "refuse" in refusal("org/tiny")


@pytest.mark.usefixtures("tiny")
def test_cancelled() -> None:
    cancel = threading.Event()
    seen: list[Progress] = []

    def progress(step: Progress) -> None:
        seen.append(step)
        cancel.set()

    with watching(progress, cancel), pytest.raises(StoppedError):
        open_model("org/tiny")
    assert seen
    assert open_model("org/tiny").name == "org/tiny"


@pytest.mark.usefixtures("tiny")
def test_progress_counts_what_moves() -> None:
    seen: list[Progress] = []

    with watching(seen.append):
        open_model("org/tiny").tensors.tensor(WORD)

    assert {"config.json", "model.safetensors"} <= {step.what for step in seen}
    assert [step.done for step in seen] == sorted(step.done for step in seen)
    assert all(step.done <= step.total for step in seen)


# Ids, revisions and paths


@pytest.mark.parametrize(
    "ref",
    [
        "a b",
        "org/x?y",
        "org/%2f",
        "org/é",
        "org/a\nb",
        "org--x/..",
        "-x",
        "org/x.git",
        "x" * 100,
        "",
        "a/b:c",
    ],
)
def test_what_is_no_id_asks_nothing(ref: str, hub: FakeHub) -> None:
    with pytest.raises(ModelError):
        embviz.load_model(ref)
    assert hub.log == []


@pytest.mark.parametrize(
    "ref", ["http://metadata.example/latest", "https://example.org/a/b", "file:///folder/file"]
)
def test_addresses_of_elsewhere_ask_nothing(ref: str, hub: FakeHub) -> None:
    refusal(ref)
    assert hub.log == []


@pytest.mark.parametrize(
    "revision", ["../../x", "..", "a/../b", "/etc", "", "a b", "x\n", "a?b", "%2e%2e", "refs//x"]
)
def test_what_is_no_revision_asks_nothing(revision: str, hub: FakeHub) -> None:
    """huggingface_hub itself would write a file outside of its cache for ../../x."""
    refusal("org/tiny", revision=revision)
    assert hub.log == []


@pytest.mark.parametrize("revision", ["main", "v1.0", "refs/pr/38", "feature/new-head", "a" * 40])
def test_usual_revisions_are_fine(revision: str) -> None:
    check_revision(revision)
    check_id("google-bert/bert-base-uncased")


@pytest.mark.parametrize("ref", ["/etc", "./tiny", "../x", "~/x", "~root/x", "a/b/c", "C:\\x", "/etc/passwd"])
def test_shared_server_opens_no_path(ref: str, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")
    assert "shared server" in refusal(ref)
    assert hub.log == []


def test_two_names_are_an_id_even_where_a_folder_is(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny(tmp_path / "models" / "mine")
    monkeypatch.chdir(tmp_path)

    assert "“./models/mine”" in refusal("models/mine")
    assert embviz.load_model("./models/mine").card.name == "mine"
    assert len(hub.requests("^/api/models/models/mine")) == 1


def test_weight_file_instead_of_folder(tmp_path: Path) -> None:
    """EV147"""
    write_tiny(tmp_path / "tiny")
    sentence = refusal(str(tmp_path / "tiny" / "model.safetensors"))
    assert "folder that holds config.json" in sentence


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    assert "no folder" in refusal(str(tmp_path / "nowhere"))
    assert "no folder" in refusal("~nobody-of-this-name/x")
    assert "no folder" in refusal("/a\0b")


# What is in the repository


def gguf(folder: Path) -> None:
    write_json(folder / "config.json", stand_ins.config())
    (folder / "x.Q4_K_M.gguf").write_bytes(b"GGUF")


def tensorflow(folder: Path) -> None:
    write_json(folder / "config.json", stand_ins.config())
    (folder / "tf_model.h5").write_bytes(b"\x89HDF")


def adapter(folder: Path) -> None:
    write_json(
        folder / "adapter_config.json", {"base_model_name_or_path": "bert-base-uncased", "peft_type": "LORA"}
    )
    save_file({"a": torch.ones(2)}, folder / "adapter_model.safetensors")


def custom_code(folder: Path) -> None:
    write_tiny(folder, model_type="my_bert", auto_map={"AutoModel": "modeling.MyBert"})
    (folder / "modeling.py").write_text("open('pwned', 'w')", encoding="utf-8")


def no_config(folder: Path) -> None:
    write_tiny(folder)
    (folder / "config.json").unlink()


def no_tokenizer(folder: Path) -> None:
    write_tiny(folder)
    (folder / "tokenizer.json").unlink()


def no_word_table(folder: Path) -> None:
    settings = write_texts(folder)
    weights = stand_ins.tensors(settings)
    del weights[WORD]
    save_file(weights, folder / "model.safetensors")


def quantised(folder: Path) -> None:
    settings = write_texts(folder)
    weights = stand_ins.tensors(settings)
    weights[WORD] = weights[WORD].to(torch.int8)
    save_file(weights, folder / "model.safetensors")


def git_lfs(folder: Path) -> None:
    write_texts(folder)
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    (folder / "model.safetensors").write_text(text, encoding="ascii")


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("pwned"),))


def pickled(folder: Path) -> None:
    write_texts(folder)
    torch.save({WORD: torch.ones(2, 2), "evil": Evil()}, folder / "pytorch_model.bin")


def old_pickle(folder: Path) -> None:
    write_texts(folder)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))


def huge_config(folder: Path) -> None:
    write_tiny(folder)
    (folder / "config.json").write_text(
        json.dumps({**stand_ins.config(), "x": "y" * 2_000_000}), encoding="utf-8"
    )


def broken_config(folder: Path) -> None:
    write_tiny(folder)
    (folder / "config.json").write_text("[" * 100_000, encoding="utf-8")


def shard_elsewhere(folder: Path) -> None:
    write_texts(folder)
    write_json(folder / "model.safetensors.index.json", {"weight_map": {WORD: "../../secret.safetensors"}})


def empty(folder: Path) -> None:
    folder.mkdir(exist_ok=True)


CASES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "EV150 GGUF only": (gguf, ["GGUF", "x.Q4_K_M.gguf"]),
    "TensorFlow only": (tensorflow, ["TensorFlow", "tf_model.h5"]),
    "EV148 adapter only": (adapter, ["adapter", "bert-base-uncased"]),
    "EV154 custom code": (custom_code, ["my_bert", "never runs"]),
    "no config": (no_config, ["config.json"]),
    "no tokenizer": (no_tokenizer, ["tokenizer"]),
    "no word table": (no_word_table, ["word_embeddings"]),
    "quantised": (quantised, ["quantised", "I8"]),
    "git lfs": (git_lfs, ["git lfs pull"]),
    "malicious pickle": (pickled, ["pytorch_model.bin", "programs"]),
    "malicious old pickle": (old_pickle, ["pytorch_model.bin"]),
    "huge config": (huge_config, ["config.json", "MB"]),
    "broken config": (broken_config, ["config.json"]),
    "shard elsewhere": (shard_elsewhere, ["secret"]),
    "nothing": (empty, ["nothing"]),
}


@pytest.mark.parametrize("on", ["folder", "hub"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_in_a_repository(
    name: str, on: str, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a folder and from the Hub, the same sentence; no program of the repository runs."""
    make, mentions = CASES[name]
    folder = tmp_path / "model"
    folder.mkdir()
    make(folder)
    hub.repos["org/model"] = Repo(folder)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ModelError) as caught:
        embviz.load_model(str(folder) if on == "folder" else "org/model").decompose("my dog")

    for mention in mentions:
        assert mention in str(caught.value)
    assert not list(tmp_path.rglob("pwned"))


def test_old_format_is_read_as_a_whole_only_if_that_is_allowed(hub: FakeHub, tmp_path: Path) -> None:
    settings = write_texts(tmp_path / "old")
    truth = stand_ins.tensors(settings)
    torch.save(truth, tmp_path / "old" / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    hub.repos["org/old"] = Repo(tmp_path / "old")

    for ref in (str(tmp_path / "old"), "org/old"):
        assert re.search(r"allow reading all [\d.]+ kB", refusal(ref))
        files = open_model(ref, allow_download=True)
        assert torch.equal(files.tensors.tensor(WORD), truth[WORD])


def test_shared_server_reads_no_large_old_file(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    write_texts(tmp_path / "old")
    (tmp_path / "old" / "pytorch_model.bin").write_bytes(b"\x80\x02")
    os.truncate(tmp_path / "old" / "pytorch_model.bin", 438_000_000)
    hub.repos["org/old"] = Repo(tmp_path / "old")
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")

    sentence = refusal("org/old", allow_download=True)

    assert "438 MB" in sentence
    assert hub.sent() < 200_000


def test_large_table_on_a_shared_server(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_ins.write_sparse(tmp_path / "big", [(WORD, (250_002, 768))])
    hub.repos["org/big"] = Repo(tmp_path / "big")
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")

    with pytest.raises(ModelError, match="768 MB"):
        open_model("org/big").tensors.read([WORD], whole=True)

"""A model of the Hub: what is asked for, how many bytes move, and what each refusal says."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import embviz
from embviz.errors import ModelError
from embviz.models.sources import open_model
from tests.fake_hub import TOKEN, FakeHub, Repo, commit
from tests.models import stand_ins
from tests.models.stand_ins import (
    BERT_BASE,
    BERT_LARGE,
    POSITION,
    WORD,
    bert_shapes,
    write_sparse,
    write_tiny,
)

WEIGHTS = r"safetensors|^/[0-9a-f]{64}"


def test_reads_what_the_whole_file_holds(hub: FakeHub, tmp_path: Path) -> None:
    truth = write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")

    files = open_model("org/tiny")

    assert set(files.tensors.names()) == set(truth)
    for name, tensor in truth.items():
        assert torch.equal(files.tensors.tensor(name), tensor)
    assert torch.equal(files.tensors.rows(WORD, [7, 2, 7]), truth[WORD][[7, 2, 7]])
    assert files.tokenizer(16).encode("My dog likes playing").tokens[1:-1] == (
        "my",
        "dog",
        "likes",
        "play",
        "##ing",
    )


def test_is_pinned_to_its_commit(hub: FakeHub, tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")

    assert open_model("org/tiny").revision == commit("org/tiny")
    assert all(commit("org/tiny") in request.path for request in hub.requests("/resolve/"))


@pytest.mark.parametrize(
    ("shapes", "settings", "times"),
    [
        (bert_shapes(768, 12), BERT_BASE, 200),
        (bert_shapes(1024, 24), BERT_LARGE, 400),
        (bert_shapes(384, 6, prefix=""), {**BERT_BASE, "hidden_size": 384, "num_hidden_layers": 6}, 90),
    ],
    ids=["bert-base", "bert-large", "minilm"],
)
def test_opening_moves_the_wanted_bytes_only(
    shapes: list[tuple[str, tuple[int, ...]]],
    settings: dict[str, int],
    times: int,
    hub: FakeHub,
    tmp_path: Path,
) -> None:
    """At most 1.1 times what is shown, 1/200 of BERT-base, and one question to the Hub for each file."""
    size = write_sparse(tmp_path / "big", shapes, **settings)
    hub.repos["org/big"] = Repo(tmp_path / "big")

    model = embviz.load_model("org/big")
    tokens = len(set(model.decompose("my dog is cute", "he likes playing").input_ids))

    hidden = settings["hidden_size"]
    with (tmp_path / "big" / "model.safetensors").open("rb") as stream:
        header = 8 + int.from_bytes(stream.read(8), "little")
    shown = header + 4 * hidden * (512 + 2 + 2 + tokens)
    moved = hub.sent(WEIGHTS)
    assert moved <= 1.1 * shown
    assert moved * times <= size
    assert len(hub.requests(r"/resolve/.*/model\.safetensors")) == 1
    assert len(hub.requests(r"^/api/models/")) == 1


def test_a_second_text_moves_its_new_words_only(hub: FakeHub, tmp_path: Path) -> None:
    write_sparse(tmp_path / "big", bert_shapes(768, 12), **BERT_BASE)
    hub.repos["org/big"] = Repo(tmp_path / "big")
    model = embviz.load_model("org/big")
    model.decompose("my dog is cute", "he likes playing")

    before = hub.sent()
    model.decompose("my dog is cute", "he likes playing")
    assert hub.sent() == before

    model.decompose("the capital of france is cute", "he plays")
    assert hub.sent() - before <= 60_000
    assert len(hub.requests("/resolve/.*safetensors")) == 1


def test_the_whole_word_table_is_a_choice_with_its_size(hub: FakeHub, tmp_path: Path) -> None:
    write_sparse(tmp_path / "big", bert_shapes(768, 12), **BERT_BASE)
    hub.repos["org/big"] = Repo(tmp_path / "big")
    tensors = open_model("org/big").tensors

    before = hub.sent()
    with pytest.raises(ModelError, match=r"93\.8 MB"):
        tensors.tensor(f"bert.{WORD}")
    assert hub.sent() == before

    whole = tensors.read([f"bert.{WORD}"], whole=True)[f"bert.{WORD}"]
    assert whole.shape == (30522, 768)
    assert hub.sent() - before == pytest.approx(30522 * 768 * 4, rel=0.01)


def test_a_renamed_repository_opens_by_its_old_name(hub: FakeHub, tmp_path: Path) -> None:
    truth = write_tiny(tmp_path / "tiny")
    hub.repos["google-bert/bert-tiny"] = Repo(tmp_path / "tiny", renamed_from=("bert-tiny",))

    files = open_model("bert-tiny")

    assert torch.equal(files.tensors.tensor(POSITION), truth[POSITION])
    assert files.name == "bert-tiny"


@pytest.mark.parametrize("ref", ["org/tiny@refs/pr/1", "https://huggingface.co/org/tiny/tree/refs/pr/1"])
def test_a_revision_stands_behind_the_id(ref: str, hub: FakeHub, tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    truth = write_tiny(tmp_path / "other", vocab_size=50)
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny", revisions={"refs/pr/1": tmp_path / "other"})

    files = open_model(ref)

    assert torch.equal(files.tensors.tensor(WORD), truth[WORD])
    assert files.revision == commit("org/tiny", "refs/pr/1")
    assert open_model("org/tiny", "refs/pr/1").revision == files.revision


def test_an_expired_link_is_asked_for_again_once(hub: FakeHub, tmp_path: Path) -> None:
    truth = write_tiny(tmp_path / "tiny", vocab_size=50_000)
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    tensors = open_model("org/tiny").tensors
    wanted = list(range(0, 50_000, 5_000))
    hub.expire_links()

    assert torch.equal(tensors.rows(WORD, wanted), truth[WORD][wanted])
    assert len(hub.requests("/resolve/.*safetensors")) == 2


def test_a_token_stays_at_the_hub(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tiny(tmp_path / "tiny")
    hub.repos["org/private"] = Repo(tmp_path / "tiny", private=True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)

    open_model("org/private").tokenizer(16)

    assert all(request.authorized for request in hub.requests("/resolve/", origin="hub"))
    assert not any(request.authorized for request in hub.requests(origin="cdn"))


def test_a_shared_server_never_sends_its_owners_token(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny(tmp_path / "tiny")
    hub.repos["org/private"] = Repo(tmp_path / "tiny", private=True)
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")

    with pytest.raises(ModelError, match="org/private"):
        open_model("org/private")
    open_model("org/tiny").tokenizer(16)

    assert hub.log
    assert not any(request.authorized for request in hub.log)
    assert not (tmp_path / "hub-cache").exists()


def test_cached_files_are_not_fetched_again(hub: FakeHub, tmp_path: Path) -> None:
    from huggingface_hub import hf_hub_download

    truth = write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        hf_hub_download("org/tiny", name)
    hub.log.clear()

    files = open_model("org/tiny")
    files.tokenizer(16)

    assert torch.equal(files.tensors.tensor(WORD), truth[WORD])
    assert [request.path.partition("?")[0] for request in hub.log] == ["/api/models/org/tiny"]


def test_large_tokenizers_stay_in_the_cache(hub: FakeHub, tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    path = tmp_path / "tiny" / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8") + " " * 2_000_000, encoding="utf-8")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")

    for _ in range(2):
        assert open_model("org/tiny").tokenizer(16).encode("dog").tokens == ("[CLS]", "dog", "[SEP]")

    assert len([request for request in hub.requests("tokenizer.json") if request.sent]) == 1


def test_offline_opens_what_is_cached_and_says_what_is_not(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants, hf_hub_download

    truth = write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        hf_hub_download("org/tiny", name)
    hub.log.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    files = open_model("org/tiny")

    assert torch.equal(files.tensors.tensor(WORD), truth[WORD])
    assert files.tokenizer(16).encode("dog").tokens == ("[CLS]", "dog", "[SEP]")
    with pytest.raises(ModelError, match=r"offline.*org/other"):
        open_model("org/other")
    assert hub.log == []


def test_a_dead_hub_opens_what_is_cached(hub: FakeHub, tmp_path: Path) -> None:
    from huggingface_hub import hf_hub_download

    write_tiny(tmp_path / "tiny")
    hub.repos["org/tiny"] = Repo(tmp_path / "tiny")
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        hf_hub_download("org/tiny", name)
    hub.faults.status.append(("^/api/models", 503, 9))

    assert open_model("org/tiny").revision == commit("org/tiny")


def test_a_shared_server_gives_nothing_unasked_out_of_its_owners_cache(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the owner has fetched with a token is refused to visitors, also while the Hub is down."""
    from huggingface_hub import hf_hub_download

    write_tiny(tmp_path / "tiny")
    hub.repos["org/private"] = Repo(tmp_path / "tiny", private=True)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        hf_hub_download("org/private", name, token=TOKEN)
    monkeypatch.setenv("EMBVIZ_PUBLIC", "1")

    with pytest.raises(ModelError, match="no model “org/private”"):
        open_model("org/private")
    hub.faults.status.append(("^/api/models", 503, 9))
    with pytest.raises(ModelError, match="503"):
        open_model("org/private")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model-00001-of-00002.safetensors"])
def test_other_formats_are_read_in_parts_too(name: str, hub: FakeHub, tmp_path: Path) -> None:
    """At most one question to the Hub for each file that holds a wanted tensor, and not the whole file."""
    from safetensors.torch import save_file

    settings = stand_ins.write_texts(tmp_path / "m", vocab_size=60_000)
    truth = stand_ins.tensors(settings)
    if name == "pytorch_model.bin":
        torch.save(truth, tmp_path / "m" / name)
    else:
        other = "model-00002-of-00002.safetensors"
        save_file({WORD: truth[WORD]}, tmp_path / "m" / name)
        save_file({key: value for key, value in truth.items() if key != WORD}, tmp_path / "m" / other)
        weight_map = {key: name if key == WORD else other for key in truth}
        stand_ins.write_json(tmp_path / "m" / "model.safetensors.index.json", {"weight_map": weight_map})
    hub.repos["org/m"] = Repo(tmp_path / "m")

    tensors = open_model("org/m").tensors
    read = tensors.read([POSITION], {WORD: [0, 30_000, 59_999]})

    assert torch.equal(read[POSITION], truth[POSITION])
    assert torch.equal(read[WORD], truth[WORD][[0, 30_000, 59_999]])
    assert len(hub.requests(f"/resolve/.*{name}")) == 1
    assert hub.sent(r"^/[0-9a-f]{64}") < 400_000

"""Which tokenizer a model gets, and that no file of a stranger stops the process."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

import embviz
from embviz.errors import InputError, ModelError
from embviz.models.folder import Folder
from embviz.models.tokenizer import TextTokenizer
from embviz.models.tokenizer_files import find_tokenizer
from embviz.models.tokenizer_patterns import KNOWN_PATTERNS, is_harmless
from embviz.models.tokenizer_vetting import load_tokenizer
from tests.models.stand_ins import VOCAB, config, tokenizer_json, write_json, write_tiny

ROOT = Path(__file__).parents[2]
TEXTS = ("My dog is CUTE.", "naïve café", "[MASK] 字 😀", "", "  likes\tplays ", "playing123", "\u200b\u00ad")


def byte_level_spec() -> dict[str, Any]:
    """A byte-level BPE tokenizer.json as RoBERTa has one, trained on two sentences."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(
        ["the dog saw the other dog", "Hello world, the world says hello"] * 20, trainer
    )
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    spec: dict[str, Any] = json.loads(tokenizer.to_str())
    return spec


# Which files


def test_tokenizer_json_reads_as_the_library_reads_it_without_padding(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    plain = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    plain.no_padding()
    plain.no_truncation()

    ours = find_tokenizer(Folder(tmp_path), config)

    for text in TEXTS:
        assert ours.encode(text, "the dog").ids == plain.encode(text, "the dog").ids


def test_vocab_txt_reads_as_transformers_reads_it(tmp_path: Path) -> None:
    from transformers import BertTokenizer

    for settings in (
        {},
        {"do_lower_case": False},
        {"strip_accents": False, "tokenizer_class": "BertTokenizer"},
    ):
        folder = tmp_path / str(len(settings)) / str(settings.get("do_lower_case"))
        write_tiny(folder)
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.txt").write_text("\n".join(VOCAB) + "\n", encoding="utf-8")
        write_json(folder / "tokenizer_config.json", settings)
        official = BertTokenizer.from_pretrained(folder)

        ours = find_tokenizer(Folder(folder), config)

        for text in TEXTS:
            pair = ours.encode(text, "the dog")
            assert pair.ids == official(text, "the dog")["input_ids"]
            assert pair.type_ids == official(text, "the dog")["token_type_ids"]


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ({"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "mecab"}, {}),
        ({"auto_map": {"AutoTokenizer": ["tokenization_kobert.KoBertTokenizer", None]}}, {}),
        ({"tokenizer_class": "PhobertTokenizer"}, {"model_type": "roberta"}),
    ],
)
def test_vocab_txt_of_another_kind_is_never_read_as_wordpiece(
    settings: dict[str, Any], model: dict[str, Any], tmp_path: Path
) -> None:
    """KoBERT's vocab.txt holds SentencePiece pieces: WordPiece on it gives wrong tokens without an error."""
    write_tiny(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("\n".join(VOCAB), encoding="utf-8")
    write_json(tmp_path / "tokenizer_config.json", settings)

    with pytest.raises(ModelError):
        find_tokenizer(Folder(tmp_path), lambda: config(**model))


def test_vocab_txt_without_continuations_is_refused(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n▁the\n", encoding="utf-8")

    with pytest.raises(ModelError, match="no WordPiece"):
        find_tokenizer(Folder(tmp_path), config)


def test_added_tokens_keep_their_ids(tmp_path: Path) -> None:
    write_tiny(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_text("\n".join(VOCAB), encoding="utf-8")
    write_json(tmp_path / "added_tokens.json", {"😃": len(VOCAB)})

    assert find_tokenizer(Folder(tmp_path), config).encode("dog 😃").ids[2] == len(VOCAB)

    write_json(tmp_path / "added_tokens.json", {"😃": 999})
    with pytest.raises(ModelError, match="999"):
        find_tokenizer(Folder(tmp_path), config)


def test_other_files_are_read_by_transformers(tmp_path: Path) -> None:
    """GPT-2's vocab.json and merges.txt, which only transformers knows how to put together."""
    spec = byte_level_spec()
    write_json(tmp_path / "config.json", {"model_type": "gpt2"})
    write_json(tmp_path / "vocab.json", spec["model"]["vocab"])
    merges = "\n".join(" ".join(pair) for pair in spec["model"]["merges"])
    (tmp_path / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")
    write_json(tmp_path / "tokenizer_config.json", {"tokenizer_class": "GPT2Tokenizer", "unk_token": "<unk>"})
    before = set(sys.modules)

    tokenizer = TextTokenizer(find_tokenizer(Folder(tmp_path), lambda: {"model_type": "gpt2"}), None)

    assert tokenizer.encode("the dog").tokens == ("the", "Ġdog")
    assert not [name for name in set(sys.modules) - before if name.startswith("transformers_modules")]


def test_sentencepiece_files_name_the_package_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spm.model").write_bytes(b"spm")
    monkeypatch.setattr("embviz.models.fallback_tokenizer.find_spec", lambda _: None)
    with pytest.raises(ModelError, match="pip install sentencepiece protobuf"):
        find_tokenizer(Folder(tmp_path), lambda: {"model_type": "deberta-v2"})


def test_sentencepiece_files_are_read_by_transformers(tmp_path: Path) -> None:
    """DeBERTa-v3 has nothing else."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the dog saw the other dog", "hello world, the world says hello"] * 50),
        model_writer=model, vocab_size=40, hard_vocab_limit=False, minloglevel=2,
        pad_id=0, bos_id=1, eos_id=2, unk_id=3,
        pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]",
    )  # fmt: skip
    (tmp_path / "spm.model").write_bytes(model.getvalue())

    tokenizer = find_tokenizer(Folder(tmp_path), lambda: {"model_type": "deberta-v2"})
    encoded = TextTokenizer(tokenizer, 16).encode("the dog", "hello")

    assert "".join(encoded.tokens) == "[CLS]▁the▁dog[SEP]▁hello[SEP]"
    assert set(encoded.token_type_ids.tolist()) == {0, 1}


def test_tokenizers_that_run_in_python_are_refused(tmp_path: Path) -> None:
    """PhoBERT's says nothing about where its pieces stand."""
    (tmp_path / "bpe.codes").write_text("a b 1\n", encoding="utf-8")
    (tmp_path / "vocab.txt").write_text("a 1\nb 2\n", encoding="utf-8")
    with pytest.raises(ModelError, match="PhobertTokenizer"):
        find_tokenizer(
            Folder(tmp_path), lambda: {"model_type": "roberta", "tokenizer_class": "PhobertTokenizer"}
        )


# What a text becomes


def test_byte_level_pieces_stay_as_they_are() -> None:
    tokenizer = TextTokenizer(load_tokenizer(json.dumps(byte_level_spec())), 512)

    encoded = tokenizer.encode("Hello the dog 😀", "the world")

    assert "Ġdog" in encoded.tokens
    at = encoded.tokens.index("Ġdog")
    assert encoded.source(at) == "dog"
    assert encoded.tokens[:1] + encoded.tokens[-1:] == ("<s>", "</s>")
    smile = [i for i in range(len(encoded)) if encoded.source(i) == "😀"]
    assert smile
    assert encoded.typed_special == (False,) * len(encoded)


def test_capitals_follow_the_tokenizer_files() -> None:
    """EV094: sentence_bert_config.json says do_lower_case false, and is not asked."""
    encoded = embviz.load_model().encode("The capital of France is Paris.")
    assert encoded.input_ids.tolist() == [101, 1996, 3007, 1997, 2605, 2003, 3000, 1012, 102]


def test_accents_and_an_empty_second_sentence() -> None:
    """EV097"""
    model = embviz.load_model()
    assert model.encode("naïve").input_ids.tolist() == [101, 15743, 102]
    assert model.encode("hello", "").input_ids.tolist() == [101, 7592, 102]


def test_cut_from_the_longest_where_positions_end() -> None:
    tokenizer = TextTokenizer(load_tokenizer(json.dumps(tokenizer_json())), 8)

    encoded = tokenizer.encode("the dog " * 5, "my dog")

    assert len(encoded) == 8
    assert encoded.truncated == (7, 0)
    assert TextTokenizer(load_tokenizer(json.dumps(tokenizer_json())), None).encode(
        "dog " * 99
    ).truncated == (0, 0)


# Tokenizer and table do not belong together


def test_token_outside_the_table(tmp_path: Path) -> None:
    """EV100: the sentence names the token, its id and the rows."""
    write_tiny(tmp_path)
    spec = tokenizer_json()
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    spec["added_tokens"].append({"id": len(VOCAB), "content": "😃", **flags})
    write_json(tmp_path / "tokenizer.json", spec)

    with pytest.raises(InputError) as caught:
        embviz.load_model(str(tmp_path)).decompose("😃 dog")

    assert "😃" in str(caught.value)
    assert str(len(VOCAB)) in str(caught.value)


def test_tokenizer_of_another_model(tmp_path: Path) -> None:
    """EV103: id 7592 in a table of 1000 rows."""
    write_tiny(tmp_path, vocab_size=1000)
    spec = tokenizer_json()
    spec["model"]["vocab"]["dog"] = 7592
    write_json(tmp_path / "tokenizer.json", spec)

    with pytest.raises(InputError) as caught:
        embviz.load_model(str(tmp_path)).decompose("the dog")

    assert "7592" in str(caught.value)
    assert "1000" in str(caught.value)


# Strangers' files


@pytest.mark.parametrize("pattern", sorted(KNOWN_PATTERNS))
def test_usual_patterns_are_valid(pattern: str) -> None:
    """The engine accepts each pattern of the list, so a slip in one of them is found."""
    assert pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str("a b 12 字.")


def test_patterns_of_transformers_are_admitted() -> None:
    """Every pattern that the installed transformers puts into a tokenizer.json."""
    import re

    import transformers

    root = Path(transformers.__file__).parent
    sources = [root / "convert_slow_tokenizer.py", *root.glob("models/*/tokenization_*.py")]
    found = {
        match[1] or match[2]
        for path in sources
        for match in re.finditer(
            r'(?:Regex\(\s*|PRETOKENIZE_REGEX = )r?(?:"""(.*?)"""|"(.*?)")', path.read_text(encoding="utf-8")
        )
    }
    assert len(found) > 10
    refused = [pattern for pattern in found if not is_harmless(pattern)]
    assert refused == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a|a)*b",
        r"(.*)*x",
        r"((a)+)+",
        r"(\w+\s?)+x",
        r"(a)\1+",
        r"([a-z]+)*",
        "(a?){100}",
        "(",
        "[",
        "a" * 9999,
    ],
)
def test_patterns_that_take_for_ever_are_refused(pattern: str) -> None:
    assert not is_harmless(pattern)
    spec = tokenizer_json(
        pre_tokenizer={
            "type": "Split",
            "pattern": {"Regex": pattern},
            "behavior": "Isolated",
            "invert": False,
        }
    )
    with pytest.raises(ModelError, match="unsafe"):
        load_tokenizer(json.dumps(spec))


ATTACKS = """
import base64, json, sys
from embviz.errors import EmbvizError
from embviz.models.tokenizer import TextTokenizer
from embviz.models.tokenizer_vetting import load_tokenizer
from tests.models.stand_ins import tokenizer_json

def replace(content, pattern="a"):
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}

def charsmap(text):
    return base64.b64encode((8).to_bytes(4, "little") + bytes(8) + text).decode()

spec = tokenizer_json()
template = spec["post_processor"]
bomb = {"type": "Sequence", "normalizers": [replace("a" * 10)] * 9}
special = {"[CLS]": {"id": "[CLS]", "ids": [2] * 10**6, "tokens": ["[CLS]"] * 10**6}}
attacks = {
    "fixed padding": {"padding": {**spec["padding"], "strategy": {"Fixed": 10**9}}},
    "stride": {"truncation": {**spec["truncation"], "stride": 99}},
    "replace bomb": {"normalizer": bomb},
    "replace nothing": {"normalizer": replace("a" * 10**6, "")},
    "prepend": {"normalizer": {"type": "Prepend", "prepend": "a" * 10**8}},
    "many steps": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 10**5}},
    "precompiled": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap(b"a" * 10**6)}},
    "precompiled rubbish": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "no template token": {"post_processor": {**template, "special_tokens": {}}},
    "long frame": {"post_processor": {**template, "special_tokens": special}},
    "frame": {"post_processor": {**template, "single": template["single"] * 10**5}},
    "long words": {"model": {**spec["model"], "max_input_chars_per_word": 10**9}},
    "no unknown": {"model": {**spec["model"], "unk_token": "[NOPE]"}},
    "unigram": {"model": {"type": "Unigram", "unk_id": 10**9, "vocab": [["a", 0.0]], "byte_fallback": False}},
    "empty unigram": {"model": {"type": "Unigram", "unk_id": None, "vocab": [], "byte_fallback": False}},
    "negative": {"model": {**spec["model"], "vocab": {"[UNK]": -1}}},
    "decoder": {"decoder": {"type": "Sequence", "decoders": [replace("a" * 10)] * 9}},
    "no model": {"model": None},
}
texts = ["dog", "a" * 10_000, "", "字😀 [CLS]", "\\u0000"]
for name, change in attacks.items():
    try:
        tokenizer = TextTokenizer(load_tokenizer(json.dumps({**spec, **change})), 512)
        for text in texts:
            tokenizer.encode(text, "dog")
        print(name, "opened", flush=True)
    except EmbvizError as error:
        print(name, "refused", flush=True)
for name, text in {"deep": "[" * 10**6, "list": "[]", "text": "tokenizer", "bytes": b"\\xff\\xfe", "empty": ""}.items():
    try:
        load_tokenizer(text)
    except EmbvizError:
        print(name, "refused", flush=True)
print("alive")
"""


def test_no_file_stops_the_process() -> None:
    """Each attack is refused or made harmless; a process that dies would not report the rest."""
    done = subprocess.run(
        [sys.executable, "-c", ATTACKS], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    lines = done.stdout.splitlines()

    assert lines[-1:] == ["alive"], done.stdout + done.stderr[-2000:]
    assert "fixed padding opened" in lines
    assert "replace bomb refused" in lines
    assert len(lines) == 18 + 5 + 1


def test_dropout_of_merges_is_switched_off() -> None:
    spec = byte_level_spec()
    spec["model"]["dropout"] = 0.9
    tokenizer = TextTokenizer(load_tokenizer(json.dumps(spec)), None)
    ids = [tokenizer.encode("the world says hello").input_ids for _ in range(5)]
    assert all(np.array_equal(ids[0], other) for other in ids)

"""The tokenizer reads as the official one reads, cuts as it cuts, and says what a reader may wonder about."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import embviz
from embviz.embedding.decomposition import EncodedText
from embviz.models.tokenizer import TextTokenizer, repair_surrogates
from embviz.models.tokenizer_vetting import load_tokenizer
from tests.reference import official
from tests.reference.examples import examples

AWKWARD = [
    "my dog is cute",
    "",
    " ",
    "\t\n\r ",
    "hello",
    " 😃 hello how are you",
    "👨‍👩‍👧 family",
    "👩🏽‍🚀🏳️‍🌈",
    "hacía hacia naïve Ångström ﬁn",
    "İstanbul ISTANBUL ıstanbul",
    "ΟΔΟΣ Straße",
    "שלום עולם",
    "مرحبا بالعالم",
    "\u202eabc\u202c \u200bd\u2066e\u2069",
    "東京 東 京 的人有",
    "私は学習が好きです",
    "ภาษาไทย कु कि नमस्ते",
    "안녕하세요 (cid:3) 하셨습니까 하다",
    "Hello" * 26,
    "a" * 100 + " " + "a" * 101,
    "[CLS] hello [SEP] world [MASK] [PAD] [UNK]",
    "[cls] x[SEP]y [unk] [ SEP ]",
    "<b>bold</b> <script>alert(1)</script> &lt;b&gt; AT&T",
    "snake_case __init__ **bold** _it_ `code` # h",
    "note\nbook\ttwo\r\nthree\x00\x01\x7f\u0085\ufeffend",
    "12345678 3,456,789 3.1415 2/3 -1e-5 1,000.50",
    "https://example.org/a?b=c&d=%20#e you@example.org",
    "$ + = < > | ~ ^ ` ° © € ± ½ ² ™",
    "$x^2$ costs $5 and $10",
    "…—–“”‘’«»",
    "e\u0301 a\u0308 \u0301",
    "\ufffd a\ufffdb",
    "don't John Johanson 's house U.S.A.",
]

CODE_POINTS = st.characters(exclude_categories=["Cs"])
TEXTS = st.lists(st.sampled_from(AWKWARD) | st.text(CODE_POINTS, max_size=12), max_size=4).map(" ".join)


def tokenizer() -> TextTokenizer:
    return embviz.load_model().tokenizer


def officially(text: str, pair: str | None = None, **settings: Any) -> Any:
    """The official tokenizer's answer; a blank pair is no pair."""
    return official.bundled_tokenizer()(
        text,
        pair if pair and pair.strip() else None,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_token_type_ids=True,
        **settings,
    )


def assert_official(encoded: EncodedText, expected: Any) -> None:
    assert encoded.input_ids.tolist() == expected["input_ids"]
    assert encoded.token_type_ids.tolist() == expected["token_type_ids"]
    assert encoded.special_tokens_mask.tolist() == expected["special_tokens_mask"]
    assert list(encoded.offsets) == [tuple(pair) for pair in expected["offset_mapping"]]
    assert list(encoded.tokens) == expected.tokens()
    assert list(encoded.word_ids) == expected.word_ids()
    assert list(encoded.sentences) == expected.sequence_ids()
    assert {len(value) for value in vars(encoded).values() if isinstance(value, np.ndarray)} == {len(encoded)}


def keys(encoded: EncodedText) -> list[str]:
    return [note.key for note in encoded.notes]


@pytest.mark.parametrize("text", AWKWARD)
def test_reads_as_the_official_tokenizer_reads(text: str) -> None:
    """As a single sentence, and as either sentence of a pair."""
    for one, two in ((text, None), (text, "he likes playing"), ("my dog is cute", text), (text, text)):
        assert_official(tokenizer().encode(one, two), officially(one, two))


@examples(200)
@given(text=TEXTS, pair=st.none() | TEXTS)
@example(text="", pair="\u2003")
def test_reads_any_text_as_the_official_tokenizer_reads_it(text: str, pair: str | None) -> None:
    assert_official(tokenizer().encode(text, pair), officially(text, pair))


@examples(50)
@given(text=TEXTS, pair=st.none() | TEXTS)
def test_reads_exactly_what_is_shown_as_typed(text: str, pair: str | None) -> None:
    """Offsets lead back into the typed text; what the tokenizer added has no source."""
    encoded = tokenizer().encode(text, pair)

    for index, sentence in enumerate(encoded.sentences):
        start, end = encoded.offsets[index]
        typed = (text, pair)[sentence] if sentence is not None else ""
        assert typed is not None
        assert encoded.source(index) == typed[start:end]
        assert (sentence is None) == bool(encoded.special_tokens_mask[index])


def test_golden_pair() -> None:
    encoded = tokenizer().encode("my dog is cute", "he likes play ing")

    assert encoded.input_ids.tolist() == [101, 2026, 3899, 2003, 10140, 102, 2002, 7777, 2377, 13749, 102]
    assert encoded.token_type_ids.tolist() == [0] * 6 + [1] * 5


def test_golden_single_sentence() -> None:
    """A tutorial prints one id for strawberries, 13121, which is another piece."""
    encoded = tokenizer().encode("I like strawberries")

    assert encoded.input_ids.tolist() == [101, 1045, 2066, 13137, 20968, 102]
    assert encoded.tokens == ("[CLS]", "i", "like", "straw", "##berries", "[SEP]")
    assert encoded.token_type_ids.tolist() == [0] * 6
    assert official.bundled_tokenizer().convert_ids_to_tokens(13121) == "decay"


def test_padding_and_truncation_of_the_file_are_switched_off() -> None:
    """The file says 128 for both; one word is three tokens, 200 words are 202."""
    source = (official.bundled_folder() / "tokenizer.json").read_text(encoding="utf-8")
    stored = json.loads(source)
    fresh = TextTokenizer(load_tokenizer(source.encode()), max_length=512)

    assert stored["truncation"]["max_length"] == stored["padding"]["strategy"]["Fixed"] == 128
    assert fresh.encode("hello").input_ids.tolist() == [101, 7592, 102]
    assert len(fresh.encode("hello " * 200)) == 202
    assert fresh.encode("hello " * 200).truncated == (0, 0)


@pytest.mark.parametrize("pair", [None, "", " ", "\n\t", "\u00a0", "\u3000 "])
def test_a_blank_pair_is_a_single_sentence(pair: str | None) -> None:
    encoded = tokenizer().encode("hello", pair)

    assert encoded.input_ids.tolist() == [101, 7592, 102]
    assert encoded.token_type_ids.tolist() == [0, 0, 0]
    assert encoded.text_pair is None
    assert [str(note) for note in encoded.notes] == ["Single sentence: every token is in segment 0."]


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_nothing_typed_is_the_special_tokens_and_a_sentence(text: str) -> None:
    encoded = tokenizer().encode(text, text)

    assert encoded.tokens == ("[CLS]", "[SEP]")
    assert keys(encoded) == ["only_special"]
    assert "[CLS] [SEP]" in str(encoded.notes[0])


def test_an_empty_first_sentence_leaves_the_second_in_segment_1() -> None:
    encoded = tokenizer().encode("", "world")

    assert_official(encoded, officially("", "world"))
    assert encoded.token_type_ids.tolist() == [0, 0, 1, 1]
    assert "single" not in keys(encoded)


# Too long: the longest first.

LENGTHS = [
    (509, 0), (510, 0), (511, 0), (5000, 0), (0, 509), (0, 510), (0, 2000), (20, 600), (600, 20), (254, 255),
    (255, 255), (255, 254), (256, 255), (255, 256), (300, 300), (301, 300), (1, 508), (1, 509), (508, 1),
    (3000, 3000), (1, 5000),
]  # fmt: skip


def assert_cut_officially(a: int, b: int, word: str = "hello") -> None:
    text, pair = " ".join([word] * a), " ".join(["world"] * b) or None
    encoded = tokenizer().encode(text, pair)
    expected = officially(text, pair, truncation="longest_first", max_length=512)
    full = officially(text, pair)

    assert_official(encoded, expected)
    cuts = tuple(full.sequence_ids().count(which) - expected.sequence_ids().count(which) for which in (0, 1))
    assert encoded.truncated == cuts
    assert sum(cuts) == max(0, len(full["input_ids"]) - 512)
    notes = [str(note) for note in encoded.notes if note.key.startswith("truncated")]
    assert bool(notes) == any(cuts)
    for note in notes:
        numbers = [int(number) for number in re.findall(r"\d+", note)]
        kept = [expected.sequence_ids().count(which) for which in (0, 1)]
        expected_numbers = [cuts[0], kept[0], cuts[1], kept[1]] if b else [cuts[0], kept[0]]
        assert numbers == [len(full["input_ids"]), 512, *expected_numbers]


@pytest.mark.parametrize(("a", "b"), LENGTHS)
def test_cuts_as_the_official_tokenizer_cuts(a: int, b: int) -> None:
    """What is left, how many tokens of each sentence went, and a sentence with both numbers."""
    assert_cut_officially(a, b)


@examples(40)
@given(a=st.integers(0, 700), b=st.integers(0, 700))
def test_cuts_any_lengths_as_the_official_tokenizer_cuts(a: int, b: int) -> None:
    assert_cut_officially(a, b, word="strawberries")


def test_a_text_that_just_fits_is_not_cut() -> None:
    encoded = tokenizer().encode("hello " * 510)

    assert len(encoded) == 512
    assert encoded.truncated == (0, 0)
    assert keys(encoded) == ["single"]


def test_long_and_short_texts_at_once_do_not_disturb_each_other() -> None:
    """Cutting is no switch on a shared tokenizer: eight threads, each its own answer."""
    texts = ["hello " * n for n in (3, 600, 40, 900, 511, 1, 700, 200)] * 6
    alone = [tokenizer().encode(text, "world") for text in texts]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: tokenizer().encode(text, "world"), texts))

    for left, right in zip(alone, together, strict=True):
        np.testing.assert_array_equal(left.input_ids, right.input_ids)
        assert left.truncated == right.truncated


# Half characters.


def by_hand(text: str) -> str:
    """Surrogate pairs joined, lone ones replaced, by the arithmetic of the Unicode standard (3.9, D91)."""

    def joined(match: re.Match[str]) -> str:
        high, low = (ord(half) for half in match.group())
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))

    return re.sub("[\ud800-\udfff]", "\ufffd", re.sub("[\ud800-\udbff][\udc00-\udfff]", joined, text))


@examples(200)
@given(text=st.lists(st.sampled_from("a東😀\ud83d\ud800\udbff\ude00\udc00\udfff"), max_size=8).map("".join))
def test_lone_surrogates_become_replacement_characters(text: str) -> None:
    assert repair_surrogates(text) == by_hand(text)


@pytest.mark.parametrize(
    ("typed", "shown", "noted"),
    [
        ("ok\ud800bad", "ok\ufffdbad", True),
        ("\ud83d\ude00", "😀", False),
        ("ok\ufffdbad", "ok\ufffdbad", False),
    ],
)
def test_half_characters_are_repaired_with_a_note(typed: str, shown: str, noted: bool) -> None:
    encoded = tokenizer().encode("hello", typed)

    assert encoded.text_pair == shown
    assert_official(encoded, officially("hello", shown))
    assert ("surrogates" in keys(encoded)) == noted


# What is noted.


def test_typed_special_tokens_follow_the_official_default_and_are_marked() -> None:
    encoded = tokenizer().encode("[CLS] hello [SEP] world", "[MASK] x[PAD]y")

    assert_official(encoded, officially("[CLS] hello [SEP] world", "[MASK] x[PAD]y"))
    marked = [encoded.tokens[i] for i, typed in enumerate(encoded.typed_special) if typed]
    assert marked == ["[CLS]", "[SEP]", "[MASK]", "[PAD]"]
    noted = [(note.token, str(note)) for note in encoded.notes if note.key == "typed_special"]
    assert [token for token, _ in noted] == [i for i, typed in enumerate(encoded.typed_special) if typed]
    assert all("segments stay as they are" in sentence for _, sentence in noted)


def test_lower_case_names_of_special_tokens_are_plain_text() -> None:
    assert not any(tokenizer().encode("[cls] hello [sep] [unk]").typed_special)


@pytest.mark.parametrize("unknown", ["😃", "👨‍👩‍👧", "😀😀😀😀😀", "ᚠᚢᚦᚨᚱ"])
def test_an_unknown_word_is_never_taken_for_a_typed_unk(unknown: str) -> None:
    """Not even where it has as many characters as “[UNK]”."""
    encoded = tokenizer().encode(f"see {unknown} here")
    index = encoded.tokens.index("[UNK]")

    assert encoded.source(index) == unknown
    assert not any(encoded.typed_special)
    notes = [note for note in encoded.notes if note.token == index]
    assert [note.key for note in notes] == ["unknown"]
    assert unknown in str(notes[0])


def test_a_typed_unk_is_one() -> None:
    encoded = tokenizer().encode("see [UNK] here")

    assert encoded.typed_special == (False, False, True, False, False)


def test_a_word_that_is_too_long_names_the_limit() -> None:
    encoded = tokenizer().encode("Hello" * 26)

    notes = [note for note in encoded.notes if note.token == 1]
    assert [note.key for note in notes] == ["long_word"]
    assert {"130", "100"} <= set(re.findall(r"\d+", str(notes[0])))
    assert "long_word" not in keys(tokenizer().encode("Hello" * 20))


@pytest.mark.parametrize(
    ("typed", "read"), [("hacía", "hacia"), ("कु", "क"), ("İstanbul", "istanbul"), ("a\x00b", "ab")]
)
def test_what_the_normalizer_drops_is_noted(typed: str, read: str) -> None:
    notes = [note for note in tokenizer().encode("hello", typed).notes if note.key == "normalized"]

    assert [note.values for note in notes] == [{"text": typed, "normalized": read}]
    assert read == official.bundled_tokenizer().backend_tokenizer.normalizer.normalize_str(typed)


@pytest.mark.parametrize("typed", ["Hello World", "東京 東 京", "안녕", "a  b\n c", "don't", "😃"])
def test_lower_case_and_spaces_alone_are_no_note(typed: str) -> None:
    assert "normalized" not in keys(tokenizer().encode(typed))


@examples(50)
@given(text=TEXTS, pair=st.none() | TEXTS)
def test_every_note_is_one_sentence(text: str, pair: str | None) -> None:
    """Whatever was typed, braces and percent signs included."""
    for note in tokenizer().encode(text + " {0} {x} %s", pair).notes:
        assert str(note) == note.sentence()
        assert str(note)

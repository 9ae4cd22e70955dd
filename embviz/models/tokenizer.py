"""Text in, pieces and ids out, with everything that a reader may wonder about said in notes."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import cached_property
from typing import Literal

from tokenizers import Encoding, Tokenizer

from embviz.embedding.decomposition import EncodedText, Note, read_only_ids
from embviz.models.tokenizer_vetting import panics_refused


def repair_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates, which no UTF-8 has, replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class TextTokenizer:
    """A model's own fast tokenizer, without the padding and truncation that its file may hold.

    Args:
        tokenizer: neither pads nor cuts; it is not changed.
        max_length: the most tokens that the model has positions for, special tokens included; None means that
            nothing limits them.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int | None) -> None:
        self.max_length = max_length
        self._tokenizer = tokenizer

    def encode(self, text: str, text_pair: str | None = None) -> EncodedText:
        """A text or a pair as the model reads it, at most `max_length` tokens, the longest cut first.

        Args:
            text: sentence A; may be empty.
            text_pair: sentence B; None, empty or white space only means a single sentence.
        """
        typed = (text, text_pair)
        text = repair_surrogates(text)
        text_pair = repair_surrogates(text_pair) if text_pair and text_pair.strip() else None
        with panics_refused():
            encoding = self._tokenizer.encode(text, text_pair)
        truncated, full_length = (0, 0), len(encoding)
        if self.max_length is not None and full_length > self.max_length:
            full = encoding
            with panics_refused():
                encoding = self._cutting.encode(text, text_pair)
            truncated = (
                _count(full, 0) - _count(encoding, 0),
                _count(full, 1) - _count(encoding, 1),
            )
        encoded = EncodedText(
            text=text,
            text_pair=text_pair,
            tokens=tuple(encoding.tokens),
            input_ids=read_only_ids(encoding.ids),
            token_type_ids=read_only_ids(encoding.type_ids),
            special_tokens_mask=read_only_ids(encoding.special_tokens_mask),
            typed_special=self._typed_special(encoding, (text, text_pair or "")),
            offsets=tuple(encoding.offsets),
            sentences=tuple(encoding.sequence_ids),
            word_ids=tuple(encoding.word_ids),
            truncated=truncated,
        )
        notes = (*self._text_notes(encoded, typed, full_length), *self._token_notes(encoded))
        return replace(encoded, notes=notes)

    def piece_id(self, piece: str) -> int | None:
        """The id of a piece as the vocabulary has it; None where it has no such piece."""
        try:
            token_id: int | None = self._tokenizer.token_to_id(piece)
        except UnicodeEncodeError:  # a lone surrogate
            return None
        return token_id

    def is_special(self, token_id: int) -> bool:
        """Whether an id is that of a special token."""
        return token_id in self._special_ids

    def pieces(self, text: str) -> str:
        """The pieces of a text, without special tokens, as a sentence can name them."""
        with panics_refused():
            encoding = self._tokenizer.encode(repair_surrogates(text), add_special_tokens=False)
        return _beginning(", ".join(encoding.tokens))

    @cached_property
    def _cutting(self) -> Tokenizer:
        """A second tokenizer that cuts: switching truncation on and off in a shared one is not thread-safe."""
        tokenizer = Tokenizer.from_str(self._tokenizer.to_str())
        if self.max_length is not None:
            tokenizer.enable_truncation(
                self.max_length, strategy="longest_first", direction="right", stride=0
            )
        return tokenizer

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        added = self._tokenizer.get_added_tokens_decoder()
        return frozenset(token_id for token_id, token in added.items() if token.special)

    @cached_property
    def _unknown(self) -> str | None:
        """The piece for what the vocabulary has no piece for; byte-level vocabularies have none."""
        model = self._tokenizer.model
        unk_id = getattr(model, "unk_id", None)  # Unigram has an id, the others a text
        unknown: str | None = getattr(model, "unk_token", None)
        return self._tokenizer.id_to_token(unk_id) if unk_id is not None else unknown

    def _typed_special(self, encoding: Encoding, texts: tuple[str, str]) -> tuple[bool, ...]:
        """Special tokens that stand in the text itself; `special_tokens_mask` has only the added ones.

        [UNK] counts only where these very letters were typed.
        """
        rows = zip(encoding.ids, encoding.tokens, encoding.offsets, encoding.sequence_ids, strict=True)
        return tuple(
            sentence is not None
            and token_id in self._special_ids
            and (token != self._unknown or texts[sentence][start:end] == token)
            for token_id, token, (start, end), sentence in rows
        )

    def _text_notes(
        self, encoded: EncodedText, typed: tuple[str, str | None], full_length: int
    ) -> list[Note]:
        notes: list[Note] = []
        if all(sentence is None for sentence in encoded.sentences):
            key = "nothing_left" if any(text and text.strip() for text in typed) else "only_special"
            notes.append(Note(key, {"tokens": " ".join(encoded.tokens)}))
        elif encoded.text_pair is None:
            notes.append(Note("single", about="text_pair"))
        if any(encoded.truncated):
            cut_a, cut_b = encoded.truncated
            key = "truncated" if encoded.text_pair is None else "truncated_pair"
            kept = [sum(which == sentence for which in encoded.sentences) for sentence in (0, 1)]
            values = {
                "length": full_length, "limit": self.max_length, "cut_a": cut_a, "cut_b": cut_b,
                "kept_a": kept[0], "kept_b": kept[1],
            }  # fmt: skip
            notes.append(Note(key, values))
        return [*notes, *self._reading_notes("text", typed[0]), *self._reading_notes("text_pair", typed[1])]

    def _reading_notes(self, about: Literal["text", "text_pair"], typed: str | None) -> list[Note]:
        """What the tokenizer makes of the letters before it cuts them into pieces."""
        if not typed or not typed.strip():
            return []
        notes: list[Note] = []
        repaired = repair_surrogates(typed)
        if "\ufffd" in repaired and repaired.count("\ufffd") > typed.count("\ufffd"):
            notes.append(Note("surrogates", about=about))
        normalized = self._normalized(repaired)
        if normalized is not None:
            values = {"text": _beginning(repaired), "normalized": _beginning(normalized)}
            notes.append(Note("normalized", values, about=about))
        return notes

    def _normalized(self, text: str) -> str | None:
        """The text as the tokenizer's normalizer leaves it, where it drops or changes more than case."""
        normalized = " ".join(self._normalize(text).split())
        composed = unicodedata.normalize("NFC", normalized)
        plain = unicodedata.normalize("NFC", " ".join(text.split()))
        if _without_spaces(composed).lower() == _without_spaces(plain).lower():
            return None
        return composed

    def _normalize(self, text: str) -> str:
        """What the normalizer makes of a text; special tokens in it are found before and stay as they are."""
        normalizer = self._tokenizer.normalizer
        if normalizer is None:
            return text
        parts = self._special_pattern.split(text)
        return "".join(part if i % 2 else normalizer.normalize_str(part) for i, part in enumerate(parts))

    @cached_property
    def _special_pattern(self) -> re.Pattern[str]:
        added = self._tokenizer.get_added_tokens_decoder().values()
        special = sorted((token.content for token in added if token.special), key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, special)) or '(?!)'})")

    def _token_notes(self, encoded: EncodedText) -> list[Note]:
        longest: int | None = getattr(self._tokenizer.model, "max_input_chars_per_word", None)
        notes: list[Note] = []
        for index, token in enumerate(encoded.tokens):
            if encoded.typed_special[index]:
                notes.append(Note("typed_special", {"token": token}, index))
            elif token == self._unknown and encoded.sentences[index] is not None:
                source = encoded.source(index)
                length = len(self._normalize(source))  # the tokenizer counts what its normalizer leaves
                if longest is not None and length > longest:
                    values: dict[str, object] = {"length": length, "limit": longest, "token": token}
                    notes.append(Note("long_word", values, index))
                else:
                    notes.append(Note("unknown", {"source": _beginning(source), "token": token}, index))
        return notes


def _without_spaces(text: str) -> str:
    """Spaces that a normalizer puts round ideographs change no piece."""
    return text.replace(" ", "")


def _beginning(text: str, length: int = 60) -> str:
    """A text as a sentence can name it."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _count(encoding: Encoding, sentence: int) -> int:
    return sum(which == sentence for which in encoding.sequence_ids)

"""Which regular expressions of a tokenizer.json are run: the usual ones, and those that cannot take for ever.

The engine of the tokenizers library backtracks. What makes it take for ever is a repeated group that can match
the same letters in more than one way, like `(a+)+`.
"""

from __future__ import annotations

import re

MAX_PATTERN = 2_000

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_END = r"\s*[\r\n]+|\s+(?!\S)|\s+"

KNOWN_PATTERNS = frozenset({
    # Normalizers of converted SentencePiece and WordPiece vocabularies (transformers.convert_slow_tokenizer).
    " {2,}", r"\s+", r"\s{2,}", r"\s{2,}|[\n\r\t]", r"[\n\r\t]", r"\n", "\n", r"\A +| +\z", r"\A▁", r"^▁+$", " +▁",
    "``", "''", r"[^\S\n]+", r"[\r\n]+",
    # GPT-2 and all that took over its pattern (RoBERTa, BART, Longformer, DeBERTa, OPT, ModernBERT …).
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    # CLIP.
    r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    # tiktoken's cl100k (Llama 3), and Qwen's with single digits.
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _END,
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _END,
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + _END,
    # Digits and words of BLOOM, Falcon, StarCoder and DeepSeek.
    r" ?[^(\s|[.,!?…。，、।۔،])]+", "[0-9][0-9][0-9]", r"\p{N}{1,3}", r"\p{N}", r"\d", r"\s?\p{L}+", r"\s?\p{P}+",
    "[一-龥]+", "[一-龥ࠀ-一가-퟿]+", r"\p{L}+",
})  # fmt: skip
"""The patterns of the tokenizers that are in use, letter by letter."""

_ESCAPE_OR_CLASS = re.compile(r"\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]", re.DOTALL)
_REPEATED = re.compile(r"[*+]|\{\d+,\}|\{\d{3,}(?:,\d*)?\}|\{\d*,\d{3,}\}")


def is_harmless(pattern: str) -> bool:
    """Whether a pattern is in use, or of a form that cannot take for ever.

    Of such a form is a pattern without back references in which no group that repeats or chooses is repeated.
    """
    if pattern in KNOWN_PATTERNS:
        return True
    if len(pattern) > MAX_PATTERN or re.search(
        r"\\[1-9kg]|\(\?(?:[P(&R|]|<[^=!])", pattern.replace(r"\\", "")
    ):
        return False
    plain = _ESCAPE_OR_CLASS.sub("x", pattern)  # a class or an escaped letter is as harmless as a letter
    return "[" not in plain and _groups_are_harmless(plain)


def _groups_are_harmless(plain: str) -> bool:
    """Whether no repeated group contains a repetition or a choice; `plain` has no classes and no escapes."""
    inner = re.compile(r"\([^()]*\)")
    while match := inner.search(plain):
        body = re.sub(r"^\((\?[a-z-]*:|\?<?[=!]|\?>)?", "", match.group())[:-1]
        repeated = _REPEATED.match(plain, match.end())
        if repeated and ("|" in body or _REPEATED.search(body) or "?" in body):
            return False
        kept = "x*" if _REPEATED.search(body) or "|" in body else "x"
        plain = plain[: match.start()] + kept + plain[match.end() :]
    return "(" not in plain and ")" not in plain

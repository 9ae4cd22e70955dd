"""A tokenizer.json that a stranger wrote, made harmless: it cannot abort the process, and it reads as it says.

The tokenizers library trusts its file: a padding to 10⁹ tokens or a normalizer that makes ten letters of one,
nine times over, ends the process for want of memory, and no Python code can catch that. So what a file may ask
for is looked at before it is loaded.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tokenizers import Tokenizer

from embviz.errors import ModelError
from embviz.models.tokenizer_patterns import is_harmless

MAX_GROWTH = 16
"""How many times longer a normalizer may make a text: NFKC already writes 18 letters for U+FDFA, but one only."""

MAX_STRING = 64
"""The longest string, in bytes, that a normalizer may put in the place of a character."""

MAX_TEMPLATE = 64
"""The most pieces that the frame round a text may have; BERT's pair has five."""

MAX_WORD = 1_000
"""The longest word that WordPiece may be asked to cut: its time grows with the square. BERT says 100."""

MAX_STEPS = 1_000
"""The most objects in each of the parts; real files have fewer than a hundred."""

PARTS = ("normalizer", "pre_tokenizer", "post_processor")


class _UnsafeError(Exception):
    """Why a file is not loaded."""


def load_tokenizer(text: str | bytes, file: str = "tokenizer.json") -> Tokenizer:
    """The tokenizer of a tokenizer.json, without the padding and truncation that it may hold.

    Args:
        text: the file.
        file: what to call it.

    Raises:
        ModelError: it is broken, or asks for something that could stop this process.
    """
    try:
        spec = json.loads(text)
        _check(spec)
    except (ValueError, RecursionError) as error:
        reason = (
            "it is nested too deeply" if isinstance(error, RecursionError) else f"it is not JSON ({error})"
        )
        raise ModelError("tokenizer", field="model", file=file, reason=reason) from error
    except _UnsafeError as error:
        raise ModelError("tokenizer_unsafe", field="model", file=file, reason=error) from error
    spec |= {"padding": None, "truncation": None, "decoder": None}
    if spec["model"].get("dropout") is not None:
        spec["model"]["dropout"] = None  # it would read the same text differently each time
    with panics_refused(file):
        tokenizer = Tokenizer.from_str(json.dumps(spec))
        tokenizer.encode("Probe 1, ünï 字 😀.", "probe")
    return tokenizer


@contextmanager
def panics_refused(file: str = "tokenizer.json") -> Iterator[None]:
    """Turns whatever the tokenizers library throws within this block into our error.

    Raises:
        ModelError: the file is broken.
    """
    try:
        yield
    except BaseException as error:
        # The library raises bare Exceptions, and for a panic a BaseException that it does not export.
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise ModelError("tokenizer", field="model", file=file, reason=_first_line(error)) from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["it is broken"])[0][:200]


def _check(spec: Any) -> None:
    """Looks at all that is loaded from a file.

    Raises:
        _UnsafeError: it could stop this process, or is no tokenizer.
    """
    if not isinstance(spec, dict) or not isinstance(spec.get("model"), dict):
        raise _UnsafeError("it describes no tokenizer")
    growth = 1.0
    for part in PARTS:
        growth *= _check_part(part, spec.get(part))
    if growth > MAX_GROWTH:
        raise _UnsafeError("its normalizer makes a text many times longer")
    model = spec["model"]
    if _number(model.get("max_input_chars_per_word", 0)) > MAX_WORD:
        raise _UnsafeError("it cuts words that are too long to cut")
    for key in ("unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
        if len(str(model.get(key) or "")) > MAX_STRING:
            raise _UnsafeError(f"its {key} is too long")


def _check_part(part: str, value: Any) -> float:
    """How many times longer a part may make a text, once all in it was looked at."""
    nodes = list(_nodes(value))
    if len(nodes) > MAX_STEPS:
        raise _UnsafeError(f"its {part} has too many steps")
    growth = 1.0
    for node in nodes:
        _check_pattern(node)
        _check_template(node)
        growth *= _growth(node)
    return growth


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """All objects within a value, itself included."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _nodes(inner)


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _check_pattern(node: Mapping[str, Any]) -> None:
    pattern = node.get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    if regex is not None and not (isinstance(regex, str) and is_harmless(regex)):
        raise _UnsafeError(f"its regular expression “{str(regex)[:60]}” could take for ever")


def _check_template(node: Mapping[str, Any]) -> None:
    for key in ("single", "pair"):
        if isinstance(node.get(key), list) and len(node[key]) > MAX_TEMPLATE:
            raise _UnsafeError("it frames a text with too many tokens")
    special = node.get("special_tokens")
    if isinstance(special, dict):
        for token in special.values():
            if isinstance(token, dict) and len(token.get("ids") or ()) > MAX_TEMPLATE:
                raise _UnsafeError("it frames a text with too many tokens")


def _growth(node: Mapping[str, Any]) -> float:
    """How many times longer a part may make a text, at most."""
    kind = node.get("type")
    if kind == "Precompiled":
        return _precompiled_growth(node.get("precompiled_charsmap"))
    if kind == "Replace":
        content, pattern = str(node.get("content") or ""), node.get("pattern")
        plain = pattern.get("String") if isinstance(pattern, dict) else None
        matched = len(plain) if isinstance(plain, str) else 0
        return max(1.0, len(content) / matched if matched else 1.0 + len(content))
    if kind in {"Prepend", "Metaspace"}:
        text = str(node.get("prepend") or node.get("replacement") or "")
        if len(text) > MAX_STRING:
            raise _UnsafeError("it puts too much before a text")
    return 1.0


def _precompiled_growth(charsmap: Any) -> float:
    """SentencePiece's table: the length of a trie, the trie, and strings that end in a zero byte."""
    if not charsmap:
        return 1.0
    try:
        data = base64.b64decode(charsmap, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise _UnsafeError("its precompiled_charsmap is broken") from error
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or size > len(data) - 4 or size % 4:
        raise _UnsafeError("its precompiled_charsmap is broken")
    longest = max(map(len, re.split(rb"\0", data[4 + size :])), default=0)
    if longest > MAX_STRING:
        raise _UnsafeError("its precompiled_charsmap makes a text many times longer")
    return 1.0

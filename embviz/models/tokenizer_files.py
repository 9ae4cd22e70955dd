"""Which files of a repository make its tokenizer: tokenizer.json, a WordPiece vocab.txt, or transformers' own rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from embviz.errors import ModelError
from embviz.models.repository import Repository, read_bytes, read_json
from embviz.models.tokenizer_vetting import load_tokenizer, panics_refused

MAX_TOKENIZER = 40_000_000
"""Largest tokenizer file that is read, in bytes; XLM-R's tokenizer.json has 17 MB."""

TOKENIZER_JSON, TOKENIZER_CONFIG, VOCAB = "tokenizer.json", "tokenizer_config.json", "vocab.txt"

OTHER_FILES = (
    "vocab.json", "merges.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model", "tokenizer.model", "bpe.codes",
    "sentencepiece.model", "spiece_ch.model", "vocab.bpe", "encoder.json", "target.spm", "source.spm", "tekken.json",
)  # fmt: skip
"""Files that only transformers knows how to read."""

SMALL_FILES = ("special_tokens_map.json", "added_tokens.json", TOKENIZER_CONFIG, VOCAB, "dict.txt")

WORDPIECE_CLASSES = {
    f"{name}Tokenizer{fast}" for name in ("Bert", "DistilBert", "Electra") for fast in ("", "Fast")
}
WORDPIECE_TYPES = {"bert", "distilbert", "electra"}
"""Model types whose tokenizer is WordPiece where no tokenizer class is named."""

SPECIAL = {"unk": "[UNK]", "sep": "[SEP]", "pad": "[PAD]", "cls": "[CLS]", "mask": "[MASK]"}


def find_tokenizer(repository: Repository, read_config: Callable[[], Mapping[str, Any]]) -> Tokenizer:
    """The tokenizer of a repository; it neither pads nor cuts.

    Args:
        repository: where the files are.
        read_config: gives the model's config.json, which most tokenizers do not need.

    Raises:
        ModelError: there is none, or it cannot be loaded exactly as the model wants it.
    """
    sizes = repository.sizes
    if TOKENIZER_JSON in sizes:
        return load_tokenizer(read_bytes(repository, TOKENIZER_JSON, MAX_TOKENIZER, keep=True))
    config = read_config()
    settings = read_json(repository, TOKENIZER_CONFIG) if TOKENIZER_CONFIG in sizes else {}
    if "auto_map" in settings:
        raise ModelError("tokenizer_code", field="model", ref=repository.name)
    if VOCAB in sizes and _says_wordpiece(config, settings):
        return _wordpiece(repository, settings)
    found = [name for name in (*OTHER_FILES, VOCAB) if name in sizes]
    if not found:
        raise ModelError("no_tokenizer", field="model", ref=repository.name)
    from embviz.models.fallback_tokenizer import transformers_tokenizer

    files = {
        name: read_bytes(repository, name, MAX_TOKENIZER, keep=True)
        for name in dict.fromkeys((*found, *SMALL_FILES))
        if name in sizes
    }
    return transformers_tokenizer(repository.name, config, files)


def _says_wordpiece(config: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether vocab.txt is a WordPiece vocabulary; the vocab.txt of a Japanese or Korean BERT need not be one."""
    if settings.get("word_tokenizer_type") or settings.get("subword_tokenizer_type"):
        return False
    named = settings.get("tokenizer_class") or config.get("tokenizer_class")
    return named in WORDPIECE_CLASSES if named else config.get("model_type") in WORDPIECE_TYPES


def _wordpiece(repository: Repository, settings: Mapping[str, Any]) -> Tokenizer:
    """BERT's tokenizer from its vocab.txt, as transformers.BertTokenizer builds it."""
    data = read_bytes(repository, VOCAB, MAX_TOKENIZER, keep=True)
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise ModelError("file", field="model", file=VOCAB, reason=error) from error
    pieces = [line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    vocab = {piece: row for row, piece in enumerate(pieces)}
    special = {role: _content(settings.get(f"{role}_token"), default) for role, default in SPECIAL.items()}
    lacking = [special[role] for role in ("unk", "cls", "sep") if special[role] not in vocab]
    if lacking or not any(piece.startswith("##") for piece in pieces):
        raise ModelError(
            "not_wordpiece", field="model", ref=repository.name, lacking=", ".join(lacking) or "##"
        )

    with panics_refused(VOCAB):
        tokenizer = Tokenizer(WordPiece(vocab, unk_token=special["unk"], max_input_chars_per_word=100))
        tokenizer.normalizer = BertNormalizer(
            clean_text=True,
            handle_chinese_chars=settings.get("tokenize_chinese_chars", True) is not False,
            strip_accents=settings.get("strip_accents"),
            lowercase=settings.get("do_lower_case", True) is not False,
        )
        tokenizer.pre_tokenizer = BertPreTokenizer()
        cls, sep = special["cls"], special["sep"]
        tokenizer.post_processor = TemplateProcessing(
            single=[f"{cls}:0", "$A:0", f"{sep}:0"],
            pair=[f"{cls}:0", "$A:0", f"{sep}:0", "$B:1", f"{sep}:1"],
            special_tokens=[(cls, vocab[cls]), (sep, vocab[sep])],
        )
        known = [token for token in special.values() if token in vocab]
        tokenizer.add_special_tokens([AddedToken(token, special=True) for token in known])
    _add_tokens(tokenizer, repository, settings)
    return tokenizer


def _add_tokens(tokenizer: Tokenizer, repository: Repository, settings: Mapping[str, Any]) -> None:
    """Adds what was added to the vocabulary after it was made, at the ids that the files say."""
    added: dict[int, AddedToken] = {}
    if "added_tokens.json" in repository.sizes:
        for content, token_id in read_json(repository, "added_tokens.json").items():
            added[token_id] = AddedToken(content, normalized=True)
    decoder = settings.get("added_tokens_decoder")
    for token_id, fields in (decoder if isinstance(decoder, dict) else {}).items():
        flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
        options = {flag: bool(fields[flag]) for flag in flags if flag in fields}
        added[int(token_id)] = AddedToken(str(fields["content"]), **options)
    for token_id, token in sorted(added.items()):
        add = tokenizer.add_special_tokens if token.special else tokenizer.add_tokens
        add([token])
        if tokenizer.token_to_id(token.content) != token_id:
            values = {"ref": repository.name, "token": token.content, "id": token_id}
            raise ModelError("added_token", field="model", **values)


def _content(token: Any, default: str) -> str:
    """A special token of a tokenizer_config.json, which is a text or an object with one."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) and content else default

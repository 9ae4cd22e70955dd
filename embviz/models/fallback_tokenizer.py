"""Tokenizers that only transformers knows how to build: SentencePiece models, fairseq dictionaries and the like."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer

from embviz.errors import ModelError
from embviz.models.tokenizer_vetting import load_tokenizer, panics_refused


def transformers_tokenizer(ref: str, config: Mapping[str, Any], files: Mapping[str, bytes]) -> Tokenizer:
    """What `transformers.AutoTokenizer` makes of tokenizer files; code of the repository is never run.

    Args:
        ref: the model, for sentences.
        config: its config.json, without which AutoTokenizer does not know the class.
        files: the contents of the tokenizer files by name; nothing else is in transformers' sight.

    Raises:
        ModelError: a package is missing, the files are broken, or the tokenizer works letter by letter in Python
            and cannot say where in the text its pieces stand.
    """
    if any(name.endswith(".model") for name in files) and find_spec("sentencepiece") is None:
        raise ModelError(
            "tokenizer_spm", field="model", ref=ref
        )  # transformers would ask for tiktoken instead
    from transformers import AutoTokenizer

    settings = {key: value for key, value in config.items() if key != "auto_map"}
    with TemporaryDirectory(prefix="embviz-") as folder, panics_refused(ref):
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        Path(folder, "config.json").write_text(json.dumps(settings), encoding="utf-8")
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        except ImportError as error:
            reason = str(error).strip().splitlines()[0]
            raise ModelError("tokenizer_package", field="model", ref=ref, reason=reason) from error
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ModelError("tokenizer_files", field="model", ref=ref, reason=reason) from error
    if not tokenizer.is_fast:
        raise ModelError("tokenizer_slow", field="model", ref=ref, name=type(tokenizer).__name__)
    return load_tokenizer(tokenizer.backend_tokenizer.to_str(), ref)

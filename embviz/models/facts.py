"""What a reader should know about a model's input layer before looking at its numbers, one note a fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from embviz.embedding.decomposition import EncodedText, Floats, Note
from embviz.embedding.layout import Config, EmbeddingLayout
from embviz.embedding.module import InputEmbeddings

Values = Mapping[str, object]


def model_notes(
    layout: EmbeddingLayout, config: Config, module: InputEmbeddings, names: Mapping[str, str]
) -> tuple[Note, ...]:
    """The facts that set a model apart from BERT.

    Args:
        layout: how its input layer is made.
        config: its config.json.
        module: its input layer.
        names: its tensors by role.
    """
    facts = [*_table_facts(config, module), *_step_facts(module, names)]
    if module.terms.max_position_embeddings and "position" not in names:
        facts.append(("computed_positions", {}))
    return tuple(Note(key, {"name": layout.name, **values}, about="model") for key, values in facts)


def _table_facts(config: Config, module: InputEmbeddings) -> Iterator[tuple[str, Values]]:
    """What is unusual about the tables."""
    terms = module.terms
    if (segments := module.token_type_embeddings) is not None:
        zero = not segments.weight.any()
        if terms.type_vocab_size == 1:
            yield "one_segment_zero" if zero else "one_segment", {}
        elif zero:
            yield "zero_segments", {"rows": terms.type_vocab_size}
    if terms.first_position:
        key = "skip_padding" if terms.position_rule == "skip_padding" else "first_position"
        yield key, {"first": terms.first_position, "limit": terms.max_length}
    if terms.max_position_embeddings and str(config.get("position_embedding_type")).startswith("relative"):
        yield "relative_as_absolute", {"found": config["position_embedding_type"]}


def _step_facts(module: InputEmbeddings, names: Mapping[str, str]) -> Iterator[tuple[str, Values]]:
    """What is done besides the look-ups and the sum."""
    terms = module.terms
    if terms.scale != 1:
        yield "scaled_words", {"scale": terms.scale}
    if terms.mask_token_id is not None:
        yield "token_dropout", {}
    if terms.projected:
        kind = "projected_token" if len(terms.projected) == 1 else "projected_parts"
        sizes = {"width": terms.word_size, "size": terms.embedding_size}
        yield "trigram" if terms.trigram else kind, {"tensor": names["before_weight"], **sizes}
    if terms.constants:
        tables = sorted({names[role] for role in names if role.startswith("constant_")})
        yield "constant", {"tables": ", ".join(tables)}
    if terms.norm == "affine":
        yield "affine", {}
    if terms.projection:
        sizes = {"width": terms.embedding_size, "size": terms.hidden_size}
        yield "projection", {"tensor": names["after_weight"], **sizes}


def vector_notes(encoded: EncodedText, summed: Floats) -> tuple[Note, ...]:
    """A note for each token whose vector holds values that are not numbers.

    Args:
        encoded: the text.
        summed: its sum, `(seq_len, embedding_size)`.
    """
    counts = (~np.isfinite(summed)).sum(axis=1)
    return tuple(
        Note("not_numbers", {"token": encoded.tokens[i], "count": int(counts[i])}, token=int(i))
        for i in np.flatnonzero(counts)
    )

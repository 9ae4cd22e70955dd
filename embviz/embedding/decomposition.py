"""The nouns: a text as the model reads it, and the input layer's answer to it, taken apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embviz.i18n import DEFAULT_LANGUAGE, text

Floats: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int64]

Part = Literal["token", "segment", "position", "constant", "summed", "normalized"]
COMPONENTS: tuple[Part, ...] = ("token", "segment", "position", "constant")
"""What can be added up; few models have a constant."""
PARTS: tuple[Part, ...] = ("token", "segment", "position", "summed", "normalized")
"""What every view has a place for."""
ALL_PARTS: tuple[Part, ...] = (*COMPONENTS, "summed", "normalized")


def read_only_ids(values: Sequence[int] | Ids) -> Ids:
    """A copy of the ids that nobody can write to: answers are shared."""
    ids = np.array(values, np.int64)
    ids.flags.writeable = False
    return ids


@dataclass(frozen=True, eq=False)
class Note:
    """Something that a reader should know about a text or a token, one sentence.

    Attributes:
        key: the sentence in the catalogue of texts.
        values: what it names.
        token: index of the token it is about; None means a whole text.
        about: what it is about: "text", "text_pair" or "model".
    """

    key: str
    values: Mapping[str, object] = field(default_factory=dict)
    token: int | None = None
    about: Literal["text", "text_pair", "model"] = "text"

    def sentence(self, language: str = DEFAULT_LANGUAGE) -> str:
        """The note in a language of the catalogue."""
        return text(f"note.{self.key}", language, **self.values)

    def __str__(self) -> str:
        return self.sentence()


@dataclass(frozen=True, eq=False)
class EncodedText:
    """One or two texts as a tokenizer reads them; all sequences have `seq_len` entries.

    Attributes:
        text: what was typed as sentence A, lone surrogates replaced by U+FFFD.
        text_pair: the same of sentence B; None means a single sentence.
        tokens: the pieces as the tokenizer has them (`##ing`, `Ġthe`).
        input_ids: rows of the word table, `(seq_len,)`.
        token_type_ids: rows of the token type table, `(seq_len,)`.
        special_tokens_mask: 1 for the special tokens that the tokenizer added, `(seq_len,)`.
        typed_special: true where a special token was typed by the user.
        offsets: `(start, end)` in characters of `text` or `text_pair`; (0, 0) for added special tokens.
        sentences: 0 for a token of `text`, 1 of `text_pair`, None for added special tokens.
        word_ids: index of the word within its sentence; None for added special tokens.
        truncated: how many tokens of `text` and of `text_pair` did not fit and were cut.
        notes: what a reader should know.
    """

    text: str
    text_pair: str | None
    tokens: tuple[str, ...]
    input_ids: Ids
    token_type_ids: Ids
    special_tokens_mask: Ids
    typed_special: tuple[bool, ...]
    offsets: tuple[tuple[int, int], ...]
    sentences: tuple[int | None, ...]
    word_ids: tuple[int | None, ...]
    truncated: tuple[int, int] = (0, 0)
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)

    def source(self, index: int) -> str:
        """What was typed where this token stands; empty for the special tokens that the tokenizer added."""
        sentence, (start, end) = self.sentences[index], self.offsets[index]
        if sentence is None:
            return ""
        return (self.text, self.text_pair or "")[sentence][start:end]


@dataclass(frozen=True, eq=False)
class LayerNormStep:
    """The LayerNorm of each token's sum, operand by operand.

    `normalized = (summed - mean) / std * weight + bias`, with the biased variance:
    `std = sqrt(mean((summed - mean)²) + eps)` (Ba et al. 2016; `torch.nn.LayerNorm`). MobileBERT leaves out mean and
    std, which are 0 and 1 then.

    Attributes:
        weight: gain γ, `(embedding_size,)`.
        bias: bias β, `(embedding_size,)`; zeros where the LayerNorm has none.
        eps: added to the variance.
        mean: μ of each token's sum, `(seq_len,)`.
        std: σ of each token's sum, eps included, `(seq_len,)`.
        centred: whether mean and std are those of the sum.
    """

    weight: Floats
    bias: Floats
    eps: float
    mean: Floats
    std: Floats
    centred: bool = True


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The input layer's answer to one text, taken apart; float32 throughout.

    Attributes:
        encoded: the text as the tokenizer reads it.
        input_ids: rows of the word table that were looked up, `(seq_len,)`.
        token_type_ids: rows of the token type table that were added, `(seq_len,)`; where the model has no such
            table, the segments as the tokenizer has them.
        position_ids: rows of the position table that were added, `(seq_len,)`; where the model adds none, 0, 1, 2 …
        token: vectors of the word table, scaled and projected where the model does so before the sum,
            `(seq_len, embedding_size)`.
        segment: vectors of the token type table, same shape; None where the model has none.
        position: vectors of the position table, same shape; None where the model adds none.
        summed: token + segment + position (+ constant), same shape.
        normalized: LayerNorm of the sum, same shape; None where the model has none here, or a what-if switched
            it off.
        output: what enters the encoder, `(seq_len, hidden_size)`; after dropout where a what-if asks for it.
        layer_norm: the operands of the LayerNorm; None where `normalized` is.
        tensors: names of the tensors in the checkpoint by role (token, segment, position, weight, bias;
            before_weight and after_weight of projections, constant_0 …).
        absent: for each part that this model does not have, the reason.
        constant: what is added to every token alike (ERNIE's task row, LayoutLM's empty box), same shape; None
            in most models.
        own_notes: what a reader should know about the model and about the vectors.
        check: computes `verified` and `verified_note` of a decomposition, when they are first asked for.
    """

    encoded: EncodedText
    input_ids: Ids
    token_type_ids: Ids
    position_ids: Ids
    token: Floats
    segment: Floats | None
    position: Floats | None
    summed: Floats
    normalized: Floats | None
    output: Floats
    layer_norm: LayerNormStep | None
    tensors: Mapping[str, str]
    absent: Mapping[str, str]
    check: Callable[[Decomposition], tuple[float | None, str]] = field(repr=False)
    constant: Floats | None = None
    own_notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        return len(self.encoded)

    def part(self, name: Part) -> Floats | None:
        """One of `ALL_PARTS` by its name."""
        array: Floats | None = getattr(self, name)
        return array

    def stages(self) -> dict[Part, Floats]:
        """The points of the map, tip to tail: the sum so far after each part that is added, by that part.

        The last one is `summed` itself, each `(seq_len, embedding_size)`.
        """
        points: dict[Part, Floats] = {"token": self.token}
        last: Part = "token"
        for name in COMPONENTS[1:]:
            if (added := self.part(name)) is not None:
                points[name], last = points[last] + added, name
        return {**points, last: self.summed}

    @property
    def tokens(self) -> tuple[str, ...]:
        """The pieces as the tokenizer has them."""
        return self.encoded.tokens

    @property
    def special_tokens_mask(self) -> Ids:
        """1 for the special tokens that the tokenizer added, `(seq_len,)`."""
        return self.encoded.special_tokens_mask

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader should know about this text, its tokens, their vectors and the model."""
        return (*self.encoded.notes, *self.own_notes)

    @cached_property
    def finite(self) -> NDArray[np.bool_]:
        """Which tokens have a sum of numbers only, `(seq_len,)`; a checkpoint may hold NaN."""
        numbers: NDArray[np.bool_] = np.isfinite(self.summed).all(axis=1)  # type: ignore[assignment]
        return numbers

    @cached_property
    def _verification(self) -> tuple[float | None, str]:
        return self.check(self)

    @property
    def verified(self) -> float | None:
        """The largest |difference| of `output` to the official module on the same ids.

        Computed when it is first asked for, since importing the official class takes seconds. None means
        that it could not be compared; `verified_note` says why.
        """
        return self._verification[0]

    @property
    def verified_note(self) -> str:
        """What `verified` was compared with, or why it is None."""
        return self._verification[1]

"""What the page proposes: models, of which those of the Hub each teach something, and sentences."""

from __future__ import annotations

from dataclasses import dataclass

from embviz.i18n import text
from embviz.models.references import BUNDLED, UNTRAINED_BERT, UNTRAINED_BUNDLED


@dataclass(frozen=True)
class Suggestion:
    """A model of the Hub.

    Attributes:
        ref: its id.
        parameters: how many numbers the base model has; a test counts them in the architecture.
        lesson: the key of what it teaches, a few words.
        bytes_each: of one number in the released checkpoint.
    """

    ref: str
    parameters: int
    lesson: str
    bytes_each: int = 4

    @property
    def megabytes(self) -> int:
        """About how large the checkpoint is, to two digits; heads and buffers can add a tenth."""
        return int(float(f"{self.parameters * self.bytes_each / 1e6:.2g}"))


SUGGESTIONS = (
    Suggestion("google-bert/bert-base-uncased", 109_482_240, "lesson.original"),
    Suggestion("FacebookAI/roberta-base", 124_645_632, "lesson.roberta"),
    Suggestion("distilbert/distilbert-base-uncased", 66_362_880, "lesson.no_segments"),
    Suggestion("albert/albert-base-v2", 11_683_584, "lesson.projected"),
    Suggestion("google/electra-small-discriminator", 13_483_008, "lesson.small"),
    Suggestion("microsoft/deberta-v3-base", 183_831_552, "lesson.no_position", bytes_each=2),
    Suggestion("answerdotai/ModernBERT-base", 149_014_272, "lesson.rotary"),
    Suggestion("openai-community/gpt2", 124_439_808, "lesson.no_norm"),
    Suggestion("FacebookAI/xlm-roberta-base", 278_043_648, "lesson.many_languages"),
)


def choices() -> list[tuple[str, str]]:
    """What the menu shows, and the reference that a Recipe holds."""
    ready = [
        (text("model.bundled"), BUNDLED),
        (text("model.untrained_bundled"), UNTRAINED_BUNDLED),
        (text("model.untrained"), UNTRAINED_BERT),
    ]
    return ready + [
        (
            text("model.suggested", ref=each.ref, size=_size(each.megabytes), lesson=text(each.lesson)),
            each.ref,
        )
        for each in SUGGESTIONS
    ]


def _size(megabytes: int) -> str:
    """Megabytes as people say them."""
    return f"{megabytes} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"


EXAMPLES = {
    "example.same_word": ("The bank raised interest rates.", "We sat on the river bank."),
    "example.dog": ("my dog is cute", "he likes playing"),
    "example.order": ("The dog bites the man.", "The man bites the dog."),
    "example.single": ("I like strawberries", ""),
    "example.japanese": ("私は学習が好きです", ""),
    "example.markup": ("<b>Is 2 < 3?</b> [SEP] 👩‍🚀 naïve $x^2$", "<img src=x onerror=alert(1)>"),
}
"""The examples, by their key in the catalogue of texts; a sentence is data and is the same in every language."""

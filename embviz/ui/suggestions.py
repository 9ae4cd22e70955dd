"""What the page proposes: models, of which those of the Hub each teach something, and sentences."""

from __future__ import annotations

from dataclasses import dataclass

from embviz.i18n import text
from embviz.models.sources import BUNDLED, UNTRAINED_BERT, UNTRAINED_BUNDLED


@dataclass(frozen=True)
class Suggestion:
    """A model of the Hub.

    Attributes:
        ref: its id.
        size: the size of its checkpoint, of which the page reads the shown rows only.
        lesson: the key of what it teaches, a few words.
    """

    ref: str
    size: str
    lesson: str


SUGGESTIONS = (
    Suggestion("google-bert/bert-base-uncased", "440 MB", "lesson.original"),
    Suggestion("FacebookAI/roberta-base", "499 MB", "lesson.roberta"),
    Suggestion("distilbert/distilbert-base-uncased", "268 MB", "lesson.no_segments"),
    Suggestion("albert/albert-base-v2", "47 MB", "lesson.projected"),
    Suggestion("google/electra-small-discriminator", "54 MB", "lesson.small"),
    Suggestion("microsoft/deberta-v3-base", "371 MB", "lesson.no_position"),
    Suggestion("answerdotai/ModernBERT-base", "599 MB", "lesson.rotary"),
    Suggestion("openai-community/gpt2", "548 MB", "lesson.no_norm"),
    Suggestion("FacebookAI/xlm-roberta-base", "1.1 GB", "lesson.many_languages"),
)


def choices() -> list[tuple[str, str]]:
    """What the menu shows, and the reference that a Recipe holds."""
    ready = [
        (text("model.bundled"), BUNDLED),
        (text("model.untrained_bundled"), UNTRAINED_BUNDLED),
        (text("model.untrained"), UNTRAINED_BERT),
    ]
    return ready + [
        (text("model.suggested", ref=each.ref, size=each.size, lesson=text(each.lesson)), each.ref)
        for each in SUGGESTIONS
    ]


EXAMPLES = {
    "example.same_word": ("The bank raised interest rates.", "We sat on the river bank."),
    "example.dog": ("my dog is cute", "he likes playing"),
    "example.order": ("The dog bites the man.", "The man bites the dog."),
    "example.single": ("I like strawberries", ""),
    "example.japanese": ("私は学習が好きです", ""),
    "example.markup": ("<b>Is 2 < 3?</b> [SEP] 👩‍🚀 naïve $x^2$", "<img src=x onerror=alert(1)>"),
}
"""The examples, by their key in the catalogue of texts; a sentence is data and is the same in every language."""

"""What can be said about a change before a model is at hand: types, and numbers within bounds."""

from __future__ import annotations

from typing import Any

from embviz.errors import InputError

MAX_FACTOR = 100.0
"""The largest factor; what is louder says nothing more."""
MAX_SEED = 2**32 - 1
MAX_IDS = 8_192
"""The most ids of one change, more than the tokens of a text that has positions in any of the tables."""


def check_switch(name: str, value: Any) -> None:
    """Nothing; an InputError where a value is neither True nor False."""
    if not isinstance(value, bool):
        raise InputError("choice", field="what_if", name=name, found=value, known="True, False")


def check_whole(name: str, value: Any, smallest: int | None = None, largest: int | None = None) -> None:
    """Nothing; an InputError where a value is no whole number, or not within the bounds that are given."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError("whole_number", field="what_if", name=name, found=value)
    if smallest is not None and value < smallest:
        raise InputError("at_least", field="what_if", name=name, found=value, smallest=smallest)
    if largest is not None and value > largest:
        raise InputError("at_most", field="what_if", name=name, found=value, largest=largest)


def check_number(name: str, value: Any, smallest: float, largest: float) -> None:
    """Nothing; an InputError where a value is no number, not finite, or not within the bounds."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not smallest <= value <= largest:  # so that NaN is refused too
        raise InputError(
            "number", field="what_if", name=name, found=value, smallest=smallest, largest=largest
        )


def checked_ids(name: str, values: Any) -> tuple[int, ...]:
    """The ids as a tuple, which can be a key; JSON has lists.

    Raises:
        InputError: they are no list of whole numbers from 0, or too many.
    """
    if not isinstance(values, list | tuple):
        raise InputError("list_of_ids", field="what_if", name=name, kind=type(values).__name__)
    if len(values) > MAX_IDS:
        raise InputError("too_many_ids", field="what_if", name=name, found=len(values), limit=MAX_IDS)
    for value in values:
        check_whole(name, value, 0)
    return tuple(values)

"""Rows of the table, and how they are printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One measurement beside its baseline; both are medians.

    Attributes:
        what: what is measured.
        ours: the result of embviz, in `unit`.
        baseline: what it is held against, in `unit`.
        limit: the largest ratio that is fine.
        unit: "s", "ms", "kB" or "MB".
        against: what the baseline is.
    """

    what: str
    ours: float
    baseline: float
    limit: float
    unit: str
    against: str

    @property
    def ratio(self) -> float:
        """Ours over the baseline; smaller is better."""
        return self.ours / self.baseline

    @property
    def ok(self) -> bool:
        """Whether the ratio keeps to its limit."""
        return self.ratio <= self.limit


def alternate(runs: int, *measure: Callable[[], float]) -> list[float]:
    """The median of each measurement over `runs` rounds; in a round each has its turn, so all see the same machine."""
    rounds = [[one() for one in measure] for _ in range(runs)]
    return [median(results) for results in zip(*rounds, strict=True)]


def show(rows: Sequence[Row]) -> str:
    """The table as text."""
    head = ("what", "ours", "baseline", "ratio", "limit", "ok", "the baseline is")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = {0, 5, 6}  # words to the left, numbers to the right
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        f"{row.ours:,.2f} {row.unit}",
        f"{row.baseline:,.2f} {row.unit}",
        f"{row.ratio:.2f}",
        f"{row.limit:.2f}",
        "yes" if row.ok else "NO",
        row.against,
    )

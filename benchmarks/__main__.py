"""python -m benchmarks: one table of ratios; the exit code is 1 if one is above its limit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from benchmarks import layers, opening, page, processes
from benchmarks.table import Row, show
from tests.browser.chromium import open_browser
from tests.browser.serving import serve


def measure(runs: int) -> Iterator[Row]:
    """All rows, one after another: nothing else should run on this machine meanwhile."""
    yield processes.start(runs)
    yield from opening.measure(runs)
    yield from layers.measure(runs)
    with open_browser() as browser:
        yield page.first_drawing(browser, runs)
        with serve() as served:
            yield from page.answers(browser, served, runs)
            yield from page.hover(browser, served, runs)
            yield page.heatmap_bytes(browser, served)
            yield processes.memory(served)
            yield processes.classroom(served, runs)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--runs", type=int, default=5, help="rounds of each measurement; the table has medians"
    )
    runs = parser.parse_args().runs
    rows = []
    for row in measure(runs):
        print(f"… {row.what}: {row.ratio:.2f}", file=sys.stderr)
        rows.append(row)
    print(show(rows))
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""The command line: flags → Recipe → analyze → exports; and `serve`."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from embviz.errors import EmbvizError, InputError
from embviz.i18n import text

if TYPE_CHECKING:
    from embviz.analysis import Analysis

PROGRAM = "embviz"
FINE, MISTAKE, INTERRUPTED = 0, 2, 130
MAX_PORT = 65_535


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code: 0 fine, 2 a user's mistake, said in one sentence on stderr.

    Args:
        argv: the arguments without the program's name; None means those of this process.

    Raises:
        SystemExit: after `--help`, `--version`, or flags that are not ours (2).
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # whatever is typed, no character stops the output
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = _create_parser().parse_args(argv)
        arguments.run(arguments)
    except EmbvizError as error:
        print(printable(str(error)), file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        return INTERRUPTED
    return FINE


class _Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one sentence, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        print(printable(text("cli.usage", message=message, program=self.prog)), file=sys.stderr)
        raise SystemExit(MISTAKE)


def _create_parser() -> argparse.ArgumentParser:
    """The two commands and their flags."""
    parser = _Parser(prog=PROGRAM, description=text("cli.description"), allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help=text("cli.version"))
    commands = parser.add_subparsers(metavar=text("cli.command"), required=True)

    explain = commands.add_parser(
        "explain", help=text("cli.explain"), description=text("cli.explain"), allow_abbrev=False
    )
    explain.add_argument("text", metavar="A", help=text("cli.text"))
    explain.add_argument("text_pair", metavar="B", nargs="?", help=text("cli.text_pair"))
    explain.add_argument("--model", metavar="REF", help=text("cli.model"))
    explain.add_argument("--what-if", metavar="JSON", type=_changes, default=(), help=text("cli.what_if"))
    output = explain.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help=text("cli.json"))
    for name in _CONTENTS:
        output.add_argument(f"--{name}", metavar="F", help=text(f"cli.{name}"))
    explain.add_argument("--vectors", action="store_true", help=text("cli.vectors"))
    explain.set_defaults(run=_explain)

    serve = commands.add_parser(
        "serve", help=text("cli.serve"), description=text("cli.serve"), allow_abbrev=False
    )
    serve.add_argument("--port", type=_port, metavar="N", help=text("cli.port"))
    serve.add_argument("--host", metavar="H", help=text("cli.host"))
    serve.set_defaults(run=_serve)
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import embviz

        _print(f"{PROGRAM} {embviz.__version__}")
        parser.exit(FINE)


def _port(value: str) -> int:
    if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= MAX_PORT):
        raise argparse.ArgumentTypeError(text("cli.not_a_port", found=value, largest=MAX_PORT))
    return int(value)


def _changes(value: str) -> list[Any]:
    try:
        changes = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(text("cli.not_json", reason=error)) from error
    if not isinstance(changes, list):
        raise argparse.ArgumentTypeError(text("cli.not_a_list"))
    return changes


def _explain(arguments: argparse.Namespace) -> None:
    """Takes the sentences apart and prints a table or JSON, or writes a file."""
    if arguments.vectors and not arguments.json:
        raise InputError("cli_vectors")
    from embviz.analysis import analyze
    from embviz.exports import explain_dict, save
    from embviz.recipe import Recipe
    from embviz.ui import change_words

    chosen = {} if arguments.model is None else {"model": arguments.model}
    analysis = analyze(Recipe(arguments.text, arguments.text_pair, what_if=arguments.what_if, **chosen))
    if arguments.json:
        _print(json.dumps(explain_dict(analysis, vectors=arguments.vectors), allow_nan=False))
        return
    for name, content in _CONTENTS.items():
        path = getattr(arguments, name)
        if path is not None:
            written, remarks = content(analysis)
            save(path, written)
            _print("\n".join(map(printable, (text("cli.wrote", path=path), *remarks))))
            return
    for said in change_words.describe_all(analysis.recipe.what_if, analysis.before):
        _print(printable(text("cli.changed", change=said)))
    _print(describe(analysis))


def _npz(analysis: Analysis) -> tuple[bytes, list[str]]:
    from embviz.exports import to_npz

    return to_npz(analysis), []


def _csv(analysis: Analysis) -> tuple[bytes, list[str]]:
    from embviz.exports import to_csv

    return to_csv(analysis), []


def _html(analysis: Analysis) -> tuple[bytes, list[str]]:
    from embviz.exports import to_html
    from embviz.figures import heatmap, normalized_pca, pca

    headings = {"map": pca, "normalized": normalized_pca, "heatmaps": heatmap}
    figures = {text(f"export.heading.{name}"): draw(analysis) for name, draw in headings.items()}
    return to_html(analysis, figures), []


def _png(analysis: Analysis) -> tuple[bytes, list[str]]:
    from embviz.exports import to_png
    from embviz.figures import heatmap, pca

    picture, missing = to_png([pca(analysis), heatmap(analysis)])
    return picture, [text("cli.no_glyph", characters=" ".join(missing))] if missing else []


# What each flag writes, and the sentences that go with it.
_CONTENTS: dict[str, Callable[[Analysis], tuple[bytes, list[str]]]] = {
    "npz": _npz,
    "csv": _csv,
    "html": _html,
    "png": _png,
}


def describe(analysis: Analysis) -> str:
    """A table of the tokens, the model, the verified mark and the notes, as lines for a terminal."""
    from embviz.exports import model_line, notes, table, verified_line

    header, rows = table(analysis)
    cells = [header, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(_columns(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            _padded(cell, width, left=column == 1)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    sentences = [model_line(analysis), verified_line(analysis), *notes(analysis)]
    return "\n".join([*lines, "", *map(printable, sentences)])


def printable(typed: str) -> str:
    """The text on one line, with escapes for what would move the cursor, turn the direction or not be seen."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in typed
    )


def _columns(typed: str) -> int:
    """How many columns of a terminal a text takes: wide characters two, combining marks none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in typed
    )


def _padded(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - _columns(cell))
    return cell + space if left else space + cell


def _print(lines: str) -> None:
    """Prints at once; a reader who has gone away, as `head` does, is not a mistake.

    Raises:
        InputError: stdout cannot be written to, for instance because a disk is full.
    """
    try:
        print(lines, flush=True)
    except OSError as error:
        # What is left in the buffer must not be tried again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise InputError("export_write", path="stdout", reason=error.strerror or error) from error


def _serve(arguments: argparse.Namespace) -> None:
    """Serves the page until it is stopped."""
    from embviz.ui import server

    try:
        server.serve(arguments.port, arguments.host)
    except OSError as error:
        port = arguments.port or server.port_of_environment()
        raise InputError("cli_serve", host=arguments.host or "localhost", port=port) from error

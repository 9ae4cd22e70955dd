"""The command line: what it prints, what it exits with, and that a mistake is one sentence and no traceback."""

from __future__ import annotations

import csv
import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import embviz
from embviz import cli
from tests.reference import official

ROOT = Path(__file__).parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}

# Case EV056, computed with the official tokenizer.
PAIR = ("I ate a clock yesterday.", "It was very time consuming.")
PAIR_IDS = [101, 1045, 8823, 1037, 5119, 7483, 1012, 102, 2009, 2001, 2200, 2051, 15077, 1012, 102]
PAIR_TYPES = [0] * 8 + [1] * 7


def _embviz(*arguments: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """`python -m embviz` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "embviz", *arguments],
        cwd=ROOT,
        env=ENVIRONMENT | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=300,  # generous: importing torch on a busy machine takes long
    )


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The sentence on stderr of a call that exits with 2 and prints nothing else; in this process."""
    try:
        code: object = cli.main(arguments)
    except SystemExit as error:
        code = error.code
    printed = capsys.readouterr()

    assert code == 2
    assert printed.out == ""
    assert printed.err.endswith("\n")
    assert len(printed.err.splitlines()) == 1
    return printed.err.strip()


def test_explain_json_is_the_official_answer() -> None:
    """One JSON object on stdout, nothing on stderr, exit code 0."""
    done = _embviz("explain", *PAIR, "--json")
    answer = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, b"")
    assert list(answer) == [
        "model", "tokens", "input_ids", "token_type_ids", "position_ids", "shape", "verified", "absent", "notes",
    ]  # fmt: skip
    assert answer["input_ids"] == PAIR_IDS
    assert answer["token_type_ids"] == PAIR_TYPES
    assert answer["position_ids"] == list(range(15))
    assert answer["shape"] == [15, 384]
    assert 0 <= answer["verified"] <= 1e-5


def test_explain_vectors_are_those_of_the_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "hello", "--json", "--vectors"]) == 0
    answer = json.loads(capsys.readouterr().out)
    words = official.bundled_tensors("embeddings.word_embeddings.weight")["embeddings.word_embeddings.weight"]

    assert np.array_equal(np.array(answer["token"], np.float32), words[[101, 7592, 102]].numpy())
    assert np.shape(answer["output"]) == (3, 384)


def test_table_has_a_line_for_each_token() -> None:
    """Index, piece, id, segment, position and five lengths; then the model, the mark and the notes."""
    done = _embviz("explain", *PAIR)
    lines = done.stdout.decode().splitlines()
    words = official.bundled_tensors("embeddings.word_embeddings.weight")["embeddings.word_embeddings.weight"]

    assert (done.returncode, done.stderr) == (0, b"")
    rows = [line.split() for line in lines[1:16]]
    assert [int(row[2]) for row in rows] == PAIR_IDS
    assert [row[0] for row in rows] == [row[4] for row in rows] == [str(i) for i in range(15)]
    assert [int(row[3]) for row in rows] == PAIR_TYPES
    assert all(len(row) == 10 for row in rows)
    assert [float(row[5]) for row in rows] == pytest.approx(words[PAIR_IDS].norm(dim=1).tolist(), abs=6e-5)
    assert lines[16] == ""
    assert lines[17].startswith("Model: all-MiniLM-L6-v2 ")
    assert lines[18].startswith("✓ Verified: differs by at most ")


def test_columns_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    """Ideographs take two columns of a terminal, combining marks none."""
    cli.main(["explain", "東京 hello"])
    lines = capsys.readouterr().out.splitlines()

    assert len({cli._columns(line) for line in lines[:6]}) == 1


def test_blank_second_sentence_is_a_single_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Case EV009: three tokens, all of segment 0, and a sentence that says so."""
    for blank in ("", " \t", "\u3000"):
        cli.main(["explain", "hello", blank, "--json"])
        answer = json.loads(capsys.readouterr().out)

        assert answer["input_ids"] == [101, 7592, 102]
        assert answer["token_type_ids"] == [0, 0, 0]
        assert answer["notes"][0].startswith("Single sentence")


def test_empty_text_shows_the_special_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    """Case EV007."""
    assert cli.main(["explain", "", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["input_ids"] == [101, 102]


def test_untrained_model(capsys: pytest.CaptureFixture[str]) -> None:
    """The golden input of the first teaching version: the ids of bert-base-uncased, 768 wide."""
    cli.main(["explain", "my dog is cute", "he likes play ing", "--model", "untrained:bert-base", "--json"])
    answer = json.loads(capsys.readouterr().out)

    assert answer["input_ids"] == [101, 2026, 3899, 2003, 10140, 102, 2002, 7777, 2377, 13749, 102]
    assert answer["shape"] == [11, 768]
    assert answer["verified"] <= 1e-5


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_bytes_that_are_no_text_are_shown(flags: tuple[str, ...]) -> None:
    """An argument in another encoding arrives as lone surrogates; it is no crash, and a note says what became of it."""
    done = _embviz("explain", b"ok\xffbad", *flags)

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"surrogates" in done.stdout
    if flags:
        assert json.loads(done.stdout)["input_ids"] == [101, 7929, 9024, 102]  # case EV049


def test_any_text_can_be_printed() -> None:
    """A terminal that has no such character gets its escape; JSON is valid JSON on every terminal."""
    table = _embviz("explain", "日本 👩‍🚀", PYTHONIOENCODING="ascii")
    answer = _embviz("explain", "日本", "--json", PYTHONIOENCODING="ascii")

    assert (table.returncode, table.stderr) == (0, b"")
    assert b"\\u65e5" in table.stdout
    assert json.loads(answer.stdout.decode("ascii"))["tokens"][1] == "日"


def test_terminal_gets_no_escape_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    """What was typed cannot move the cursor, colour the terminal, turn its direction or begin a new line."""
    cli.main(["explain", "a\x1b[31m\u202eb\u2028c\nd\x9b2J"])
    printed = capsys.readouterr().out

    assert all(line.isprintable() for line in printed.split("\n"))
    assert "\\x1b" in printed


def test_surrogates_in_another_flag_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert r"x\udcff" in _refused(capsys, "explain", "a", "--model", "x\udcff")


def test_long_text_is_cut_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Case EV001: both numbers are named."""
    cli.main(["explain", "hello " * 600, "--json"])
    answer = json.loads(capsys.readouterr().out)

    assert answer["shape"] == [512, 384]
    assert answer["input_ids"][-1] == 102
    assert any("602" in note and "512" in note for note in answer["notes"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "command"),
        (["explore"], "explore"),
        (["explain"], "A"),
        (["explain", "a", "b", "c"], "c"),
        (["explain", "a", "--jsn"], "--jsn"),
        (["explain", "a", "--js"], "--js"),
        (["explain", "a", "--npz"], "--npz"),
        (["explain", "a", "--json", "--csv", "x"], "--csv"),
        (["explain", "a", "--vectors"], "--json"),
        (["explain", "a", "--csv", "x", "--vectors"], "--json"),
        (["explain", "a", "--model", "no/such-model"], "no/such-model"),
        (["explain", "a", "--model", ""], "“”"),
        (["explain", "a" * 10_001], "10,001"),
        (["explain", "a", "b" * 10_001], "10,000"),
        (["explain", "a", "--csv", "/nowhere/out.csv"], "/nowhere/out.csv"),
        (["explain", "a", "--npz", "/"], "/"),
        (["explain", "a", "--html", "/dev/full"], "/dev/full"),
        (["serve", "--port", "http"], "http"),
        (["serve", "--port", "0"], "65535"),
        (["serve", "--port", "65536"], "65535"),
        (["serve", "--port", "-1"], "-1"),
        (["serve", "--port", "9" * 5_000], "65535"),
    ],
)
def test_mistake_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], named: str
) -> None:
    """Exit code 2, one line on stderr that names what is wrong, nothing on stdout."""
    assert named in _refused(capsys, *arguments)


def test_mistake_of_a_process_has_no_traceback(tmp_path: Path) -> None:
    """The same from outside: an unknown model, an unwritable file, an unknown flag."""
    for arguments in (("--model", "x"), ("--html", str(tmp_path / "no" / "x.html")), ("--flag",)):
        done = _embviz("explain", "a", *arguments)

        assert (done.returncode, done.stdout) == (2, b"")
        assert b"Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_hyphen_at_the_beginning_needs_two_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--json", "--", "--", "-b"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == ["[CLS]", "-", "-", "[SEP]", "-", "b", "[SEP]"]


def test_help_names_every_flag_of_the_design() -> None:
    done = _embviz("explain", "--help")

    assert (done.returncode, done.stderr) == (0, b"")
    for flag in (b"--model", b"--json", b"--npz", b"--csv", b"--html", b"--png", b"--vectors"):
        assert flag in done.stdout


@pytest.mark.parametrize(
    "arguments", [("--help",), ("explain", "--help"), ("serve", "--help"), ("--version",)]
)
def test_help_is_quick(arguments: tuple[str, ...]) -> None:
    """It imports none of the heavy libraries, numpy among them."""
    code = (
        "import contextlib, io, sys; from embviz.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main({arguments!r})\n"
        "print([name for name in ('torch', 'transformers', 'tokenizers', 'gradio', 'plotly', 'sklearn', 'numpy')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, capture_output=True, check=True
    )

    assert done.stdout.strip() == b"[]"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"embviz {embviz.__version__}\n"


def test_reader_who_leaves_is_no_mistake() -> None:
    """`explain … | head`: no message, exit code 0."""
    process = subprocess.Popen(
        [sys.executable, "-m", "embviz", "explain", "hello " * 300, "--json", "--vectors"],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout as output, process.stderr as errors:
        assert output.read(10) == b'{"model": '
        output.close()
        assert errors.read() == b""
    assert process.wait(60) == 0


def test_full_disk_behind_stdout_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "embviz", "explain", "a"],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert b"stdout" in done.stderr


def test_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C: the exit code that shells know for it, and no message."""

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("embviz.analysis.analyze", interrupt)

    assert cli.main(["explain", "a"]) == 130
    assert capsys.readouterr() == ("", "")


def test_npz_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And stdout says where it is."""
    file = tmp_path / "out.npz"

    assert cli.main(["explain", *PAIR, "--npz", str(file)]) == 0
    assert capsys.readouterr().out == f"Wrote {file}.\n"
    with np.load(file, allow_pickle=False) as archive:
        assert archive["input_ids"].tolist() == PAIR_IDS


def test_csv_is_written(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"

    cli.main(["explain", *PAIR, "--csv", str(file)])

    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline="")))
    assert [int(row["input_id"]) for row in rows if row["part"] == "token"] == PAIR_IDS


def test_html_is_written(tmp_path: Path) -> None:
    """With the map of the parts, the map of the LayerNorm's results, and the heatmaps."""
    file = tmp_path / "out.html"

    cli.main(["explain", *PAIR, "--html", str(file)])

    page = file.read_text(encoding="utf-8")
    assert "I ate a clock yesterday." in page
    assert page.count('<div class="figure">') == 3


def test_png_is_written(tmp_path: Path) -> None:
    """By a process of its own, with nothing on stderr."""
    file = tmp_path / "out.png"

    done = _embviz("explain", "hello", "--png", str(file))

    assert (done.returncode, done.stderr) == (0, b"")
    assert file.read_bytes().startswith(b"\x89PNG")


def test_png_without_chrome_is_one_sentence(tmp_path: Path) -> None:
    """Case EV131: it mentions Chrome and the way out, and no half file is left."""
    done = _embviz("explain", "hello", "--png", str(tmp_path / "out.png"), BROWSER_PATH="/nowhere/chrome")

    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1
    assert b"Chrome" in done.stderr
    assert b"--html" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_png_reports_characters_without_a_glyph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case EV129: the notice that goes with the code points in the picture."""
    monkeypatch.setattr("embviz.exports.to_png", lambda _: (b"png", "京東"))

    cli.main(["explain", "東京", "--png", str(tmp_path / "x.png")])

    assert "京 東" in capsys.readouterr().out


def test_serve_says_which_port_is_taken() -> None:
    """A port in use is a mistake like any other."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = _embviz("serve", "--port", str(port))

    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert str(port).encode() in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_serve_passes_port_and_host_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int | None, str | None]] = []
    monkeypatch.setattr("embviz.ui.server.serve", lambda port, host: asked.append((port, host)))

    cli.main(["serve"])
    cli.main(["serve", "--port", "8000", "--host", "0.0.0.0"])  # noqa: S104  # nothing is served here

    assert asked == [(None, None), (8000, "0.0.0.0")]  # noqa: S104


@pytest.mark.parametrize("port", ["abc", "0", "70000", "80 80", "-1"])
def test_port_of_the_environment_that_is_none_is_one_sentence(
    port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_SERVER_PORT", port)
    for command in (["-m", "embviz", "serve"], ["app.py"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
        )

        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "GRADIO_SERVER_PORT" in done.stderr
        assert port in done.stderr


def test_a_what_if_changes_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """The flag takes what the page's address has; JSON says how far the tokens moved."""
    cli.main(["explain", "my dog", "--json", "--what-if", '[{"type": "ShiftPositions", "k": 5}]'])
    answer = json.loads(capsys.readouterr().out)

    assert answer["position_ids"] == [5, 6, 7, 8]
    assert answer["moved"]["changed"]
    cli.main(["explain", "my dog", "--what-if", '[{"type": "ShiftPositions", "k": 5}]'])
    assert "positions + 5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("what_if", "said"),
    [("{", "JSON"), ("{}", "list"), ('[{"type": "ShiftPositions", "k": 900}]', "508"), ('["x"]', "“'x'”")],
)
def test_a_what_if_that_cannot_be_is_refused(
    capsys: pytest.CaptureFixture[str], what_if: str, said: str
) -> None:
    assert said in _refused(capsys, "explain", "my dog", "--what-if", what_if)

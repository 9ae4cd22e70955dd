"""The page's own files over HTTP: the right bytes in every coding, and nothing but these files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest

import embviz
from embviz.ui.static_files import CompressedFiles, module_names, version
from tests.ui.asgi import ask

FOLDER = Path(embviz.__file__).parent / "ui" / "static"
NAMES = sorted(file.name for file in FOLDER.iterdir() if file.is_file())
APP = CompressedFiles()

DECODE: dict[str, Callable[[bytes], bytes]] = {
    "br": brotli.decompress,
    "gzip": gzip.decompress,
    "identity": lambda body: body,
}


def original(name: str) -> bytes:
    if name != "plotly.min.js":
        return (FOLDER / name).read_bytes()
    import plotly

    return (Path(plotly.__file__).parent / "package_data" / name).read_bytes()


@pytest.mark.parametrize("coding", DECODE)
@pytest.mark.parametrize("name", [*NAMES, "plotly.min.js"])
def test_an_answer_decodes_to_the_file(name: str, coding: str) -> None:
    answer = ask(APP, f"/{version()}/{name}", headers={"accept-encoding": coding})

    assert answer.status == 200
    assert DECODE[coding](answer.body) == original(name)
    assert answer["content-length"] == str(len(answer.body))
    assert ("content-encoding" in answer) == (coding != "identity")


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip, deflate", "gzip"),
        ("GZIP;q=0.8", "gzip"),
        ("deflate, zstd", None),
        ("identity", None),
        ("", None),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("br;q=0.01", "br"),
        ("*", None),
    ],
)
def test_the_coding_is_the_best_that_the_browser_accepts(accepted: str, coding: str | None) -> None:
    answer = ask(APP, "/v/main.js", headers={"accept-encoding": accepted})

    assert dict(answer.headers).get("content-encoding") == coding
    assert answer["vary"].lower() == "accept-encoding"


@pytest.mark.parametrize("accepted", ["br;q=0", "gzip;q=0, br; q=0.0"])
def test_a_coding_that_the_browser_refuses_is_not_used(accepted: str) -> None:
    """RFC 9110, 12.5.3: a weight of 0 means “not acceptable”."""
    answer = ask(APP, "/v/main.js", headers={"accept-encoding": accepted})

    assert "content-encoding" not in answer
    assert answer.body == original("main.js")


def test_without_a_wish_the_file_comes_as_it_is() -> None:
    assert ask(APP, "/v/main.js").body == original("main.js")


@pytest.mark.parametrize(
    "path",
    [
        "/v/nothing.js",
        "/v/",
        "/",
        "/v/..",
        "/v/../server.py",
        "/v/../../errors.py",
        "/v/..\\server.py",
        "/v/%2e%2e%2fserver.py",
        "/v/..%2fmain.js",
        "/v//etc/passwd",
        "/v/.",
        "/v/main.js\x00",
        "/v/MAIN.JS",
        "/v/main.js.gz",
        "/v/__init__.py",
        "/v/" + "x" * 100_000,
    ],
)
def test_what_is_none_of_the_files_is_not_found(path: str) -> None:
    answer = ask(APP, path)

    assert (answer.status, answer.body) == (404, b"")
    assert "cache-control" not in answer


@pytest.mark.parametrize("name", ["main.js", "plotly.min.js"])
def test_a_head_request_has_no_body(name: str) -> None:
    answer = ask(APP, f"/v/{name}", method="HEAD")

    assert (answer.status, answer.body) == (200, b"")


def test_a_head_request_promises_the_length_of_the_file_or_none() -> None:
    """RFC 9110, 8.6: never another length than GET would have."""
    head = ask(APP, "/v/main.js", method="HEAD")

    assert dict(head.headers).get("content-length") in (None, str(len(original("main.js"))))


def test_browsers_may_keep_a_file_for_a_year() -> None:
    """Safely, since its path changes with the bytes."""
    kept = {part.strip() for part in ask(APP, f"/{version()}/main.js")["cache-control"].split(",")}

    assert kept == {"public", "max-age=31536000", "immutable"}


@pytest.mark.parametrize("path", ["/v/main.js", "/main.js", "//main.js", "/v/plotly.min.js"])
def test_nobody_keeps_a_file_of_another_version(path: str) -> None:
    """A page that is older or newer than the server would keep the wrong bytes for a year."""
    answer = ask(APP, path)

    assert answer.status == 200
    assert answer["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("main.js", "text/javascript"), ("embviz.css", "text/css"), ("plotly.min.js", "text/javascript")],
)
def test_a_file_has_the_type_without_which_browsers_refuse_it(name: str, kind: str) -> None:
    assert ask(APP, f"/v/{name}")["content-type"].split(";")[0] == kind


def test_all_scripts_of_the_folder_are_modules() -> None:
    assert module_names() == [name for name in NAMES if name.endswith(".js")]

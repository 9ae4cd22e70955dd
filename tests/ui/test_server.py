"""What the server adds: headers that keep the page to itself, and a head that holds the texts and the modules."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from embviz.i18n import catalogue
from embviz.ui.server import SecurityHeaders, launch_settings, page_head
from embviz.ui.static_files import STATIC_PATH, module_names, version
from tests.ui.asgi import Answer, ask, finish

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = ("content-security-policy", "x-content-type-options", "referrer-policy")


def policy(answer: Answer) -> dict[str, list[str]]:
    directives = [part.split() for part in answer["content-security-policy"].split(";")]
    return {name: sources for name, *sources in directives}


def plain(_: Request) -> PlainTextResponse:
    return PlainTextResponse("hello", headers={"x-own": "kept"})


@pytest.fixture(scope="module")
def app() -> ASGIApp:
    """An app with what Gradio is launched with."""
    more = launch_settings()["app_kwargs"]
    return Starlette(routes=[Route("/plain", plain), *more["routes"]], middleware=more["middleware"])


@pytest.mark.parametrize(
    "path", ["/plain", "/nothing", f"/{STATIC_PATH}/v/main.js", f"/{STATIC_PATH}/v/nothing"]
)
def test_every_answer_has_each_security_header_once(app: ASGIApp, path: str) -> None:
    answer = ask(app, path)

    for name in HEADERS:
        assert answer[name]
    assert answer["x-content-type-options"] == "nosniff"
    assert answer["referrer-policy"] == "no-referrer"


def test_the_answer_itself_stays_as_it_is(app: ASGIApp) -> None:
    answer = ask(app, "/plain")

    assert (answer.status, answer.body, answer["x-own"]) == (200, b"hello", "kept")


def test_the_page_asks_no_other_host_for_anything(app: ASGIApp) -> None:
    """Who may frame it is the one thing that names hosts: a Space stands in a frame of huggingface.co."""
    directives = policy(ask(app, "/plain"))

    assert directives["default-src"] == ["'self'"]
    assert directives["connect-src"] == ["'self'"]
    assert directives["object-src"] == ["'none'"]
    for name, sources in directives.items():
        if name != "frame-ancestors":
            assert all(source.startswith("'") or source in ("data:", "blob:") for source in sources), name


def test_the_pieces_of_a_stream_pass_one_by_one() -> None:
    """Each has left before the next one is made: events that wait for their end would be no progress."""
    left: list[bytes] = []

    async def stream(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number, piece in enumerate((b"a", b"b", b"c"), start=1):
            await send({"type": "http.response.body", "body": piece, "more_body": number < 3})
            assert len(left) == number

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            left.append(message["body"])

    async def run() -> None:
        await SecurityHeaders(stream)({"type": "http"}, receive, send)

    finish(run())

    assert left == [b"a", b"b", b"c"]


def test_what_is_not_http_passes_untouched() -> None:
    seen: list[Any] = []

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend((scope["type"], receive, send))

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    async def run() -> None:
        await SecurityHeaders(inner)({"type": "lifespan"}, receive, send)

    finish(run())

    assert seen == ["lifespan", receive, send]


def test_the_static_files_stand_where_the_head_points(app: ASGIApp) -> None:
    paths = re.findall(r'(?:href|src)="([^"]+)"', page_head())

    assert f"{STATIC_PATH}/{version()}/main.js" in paths
    assert {path.rsplit("/", 1)[1] for path in paths} == {"embviz.css", *module_names()}
    for path in paths:
        assert ask(app, f"/{path}").status == 200


def test_the_head_has_all_texts_but_errors_and_no_text_can_end_the_script() -> None:
    found = re.search(
        r'<script type="application/json" id="embviz-boot">(.*?)</script>', page_head(), re.DOTALL
    )
    assert found is not None
    boot = json.loads(found.group(1))

    assert "<" not in found.group(1)
    assert boot["texts"] == {key: said for key, said in catalogue().items() if not key.startswith("error.")}


def test_gradio_tells_nobody_and_shows_no_traceback() -> None:
    settings = launch_settings()

    assert settings["show_error"] is False
    assert settings["enable_monitoring"] is False
    assert settings["ssr_mode"] is False

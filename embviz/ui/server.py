"""Serving the page: launch settings, our static files, security headers, and warming up after the first answer."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

from embviz.errors import InputError
from embviz.i18n import DEFAULT_LANGUAGE, catalogue
from embviz.models.limits import is_public
from embviz.ui.static_files import STATIC_PATH, CompressedFiles, module_names, version

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

DEFAULT_PORT = 7860
MAX_PORT = 65_535

# 'unsafe-eval': Gradio compiles the templates and the code of its HTML components in the browser.
_CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'self' https://huggingface.co https://*.hf.space"
)
_HEADERS = (
    (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class SecurityHeaders:
    """Pure ASGI middleware that adds the headers; anything richer might hold back the stream of events."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes everything on, and adds the headers to the start of an answer."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def serve(
    port: int | None = None, host: str | None = None, *, block: bool = True, quiet: bool = False
) -> Any:
    """Serves the page, and returns the Gradio app once it answers (or when it ends, with `block`).

    Args:
        port: None means GRADIO_SERVER_PORT, or 7860.
        host: None means GRADIO_SERVER_NAME, or 127.0.0.1; all addresses on a Hugging Face Space.
        block: wait until the server is stopped.
        quiet: print nothing.

    Raises:
        InputError: GRADIO_SERVER_PORT is no port.
    """
    port = port_of_environment() if port is None else port
    _settle_environment()
    from embviz.ui.page import build_page  # gradio and numpy must find the environment settled

    page = build_page()
    page.launch(
        server_port=port,
        server_name=host or os.environ.get("GRADIO_SERVER_NAME") or _default_host(),
        quiet=quiet,
        prevent_thread_lock=True,
        **launch_settings(),
    )
    threading.Thread(target=_warm_up, name="embviz-warm-up", daemon=True).start()
    if block:
        page.block_thread()
    return page


def port_of_environment() -> int:
    """The port that GRADIO_SERVER_PORT names, or 7860.

    Raises:
        InputError: it is no port.
    """
    named = os.environ.get("GRADIO_SERVER_PORT", "").strip() or str(DEFAULT_PORT)
    if not (named.isascii() and named.isdigit() and 1 <= int(named[:9]) <= MAX_PORT):
        raise InputError("server_port", found=named, largest=MAX_PORT)
    return int(named)


def launch_settings() -> dict[str, Any]:
    """What `launch` needs for the page to look and behave as it is meant to; `build_page().launch(**…)` works too."""
    from starlette.middleware import Middleware
    from starlette.routing import Mount

    from embviz.ui.theme import create_theme

    return {
        "theme": create_theme(),
        "head": page_head(),
        "ssr_mode": False,
        "run_history": False,
        "enable_monitoring": False,
        "show_error": False,
        "max_file_size": "1kb",
        "footer_links": [],
        "pwa": False,
        "app_kwargs": {
            "routes": [Mount(f"/{STATIC_PATH}", CompressedFiles())],
            "middleware": [Middleware(SecurityHeaders)],
        },
    }


def page_head() -> str:
    """The lines of `<head>`: the style sheet, the modules, and the texts as one JSON object."""
    base = f"{STATIC_PATH}/{version()}"
    texts = {key: value for key, value in catalogue(DEFAULT_LANGUAGE).items() if not key.startswith("error.")}
    boot = {"base": base, "texts": texts, "public": is_public()}
    data = json.dumps(boot, ensure_ascii=False).replace("<", "\\u003c")
    # All modules at once: a browser would else find out about each only after it has read the one before.
    preloads = "".join(f'<link rel="modulepreload" href="{base}/{name}">\n' for name in module_names())
    return (
        f'<link rel="stylesheet" href="{base}/embviz.css">\n{preloads}'
        f'<script type="application/json" id="embviz-boot">{data}</script>\n'
        f'<script type="module" src="{base}/main.js"></script>'
    )


def _settle_environment() -> None:
    """One thread for linear algebra, and no look-ups by Gradio; a value that is set already is respected."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")


def _default_host() -> str:
    """This machine only; on a Hugging Face Space the visitors come through a proxy from outside."""
    return "0.0.0.0" if "SPACE_ID" in os.environ else "127.0.0.1"  # noqa: S104 - meant so on a Space


def _warm_up() -> None:
    """Opens the default model and draws the first example once, so that no user waits for an import."""
    from embviz.ui import handlers

    handlers.open_query("")

"""A page served by a process of its own, and a real Chromium that looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
)

from tests.browser.chromium import NoBrowserError, open_browser
from tests.browser.serving import Served, serve

# Patience costs nothing where a test passes; a slow machine is no failure.
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Record:
    """What a page did: its error messages, and the address of every request."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url')})")

    def _on_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def foreign(self, url: str) -> list[str]:
        """The requests that went to another host or port than `url`."""
        own = urlsplit(url).netloc
        network = [request for request in self.requests if urlsplit(request).scheme not in {"data", "blob"}]
        return [request for request in network if urlsplit(request).netloc != own]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium; without one the tests fail by one sentence."""
    with ExitStack() as stack:
        try:
            chromium = stack.enter_context(open_browser())
        except NoBrowserError as error:
            pytest.fail(str(error), pytrace=False)
        yield chromium


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """The page as `embviz serve` serves it, one for all tests."""
    with serve() as page:
        yield page


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser profile without a past, 1440 px wide, light."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def record() -> Record:
    return Record()


@pytest.fixture
def page(context: BrowserContext, record: Record, served: Served) -> Iterator[Page]:
    """An empty tab. Whatever the test does in it, no error is logged and no other host is asked."""
    page = context.new_page()
    record.watch(page)
    yield page

    assert record.errors == []
    assert record.foreign(served.url) == []

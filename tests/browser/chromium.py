"""Where the browser of the tests and benchmarks comes from, and how it is started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

# Without these Chromium asks for hosts of its maker at every start, and root cannot start it at all.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

NOT_FOUND = (
    "The browser tests need Chromium or Chrome, and none was found or could be installed: "
    "install one, or name one with EMBVIZ_CHROMIUM=/path/to/chromium."
)
NO_DRIVER = "Playwright, which drives the browser of the tests, does not start: {reason}"


class NoBrowserError(Exception):
    """There is no Chromium and none could be installed; the message is one sentence for a user."""


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A headless Chromium, with what it needs installed by the ordinary means where it is missing.

    Raises:
        NoBrowserError: it is missing after that too.
    """
    _check_driver()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def launch(playwright: Playwright) -> Browser:
    """A headless Chromium of this Playwright.

    Raises:
        NoBrowserError: there is none, and none could be installed.
    """
    path = _find(playwright)
    if path is None:
        _install()
        path = _find(playwright)
    if path is None:
        raise NoBrowserError(NOT_FOUND)
    return playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))


def _check_driver() -> None:
    """Starts Playwright's driver once: the program in its package needs a library that a bare Debian lacks."""
    command = [sys.executable, "-m", "playwright", "--version"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode and _install_debian("libatomic1"):
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode:
        raise NoBrowserError(NO_DRIVER.format(reason=tried.stderr.strip()))


def _find(playwright: Playwright) -> str | None:
    """The named browser, else an installed one, else the one that Playwright has downloaded."""
    named = os.environ.get("EMBVIZ_CHROMIUM")
    if named:
        return named
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if found := shutil.which(name):
            return found
    downloaded = playwright.chromium.executable_path
    return downloaded if Path(downloaded).exists() else None


def _install() -> None:
    """Tries once to get a browser: from Debian, else by Playwright; the caller looks whether it is there."""
    if not (_install_debian("chromium") and shutil.which("chromium")):
        command = [sys.executable, "-m", "playwright", "install", "chromium"]
        subprocess.run(command, stdin=subprocess.DEVNULL, check=False)


def _install_debian(package: str) -> bool:
    """Whether a package of Debian could be installed, which takes root."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        return False
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["install", "-q", "-y", "--no-install-recommends", package]
    done = [
        subprocess.run([apt, *command], env=environment, stdin=subprocess.DEVNULL, check=False).returncode
        for command in (["update", "-q"], install)
    ]
    return done[-1] == 0

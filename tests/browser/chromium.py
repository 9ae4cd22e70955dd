"""Where the browser of the tests and benchmarks comes from, and how it is started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Playwright

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


class NoBrowserError(Exception):
    """There is no Chromium and none could be installed; the message is one sentence for a user."""


def launch(playwright: Playwright) -> Browser:
    """A headless Chromium; it is installed by the ordinary means if there is none.

    Raises:
        NoBrowserError: there is none after that either.
    """
    path = _find(playwright)
    if path is None:
        _install()
        path = _find(playwright)
    if path is None:
        raise NoBrowserError(NOT_FOUND)
    return playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))


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
    """Tries once: as root on Debian by apt-get, then by Playwright, whose failure is for the caller to notice."""
    apt = shutil.which("apt-get")
    if apt and os.geteuid() == 0:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run([apt, *command], env=environment, stdin=subprocess.DEVNULL, check=False)
        if shutil.which("chromium"):
            return
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=False)

"""How the tests find their browser."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from playwright.sync_api import Playwright

from tests.browser import chromium


@pytest.fixture
def playwright(tmp_path: Path) -> Playwright:
    """A Playwright that has downloaded no browser, and says with which program it would start one."""
    browser_type = SimpleNamespace(
        executable_path=str(tmp_path / "nothing"), launch=lambda executable_path, **_: executable_path
    )
    return cast(Playwright, SimpleNamespace(chromium=browser_type))


def test_without_a_browser_there_is_one_sentence(
    playwright: Playwright, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If none is found and none can be installed, the tests fail and say what to do; they are not skipped."""
    monkeypatch.delenv("EMBVIZ_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    tries = []
    monkeypatch.setattr(chromium, "_install", lambda: tries.append(1))

    with pytest.raises(chromium.NoBrowserError, match="EMBVIZ_CHROMIUM"):
        chromium.launch(playwright)

    assert tries == [1]


def test_named_browser_is_taken_first(playwright: Playwright, monkeypatch: pytest.MonkeyPatch) -> None:
    """EMBVIZ_CHROMIUM comes before every browser on the PATH."""
    monkeypatch.setenv("EMBVIZ_CHROMIUM", "/opt/my/chrome")

    assert str(chromium.launch(playwright)) == "/opt/my/chrome"


def test_installed_browser_is_found_on_the_path(
    playwright: Playwright, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """chromium-browser is as good a name as chromium."""
    monkeypatch.delenv("EMBVIZ_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "chromium-browser"
    program.touch(mode=0o755)

    assert str(chromium.launch(playwright)) == str(program)

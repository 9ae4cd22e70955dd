"""What is installed is what is here: the wheel holds every module, text and static file."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LEFT_OUT = {"__pycache__"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel that is built from a copy of the package, without a network."""
    folder = tmp_path_factory.mktemp("build")
    for name in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "embviz", folder / "embviz", ignore=shutil.ignore_patterns(*LEFT_OUT))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        "out",
        ".",
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (built,) = (folder / "out").glob("*.whl")
    return set(zipfile.ZipFile(built).namelist())


def test_wheel_holds_every_file_of_the_package(wheel: set[str]) -> None:
    """Modules, locales, scripts, styles and py.typed are all in it."""
    files = [path for path in (ROOT / "embviz").rglob("*") if path.is_file()]
    here = {path.relative_to(ROOT).as_posix() for path in files if not LEFT_OUT & set(path.parts)}

    assert here - wheel == set()
    assert "embviz/py.typed" in wheel


def test_wheel_holds_nothing_but_the_package(wheel: set[str]) -> None:
    """Tests and benchmarks stay at home."""
    assert {name.split("/")[0].split("-")[0] for name in wheel} == {"embviz"}

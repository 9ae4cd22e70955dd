"""What the README and the lists of packages say is true."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSTRAINTS = dict(
    line.split("==")
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^    (embviz explain .+)$", README, re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS)
def test_python_block_runs(block: str) -> None:
    """Each Python block runs as it stands, in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "[CLS]" in done.stdout


def test_readme_has_examples_to_run() -> None:
    assert len(BLOCKS) == 1
    assert len(COMMANDS) == 3


@pytest.mark.parametrize("line", COMMANDS)
def test_command_runs(line: str, tmp_path: Path) -> None:
    """Each `embviz explain` of the README runs as it stands, and writes the file it names."""
    arguments = shlex.split(line)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "embviz", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    named = [name for name in arguments if name.endswith(".npz")]
    assert [path.name for path in tmp_path.iterdir()] == named


def test_space_runs_the_tested_gradio() -> None:
    """`sdk_version` pins gradio on a Hugging Face Space; it is the version of the constraints."""
    header = README.split("---")[1]
    version = re.search(r"^sdk_version: (\S+)$", header, re.MULTILINE)

    assert version is not None
    assert version.group(1) == CONSTRAINTS["gradio"]


def test_paths_in_the_readme_exist() -> None:
    """Links and pictures of the README lead somewhere, and app_file too."""
    linked = [path for path in re.findall(r"\]\(([^)]+)\)", README) if not path.startswith("http")]

    missing = [path for path in [*linked, "app.py"] if not (ROOT / path).exists()]

    assert missing == []


def test_every_requirement_has_a_tested_version() -> None:
    """Nothing is installed unpinned: what the requirements and the extras name stands in constraints.txt."""
    pinned = {_plain(name) for name in CONSTRAINTS}
    needed = {_plain(re.split(r"[^\w.-]", line)[0]) for line in requires("embviz") or []}

    assert needed - pinned - {"embviz"} == set()


def test_version_of_the_package_is_in_the_changelog_or_unreleased() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert f"## [{version}]" in changelog or "## [Unreleased]" in changelog


def _plain(name: str) -> str:
    """A package's name as the index compares it: lower case, one hyphen for every run of - _ and ."""
    return re.sub(r"[-_.]+", "-", name).lower()

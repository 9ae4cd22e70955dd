"""The house keeps its order: floors, rooms of third parties, and nothing heavy before it is needed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parent.parent
PYPROJECT = ROOT / "pyproject.toml"
LINTER = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]

HEAVY = ["gradio", "huggingface_hub", "pandas", "plotly", "sklearn", "tokenizers", "torch", "transformers"]
LIST_HEAVY = f"import json, sys; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"


@pytest.mark.parametrize("contract", [contract["id"] for contract in LINTER["contracts"]])
def test_contract_holds(contract: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Each contract of pyproject.toml holds: floors, and the room of each third party."""
    status = lint_imports(
        config_filename=str(PYPROJECT), limit_to_contracts=(contract,), no_cache=True, no_logo=True
    )

    assert status == EXIT_STATUS_SUCCESS, capfd.readouterr().out


def test_every_module_stands_on_a_floor() -> None:
    """The contract is exhaustive, and it names no room that is not there."""
    floors = next(contract for contract in LINTER["contracts"] if contract["id"] == "floors")
    placed = {room.strip() for layer in floors["layers"] for room in layer.split("|")}
    rooms = {path.stem for path in (ROOT / "embviz").glob("*.py")} - {"__init__"}
    rooms |= {path.parent.name for path in (ROOT / "embviz").glob("*/__init__.py")}

    assert floors["exhaustive"] is True
    assert placed == rooms


def test_app_needs_no_third_party() -> None:
    """app.py only opens the door: it imports embviz, the standard library and what Spaces asks for."""
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    third_parties = {name.split(".")[0] for name in imported} - set(sys.stdlib_module_names) - {"embviz"}

    assert third_parties <= {"spaces"}


def test_importing_embviz_imports_nothing_heavy() -> None:
    assert _run(f"import embviz; {LIST_HEAVY}") == []


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import contextlib, io, runpy, sys\n"
        "sys.argv = ['embviz', '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    runpy.run_module('embviz', run_name='__main__')\n"
    )

    assert _run(code + LIST_HEAVY) == []


def _run(code: str) -> list[str]:
    """The heavy libraries that a fresh Python has imported after running `code`."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names: list[str] = json.loads(done.stdout)
    return names


def test_the_page_is_built_before_torch_is_here() -> None:
    """What only a drawing needs arrives after the first answer; gradio itself brings pandas and its Hub client."""
    code = f"import embviz.ui.page\n{LIST_HEAVY}"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert (
        set(json.loads(answer.stdout)) & {"plotly", "sklearn", "tokenizers", "torch", "transformers"} == set()
    )

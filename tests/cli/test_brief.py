"""A brief text on the command line: nothing is compiled for it, and numba is not even imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

ROOT = Path(__file__).parents[2]
LONG = """
import sys
from limelight.storage.layout import DEFAULT
from limelight.cli.models import Machine, open_translator
translator = open_translator([DEFAULT], Machine(device=None, threads=None), brief=False)
print(sys.modules.get("numba") is not None, type(translator.searched).__name__)
"""
BRIEF = """
import sys
from limelight.cli.app import run
run(["translate", "--from", "en", "--to", "de", "My friends live in a big house."])
print(sys.modules.get("numba") is not None)
"""


def run(*words: str, cache: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, encoding="utf-8", check=True, env=environment
    ).stdout


def test_numba_is_imported_for_long_tasks(tmp_path: Path) -> None:
    assert run("-c", LONG, cache=tmp_path).split() == ["True", "CompiledTransformer"]


def test_a_text_on_the_command_line_is_brief(tmp_path: Path) -> None:
    """Whatever is compiled is kept in the folder."""
    translated, imported = run("-c", BRIEF, cache=tmp_path).splitlines()
    assert translated
    assert imported == "False"
    assert list(tmp_path.rglob("*")) == []

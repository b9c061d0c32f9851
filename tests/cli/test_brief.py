"""A brief text on the command line: nothing is compiled for it, and numba is not even imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

ROOT = Path(__file__).parents[2]
OPENED = """
import sys
from limelight.storage.layout import DEFAULT
from limelight.cli.models import Machine, open_translator
translator = open_translator([DEFAULT], Machine(), brief=sys.argv[1] == "brief")
print(sys.modules.get("numba") is not None, type(translator.searched).__name__)
"""


def run(*words: str, cache: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, encoding="utf-8", check=True, env=environment
    ).stdout


@pytest.mark.parametrize(("kind", "imported", "model"), [("brief", "False", ""), ("long", "True", "Compiled")])
def test_numba_is_imported_for_long_tasks_alone(kind: str, imported: str, model: str, tmp_path: Path) -> None:
    assert run("-c", OPENED, kind, cache=tmp_path).split() == [imported, f"{model}Transformer"]


def test_a_text_on_the_command_line_is_brief(tmp_path: Path) -> None:
    """Whatever is compiled is kept in the folder."""
    words = ("-m", "limelight", "translate", "--from", "en", "--to", "de", "My friends live in a big house.")
    assert run(*words, cache=tmp_path).strip()
    assert list(tmp_path.rglob("*")) == []

"""The cells of examples/first_model.ipynb run, with fewer updates."""

import json
import re
import shlex
import socket
import sys
from pathlib import Path

import pytest

from limelight.cli.app import run

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_model.ipynb"


def cells(port: int) -> list[str]:
    """The code of the cells. A line of the shell becomes a call of the command line."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code = [
        text.replace("\\\n", "").replace("8017", str(port)).replace("--max-minutes 3", "--max-steps 30 --quiet")
        for text in code
    ]
    return [
        re.sub(r"^!limelight (.*) 2>&1 \| cat$", lambda line: f"run({shlex.split(line[1])})", text, flags=re.M)
        for text in code
    ]


@pytest.mark.slow
def test_the_cells_train_evaluate_show_and_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    scope = {"run": run, "sys": sys}
    for number, code in enumerate(cells(port), start=1):
        exec(compile(code, f"{NOTEBOOK.name}, cell {number}", "exec"), scope)
    printed = capsys.readouterr().out
    assert re.search(r"^\d+ of 800 are right$", printed, re.M)
    assert "1992" in printed.partition("are right")[2]
    assert printed.splitlines()[-1] == "0", "the service ended with success"

"""The notebooks of the lessons run, and docs/lesson.md has the answers that they print."""

import contextlib
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from limelight.storage.layout import DEFAULT, bundled_models

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("lesson_*.ipynb"))
NUMBER = re.compile(r"-?\d+\.\d+")
SLACK = 0.03
"""Absolute, and relative: int8 products differ between processors with and without VNNI."""


def cells(path: Path) -> list[str]:
    """The code of a notebook, whose outputs are not stored."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    return ["".join(cell["source"]) for cell in code]


def printed(path: Path, replaced: Mapping[str, str] = MappingProxyType({})) -> str:
    """What it prints, with some of its code replaced."""
    output = io.StringIO()
    scope: dict[str, object] = {"__name__": path.stem}
    with contextlib.redirect_stdout(output):
        for number, code in enumerate(cells(path), start=1):
            for one, other in replaced.items():
                code = code.replace(one, other)
            exec(compile(code, f"{path.name}, cell {number}", "exec"), scope)
    return output.getvalue()


def answers(number: str) -> str:
    """The printed answers in the part of a lesson."""
    text = (ROOT / "docs" / "lesson.md").read_text(encoding="utf-8")
    part = text.partition(f"\n## Lesson {number}:")[2].partition("\n## Lesson ")[0]
    return "".join(re.findall(r"^```text\n(.*?)^```", part, flags=re.DOTALL | re.MULTILINE))


def faults(expected: str, found: str) -> list[str]:
    """Lines that differ in more than the last digits; lines with `about` are measured by training."""
    lines = [[line for line in text.splitlines() if not line.startswith("about")] for text in (expected, found)]
    if len(lines[0]) != len(lines[1]):
        return [f"{len(lines[0])} lines in docs/lesson.md, {len(lines[1])} printed"]
    bad = []
    for one, other in zip(*lines, strict=True):
        words = [re.sub(r"\s+", " ", NUMBER.sub("0", line)) for line in (one, other)]
        numbers = [[float(each) for each in NUMBER.findall(line)] for line in (one, other)]
        near = all(abs(here - there) <= SLACK * max(1, abs(here)) for here, there in zip(*numbers, strict=False))
        if words[0] != words[1] or not near:
            bad.append(f"{one!r} in docs/lesson.md, {other!r} printed")
    return bad


def test_another_number_is_a_fault() -> None:
    assert faults("a 0.50\nabout 3.0", "a  0.51\nabout 9.0") == []
    assert len(faults("a 0.50\nb 1.0", "a 0.60\nc 1.0")) == 2
    assert len(faults("a", "a\nb")) == 1


SOONER = {"updates: int = 300": "updates: int = 100", "+ 0.15": "+ 0.05"}
"""Models of a lesson learn less; `make torture` runs it as it is."""


@pytest.mark.slow
@pytest.mark.skipif(DEFAULT not in bundled_models(), reason="needs the bundled model")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_the_answers_of_its_lesson(path: Path) -> None:
    assert faults(answers(path.stem.split("_")[1]), printed(path, SOONER)) == []

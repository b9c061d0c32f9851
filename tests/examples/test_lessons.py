"""The notebooks of the lessons run, and print the answers that are stored in them."""

import contextlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from limelight.storage.layout import DEFAULT, bundled_models

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("lesson_*.ipynb"))
NUMBER = re.compile(r"-?\d+\.\d+")
SLACK = 0.03
"""Absolute, and relative: int8 products differ between processors with and without VNNI."""


def cells(path: Path) -> list[tuple[str, str]]:
    """The code of the cells of a notebook, and what they print."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    outputs = [[text for output in cell["outputs"] for text in output["text"]] for cell in code]
    return [("".join(cell["source"]), "".join(output)) for cell, output in zip(code, outputs, strict=True)]


def printed(path: Path, replaced: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """What the cells print, with some of their code replaced."""
    scope: dict[str, object] = {"__name__": path.stem}
    for number, (code, _) in enumerate(cells(path), start=1):
        for one, other in replaced.items():
            code = code.replace(one, other)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(code, f"{path.name}, cell {number}", "exec"), scope)
        yield output.getvalue()


def faults(expected: str, found: str) -> list[str]:
    """Lines that differ in more than the last digits; lines with `about` are measured by training."""
    lines = [[line for line in text.splitlines() if not line.startswith("about")] for text in (expected, found)]
    if len(lines[0]) != len(lines[1]):
        return [f"{len(lines[0])} lines are stored, {len(lines[1])} printed"]
    bad = []
    for one, other in zip(*lines, strict=True):
        words = [re.sub(r"\s+", " ", NUMBER.sub("0", line)) for line in (one, other)]
        numbers = [[float(each) for each in NUMBER.findall(line)] for line in (one, other)]
        near = all(abs(here - there) <= SLACK * max(1, abs(here)) for here, there in zip(*numbers, strict=False))
        if words[0] != words[1] or not near:
            bad.append(f"{one!r} is stored, {other!r} printed")
    return bad


def test_another_number_is_a_fault() -> None:
    assert faults("a 0.50\nabout 3.0", "a  0.51\nabout 9.0") == []
    assert len(faults("a 0.50\nb 1.0", "a 0.60\nc 1.0")) == 2
    assert len(faults("a", "a\nb")) == 1


SOONER = {"updates: int = 300": "updates: int = 200", "+ 0.15": "+ 0.05"}
"""Models of a lesson learn less; `make torture` runs it as it is."""


@pytest.mark.slow
@pytest.mark.skipif(DEFAULT not in bundled_models(), reason="needs the bundled model")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_the_answers_that_are_stored_in_it(path: Path) -> None:
    stored = "".join(output for _, output in cells(path))
    assert stored
    assert faults(stored, "".join(printed(path, SOONER))) == []

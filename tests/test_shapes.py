"""Shapes are checked in every call where everything is tested, and their names are those of the legend."""

import ast
import re
from pathlib import Path

import jaxtyping
import pytest
import torch

import limelight
from limelight import shapes
from limelight.attention.attend import attend
from tests.conftest import EVERYTHING

SOURCES = sorted(Path(limelight.__file__).parent.rglob("*.py"))


def words_of(text: str) -> set[str]:
    """The axis names in the annotations of a file; numbers and `...` are none."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Subscript(
                value=ast.Name(id="Float" | "Int" | "Bool"),
                slice=ast.Tuple(elts=[_, ast.Constant(value=str() as axes)]),
            ):
                found.update(re.findall(r"[a-z][a-z_]*", axes))
    return found


def legend() -> set[str]:
    rows = re.findall(r"^\| ([a-z_]+) +\|", shapes.__doc__ or "", flags=re.MULTILINE)
    return set(rows) - {"name"}


def test_the_legend_has_the_words_of_the_annotations() -> None:
    """Say what a word means in shapes.py, or use one that stands there."""
    assert set().union(*(words_of(path.read_text(encoding="utf-8")) for path in SOURCES)) == legend()


@pytest.mark.skipif(not EVERYTHING, reason="shapes are checked in `make test-all`")
@pytest.mark.parametrize(("positions", "dtype"), [(11, torch.float32), (7, torch.int64)])
def test_a_wrong_shape_or_type_is_refused(positions: int, dtype: torch.dtype) -> None:
    """The import hook of conftest.py is at work: wrong keys and values never reach the computation."""
    queries, keys, values = torch.zeros(2, 3, 5, dtype=dtype), torch.zeros(2, 7, 5), torch.zeros(2, positions, 5)
    with pytest.raises(jaxtyping.TypeCheckError):
        attend(queries, keys, values)

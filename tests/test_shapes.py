"""Shapes are checked in every call where everything is tested, and their names are those of the legend."""

import ast
import functools
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


@functools.cache
def words_of_sources() -> dict[Path, set[str]]:
    """The axis names of each file."""
    return {path: words_of(path.read_text(encoding="utf-8")) for path in SOURCES}


def legend() -> set[str]:
    rows = re.findall(r"^\| ([a-z_]+) +\|", shapes.__doc__ or "", flags=re.MULTILINE)
    return set(rows) - {"name"}


def test_axis_names_are_found() -> None:
    code = 'def f(a: Float[Tensor, "... query head_size"], b: "Int[Tensor, \'x\']", c: Bool[Tensor, "*rows 3"]): ...'
    assert words_of(code) == {"query", "head_size", "rows"}


def test_every_axis_has_its_word_in_the_legend() -> None:
    unknown = {path.name: sorted(words - legend()) for path, words in words_of_sources().items()}
    unknown = {name: words for name, words in unknown.items() if words}
    assert not unknown, f"say what they mean in shapes.py, or use a word that stands there: {unknown}"


def test_the_legend_has_no_word_that_nobody_uses() -> None:
    used = set().union(*words_of_sources().values())
    assert legend() - used == set()


@pytest.mark.skipif(not EVERYTHING, reason="shapes are checked in `make test-all`")
@pytest.mark.parametrize(("positions", "dtype"), [(11, torch.float32), (7, torch.int64)])
def test_a_wrong_shape_or_type_is_refused(positions: int, dtype: torch.dtype) -> None:
    """The import hook of conftest.py is at work: wrong keys and values never reach the computation."""
    queries, keys, values = torch.zeros(2, 3, 5, dtype=dtype), torch.zeros(2, 7, 5), torch.zeros(2, positions, 5)
    with pytest.raises(jaxtyping.TypeCheckError):
        attend(queries, keys, values)

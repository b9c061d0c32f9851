"""Shapes are really checked while the tests run, and their words are those of the legend."""

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

import beartype
import jaxtyping
import pytest
import torch
from torch import Tensor

import limelight
from limelight import shapes
from limelight.attention.attend import attend
from limelight.shapes import Float

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


def test_a_wrong_shape_is_stopped_at_the_door() -> None:
    """The import hook of conftest.py is at work: keys and values of different lengths never reach the computation."""
    queries, keys, values = torch.zeros(2, 3, 5), torch.zeros(2, 7, 5), torch.zeros(2, 11, 5)
    with pytest.raises(jaxtyping.TypeCheckError):
        attend(queries, keys, values)


def test_a_wrong_type_is_stopped_at_the_door() -> None:
    with pytest.raises(jaxtyping.TypeCheckError):
        attend(torch.zeros(2, 3, 5, dtype=torch.int64), torch.zeros(2, 7, 5), torch.zeros(2, 7, 5))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What jaxtyping checks from now on."""
    seen: list[object] = []
    kind = type(Float[Tensor, "*rows"])
    check = kind.__instancecheck_str__
    monkeypatch.setattr(kind, "__instancecheck_str__", lambda self, value: seen.append(value) or check(self, value))
    return seen


def test_each_kind_of_call_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next one again: after calls that were right, a wrong shape, dtype, keyword or item is stopped."""

    @jaxtyping.jaxtyped(typechecker=beartype.beartype)
    def added(one: Float[Tensor, "*rows"], others: list[Float[Tensor, "*rows"]]) -> Float[Tensor, "*rows"]:
        return sum(others, one)

    three, five = torch.zeros(3), torch.zeros(5)
    seen = counted(monkeypatch)
    added(three, [three])
    assert seen
    seen.clear()
    added(torch.ones(3), [torch.ones(3)])
    assert not seen
    added(five, [five])
    assert seen
    for wrong in ((three, [five]), (three.long(), [three]), (three, [five, five]), (three, (three,)), (three, [None])):
        with pytest.raises(jaxtyping.TypeCheckError):
            added(*wrong)
    with pytest.raises(jaxtyping.TypeCheckError):
        added(three, others=[five])
    added(three, [three, three])
    seen.clear()
    added(torch.ones(3), [three, torch.ones(3)])
    assert not seen
    added(three, [three] * 40)
    added(three, [three] * 40)
    assert len(seen) >= 4, "one of many items is checked, at random: such a call is always checked"


def test_fields_and_functions_within_others_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    @jaxtyping.jaxtyped(typechecker=beartype.beartype)
    @dataclass(frozen=True)
    class Pair:
        one: Float[Tensor, "*rows"]
        other: Float[Tensor, "*rows"]

    def doubled(values: Tensor) -> Tensor:
        @jaxtyping.jaxtyped(typechecker=beartype.beartype)
        def double(given: Float[Tensor, "3"]) -> Float[Tensor, "3"]:
            return given + values

        return double(values)

    three, five = torch.zeros(3), torch.zeros(5)
    for right, wrong in (
        (lambda: Pair(three, three), lambda: Pair(three, five)),
        (
            lambda: doubled(three),
            lambda: doubled(five),
        ),
    ):
        with monkeypatch.context() as patch:
            seen = counted(patch)
            right()
            assert seen
            seen.clear()
            right()
            assert not seen
            with pytest.raises(jaxtyping.TypeCheckError):
                wrong()


def test_where_items_differ_each_call_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single item is checked, at random."""

    @jaxtyping.jaxtyped(typechecker=beartype.beartype)
    def counted_items(one: tuple[Float[Tensor, "..."], ...], several: dict[str, Float[Tensor, "..."]]) -> int:
        return len(one) + len(several)

    three, five = torch.zeros(3), torch.zeros(5)
    seen = counted(monkeypatch)
    for alike in ((three, three), {"a": three}), ((three,), {"a": three, "b": three}):
        counted_items(*alike)
        seen.clear()
        counted_items(*alike)
        assert not seen
    for different in ((three, five), {"a": three}), ((three,), {"a": three, "b": five}):
        counted_items(*different)
        seen.clear()
        counted_items(*different)
        assert seen


def test_a_wrong_result_is_stopped_after_right_ones() -> None:
    """Also if nothing in its arguments tells it from a call that was right."""

    @jaxtyping.jaxtyped(typechecker=beartype.beartype)
    def first(values: Float[Tensor, "*rows"], count: int) -> Float[Tensor, "*rows"]:
        return values[:count]

    values = torch.zeros(5)
    for _ in range(2):
        assert len(first(values, 5)) == 5
        with pytest.raises(jaxtyping.TypeCheckError, match="return value"):
            first(values, 3)


def test_an_axis_that_is_named_by_an_argument_is_always_checked() -> None:
    @jaxtyping.jaxtyped(typechecker=beartype.beartype)
    def made(size: int, given: int) -> Float[Tensor, "{size} 1"]:
        return torch.zeros(given, 1)

    made(3, 3)
    with pytest.raises(jaxtyping.TypeCheckError):
        made(3, 5)
    with pytest.raises(jaxtyping.TypeCheckError):
        made(5, 3)

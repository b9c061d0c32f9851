"""The compiled search for the largest sums, held to a stable sort of all of them."""

import math

import pytest
import torch
from torch import Tensor

from limelight.decoding import top
from limelight.decoding.compiled import find_largest_sums
from limelight.decoding.top import BLOCK, best_continuations

VOCABULARIES = (1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 11)
BEAMS = [(1, 1), (1, 2), (3, 7), (5, 11)]
"""Hypotheses, and how many sums are wanted."""


def different(batch: int, width: int, vocab: int) -> tuple[Tensor, Tensor]:
    """Whole numbers whose sums are all different, in fp32 exactly."""
    count = batch * width * vocab
    return torch.randperm(count).view(batch, width, vocab).float() * width, torch.randperm(width).float().expand(
        batch, width
    ).contiguous()


def found(log_probabilities: Tensor, before: Tensor, count: int) -> tuple[Tensor, Tensor]:
    values = torch.full((len(before), count), math.nan)
    places = torch.full((len(before), count), -1)
    find_largest_sums(log_probabilities.numpy(), before.numpy(), BLOCK, values.numpy(), places.numpy())
    return values, places


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize(("width", "count"), BEAMS)
def test_without_equal_sums_it_is_the_sort(seed: int, vocab: int, width: int, count: int) -> None:
    given, before = different(3, width, vocab)
    count = min(count, width * vocab)
    values, places = found(given, before, count)
    sums, expected = (given + before[..., None]).flatten(1).sort(dim=1, descending=True)
    assert torch.equal(values, sums[:, :count])
    assert torch.equal(places, expected[:, :count])


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize(("width", "count"), BEAMS)
def test_of_equal_sums_any_are_found_but_none_twice(seed: int, vocab: int, width: int, count: int) -> None:
    given, before = torch.randint(3, (3, width, vocab)).float(), torch.randint(2, (3, width)).float()
    count = min(count, width * vocab)
    values, places = found(given, before, count)
    sums = (given + before[..., None]).flatten(1)
    assert torch.equal(values, sums.sort(dim=1, descending=True).values[:, :count])
    assert torch.equal(values, sums.gather(1, places))
    assert all(len(set(row)) == count for row in places.tolist())


def test_what_is_impossible_comes_last(seed: int) -> None:
    given, before = different(2, 3, BLOCK + 5)
    before[0, [0, 2]] = before[1, :] = -torch.inf
    given[1, 1, BLOCK + 2] = -torch.inf
    values, places = found(given, before, 7)
    assert (places[0] // (BLOCK + 5)).tolist() == [1] * 7
    assert values[0].isfinite().all()
    assert (values[1] == -torch.inf).all()
    assert len(set(places[1].tolist())) == 7


def test_what_is_no_number_breaks_no_other_row(seed: int) -> None:
    given, before = different(2, 2, 2 * BLOCK)
    expected = found(given, before, 5)[1]
    given[0] = math.nan
    places = found(given, before, 5)[1]
    assert torch.equal(places[1], expected[1])
    assert ((places >= 0) & (places < 4 * BLOCK)).all()


@pytest.mark.parametrize("vocab", [13, top.FEW + 5])
@pytest.mark.parametrize("transposed", [True, False])
def test_torch_finds_the_same_without_numba(
    seed: int, monkeypatch: pytest.MonkeyPatch, vocab: int, transposed: bool
) -> None:
    given, before = different(2, 3, vocab)
    if transposed:
        given = given.transpose(0, 2).contiguous().transpose(0, 2)
    compiled = best_continuations(given, before, 6)
    monkeypatch.setattr(top, "loops", None)
    for one, other in zip(compiled, best_continuations(given, before, 6), strict=True):
        assert torch.equal(one, other)

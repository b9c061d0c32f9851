"""The compiled search for the largest sums, held to a stable sort of all of them."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from limelight.decoding import top
from limelight.decoding.top import BLOCK, best_continuations
from limelight.inference.cpu.largest_sums import find_largest_sums
from limelight.models.interface import Active

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
    """Where all hypotheses are active."""
    batch, width = before.shape
    values = torch.full((batch, count), math.nan)
    places = torch.full((batch, count), -1)
    rows, firsts = log_probabilities.flatten(0, 1), Active.of(np.full(batch, width)).firsts
    find_largest_sums(rows.numpy(), before.flatten().numpy(), firsts, BLOCK, values.numpy(), places.numpy())
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


@pytest.mark.parametrize("vocab", VOCABULARIES)
def test_sentences_have_as_many_hypotheses_as_live(seed: int, vocab: int) -> None:
    counts = (2, 0, 3, 1, 0)
    given, before = different(1, sum(counts), vocab)
    values, places = torch.full((len(counts), 5), -math.inf), torch.full((len(counts), 5), -1)
    firsts = Active.of(np.array(counts)).firsts
    find_largest_sums(given[0].numpy(), before[0].numpy(), firsts, BLOCK, values.numpy(), places.numpy())
    for sentence, rows in enumerate((given + before[..., None])[0].split(counts)):
        sums, expected = rows.flatten().sort(descending=True)
        some = min(5, len(sums))
        assert torch.equal(values[sentence, :some], sums[:some])
        assert torch.equal(places[sentence, :some], expected[:some])
        assert (places[sentence, some:] == -1).all()


def test_what_is_impossible_comes_last(seed: int) -> None:
    given, before = different(2, 3, BLOCK + 5)
    before[0, [0, 2]] = before[1, :] = -torch.inf
    given[1, 1, BLOCK + 2] = -torch.inf
    values, places = found(given, before, 7)
    assert (places[0] // (BLOCK + 5)).tolist() == [1] * 7
    assert values[0].isfinite().all()
    assert (values[1] == -torch.inf).all()
    assert len(set(places[1].tolist())) == 7


@pytest.mark.parametrize("vocab", [13, top.FEW + 5])
@pytest.mark.parametrize("transposed", [True, False])
def test_torch_finds_the_same_without_numba(
    seed: int, monkeypatch: pytest.MonkeyPatch, vocab: int, transposed: bool
) -> None:
    counts = np.array([3, 1, 0, 4])
    given, before = (part[0] for part in different(1, 8, vocab))
    if transposed:
        given = given.T.contiguous().T
    compiled = best_continuations(given, before, Active.of(counts), 6)
    monkeypatch.setattr(top, "loops", None)
    by_torch = best_continuations(given, before, Active.of(counts), 6)
    np.testing.assert_array_equal(compiled.log_probabilities, by_torch.log_probabilities)
    there = compiled.log_probabilities > -math.inf
    assert there.sum(axis=1).tolist() == [6, 6, 0, 6]
    for one, other in zip(compiled[1:3], by_torch[1:3], strict=True):
        np.testing.assert_array_equal(one[there], other[there])
    assert not compiled.tied.any()
    assert not by_torch.tied.any()

"""The largest sums and logits, held to a stable sort."""

import math
import random

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from limelight.decoding import top
from limelight.decoding.top import Continuations, in_full, normalized, top_logits_with_ties
from limelight.models.interface import Active

VOCABULARIES = (2, 7, 1009, 2053)


def by_sorting(logits: Tensor, count: int) -> list[list[int]]:
    rows = logits.flatten(0, -2).tolist()
    return [sorted(range(len(row)), key=lambda place: (-row[place], place))[:count] for row in rows]


def all_different(*shape: int) -> Tensor:
    """Numbers that stay different in fp32 whatever is added."""
    count = math.prod(shape)
    return torch.randperm(count).view(shape).double() / 16


def continued(log_probabilities: Tensor, before: Tensor, count: int) -> list[list[tuple[int, int]]]:
    """Parent and token of the best sums of each sentence, by a stable sort of all of them."""
    vocab = log_probabilities.shape[-1]
    sums = (log_probabilities + before[..., None]).flatten(1)
    return [[(place // vocab, place % vocab) for place in row] for row in by_sorting(sums, count)]


def best_continuations(log_probabilities: Tensor, before: Tensor, count: int) -> Continuations:
    """Where all hypotheses are active."""
    active = Active.of(np.full(before.shape[0], before.shape[1]))
    return top.best_continuations(log_probabilities.flatten(0, 1), before.flatten(), active, count)


def pairs(found: Continuations) -> list[list[tuple[int, int]]]:
    return [list(zip(*each, strict=True)) for each in zip(found.parents.tolist(), found.ids.tolist(), strict=True)]


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize(("width", "count"), [(1, 1), (1, 2), (3, 6), (4, 8), (40, 80)])
def test_without_equal_sums_it_is_the_sort(seed: int, vocab: int, width: int, count: int) -> None:
    spread = all_different(2, width, vocab)
    before = torch.randint(-9, 9, (2, width)).double() / 32  # no sum equals that of another hypothesis
    before += torch.arange(width) / 2**12
    found = best_continuations(spread, before, count)
    assert not found.tied.any()
    assert pairs(found) == continued(spread, before, count)
    rows = np.arange(2)[:, None]
    np.testing.assert_array_equal(found.log_probabilities, spread.numpy()[rows, found.parents, found.ids])


def test_equal_sums_of_different_summands_are_ties() -> None:
    logits = torch.tensor([[[-1.0, -5.0, -9.0], [-2.0, -6.0, -9.0]]])
    assert best_continuations(logits, torch.tensor([[-3.0, -2.0]]), 1).tied.tolist() == [True]
    assert best_continuations(logits, torch.tensor([[-3.0, -2.5]]), 1).tied.tolist() == [False]


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize("count", [1, 2, 5, 11])
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_ties_go_to_the_lower_ids(seed: int, vocab: int, count: int, levels: int) -> None:
    logits = torch.randint(levels, (3, 5, vocab)).float()
    exact = top_logits_with_ties(logits, count)
    assert exact.ids.flatten(0, -2).tolist() == by_sorting(logits, count)
    assert torch.equal(exact.logits, logits.gather(-1, exact.ids))


def test_a_row_without_numbers_does_not_break_the_others() -> None:
    logits = torch.full((2, 7), torch.nan)
    logits[1] = torch.tensor([0.0, 3.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    assert top_logits_with_ties(logits, 3).ids[1].tolist() == [1, 2, 3]


@pytest.mark.parametrize("vocab", [7, 1009])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_hypothesis_without_numbers_is_told_however_good_the_others_are(
    seed: int, vocab: int, dtype: torch.dtype
) -> None:
    """The one before it has as many continuations as are wanted, so its own would never be looked at."""
    log_probabilities = torch.randn(2, 2, vocab, dtype=dtype).log_softmax(-1)
    before = torch.tensor([[0.0, -99.0], [0.0, -99.0]], dtype=dtype)
    best_continuations(log_probabilities, before, 3)
    log_probabilities[1, 1] = torch.nan
    assert np.isnan(best_continuations(log_probabilities, before, 3).log_probabilities).any(axis=1).tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("given", "full"),
    [(torch.bfloat16, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)],
)
def test_sums_are_taken_in_fp32_or_better(seed: int, given: torch.dtype, full: torch.dtype) -> None:
    assert in_full(torch.zeros(2, 3, dtype=given)).dtype == full
    logits = (9 * torch.randn(2, 3, 2053)).to(given)
    expected = logits.double().log_softmax(dim=-1)
    found = normalized(logits.clone())
    assert found.dtype == full
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


def test_a_random_search_finds_what_sorting_finds(seed: int) -> None:
    """Any width, vocabulary and number, any of the hypotheses active; some ties, some impossible tokens."""
    random.seed(seed)
    for _ in range(30):
        width, vocab = random.choice((1, 2, 5)), random.choice((5, 300, 2048 + random.randrange(128)))
        active = Active.of(np.array([random.randint(0, width) for _ in range(3)] + [1]))
        spread = all_different(int(active.firsts[-1]), vocab)
        before = torch.randn(len(spread)).double().round(decimals=1) + torch.arange(len(spread)) / 2**12
        spread[torch.rand(spread.shape) < 0.1] = -torch.inf
        count = random.randint(1, 2 * width)
        found = top.best_continuations(spread, before, active, count)
        assert found.ids.shape == (4, count)
        assert not found.tied.any()  # what is impossible has no order
        gained = (spread + before[:, None]).split(active.counts.tolist())
        for sentence, sums in enumerate(gained):
            expected = sums.flatten().sort(descending=True).values[:count]
            expected = expected[expected > -torch.inf]
            there = found.log_probabilities[sentence] > -np.inf
            assert there.tolist() == [True] * len(expected) + [False] * (count - len(expected))
            if len(expected):
                chosen = found.parents[sentence][there], found.ids[sentence][there]
                assert sums[chosen].tolist() == expected.tolist()


class Doubles(TorchDispatchMode):
    """Writes down every operation that makes a float64 tensor, of which some GPUs have none. Here everything is on the
    host, so the last operation before numpy may be the only one."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        if isinstance(found, torch.Tensor) and found.dtype == torch.float64:
            self.made.append(function.overloadpacket.__name__)
        return found


def test_a_gpu_is_never_asked_for_double_precision(seed: int) -> None:
    """And large ids, which stand beside the sums in fp32, are exact."""
    vocab = 500_000
    spread = torch.randn(3, vocab)
    spread[1, vocab - 1] = 99.0
    with Doubles() as watched:
        found = top.best_continuations(spread, torch.zeros(3), Active.of(np.array([2, 1])), 4)
    assert [name for name in watched.made if name != "detach"] == ["_to_copy"]
    assert (found.parents[0, 0], found.ids[0, 0]) == (1, vocab - 1)
    best = spread[2].topk(4)
    assert found.ids[1].tolist() == best.indices.tolist()
    assert found.log_probabilities.dtype == np.float64

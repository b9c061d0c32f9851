"""Top-k held to a stable sort, with and without ties."""

import pytest
import torch

from limelight.decoding.top import in_full, top_logits, top_logits_with_ties


def by_sorting(logits: torch.Tensor, count: int) -> list[list[int]]:
    rows = logits.flatten(0, -2).tolist()
    return [sorted(range(len(row)), key=lambda place: (-row[place], place))[:count] for row in rows]


@pytest.mark.parametrize("vocab", [2, 7, 1009])
@pytest.mark.parametrize("count", [1, 2, 5, 11])
def test_without_ties_both_are_the_sort(seed: int, vocab: int, count: int) -> None:
    logits = torch.stack([torch.randperm(vocab) for _ in range(15)]).view(3, 5, vocab).float()
    top, tied = top_logits(logits, count)
    assert not tied
    assert top.ids.flatten(0, -2).tolist() == by_sorting(logits, count)
    assert torch.equal(top.logits, logits.gather(-1, top.ids))
    exact = top_logits_with_ties(logits, count)
    assert torch.equal(exact.ids, top.ids)
    assert torch.equal(exact.logits, top.logits)


@pytest.mark.parametrize("vocab", [2, 7, 1009])
@pytest.mark.parametrize("count", [1, 2, 5, 11])
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_ties_go_to_the_lower_ids(seed: int, vocab: int, count: int, levels: int) -> None:
    logits = torch.randint(levels, (3, 5, vocab)).float()
    exact = top_logits_with_ties(logits, count)
    assert exact.ids.flatten(0, -2).tolist() == by_sorting(logits, count)
    assert torch.equal(exact.logits, logits.gather(-1, exact.ids))


@pytest.mark.parametrize(
    ("row", "open_"),
    [
        ([5.0, 4.0, 3.0, 2.0], False),
        ([5.0, 4.0, 2.0, 2.0], False),  # the third and the fourth are not wanted
        ([5.0, 4.0, 4.0, 2.0], True),  # which one is the second?
        ([5.0, 5.0, 4.0, 2.0], True),  # which one is the first?
    ],
)
def test_ties_are_noticed_where_they_matter(row: list[float], open_: bool) -> None:
    _, tied = top_logits(torch.tensor([row]), 2)
    assert bool(tied) is open_


def test_a_row_without_numbers_does_not_break_the_others() -> None:
    logits = torch.full((2, 7), torch.nan)
    logits[1] = torch.tensor([0.0, 3.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    assert top_logits_with_ties(logits, 3).ids[1].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "full"),
    [(torch.bfloat16, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)],
)
def test_sums_are_taken_in_fp32_or_better(given: torch.dtype, full: torch.dtype) -> None:
    assert in_full(torch.zeros(2, 3, dtype=given)).dtype == full

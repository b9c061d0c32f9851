"""The largest logits, held to a stable sort, and log-softmax in full precision."""

import pytest
import torch
from torch import Tensor

from limelight.decoding.top import at_least_fp32, log_softmax_, top_logits_with_ties


def by_sorting(logits: Tensor, count: int) -> list[list[int]]:
    rows = logits.flatten(0, -2).tolist()
    return [sorted(range(len(row)), key=lambda place: (-row[place], place))[:count] for row in rows]


@pytest.mark.parametrize("vocab", [2, 7, 1009, 2053])
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


@pytest.mark.parametrize(
    ("given", "full"),
    [(torch.bfloat16, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)],
)
def test_sums_are_taken_in_fp32_or_better(seed: int, given: torch.dtype, full: torch.dtype) -> None:
    assert at_least_fp32(torch.zeros(2, 3, dtype=given)).dtype == full
    logits = (9 * torch.randn(2, 3, 2053)).to(given)
    expected = logits.double().log_softmax(dim=-1)
    found = log_softmax_(logits.clone())
    assert found.dtype == full
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)

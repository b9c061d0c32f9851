"""Draws held to the distribution they come from, and the cuts at their boundaries."""

import math

import pytest
import torch

from limelight.decoding.sampling import Sampling, draw, permit
from limelight.errors import RunError, UserError
from tests.decoding.decode import sample_search
from tests.decoding.fakes import limits, random_model, sources


def chance(counts: torch.Tensor, probabilities: torch.Tensor) -> float:
    """How probable a chi-square statistic at least as large is, if `counts` were drawn from `probabilities`."""
    possible = probabilities > 0
    assert counts[~possible].sum() == 0
    expected = counts.sum() * probabilities[possible]
    statistic = ((counts[possible] - expected) ** 2 / expected).sum()
    freedom = torch.tensor(max(1, int(possible.sum()) - 1) / 2, dtype=torch.float64)  # one value: the statistic is 0
    return float(torch.special.gammaincc(freedom, statistic / 2))


def probabilities_of(logits: torch.Tensor, top_k: int = 0, top_p: float = 1.0) -> list[float]:
    permitted = permit(logits[None], top_k, top_p)
    spread = torch.zeros_like(logits, dtype=permitted.logits.dtype)
    return spread.scatter(0, permitted.ids[0], permitted.logits[0].softmax(-1)).tolist()


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.5), Sampling(top_k=3), Sampling(top_p=0.8)])
def test_draws_follow_the_distribution(seed: int, sampling: Sampling) -> None:
    logits = torch.randn(7, dtype=torch.float64)
    drawn = draw(logits.expand(20_000, 7), sampling, torch.rand(20_000, dtype=torch.float64))
    scaled = logits / sampling.temperature
    expected = torch.tensor(probabilities_of(scaled, sampling.top_k, sampling.top_p), dtype=torch.float64)
    assert chance(drawn.bincount(minlength=7).double(), expected) > 1e-7


def test_top_k_keeps_exactly_k_even_where_logits_are_equal() -> None:
    logits = torch.tensor([0.0, 2.0, 1.0, 1.0, 1.0, 1.0, -3.0])
    kept = permit(logits[None], 3, 1.0)
    assert kept.ids.tolist() == [[1, 2, 3]]
    assert kept.logits.tolist() == [[2.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [
        (0.0001, [0, 1, 0, 0]),  # the first is always kept
        (0.5, [0, 1, 0, 0]),  # it reaches p exactly: it is enough
        (0.5001, [0, 2 / 3, 1 / 3, 0]),
        (0.75, [0, 2 / 3, 1 / 3, 0]),
        (0.875, [1 / 7, 4 / 7, 2 / 7, 0]),  # of the two equal ones the lower id
        (0.8751, [1 / 8, 4 / 8, 2 / 8, 1 / 8]),
        (1.0, [1 / 8, 4 / 8, 2 / 8, 1 / 8]),
    ],
)
def test_top_p_keeps_the_smallest_set_that_reaches_p(top_p: float, expected: list[float]) -> None:
    logits = torch.tensor([0.125, 0.5, 0.25, 0.125], dtype=torch.float64).log()
    assert probabilities_of(logits, 0, top_p) == pytest.approx(expected)


def test_top_p_counts_within_what_top_k_left() -> None:
    logits = torch.tensor([0.125, 0.5, 0.25, 0.125], dtype=torch.float64).log()
    assert probabilities_of(logits, 2, 0.6) == pytest.approx([0, 1, 0, 0])  # 0.5 of 0.75 are two thirds
    assert probabilities_of(logits, 2, 0.7) == pytest.approx([0, 2 / 3, 1 / 3, 0])


def test_a_seed_repeats_the_draws_and_nothing_else_is_disturbed(seed: int) -> None:
    model, lengths = random_model(3, 11), limits(13, 13, 13)
    before = torch.random.get_rng_state()
    first = sample_search(model, *sources(0, 1, 2), max_lengths=lengths, sampling=Sampling(seed=seed))
    assert sample_search(model, *sources(0, 1, 2), max_lengths=lengths, sampling=Sampling(seed=seed)) == first
    assert torch.equal(torch.random.get_rng_state(), before)
    other = sample_search(model, *sources(0, 1, 2), max_lengths=lengths, sampling=Sampling(seed=seed + 1))
    assert other != first


def test_a_seed_has_substreams_and_none_is_that_of_another_seed() -> None:
    """Seeds of more than 32 bits too, and those below zero, which torch took as well."""
    seeds = (0, 1, 2**32, 2**32 + 1, 2**63, -1)
    streams = [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]
    first = {tuple(Sampling(seed=seed).generator(stream).random(4)) for seed in seeds for stream in streams}
    assert len(first) == len(seeds) * len(streams)
    again = {tuple(Sampling(seed=seed).generator(stream).random(4)) for seed in seeds for stream in streams}
    assert first == again


def test_a_draw_is_the_token_whose_share_holds_the_number() -> None:
    """At every boundary, whatever stands in the other rows; what has no share is never drawn."""
    logits = torch.tensor([0.25, 0.0, 0.5, 0.25, 0.0], dtype=torch.float64).log()
    numbers = torch.tensor([0.0, 0.2499, 0.25, 0.7499, 0.75, 1 - 2**-53], dtype=torch.float64)
    drawn = draw(logits.expand(6, 5), Sampling(), numbers)
    assert drawn.tolist() == [0, 0, 2, 2, 3, 3]
    assert [draw(logits[None], Sampling(), number[None]).item() for number in numbers] == drawn.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, r"temperature 0 is too low to sample: use greedy search \(a beam of 1, no sampling\)"),
        ({"temperature": 1e-45}, "temperature 1e-45 is too low to sample: .*, or a temperature of at least 1e-06"),
        ({"temperature": -1.0}, "temperature must be above 0 and finite, not -1.0"),
        ({"temperature": math.inf}, "temperature must be above 0 and finite, not inf"),
        ({"temperature": math.nan}, "temperature must be above 0 and finite, not nan"),
        ({"top_k": -1}, "top_k must be at least 1, or 0 to permit all tokens, not -1"),
        ({"top_p": 0.0}, r"top_p must be above 0 and at most 1 \(1 permits all tokens\), not 0.0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1 .* not 1.5"),
    ],
)
def test_impossible_settings_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Sampling(**options)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(top_k=2), Sampling(top_p=0.5), Sampling(top_k=3, top_p=0.5)])
@pytest.mark.parametrize("damage", [math.nan, math.inf])
def test_what_is_no_number_is_told(seed: int, sampling: Sampling, damage: float) -> None:
    """In one row of several, at one place of many."""
    model = random_model(3, 11)
    model.logits[1, :, seed % 11] = damage
    with pytest.raises(RunError, match=r"the model's predictions are not a number \(NaN\)"):
        sample_search(model, *sources(0, 1, 2), max_lengths=limits(5, 5, 5), sampling=sampling)
    sample_search(model, *sources(0, 2), max_lengths=limits(5, 5), sampling=sampling)

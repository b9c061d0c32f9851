"""Batches of a translator: nothing lost, nothing over the budget."""

import pytest
import torch
from torch import nn

from limelight.decoding.jobs import Job, Plan, batches, longest_sequence, require_room
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.layers.positions import LearnedPositions
from tests.decoding.fakes import random_model


def plan(budget: int, *, beam: int = 1, n_best: int = 1, sampling: Sampling | None = None) -> Plan:
    return Plan(beam, n_best, 0.6, sampling, None, budget)


def jobs(*lengths: int) -> list[Job]:
    return [Job(place, [3] * length, [], 7) for place, length in enumerate(lengths)]


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("budget", [1, 13, 101, 4096])
def test_every_job_is_in_one_batch_within_the_budget(seed: int, beam: int, budget: int) -> None:
    lengths = torch.randint(1, 40, (57,)).tolist()
    found = list(batches(jobs(*lengths), plan(budget, beam=beam)))
    assert sorted(job.place for batch in found for job in batch) == list(range(57))
    for batch in found:
        padded = len(batch) * max(len(job.source) for job in batch)
        assert padded * beam <= budget or len(batch) == 1


def test_like_lengths_are_together_the_longest_first() -> None:
    found = [[len(job.source) for job in batch] for batch in batches(jobs(2, 7, 3, 7, 2), plan(14))]
    assert found == [[7, 7], [3, 2, 2]]


def test_equal_lengths_keep_their_order() -> None:
    assert [job.place for batch in batches(jobs(5, 5, 5, 5), plan(10)) for job in batch] == [0, 1, 2, 3]


def test_samples_are_rows_too() -> None:
    assert plan(1, beam=5).rows_per_text == 5
    assert plan(1, n_best=3, sampling=Sampling()).rows_per_text == 3


def test_nothing_to_do_is_no_batch() -> None:
    assert list(batches([], plan(10))) == []


def test_the_smallest_table_of_positions_bounds_a_model() -> None:
    free = random_model(1, 5)
    assert longest_sequence(free) is None
    bound = random_model(1, 5)
    bound.positions = nn.ModuleList([LearnedPositions(4, longest=31), LearnedPositions(4, longest=17)])
    assert longest_sequence(bound) == 17


def test_room_counts_the_end() -> None:
    require_room([3] * 16, 17, "text 1")
    with pytest.raises(UserError, match=r"text 3 has 18 pieces with its end, .* takes at most 17 .*: split"):
        require_room([3] * 17, 17, "text 3")

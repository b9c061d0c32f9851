"""What is drawn at random follows from the seed, the update and the batch, and from nothing else."""

import itertools

import torch
from torch import Tensor

from limelight.training.shares import seed_draws

CPU = torch.device("cpu")


def drawn(*place: int) -> Tensor:
    seed, step, batch = place
    seed_draws(CPU, seed=seed, step=step, batch=batch)
    return torch.rand(8)


def test_the_same_place_draws_the_same_and_every_other_place_something_else() -> None:
    places = list(itertools.product((1, 2), (0, 1, 2**40), (0, 1, 7)))
    first = {place: drawn(*place) for place in places}
    torch.rand(17)
    assert all(torch.equal(drawn(*place), first[place]) for place in reversed(places))
    assert len({tuple(values.tolist()) for values in first.values()}) == len(places)

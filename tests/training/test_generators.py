"""Generators there and back, and that no GPU is touched which the run is not on.

No GPU is needed: a generator of the CPU stands for each of two of them, behind torch's own names.
"""

import pytest
import torch
from torch import Tensor

from limelight.training.generators import device_of, generator_states, restore_generators
from tests.models.helpers import make_model, transformer

CPU = torch.device("cpu")


class Gpus:
    """As many GPUs as wanted, the second of which is the current one; what was asked is written down."""

    def __init__(self, patched: pytest.MonkeyPatch, count: int = 2) -> None:
        self.generators = [torch.Generator().manual_seed(number) for number in range(count)]
        self.asked: list[int] = []
        patched.setattr(torch.cuda, "current_device", lambda: 1)
        patched.setattr(torch.cuda, "get_rng_state", self.get)
        patched.setattr(torch.cuda, "set_rng_state", self.set)
        for name in ("is_available", "get_rng_state_all", "init", "device_count"):
            patched.setattr(torch.cuda, name, self.forbidden)

    def index(self, device: torch.device) -> int:
        index = 1 if device.index is None else device.index
        self.asked.append(index)
        return index

    def get(self, device: torch.device) -> Tensor:
        return self.generators[self.index(device)].get_state()

    def set(self, state: Tensor, device: torch.device) -> None:
        self.generators[self.index(device)].set_state(state)

    def forbidden(self, *_: object) -> None:
        raise AssertionError("this starts CUDA, on all GPUs there are")

    def draw(self, index: int) -> Tensor:
        return torch.rand(3, generator=self.generators[index])


def test_there_and_back(seed: int) -> None:
    states = generator_states(CPU)
    assert list(states) == ["cpu"]
    expected = torch.rand(3)
    torch.rand(1000)
    restore_generators(states, CPU)
    assert torch.equal(torch.rand(3), expected)


def test_a_run_on_the_cpu_does_not_touch_cuda(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = Gpus(monkeypatch)
    restore_generators(generator_states(CPU), CPU)
    assert gpus.asked == []


@pytest.mark.parametrize(("name", "index"), [("cuda", 1), ("cuda:0", 0), ("cuda:1", 1)])
def test_a_run_on_a_gpu_keeps_that_generator_alone(
    seed: int, monkeypatch: pytest.MonkeyPatch, name: str, index: int
) -> None:
    gpus, device = Gpus(monkeypatch), torch.device(name)
    states = generator_states(device)
    assert list(states) == ["cpu", f"cuda:{index}"]
    expected, other = gpus.draw(index), gpus.generators[1 - index].get_state()
    restore_generators(states, device)
    assert torch.equal(gpus.draw(index), expected)
    assert torch.equal(gpus.generators[1 - index].get_state(), other)
    assert set(gpus.asked) == {index}


def test_a_run_that_goes_on_on_another_gpu_draws_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = Gpus(monkeypatch)
    states = generator_states(torch.device("cuda:0"))
    expected = gpus.draw(0)
    restore_generators(states, torch.device("cuda:1"))
    assert torch.equal(gpus.draw(1), expected)


def test_states_of_all_gpus_as_older_checkpoints_have_them(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = Gpus(monkeypatch)
    states = {"cpu": torch.get_rng_state(), **{f"cuda:{i}": gpus.generators[i].get_state() for i in (0, 1)}}
    expected = gpus.draw(1)
    restore_generators(states, torch.device("cuda"))
    assert torch.equal(gpus.draw(1), expected)


def test_a_run_that_goes_from_the_cpu_to_a_gpu_keeps_the_generator_it_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = Gpus(monkeypatch)
    restore_generators(generator_states(CPU), torch.device("cuda"))
    assert gpus.asked == []


def test_the_device_is_that_of_the_weights() -> None:
    assert device_of(torch.nn.Identity()) == CPU
    assert device_of(make_model(transformer()).to("meta")) == torch.device("meta")

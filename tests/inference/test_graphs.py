"""Recorded steps: what they compute is what the model computes, and nothing in them depends on what a recording keeps.

There is no GPU: a recording of torch's operations stands for a CUDA graph. It repeats them with the numbers that Python
gave them, on the same tensors, and refuses what would wait for the device.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils import _pytree as trees
from torch.utils._python_dispatch import TorchDispatchMode

from limelight.decoding.decode import decode_batch
from limelight.decoding.request import Request
from limelight.decoding.settings import SearchSettings
from limelight.errors import UserError
from limelight.inference import graphs, prepare
from limelight.inference.fixed_state import FIRST_ROOM, FixedState, Run
from limelight.inference.graphs import GraphedTransformer, graphs_are_asked_for
from limelight.models.transformer import TransformerState
from tests.models.followed import Followed, assert_same, begun, random_sources
from tests.models.helpers import exact_model, make_model, transformer

CONFIGS = {
    "post": transformer(),
    "pre": transformer(norm="pre", tie="none"),
    "learned": transformer(positions="learned", max_positions=41),
    "rotary": transformer(positions="rotary", value_size=5),
    "additive": transformer(score="additive"),
}
WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "item", "equal")


class Recording(TorchDispatchMode):
    """Every operation with its arguments. What it made is found by identity when it is repeated."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, list[Any]]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert function.overloadpacket.__name__ not in WAITS, f"{function} waits for the device"
        made = function(*args, **(kwargs or {}))
        self.calls.append((function, args, kwargs or {}, trees.tree_leaves(made)))
        return made

    def repeat(self) -> None:
        again: dict[int, Tensor] = {}

        def now(value: Any) -> Any:
            return again.get(id(value), value) if isinstance(value, Tensor) else value

        for function, args, kwargs, made in self.calls:
            results = function(*trees.tree_map(now, args), **trees.tree_map(now, kwargs))
            for before, after in zip(made, trees.tree_leaves(results), strict=True):
                if isinstance(before, Tensor):
                    again[id(before)] = after if after is not before else before


def recorded(run: Run) -> Run:
    run()  # as libraries need it
    with Recording() as recording:
        run()
    return recording.repeat


def graphed(name: str) -> GraphedTransformer:
    model = exact_model(CONFIGS[name])
    return GraphedTransformer(model, recorded).eval()  # type: ignore[arg-type]


def add_one(numbers: Tensor, place: int) -> None:
    numbers.select(0, place).add_(1)


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("width", [1, 3])
def test_steps_are_those_of_the_model(name: str, width: int, seed: int) -> None:
    followed = Followed(graphed(name), random_sources(graphed(name), (6, 1, 4)), width)
    for _ in range(3):
        followed.step()
        followed.reorder()
    followed.admit(random_sources(followed.model, (2, 40)), [3, 1])  # more rows, and a longer source
    followed.step()
    followed.keep([3, 0, 3, 1])
    followed.step()
    followed.admit(random_sources(followed.model, (5,)), [0])
    followed.reorder()
    followed.step()
    followed.keep([1])
    followed.step()
    assert isinstance(followed.state, FixedState)


@pytest.mark.parametrize("name", ["post", "rotary"])
def test_a_random_life_changes_nothing(name: str, seed: int) -> None:
    Followed.at_random(graphed(name), seed).live(12)


def test_a_recording_keeps_numbers_and_refuses_to_wait() -> None:
    """The control: a step that took its place from Python, or asked the device for it, would be found."""
    age, written = [0], torch.zeros(3)
    replay = recorded(lambda: add_one(written, age[0]))
    age[0] = 2
    replay()
    assert written.tolist() == [3, 0, 0]
    with pytest.raises(AssertionError, match="waits for the device"):
        recorded(lambda: add_one(written, int(written[1])))


def test_room_grows_and_every_size_is_recorded_once(seed: int) -> None:
    model, recordings = graphed("rotary"), []

    def counted(run: Run) -> Run:
        recordings.append(run)
        return recorded(run)

    model._record = counted
    followed = Followed(model, random_sources(model, (3, 2)), 2)
    for _ in range(FIRST_ROOM + 3):
        followed.step()
    assert len(recordings) == 2


def test_learned_positions_have_an_end(seed: int) -> None:
    model = GraphedTransformer(exact_model(CONFIGS["learned"]), lambda run: run)  # type: ignore[arg-type]
    state = begun(model, random_sources(model, (3,)), 1)
    ids = torch.full((1, 1), model.start_id)
    for _ in range(41):
        _, state = model.step(ids, state)
    with pytest.raises(UserError, match="42 tokens is longer than the 41 learned positions"):
        model.step(ids, state)


def test_where_recording_fails_steps_are_computed_after_one_warning(seed: int) -> None:
    def failing(run: Run) -> Run:
        run()
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nand more")

    model = exact_model(CONFIGS["post"])
    followed = Followed(GraphedTransformer(model, failing), random_sources(model, (4, 2)), 2, truth=model)
    with pytest.warns(RuntimeWarning, match=r"recorded .*stream is capturing\); decoding continues") as told:
        followed.step()
    assert len(told) == 1
    for _ in range(FIRST_ROOM + 2):  # warnings are errors in tests
        followed.step()


def test_searches_find_what_the_model_finds(seed: int) -> None:
    model = make_model(transformer()).eval()
    requests = [
        Request(source, 9 + place, SearchSettings(beam_size=beam))
        for beam in (1, 3)
        for place, source in enumerate(random_sources(model, (7, 2, 5)))
    ]
    expected = decode_batch(model, requests)
    found = decode_batch(GraphedTransformer(model, recorded), requests)  # type: ignore[arg-type]
    assert [[each.ids for each in row] for row in found] == [[each.ids for each in row] for row in expected]


def test_heads_that_are_switched_off_take_the_readable_way(seed: int) -> None:
    model = graphed("post")
    sources = torch.randint(1, 20, (2, 4))
    memory = model.encode(sources, torch.ones_like(sources).bool(), keep_heads={"decoder.0.self": torch.zeros(3)})
    state = model.start(memory, 1)
    assert isinstance(state, TransformerState)
    features, _ = model.step(torch.full((2, 1), model.start_id), state)
    expected, _ = model.model.step(torch.full((2, 1), model.start_id), model.model.start(memory, 1))
    assert_same(features, expected)


def test_graphs_are_for_those_who_ask_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert not graphs_are_asked_for(gpu)
    monkeypatch.setenv(graphs.ASKED, "1")
    assert [graphs_are_asked_for(device) for device in (cpu, gpu)] == [False, True]
    model = make_model(transformer()).eval()
    assert not isinstance(prepare.prepare(model, "fp32"), GraphedTransformer)

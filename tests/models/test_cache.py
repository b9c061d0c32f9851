"""Keys and values that stay where they were written: bytes are counted, not time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from limelight.batching.batch import pad_rows
from limelight.config import RecurrentConfig, TransformerConfig
from limelight.models.transformer.model import Transformer, TransformerState
from tests.models.helpers import exact_model, random_rows

BATCH, HEADS, SIZE = 3, 5, 2
CONFIG = TransformerConfig(encoder_layers=1, decoder_layers=2, d_model=11, heads=HEADS, head_size=SIZE, d_ff=7)


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def transformer() -> Transformer:
    model = exact_model(CONFIG)
    assert isinstance(model, Transformer)
    return model


def begun(model: Transformer, width: int, lengths: tuple[int, ...] = (6, 1, 4)) -> TransformerState:
    sources = [[*row, model.end_id] for row in random_rows(lengths, model.source_padding + 1)]
    return model.start(model.encode(*pad_rows(sources, model.source_padding)), width)


def read(model: Transformer, state: TransformerState, steps: int) -> TransformerState:
    """The state after random tokens."""
    for _ in range(steps):
        ids = torch.randint(1, model.target_padding, state.past.ancestors.shape[:2])
        _, state = model.step(ids, state)
    return state


# ---- what is copied


class Copies(TorchDispatchMode):
    """Bytes that operations wrote which only move numbers to another place."""

    MOVING = ("copy_", "clone", "cat", "index", "gather", "index_select", "repeat", "_to_copy", "constant_pad_nd")

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in self.MOVING and isinstance(result, Tensor) and result.is_floating_point():
            self.bytes += result.numel() * result.element_size()
        return result


@contextmanager
def counting() -> Iterator[Copies]:
    with Copies() as copies:
        yield copies


def places_of(state: TransformerState) -> list[int]:
    """Where keys and values stand in memory, of the past and of the source."""
    parts = [part for layer in state.past.layers for part in layer.parts]
    parts += [part for source in state.sources for part in (source.keys, source.values)]
    return [part.data_ptr() for part in parts]


@pytest.mark.parametrize("width", [1, 2, 5])
def test_reordering_copies_no_key_and_no_value(width: int, seed: int) -> None:
    model = transformer()
    state = read(model, begun(model, width), 7)
    turned = torch.arange(width).roll(1).expand(BATCH, -1)
    with counting() as copies:
        moved = state.reorder(turned)
    assert copies.bytes == 0
    assert places_of(moved) == places_of(state)


@pytest.mark.parametrize(
    "config",
    [CONFIG, *(RecurrentConfig(embedding=7, hidden=5, wiring=wiring) for wiring in ("bahdanau", "luong", "fixed"))],
)
def test_the_source_is_there_once_whatever_the_width(config: TransformerConfig | RecurrentConfig, seed: int) -> None:
    model = exact_model(config)
    source, valid = pad_rows([[3, 4, 5, 0], [6, 0]], model.source_padding)

    def parts(state: object) -> list[Tensor]:
        if isinstance(state, TransformerState):
            return [part for source in state.sources for part in (source.keys, source.values)]
        return [state.source.keys, state.source.values]

    narrow, wide = (model.start(model.encode(source, valid), width) for width in (1, 6))
    assert [part.shape for part in parts(narrow)] == [part.shape for part in parts(wide)]
    before = [part.data_ptr() for part in parts(wide)]
    for _ in range(3):
        _, wide = model.step(torch.randint(1, model.target_padding, (2, 6)), wide)
        wide = wide.reorder(torch.randint(6, (2, 6)))
    assert [part.data_ptr() for part in parts(wide)] == before


@pytest.mark.parametrize(
    "config", [CONFIG, *(RecurrentConfig(embedding=7, hidden=5, wiring=wiring) for wiring in ("bahdanau", "fixed"))]
)
def test_a_long_source_that_has_gone_takes_no_room(config: TransformerConfig | RecurrentConfig, seed: int) -> None:
    """Padding is as long as the longest source that is there, not as the longest there has been."""
    model = exact_model(config)

    def begun(*lengths: int) -> object:
        rows = random_rows(lengths, model.source_padding + 1)
        return model.start(model.encode(*pad_rows(rows, model.source_padding)))

    def longest(state: object) -> int:
        return state.sources[0].keys.shape[2] if isinstance(state, TransformerState) else state.source.values.shape[1]

    _, state = model.step(torch.full((2, 1), model.start_id), begun(50, 3))
    state = state.admit(begun(4, 2), torch.tensor([0, 2]))
    fixed = getattr(config, "wiring", "") == "fixed"
    assert longest(state) == (1 if fixed else 4)
    assert model.step(torch.full((3, 1), 7), state)[0].isfinite().all()

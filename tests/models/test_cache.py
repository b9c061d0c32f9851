"""Keys and values that stay where they were written: bytes are counted, not time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from limelight.batching.batch import pad_rows
from limelight.config import RecurrentConfig, TransformerConfig
from limelight.models.cache import FIRST_ROOM, SQUEEZE_EVERY, Columns, put_rows
from limelight.models.transformer import Transformer, TransformerState
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
        ids = torch.randint(1, model.target_padding, (len(state.ages), state.past.width))
        _, state = model.step(ids, state)
    return state


def new(width: int, batch: int = BATCH) -> tuple[Tensor, Tensor]:
    """Keys and values of as many columns, which may differ in size."""
    keys, values = (torch.randn(batch, HEADS, width, size, dtype=torch.float64) for size in (SIZE, SIZE + 1))
    return keys, values


def filled(*parts: tuple[Tensor, Tensor]) -> Columns:
    columns = Columns()
    for part in parts:
        columns.append(*part)
    return columns


def assert_columns(columns: Columns, expected: list[tuple[Tensor, ...]]) -> None:
    for found, parts in zip(columns.views(), zip(*expected, strict=True), strict=True):
        assert torch.equal(found, torch.cat(parts, dim=2))


@pytest.mark.parametrize("width", [1, 4])
def test_columns_are_appended_and_move_only_when_room_doubles(width: int, seed: int) -> None:
    parts, columns, moves = [new(width) for _ in range(8 * FIRST_ROOM)], Columns(), []
    for number, part in enumerate(parts):
        before = [view.data_ptr() for view in columns.views()]
        columns.append(*part)
        assert_columns(columns, parts[: number + 1])
        moves += [] if [view.data_ptr() for view in columns.views()] == before else [number]
    assert moves == [0, FIRST_ROOM, 2 * FIRST_ROOM, 4 * FIRST_ROOM]


def test_changed_columns_are_copies(seed: int) -> None:
    parts, rows, behind = [new(2), new(2)], torch.tensor([2, 0, 2]), new(2)
    columns = filled(*parts)
    taken = columns.changed(lambda part: part[rows])
    taken.append(*behind)
    for view in columns.views():
        view.zero_()
    assert_columns(taken, [*(tuple(part[rows] for part in each) for each in parts), behind])


@pytest.mark.parametrize("lengths", [(2, 5), (5, 2)])
def test_columns_are_put_over_the_first_ones_of_some_rows(lengths: tuple[int, int], seed: int) -> None:
    old, fresh, rows = new(lengths[0]), new(lengths[1], batch=2), torch.tensor([2, 0])
    columns = filled(old)
    columns.put(filled(fresh), rows)
    for found, before, over in zip(columns.views(), old, fresh, strict=True):
        expected = torch.zeros(BATCH, HEADS, max(lengths), found.shape[3], dtype=torch.float64)
        expected[:, :, : lengths[0]] = before
        expected[rows, :, : lengths[1]] = over
        assert torch.equal(found, expected)


# ---- which positions may attend to which


def test_one_hypothesis_of_one_age_needs_no_table(seed: int) -> None:
    model = transformer()
    past = read(model, begun(model, 1), 4).past
    assert past.may_attend is None
    assert past.length == 4
    assert past.reorder(torch.zeros(BATCH, 1, dtype=torch.int64)) is past
    assert past.keep(torch.tensor([1])).may_attend is None


def test_each_hypothesis_sees_its_own_columns(seed: int) -> None:
    model = transformer()
    past = read(model, begun(model, 2), 3).past
    assert torch.equal(past.may_attend, torch.eye(2, dtype=torch.bool).repeat(1, 3).expand(BATCH, -1, -1))
    crossed = past.reorder(torch.tensor([[1, 0], [0, 0], [0, 1]])).may_attend
    own = torch.eye(2, dtype=torch.bool).repeat(1, 3)
    assert torch.equal(crossed, torch.stack([own.flip(0), own[[0, 0]], own]))


def test_who_begins_anew_sees_nothing_of_what_was_there(seed: int) -> None:
    model = transformer()
    past = read(model, begun(model, 1), 5).past
    joined = past.admit(begun(model, 1, (2, 5)).past, BATCH, torch.tensor([1, 3]))
    assert joined.length == 5
    assert joined.may_attend.tolist() == [[[alive] * 5] for alive in (True, False, True, False)]
    for one, other in zip(joined.layers[0].views(), past.layers[0].views(), strict=True):
        assert torch.equal(one[:3], other)


def test_what_nobody_looks_at_any_more_is_dropped(seed: int) -> None:
    """The last of the old ones leaves: of nine columns only those of the younger ones are left."""
    model = transformer()
    state = read(model, begun(model, 2), 6)
    state = state.admit(begun(model, 2, (3, 3)), torch.tensor([0, 1]))
    assert state.past.length == 12
    state = read(model, state, 3)
    assert state.past.length == 18
    whole = [[part.clone() for part in layer.views()] for layer in state.past.layers]
    state = state.admit(begun(model, 2, (5,)), torch.tensor([2]))
    assert state.past.length == 6
    for layer, before in zip(state.past.layers, whole, strict=True):
        for part, columns in zip(layer.views(), before, strict=True):
            assert torch.equal(part[:2], columns[:2, :, 12:])
    assert not state.past.may_attend[2].any()


def test_columns_do_not_grow_with_what_a_beam_dropped(seed: int) -> None:
    """All hypotheses go on from the first, at every step: of each position one column is still looked at."""
    width, state = 4, None
    model = transformer()
    state = begun(model, width)
    for steps in range(1, 100):
        state = read(model, state, 1).reorder(torch.zeros(BATCH, width, dtype=torch.int64))
        seen = int(state.past.may_attend.any(dim=1).sum(dim=1).max())
        assert seen == steps
        assert state.past.length <= 2 * (seen + width) + SQUEEZE_EVERY * width


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
    parts = [part for layer in state.past.layers for part in layer.views()]
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
    assert moved.sources is state.sources


@pytest.mark.parametrize("width", [1, 3])
def test_a_step_copies_no_more_however_long_the_past_is(width: int, seed: int) -> None:
    """Its own columns and a few vectors, as long as there is room."""
    model = transformer()
    state = read(model, begun(model, width), 2 * FIRST_ROOM + 1)
    ids, counts = torch.full((BATCH, width), 7), []
    for _ in range(2 * FIRST_ROOM - 2):
        before = places_of(state)
        with counting() as copies:
            _, state = model.step(ids, state)
        assert places_of(state) == before
        counts.append(copies.bytes)
    assert len(set(counts)) == 1
    column = HEADS * SIZE * 8
    assert counts[0] >= 2 * 2 * BATCH * width * column  # keys and values of two layers
    assert counts[0] < BATCH * (4 * FIRST_ROOM) * column  # far from all keys of one layer


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
        return [state.source.prepared, state.source.values]

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


# ---- rows of a tensor


def test_rows_are_put_in_place_where_there_is_room(seed: int) -> None:
    rows, fresh = torch.randn(5, 3), torch.randn(2, 3)
    expected = rows.clone()
    expected[[3, 0]] = fresh
    found = put_rows(rows, fresh, torch.tensor([3, 0]))
    assert found.data_ptr() == rows.data_ptr()
    assert torch.equal(found, expected)


def test_rows_may_stand_behind_the_last(seed: int) -> None:
    rows, fresh = torch.randn(2, 3), torch.randn(3, 3)
    found = put_rows(rows, fresh, torch.tensor([1, 4, 2]))
    assert torch.equal(found, torch.stack([rows[0], fresh[0], fresh[2], torch.zeros(3), fresh[1]]))


@pytest.mark.parametrize(("old", "young"), [(3, 5), (5, 3), (4, 4)])
@pytest.mark.parametrize("upright", [False, True])
def test_rows_are_padded_to_one_length(old: int, young: int, upright: bool, seed: int) -> None:
    rows, fresh = torch.randn(3, 2, old, 7), torch.randn(2, 2, young, 7)
    if upright:
        rows, fresh = (part.transpose(-1, -2).contiguous().transpose(-1, -2) for part in (rows, fresh))
    longest = max(old, young)
    expected = torch.zeros(4, 2, longest, 7)
    expected[:3, :, :old] = rows
    expected[[1, 3]] = 0
    expected[[1, 3], :, :young] = fresh
    assert torch.equal(put_rows(rows, fresh, torch.tensor([1, 3]), axis=2), expected)

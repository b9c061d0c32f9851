"""Cells that write: what they carry from block to block; what they share with every model stands in properties."""

import pytest
import torch
from torch import nn

from limelight.batching.batch import make_blocks, pad_rows
from limelight.models.recurrent.cells import KINDS
from limelight.models.recurrent.language_model import RecurrentLanguageModel
from tests.models.helpers import exact_model, random_rows, recurrent_language_model


def exact(**settings: object) -> RecurrentLanguageModel:
    model = exact_model(recurrent_language_model(**settings))
    assert isinstance(model, RecurrentLanguageModel)
    return model


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest, seed: int) -> RecurrentLanguageModel:
    return exact(cell=request.param)


def test_a_text_read_in_parts_is_the_text(model: RecurrentLanguageModel) -> None:
    ids = torch.randint(1, 28, (3, 17))
    expected, last = model.read_on(ids, None)
    carried, parts = None, []
    for part in ids.split((5, 1, 7, 4), dim=1):
        features, carried = model.read_on(part, carried)
        parts.append(features)
    torch.testing.assert_close(torch.cat(parts, dim=1), expected, rtol=1e-10, atol=1e-10)
    assert [part.shape for part in carried] == [(2, 3, 13)] * model.cells.kind.state_parts
    for one, other in zip(carried, last, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_forward_is_the_text_from_its_beginning(model: RecurrentLanguageModel) -> None:
    blocks = make_blocks(torch.randint(1, 28, (3, 8)).numpy())
    torch.testing.assert_close(model(blocks), model.read_on(blocks.target_in, None)[0])
    zeros = tuple(torch.zeros(2, 3, 13, dtype=torch.float64) for _ in range(model.cells.kind.state_parts))
    torch.testing.assert_close(model(blocks), model.read_on(blocks.target_in, zeros)[0])


def test_what_is_carried_is_what_a_search_goes_on_from(model: RecurrentLanguageModel) -> None:
    """The state after a prompt, whatever stands beside it, and the one behind its last token are the same."""
    rows = random_rows((4, 0, 7), 29)
    state = model.start(model.encode(*pad_rows(rows, 28)), 2)
    for number, row in enumerate(rows):
        carried = None
        if row:
            _, carried = model.read_on(torch.tensor([row]), None)
        for depth, cell in enumerate(state.layers):
            for part, values in enumerate(cell):
                expected = torch.zeros(13).double() if carried is None else carried[part][depth, 0]
                torch.testing.assert_close(values[number], expected.expand(2, -1), rtol=1e-10, atol=1e-10)


def test_the_state_of_nothing_is_zero(model: RecurrentLanguageModel) -> None:
    nothing = torch.zeros(3, 0, dtype=torch.int64)
    state = model.start(model.encode(nothing, nothing.bool()), 2)
    assert [part.shape for cell in state.layers for part in cell] == [(3, 2, 13)] * 2 * model.cells.kind.state_parts
    assert not any(part.any() for cell in state.layers for part in cell)
    places = {part.data_ptr() for cell in state.layers for part in cell}
    assert len(places) == 2 * model.cells.kind.state_parts, "others may take a place of one and leave the rest"


@pytest.mark.parametrize(
    ("settings", "narrows", "own"),
    [({}, False, True), ({"tie": True}, True, False), ({"tie": True, "hidden": 11}, False, False)],
)
def test_a_linear_layer_stands_between_where_widths_differ(
    settings: dict[str, object], narrows: bool, own: bool, seed: int
) -> None:
    model = exact(**settings)
    assert isinstance(model.narrow, nn.Linear) == narrows
    assert isinstance(model.output, nn.Linear) == own
    features, _ = model.read_on(torch.randint(1, 28, (3, 5)), None)
    weight = model.output.weight if own else model.embedding.weight[:28]
    torch.testing.assert_close(model.project(features), features @ weight.T)

"""Where a batch begins: behind the one before, or now and then with nothing."""

import pytest
import torch

from limelight.batching.batch import Batch, make_blocks
from limelight.models.recurrent.language_model import RecurrentLanguageModel
from limelight.training.optimization.loss import Carrying
from tests.models.helpers import exact_model, recurrent_language_model

CELLS = ("rnn", "gru", "lstm")
ROWS, BLOCK = 7, 5


def model_of(cell: str) -> RecurrentLanguageModel:
    model = exact_model(recurrent_language_model(cell=cell, layers=2))
    assert isinstance(model, RecurrentLanguageModel)
    return model


def batch(rows: int = ROWS) -> Batch:
    return make_blocks(torch.randint(1, 28, (rows, BLOCK + 1)).numpy())


@torch.no_grad()
@pytest.mark.parametrize("cell", CELLS)
def test_a_row_goes_on_or_begins_with_nothing(seed: int, cell: str) -> None:
    model = model_of(cell)
    before, after = batch(), batch()
    carrying = Carrying(model, (), forget=0.5)
    carrying(before)
    torch.manual_seed(seed)
    kept = torch.rand(ROWS, 1)[:, 0] >= 0.5
    torch.manual_seed(seed)
    found = carrying(after)
    going_on, _ = model.read_on(after.target_in, model.read_on(before.target_in, None)[1])
    beginning, _ = model.read_on(after.target_in, None)
    torch.testing.assert_close(found, torch.where(kept[:, None, None], going_on, beginning))

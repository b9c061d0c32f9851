"""Laws of models whose source is a prompt: source and target are one text, wherever it is cut in two.

One test each over every language model, random and in float64. The laws of all models hold for them too
(`test_model_laws.py`, `test_state_laws.py`); here most texts have no source at all.
"""

import random

import pytest
import torch
from torch import Tensor

from limelight.batching.batch import Batch
from limelight.inference.prepare import prepare
from limelight.models.transformer.halves import DecoderOnly
from tests.models.followed import Followed, assert_same
from tests.models.helpers import (
    batch_as_it_stands,
    decoder_only,
    every_language_model,
    exact_model,
    random_rows,
)

MODELS = dict(every_language_model())
PADDING = 28


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, seed: int) -> DecoderOnly:
    random.seed(seed)
    return exact_model(MODELS[request.param])


def texts(lengths: tuple[int, ...]) -> list[list[int]]:
    return random_rows(lengths, PADDING + 1)


def without_source(model: DecoderOnly, targets: list[list[int]]) -> Batch:
    batch = batch_as_it_stands(model, [[] for _ in targets], targets)
    assert batch.source.shape == (len(targets), 0)
    return batch


def step_through(model: DecoderOnly, batch: Batch, **heads: object) -> Tensor:
    """Features of all positions, one step after the other."""
    state = model.start(model.encode(batch.source, batch.source_valid, **heads))
    features = []
    for ids in batch.target_in.split(1, dim=1):
        position, state = model.step(ids, state)
        features.append(position)
    return torch.cat(features, dim=1)


def test_wherever_a_text_is_cut_in_two_its_features_are_the_same(model: DecoderOnly) -> None:
    """Each row at another place: what it reads first in the target stands between source and target."""
    rows = [[0, *row] for row in texts((5, 9, 1, 7))]
    whole = [model.read(torch.tensor([row]))[0] for row in rows]
    for _ in range(3):
        cuts = [random.randrange(len(row)) for row in rows]
        batch = batch_as_it_stands(
            model,
            [row[:cut] for row, cut in zip(rows, cuts, strict=True)],
            [row[cut + 1 :] for row, cut in zip(rows, cuts, strict=True)],
        )
        batch.target_in[:, 0] = torch.tensor([row[cut] for row, cut in zip(rows, cuts, strict=True)])
        together, stepped = model(batch), step_through(model, batch)
        for row, cut in enumerate(cuts):
            length = len(rows[row]) - cut
            assert_same(together[row, :length], whole[row][cut:])
            assert_same(stepped[row, :length], whole[row][cut:])


@pytest.mark.parametrize("life", range(3))
def test_a_random_life_of_what_is_packed(model: DecoderOnly, life: int, seed: int) -> None:
    model = model.float()
    with torch.inference_mode():
        Followed.at_random(prepare(model, "fp32"), seed + life, truth=model, tolerance=1e-4).live(11)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_what_is_packed_begins_with_nothing(model: DecoderOnly, precision: str) -> None:
    model = model.float()
    ready, batch = prepare(model, precision), without_source(model, texts((3, 6, 4)))
    with torch.inference_mode():
        logits = [
            each.project(features) for each in (model, ready) for features in (each(batch), step_through(each, batch))
        ]
    for found in logits[1:]:
        tolerance = {"fp32": 1e-4, "bf16": 0.1, "int8": 0.3}[precision] * float(logits[0].abs().max())
        torch.testing.assert_close(found, logits[0], rtol=0, atol=tolerance)


def test_a_text_may_be_longer_than_the_masks_of_short_ones(seed: int) -> None:
    """Above eight positions the fused kernel takes over; the law is the same."""
    model = exact_model(decoder_only(positions="rotary"))
    rows = texts((23, 40))
    together = model(without_source(model, rows))
    assert_same(together[0, :24], model(without_source(model, rows[:1]))[0])
    assert_same(step_through(model, without_source(model, rows)), together)

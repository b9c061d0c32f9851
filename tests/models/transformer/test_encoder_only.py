"""The encoder alone: it sees both sides, padding and neighbors change nothing, and both models share its names."""

import pytest
import torch

from limelight.batching.batch import Batch, pad_rows
from limelight.config import EncoderOnlyConfig
from limelight.models.families import build_model
from limelight.models.transformer.halves import EncoderOnly, MaskedModel, pool
from limelight.tokens import Tokenizers
from tests.models.helpers import Vocabulary, random_rows

SIZE = 31
KINDS = {
    "post": {},
    "pre": {"norm": "pre", "activation": "gelu"},
    "learned": {"positions": "learned", "max_positions": 17},
    "rotary": {"positions": "rotary", "norm": "pre"},
    "wide-values": {"value_size": 5},
    "narrow-values": {"head_size": 7, "value_size": 3, "norm": "pre"},
    "split-heads": {"d_model": 12, "head_size": None},
}
LABELS = ("a", "b", "c", "d", "e")


def config(**changed: object) -> EncoderOnlyConfig:
    return EncoderOnlyConfig(**{"layers": 2, "d_model": 11, "heads": 3, "head_size": 2, "d_ff": 13, **changed})


def made(labels: tuple[str, ...] = (), **changed: object) -> EncoderOnly:
    """In float64 and without dropout, for laws that hold to rounding."""
    both = Vocabulary(SIZE)
    model = build_model(config(**changed), Tokenizers(both, both), labels)
    assert isinstance(model, EncoderOnly)
    return model.double().eval()


def batch_of(rows: list[list[int]], longest: int = 0) -> Batch:
    source, valid = pad_rows([*rows, [1] * longest], SIZE - 1)
    source, valid = source[: len(rows)], valid[: len(rows)]
    return Batch.of(source, valid, source[:, :0], source, valid)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> dict[str, object]:
    return KINDS[request.param]


@pytest.mark.parametrize("labels", [(), LABELS], ids=["masked", "classifier"])
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_neither_padding_nor_neighbors_change_a_row(
    labels: tuple[str, ...], pooling: str, kind: dict[str, object], seed: int
) -> None:
    model = made(labels, pooling=pooling, **kind)
    rows = random_rows((7, 3, 5), SIZE)
    together = model(batch_of(rows, longest=13))
    for row, features in zip(rows, together, strict=True):
        alone = model(batch_of([row]))[0]
        torch.testing.assert_close(features[: len(alone)], alone)
        assert len(alone) == (1 if labels else len(row))


def test_the_masked_model_guesses_with_its_embedding_and_a_bias(seed: int) -> None:
    model = made()
    assert isinstance(model, MaskedModel)
    torch.nn.init.normal_(model.output_bias)
    features = torch.randn(2, 3, 11, dtype=torch.float64)
    expected = features @ model.encoder.embedding.weight[: SIZE - 1].T + model.output_bias
    torch.testing.assert_close(model.project(features), expected)
    assert expected.shape[-1] == SIZE - 1  # padding is never guessed


def test_pooling_against_a_loop(seed: int) -> None:
    features = torch.randn(3, 7, 5, dtype=torch.float64)
    valid = torch.arange(7) < torch.tensor([7, 1, 4])[:, None]
    for row in range(3):
        real = [features[row, place] for place in range(7) if valid[row, place]]
        torch.testing.assert_close(pool(features, valid, "mean")[row], sum(real) / len(real))
        torch.testing.assert_close(pool(features, valid, "first")[row], features[row, 0])

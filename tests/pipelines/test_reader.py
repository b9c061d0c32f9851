"""Vectors of sentences, whoever stands beside them."""

import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.models.transformer.halves import MaskedModel
from limelight.pipelines import encoders
from limelight.pipelines.encoders import Reader
from tests.pipelines.helpers import TEXTS, masked_model, tokenizer


@pytest.fixture(scope="module")
def reader() -> Reader[MaskedModel]:
    torch.manual_seed(1)
    return Reader(masked_model(), tokenizer())


def by_hand(reader: Reader[MaskedModel], text: str) -> np.ndarray:
    """The features of one text alone, without padding."""
    ids = torch.tensor([[0, *reader.tokenizer.encode(text), 0]])
    with torch.inference_mode():
        features = reader.model.eval().read(ids, torch.ones_like(ids, dtype=torch.bool))
    return features[0].mean(dim=0).numpy()


@pytest.mark.parametrize("batch_tokens", [1, 40, 10_000])
def test_a_vector_is_that_of_the_text_alone(
    batch_tokens: int, reader: Reader[MaskedModel], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "BATCH_TOKENS", batch_tokens)
    texts = [TEXTS[place] for place in torch.randperm(len(TEXTS)).tolist()] + ["", "cat"]
    found = reader.vectors(texts)
    assert (found.shape, found.dtype) == ((len(texts), 12), np.float32)
    for text, vector in zip(texts, found, strict=True):
        np.testing.assert_allclose(vector, by_hand(reader, text), atol=1e-5)


def test_the_model_is_left_as_it_was(reader: Reader[MaskedModel]) -> None:
    reader.model.train()
    state = torch.get_rng_state()
    first, again = reader.vectors(TEXTS), reader.vectors(TEXTS)
    np.testing.assert_array_equal(first, again)
    assert reader.model.training
    assert torch.equal(torch.get_rng_state(), state)


def test_a_text_longer_than_the_model_takes_is_named() -> None:
    short = Reader(masked_model(positions="learned", max_positions=5), tokenizer())
    with pytest.raises(UserError, match="text 2 has 7 tokens with its end, and this model takes at most 5"):
        short.vectors(["a cat", "a cat sees a cat"])

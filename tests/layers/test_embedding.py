"""Pieces to vectors: scaled, and with a padding row that nothing can teach."""

import pytest
import torch
from torch.nn import functional

from limelight.layers.embedding import TokenEmbedding


@pytest.mark.parametrize("scale", [False, True])
def test_a_row_per_piece(scale: bool, seed: int) -> None:
    embedding = TokenEmbedding(13, 7, scale=scale)
    ids = torch.tensor([[3, 12, 0], [5, 5, 1]])
    expected = embedding.weight[ids] * (7**0.5 if scale else 1)
    torch.testing.assert_close(embedding(ids), expected)
    assert embedding(ids).shape == (2, 3, 7)


def test_scaled_embeddings_have_unit_variance(seed: int) -> None:
    embedding = TokenEmbedding(1009, 64, scale=True)
    assert embedding(torch.arange(1008)).std().item() == pytest.approx(1, abs=0.05)


def test_padding_is_the_last_id_and_a_zero_vector(seed: int) -> None:
    embedding = TokenEmbedding(13, 7, scale=True)
    assert embedding.padding == 12
    assert not embedding(torch.tensor([12])).any()
    assert embedding(torch.arange(12)).any(dim=-1).all()


def test_padding_stays_zero_through_training_even_when_tied(seed: int) -> None:
    """As input it gets no gradient; as output class it does not exist."""
    embedding = TokenEmbedding(13, 7, scale=True)
    optimizer = torch.optim.Adam(embedding.parameters(), lr=0.1)
    before = embedding.weight.detach().clone()
    for _ in range(5):
        ids = torch.randint(13, (3, 5))
        ids[:, -1] = 12
        logits = embedding(ids).tanh() @ embedding.output_weight().T
        assert logits.shape == (3, 5, 12)
        optimizer.zero_grad()
        functional.cross_entropy(logits.flatten(0, 1), torch.randint(12, (15,))).backward()
        optimizer.step()
    assert not embedding.weight[12].any()
    assert (embedding.weight[:12] != before[:12]).any(dim=-1).all()

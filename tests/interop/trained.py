"""A model that has learned something, trained once for all tests that ask for it."""

import functools
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch

from examples.phrase_grammar import pairs
from limelight.config import DecodingConfig, RunConfig, TransformerConfig
from limelight.models.families import build_model
from limelight.storage.model import StoredModel, load_model, save_model
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.training.optimization.loss import batch_loss
from tests.models.helpers import batch_of

UPDATES, ROWS = 160, 32


@functools.cache
def trained(norm: str) -> StoredModel:
    """A small Transformer after some updates on the phrase grammar: sure of much, not of all. Its folder is kept until
    the process ends."""
    learned = list(islice(short(5), UPDATES * ROWS))
    tokenizer = train_tokenizer(
        (side for pair in learned[:500] for side in pair), kind="bpe", vocabulary_size=400, languages=["en", "lumi"],
        byte_fallback=False, seed=1, sentences=500,
    )  # fmt: skip
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=48, heads=4, d_ff=96, norm=norm, dropout=0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        model = build_model(config, Tokenizers(tokenizer, tokenizer))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for first in range(0, len(learned), ROWS):
        sources, targets = zip(*learned[first : first + ROWS], strict=True)
        batch = batch_of(model, list(map(tokenizer.encode, sources)), list(map(tokenizer.encode, targets)))
        loss = batch_loss(model, batch, label_smoothing=0.1) / batch.target_valid.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    place = tempfile.TemporaryDirectory()
    _PLACES.append(place)
    folder = Path(place.name) / norm
    run = RunConfig(model=config, decoding=DecodingConfig(max_length_factor=1, max_length_extra=10))
    save_model(folder, model, Tokenizers(tokenizer, tokenizer), run, notes={"loss": str(loss.item())}, card="")
    return load_model(folder)


_PLACES: list[tempfile.TemporaryDirectory] = []


def short(seed: int) -> Iterator[tuple[str, str]]:
    """Pairs of the phrase grammar that are learned quickly."""
    return (pair for pair in pairs(seed) if len(pair[0].split()) < 8)


def unseen(count: int) -> list[str]:
    """Sentences of the same language that it has not learned from."""
    return [source for source, _ in islice(short(6), count)]

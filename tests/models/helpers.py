"""Small models and random batches for the tests of everything that takes a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from limelight.batching.batch import Batch, make_batch
from limelight.config import ModelConfig
from limelight.models.build import build_model
from limelight.models.interface import Seq2Seq
from limelight.tokens import Tokenizers


@dataclass(frozen=True)
class Vocabulary:
    """All of a tokenizer that a model is built from."""

    size: int

    @property
    def padding(self) -> int:
        return self.size - 1

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """No two vocabularies are the same."""
        return [f"{number} of {id(self)}" for number in ids]


def make_model(config: ModelConfig, source_size: int = 31, target_size: int = 29) -> Seq2Seq:
    """A random model; one vocabulary of `target_size` for both sides where the configuration ties them."""
    target = Vocabulary(target_size)
    source = target if config.tie == "three-way" else Vocabulary(source_size)
    return build_model(config, Tokenizers(source, target))


def exact_model(config: ModelConfig, source_size: int = 31, target_size: int = 29) -> Seq2Seq:
    """The same in float64 and without dropout, for laws that hold to rounding."""
    return make_model(config, source_size, target_size).double().eval()


def random_rows(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Rows of random pieces, neither end nor padding."""
    return [torch.randint(1, size - 1, (length,)).tolist() for length in lengths]


def batch_of(model: Seq2Seq, sources: list[list[int]], targets: list[list[int]]) -> Batch:
    """Rows without special ids as a batch of this model."""
    return make_batch(
        sources,
        targets,
        start=model.start_id,
        end=model.end_id,
        source_padding=model.source_padding,
        target_padding=model.target_padding,
    )


def random_batch(
    model: Seq2Seq, source_lengths: Sequence[int] = (6, 1, 4), target_lengths: Sequence[int] = (2, 4, 3)
) -> Batch:
    """Random rows of these lengths; with the end on both sides 7 source and 5 target positions by default."""
    return batch_of(
        model,
        random_rows(source_lengths, model.source_padding + 1),
        random_rows(target_lengths, model.target_padding + 1),
    )

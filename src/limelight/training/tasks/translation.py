"""Translation: pairs of sentences, and BLEU of what is really translated."""

from collections.abc import Generator, Sequence

import numpy as np
import torch

from limelight.batching.batch import Batch, make_batch
from limelight.batching.bucketing import cut_batches
from limelight.batching.stream import BatchStream, Position
from limelight.config import RunConfig
from limelight.decoding.translate import Translator
from limelight.evaluation.metrics import corpus_bleu
from limelight.models.interface import Model, Seq2Seq
from limelight.models.room import longest_sequence, require_room
from limelight.text.pair import Pair
from limelight.tokens import END, Tokenizers
from limelight.training.precision import autocast
from limelight.training.prepare import Prepared
from limelight.training.tasks.task import Task, Validation, mean_loss, require_positions


class Translation(Task):
    """Learns p(target | source) of pairs.

    Raises `UserError` where the model cannot take sequences as long as they may get.
    """

    def __init__(self, config: RunConfig, prepared: Prepared, model: Seq2Seq) -> None:
        longest = longest_sequence(model)
        require_positions(config, longest)
        self.config, self.tokenizers, self.pairs = config, prepared.tokenizers, prepared.valid
        self.amount = f"{sum(map(len, prepared.stores)):,} pairs"
        self.stream = BatchStream(
            prepared.stores,
            [corpus.weight for corpus in config.data.train],
            prepared.tokenizers,
            tokens=config.batching.tokens,
            seed=config.training.seed,
            chunk_pairs=config.batching.chunk_pairs,
            sampling=config.tokens.sampling,
            max_length=config.batching.max_length,
        )
        self.valid_batches = validation_batches(
            prepared.valid, prepared.tokenizers, tokens=config.batching.tokens, longest=longest
        )

    def batches(self, position: Position) -> Generator[tuple[Batch, Position]]:
        return self.stream.batches(position)

    @property
    def validates(self) -> bool:
        return bool(self.pairs)

    def validate(self, model: Model, *, precision: str, device: torch.device) -> Validation:
        """Loss over all batches; greedy translations of some pairs spread evenly over the set."""
        assert isinstance(model, Seq2Seq)
        loss = mean_loss(model, self.valid_batches, autocast=autocast(precision, device), device=device)
        sentences = self.config.training.bleu_sentences
        if not sentences:
            return Validation(loss)
        chosen = self.pairs if len(self.pairs) <= sentences else _spread(self.pairs, sentences)
        translator = Translator(model, self.tokenizers, self.config.decoding, precision=precision)
        outputs = translator.translate([pair.source for pair in chosen], beam_size=1)
        bleu = corpus_bleu([output.text for output in outputs], [pair.target for pair in chosen])
        middle = len(chosen) // 2
        shown = chosen[middle].source, chosen[middle].target, outputs[middle].text
        return Validation(loss, {"bleu": bleu.score}, tuple(zip(("source", "reference", "model"), shown, strict=True)))


def validation_batches(
    pairs: Sequence[Pair], tokenizers: Tokenizers, *, tokens: int, longest: int | None
) -> list[Batch]:
    """All pairs as batches, made once for a whole run.

    Raises `UserError` for a pair with more pieces than the `longest` sequence the model takes: now, and not after the
    first thousand updates.
    """
    sources = tokenizers.source.encode_batch([pair.source for pair in pairs])
    targets = tokenizers.target.encode_batch([pair.target for pair in pairs])
    if longest is not None:
        for pair, *rows in zip(pairs, sources, targets, strict=True):
            require_room(max(rows, key=len), longest, f"{pair.place}: this validation pair")
    lengths = [np.array([len(row) + 1 for row in side]) for side in (sources, targets)]
    padding = tokenizers.target.padding
    return [
        make_batch(
            [sources[row] for row in rows],
            [targets[row] for row in rows],
            start=padding,
            end=END,
            source_padding=tokenizers.source.padding,
            target_padding=padding,
        )
        for rows in cut_batches(*lengths, tokens=tokens, generator=np.random.default_rng(0))
    ]


def _spread(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """`count` pairs at even distances, so that a sorted file is seen from its short to its long end."""
    return [pairs[int(place)] for place in np.linspace(0, len(pairs) - 1, count)]

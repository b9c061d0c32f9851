"""Translation: pairs of sentences, and BLEU of what is really translated."""

import os
from collections.abc import Generator, Sequence

import numpy as np
import torch

from limelight.batching.batch import Batch, make_batch
from limelight.batching.bucketing import cut_batches
from limelight.batching.drawing import Drawing, View
from limelight.batching.store import TokenStore
from limelight.batching.stream import BatchStream, Position
from limelight.config import DataConfig, RunConfig
from limelight.decoding.translate import Translator
from limelight.evaluation.metrics import corpus_bleu, corpus_chrf, require_scorable
from limelight.evaluation.tokenization import choose_tokenization, target_language
from limelight.models.interface import Model, Seq2Seq
from limelight.models.room import longest_sequence, require_room
from limelight.text.augmentation import Languages
from limelight.text.pair import Pair
from limelight.tokens import END, Tokenizers
from limelight.training.generators import device_of
from limelight.training.precision import autocast, search_precision
from limelight.training.prepare import Prepared
from limelight.training.tasks.task import Task, Validation, mean_loss, require_positions

MAX_DATA_WORKERS = 8


class Translation(Task):
    """Learns p(target | source) of pairs.

    Raises `UserError` where the model cannot take sequences as long as they may get.
    """

    def __init__(self, config: RunConfig, prepared: Prepared, model: Seq2Seq) -> None:
        longest = longest_sequence(model)
        require_positions(config, longest)
        self.config, self.tokenizers, self.pairs = config, prepared.tokenizers, prepared.valid
        self.amount = f"{sum(map(len, prepared.stores)):,} pairs"
        drawing = Drawing(
            config.tokens.sampling,
            config.augmentation.model_dump() if config.augmentation.active else {},
            config.batching.max_length,
        )
        self.stream = BatchStream(
            views_of(config.data, prepared.stores),
            prepared.tokenizers,
            tokens=config.batching.tokens,
            seed=config.training.seed,
            drawing=drawing,
            chunk_pairs=config.batching.chunk_pairs,
            processes=data_workers(config.training.data_workers, device_of(model)),
        )
        self.chosen = _spread(prepared.valid, config.training.bleu_sentences)
        self.tokenize, self.measured_by = _bleu_of(config, prepared.valid, self.chosen)
        self.valid_batches = validation_batches(
            prepared.valid, prepared.tokenizers, tokens=config.batching.tokens, longest=longest
        )

    def batches(self, position: Position) -> Generator[tuple[Batch, Position]]:
        return self.stream.batches(position)

    def batches_per_epoch(self) -> float:
        return self.stream.batches_per_epoch()

    @property
    def validates(self) -> bool:
        return bool(self.pairs)

    def validate(self, model: Model, *, precision: str, device: torch.device) -> Validation:
        """Loss over all batches; greedy translations of some pairs spread evenly over the set."""
        assert isinstance(model, Seq2Seq)
        loss = mean_loss(model, self.valid_batches, autocast=autocast(precision, device), device=device)
        if not self.chosen:
            return Validation(loss)
        sources, references = [[getattr(pair, side) for pair in self.chosen] for side in ("source", "target")]
        translator = Translator(
            model,
            self.tokenizers,
            self.config.decoding,
            precision=search_precision(precision),
            threads=torch.get_num_threads(),
        )
        outputs = [output.text for output in translator.translate(sources, beam_size=1)]
        figures = {
            "bleu": corpus_bleu(outputs, references, tokenize=self.tokenize).score,
            "chrf": corpus_chrf(outputs, references).score,
        }
        middle = len(outputs) // 2
        shown = sources[middle], references[middle], outputs[middle]
        return Validation(loss, figures, tuple(zip(("source", "reference", "model"), shown, strict=True)))


def data_workers(wanted: int | None, device: torch.device) -> int:
    """How many processes draw the pairs. One draws 50,000 to 100,000 tokens per second: enough for a CPU."""
    if wanted is not None:
        return wanted
    return 0 if device.type == "cpu" else max(1, min(MAX_DATA_WORKERS, (os.cpu_count() or 1) - 1))


def views_of(data: DataConfig, stores: Sequence[TokenStore]) -> list[View]:
    """Each corpus of a run with its weight and its languages."""
    return [
        View(store, corpus.weight, languages=Languages(corpus.source, corpus.target))
        for corpus, store in zip(data.train, stores, strict=True)
    ]


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


def _bleu_of(config: RunConfig, pairs: Sequence[Pair], chosen: Sequence[Pair]) -> tuple[str, str]:
    """The tokenization for BLEU, and in words how BLEU is measured. Raises `UserError` where it cannot be used here."""
    if not chosen:
        return "", ""
    references = [pair.target for pair in pairs]
    wanted = config.training.bleu_tokenize
    tokenization = choose_tokenization(target_language(config.data), references, wanted=wanted)
    require_scorable(len(references), references, tokenization.name)
    some = f"{len(chosen):,} of {len(pairs):,} sentences"
    return tokenization.name, f"sacreBLEU {tokenization}, cased, greedy, {some}"


def _spread(pairs: Sequence[Pair], count: int) -> Sequence[Pair]:
    """`count` pairs at even distances, so that a sorted file is seen from its short to its long end; all where they are
    fewer."""
    if len(pairs) <= count:
        return pairs
    return [pairs[int(place)] for place in np.linspace(0, len(pairs) - 1, count)]

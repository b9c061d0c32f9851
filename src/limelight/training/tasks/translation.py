"""The translation task: sentence pairs in one or several directions; validation measures the loss, and BLEU and chrF of
greedy translations.
"""

import os
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from limelight.batching.drawing import Drawing, View
from limelight.batching.stream import BatchStream
from limelight.config import (
    Corpus,
    DataConfig,
    Direction,
    RunConfig,
    directions_of,
    has_tags,
    trained_directions,
)
from limelight.errors import UserError
from limelight.evaluation.metrics import (
    bleu_metric,
    choose_tokenization,
    corpus_bleu,
    corpus_chrf,
    further_metric,
)
from limelight.formats import read_lines
from limelight.inspection.batches import batches_of
from limelight.models.interface import Model, Seq2Seq, device_of, longest_sequence
from limelight.pipelines.translator import Translator
from limelight.preparation.lexicon import evenly
from limelight.preparation.pairs import Prepared
from limelight.preparation.replay import by_direction
from limelight.text.augmentation import Languages
from limelight.text.pair import Pair
from limelight.tokens import BACK_TRANSLATED, Tokenizers, language_tag, side_constraint_tag, tagged
from limelight.training.tasks.task import Task, Validation, mean_loss, require_room_for

MAX_DATA_WORKERS = 8


class ValidSet:
    """Pairs of one direction, made into batches once for a whole run; `sentences` of them are translated.

    Raises `UserError` for a pair longer than the model permits, and for a tokenization that is not available.
    """

    def __init__(
        self,
        config: RunConfig,
        tokenizers: Tokenizers,
        model: Seq2Seq,
        pairs: Sequence[Pair],
        direction: Direction,
        sentences: int,
    ) -> None:
        self.config, self.direction = config, direction
        self.tokenizers = tagged(tokenizers, direction.target) if has_tags(config.data) else tokenizers
        # Evenly spaced, so that a file sorted by length is covered.
        self.chosen = evenly(pairs, sentences)
        self.tokenize = self.measured_by = ""
        if self.chosen:
            references = [pair.target for pair in pairs]
            self.tokenize = config.training.bleu_tokenize or choose_tokenization(references)
            bleu_metric(self.tokenize)  # raises before any work
            counts = f"{len(self.chosen):,} of {len(pairs):,} sentences"
            self.measured_by = f"sacreBLEU {self.tokenize}, cased, greedy, {counts}"
        sources = [self.tokenizers.source.encode(pair.source) for pair in pairs]
        targets = [self.tokenizers.target.encode(pair.target) for pair in pairs]
        require_room_for(pairs, sources, targets, longest=longest_sequence(model))
        self.batches = [rows.batch for rows in batches_of(model, sources, targets, batch_tokens=config.batching.tokens)]

    def measure(self, model: Seq2Seq, precision: str) -> Validation:
        """The loss over all batches, and metrics of greedy translations of evenly spaced pairs."""
        loss = mean_loss(model, self.batches, precision)
        if not self.chosen:
            return Validation(loss)
        translator = Translator(
            model,
            self.tokenizers,
            self.config.decoding,
            precision="bf16" if precision == "bf16" else "fp32",
            threads=torch.get_num_threads(),
            directions=(self.direction,),
        )
        translator.knows_placeholders = self.config.augmentation.placeholders > 0
        translations = translator.translate([pair.source for pair in self.chosen], beam_size=1)
        outputs, references = [translation.text for translation in translations], [pair.target for pair in self.chosen]
        figures = {
            "bleu": corpus_bleu(outputs, references, tokenize=self.tokenize).score,
            "chrf": corpus_chrf(outputs, references).score,
        }
        figures |= {name: further_metric(name, outputs, references).score for name in self.config.training.metrics}
        middle = len(outputs) // 2
        shown = self.chosen[middle].source, references[middle], outputs[middle]
        return Validation(loss, figures, tuple(zip(("source", "reference", "model"), shown, strict=True)))


class Translation(Task):
    """Learns p(target | source) of pairs."""

    def __init__(self, config: RunConfig, prepared: Prepared, model: Seq2Seq) -> None:
        self.config = config
        directions, augmentation = trained_directions(config.data), config.augmentation
        several = f" in {len(directions)} directions ({', '.join(map(str, directions))})" if directions[1:] else ""
        self.amount = f"{sum(map(len, prepared.stores)):,} pairs{several}"
        self.stream = BatchStream(
            views_of(config.data, prepared),
            prepared.tokenizers,
            tokens=config.batching.tokens,
            seed=config.training.seed,
            drawing=Drawing(
                config.tokens.sampling,
                {name: rate for name, rate in augmentation.rates.items() if rate},
                config.batching.max_length,
                [read_names(file) for file in augmentation.name_lists],
            ),
            chunk_pairs=config.batching.chunk_pairs,
            processes=data_workers(config.training.data_workers, device_of(model)),
        )
        self.valid_pairs = valid_pairs(config.data, prepared.valid)
        self.valid = valid_sets(config, prepared.tokenizers, model, self.valid_pairs, config.training.bleu_sentences)
        self.validates = bool(self.valid)
        ways = dict.fromkeys(valid.measured_by for valid in self.valid.values() if valid.measured_by)
        mean = [f"mean of {len(self.valid)} directions"] if len(self.valid) > 1 else []
        self.measured_by = "; ".join([*mean, *ways])

    def validate(self, model: Model, precision: str) -> Validation:
        """Figures of each direction, and their means if there are several."""
        assert isinstance(model, Seq2Seq)
        return mean_of({direction: valid.measure(model, precision) for direction, valid in self.valid.items()})


def valid_sets(
    config: RunConfig, tokenizers: Tokenizers, model: Seq2Seq, pairs: Mapping[Direction, Sequence[Pair]], sentences: int
) -> dict[Direction, ValidSet]:
    """A `ValidSet` for each direction, of whose pairs some `sentences` are translated."""
    return {
        direction: ValidSet(config, tokenizers, model, of_direction, direction, sentences)
        for direction, of_direction in pairs.items()
    }


def read_names(file: str) -> list[str]:
    """The names in a file, one a line. Raises `UserError` if there is no such file or no name in it."""
    names = [line.strip() for line in read_lines(file) if line.strip()]
    if not names:
        raise UserError(f"augmentation.name_lists: {file} has no names: one a line is expected")
    return names


def data_workers(wanted: int | None, device: torch.device) -> int:
    """The number of data processes. One prepares 50,000 to 100,000 tokens per second: enough for training on a CPU."""
    if wanted is not None:
        return wanted
    return 0 if device.type == "cpu" else max(1, min(MAX_DATA_WORKERS, (os.cpu_count() or 1) - 1))


def views_of(data: DataConfig, prepared: Prepared) -> list[View]:
    """Each corpus of a run in each of its directions, with its weight and the tags before every source: for the target
    language if there are several directions, for back-translated text, and in half of its pairs for a side
    constraint."""
    drawn = list[tuple[View, Corpus, str]]()
    for number, (corpus, store) in enumerate(zip(data.train, prepared.stores, strict=True)):
        words = prepared.alignments[number] if prepared.alignments else None
        direction = corpus.direction
        view = View(store, languages=Languages(*direction), alignment=words)
        drawn.append((view, corpus, corpus.side_constraint))
        if data.both_directions and not corpus.tag:
            turned = words.reversed() if words else None
            view = View(store.reversed(), languages=Languages(*direction.reversed), alignment=turned)
            drawn.append((view, corpus, ""))
    views, shares = list[View](), balance([len(view.store) for view, _, _ in drawn], data.temperature)
    for (view, corpus, constraint), share in zip(drawn, shares, strict=True):
        tags = [language_tag(view.languages.target)] if has_tags(data) else []
        tags += [BACK_TRANSLATED] if corpus.tag == "bt" else []
        for way in [tags, [*tags, side_constraint_tag(constraint)]] if constraint else [tags]:
            prefix = tuple(map(prepared.tokenizers.source.reserved_id, way))
            views.append(view._replace(weight=corpus.weight * share / (2 if constraint else 1), prefix=prefix))
    return views


def balance(sizes: Sequence[int], temperature: float) -> list[float]:
    """Temperature sampling (Arivazhagan et al. 2019, section 4.2): how often each pair of each corpus is used per
    epoch. A corpus of n pairs is drawn in proportion to n^(1 / temperature); an epoch has as many pairs as all corpora.
    """
    if temperature == 1:
        return [1.0] * len(sizes)
    wanted = np.array(sizes, dtype=np.float64) ** (1 / temperature)
    wanted *= sum(sizes) / wanted.sum()
    return [float(count / size) if size else 1.0 for count, size in zip(wanted, sizes, strict=True)]


def valid_pairs(data: DataConfig, corpora: Sequence[Sequence[Pair]]) -> dict[Direction, list[Pair]]:
    """Validation pairs by direction; `corpora` are the pairs of `data.valid`, in order. A run with one direction has
    one group."""
    directions = [(corpus if has_tags(data) else data.valid[0]).direction for corpus in data.valid]
    parts = (
        (direction, pairs, data.both_directions and direction.reversed in directions_of(data))
        for direction, pairs in zip(directions, corpora, strict=True)
    )
    return {direction: pairs for direction, pairs in by_direction(parts).items() if pairs}


def mean_of(validations: Mapping[Direction, Validation]) -> Validation:
    """The mean of each figure over the directions, and the figures of each; a single validation is unchanged."""
    first, count = next(iter(validations.values())), len(validations)
    if count == 1:
        return first
    figures_of = {str(direction): {"loss": seen.loss, **seen.figures} for direction, seen in validations.items()}
    means = {name: sum(figures[name] for figures in figures_of.values()) / count for name in ("loss", *first.figures)}
    return Validation(means.pop("loss"), means, first.example, figures_of)

"""The translation task: sentence pairs in one or several directions; validation measures the loss, and BLEU and chrF of
greedy translations.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch

from limelight.batching.batch import Batch, cut_batches, make_batch
from limelight.batching.drawing import Drawing, View
from limelight.batching.store import AlignmentStore, TokenStore
from limelight.batching.stream import BatchStream
from limelight.config import (
    Corpus,
    DataConfig,
    DecodingConfig,
    Direction,
    RunConfig,
    direction_of,
    directions_of,
    has_tags,
    trained_directions,
)
from limelight.errors import UserError
from limelight.evaluation.metrics import (
    METRICS,
    choose_tokenization,
    corpus_bleu,
    corpus_chrf,
    require_scorable,
    target_language,
)
from limelight.formats import read_lines
from limelight.models.interface import Model, Seq2Seq, device_of, longest_sequence, require_room
from limelight.pipelines.options import TextOptions
from limelight.pipelines.translator import Translator
from limelight.preparation.pairs import Prepared
from limelight.text.augmentation import Languages
from limelight.text.formality import form_of_address
from limelight.text.marking import FORMALITY_MARKS, has_marks
from limelight.text.pair import Pair
from limelight.tokens import BACK_TRANSLATED, END, Tokenizers, language_tag, side_constraint_tag, tagged
from limelight.tokens.marked import encode_mixed
from limelight.training.distributed import ALL_MINE, Sharing
from limelight.training.optimization.precision import autocast, search_precision
from limelight.training.tasks.task import Task, Validation, mean_loss, require_positions


class ValidSet:
    """Pairs of one direction, made into batches once for a whole run.

    Args:
        tokenizers: those of this direction, which add the language tag if the model has several directions.
        sentences: number of pairs that are translated; 0 measures only the loss.
        direction: of the pairs; None if its languages have no names.
        formality: whether the model is told the form of address of each target that has one, as in training.
        placeholders: whether the model is trained with placeholders.
        metrics: further metrics by name, see `METRICS`.
        tokenize: sacreBLEU's tokenization; if None, chosen by the target `language` or the script of the pairs.

    Raises `UserError` for a pair longer than the model permits, and for a tokenization that is not available.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        tokenizers: Tokenizers,
        model: Seq2Seq,
        *,
        tokens: int,
        sentences: int,
        language: str = "",
        direction: Direction | None = None,
        formality: bool = False,
        placeholders: bool = False,
        tokenize: str | None = None,
        metrics: Sequence[str] = (),
    ) -> None:
        self.tokenizers, self.placeholders = tokenizers, placeholders
        self.directions = () if direction is None else (direction,)
        self.metrics = metrics
        self.forms = partial(_form_of, language=language) if formality else lambda _: ""
        self.chosen = _spread(pairs, sentences)
        self.tokenize, self.measured_by = _bleu_of(pairs, self.chosen, language, tokenize)
        tags = [FORMALITY_MARKS.get(self.forms(pair), "") for pair in pairs]
        self.batches = validation_batches(pairs, tokenizers, tokens=tokens, longest=longest_sequence(model), tags=tags)

    def measure(
        self,
        model: Seq2Seq,
        decoding: DecodingConfig,
        *,
        precision: str,
        device: torch.device,
        sharing: Sharing = ALL_MINE,
    ) -> Validation:
        """The loss over all batches, and metrics of greedy translations of evenly spaced pairs."""
        loss = mean_loss(model, self.batches, autocast=autocast(precision, device), device=device, sharing=sharing)
        if not self.chosen:
            return Validation(loss)
        sources, references = [[getattr(pair, side) for pair in self.chosen] for side in ("source", "target")]
        outputs = sharing.over(
            self.chosen, lambda some: self.translate(model, list(some), decoding, precision=precision)
        )
        figures = {
            "bleu": corpus_bleu(outputs, references, tokenize=self.tokenize).score,
            "chrf": corpus_chrf(outputs, references).score,
        }
        figures |= {name: METRICS.find(name)(outputs, references) for name in self.metrics}
        middle = len(outputs) // 2
        shown = sources[middle], references[middle], outputs[middle]
        return Validation(loss, figures, tuple(zip(("source", "reference", "model"), shown, strict=True)))

    def translate(
        self, model: Seq2Seq, pairs: Sequence[Pair], decoding: DecodingConfig, *, precision: str
    ) -> list[str]:
        """Greedy translations of the sources of `pairs`, as `translate` prints them."""
        translator = Translator(
            model,
            self.tokenizers,
            decoding,
            precision=search_precision(precision),
            threads=torch.get_num_threads(),
            directions=self.directions,
        )
        translator.knows_placeholders = self.placeholders
        forms = [self.forms(pair) for pair in pairs]
        found = [""] * len(pairs)
        for form in dict.fromkeys(forms):
            places = [place for place, each in enumerate(forms) if each == form]
            asked: TextOptions = {"beam_size": 1, "formality": form}
            outputs = translator.translate([pairs[place].source for place in places], **asked)
            for place, output in zip(places, outputs, strict=True):
                found[place] = output.text
        return found


def _form_of(pair: Pair, language: str) -> str:
    return "" if has_marks(pair.source) else form_of_address(pair.target, language, pair.source)


def validation_batches(
    pairs: Sequence[Pair], tokenizers: Tokenizers, *, tokens: int, longest: int | None, tags: Sequence[str] = ()
) -> list[Batch]:
    """All pairs as batches, made once for a whole run, with the mark of a tag before each source if `tags` has it.

    Raises `UserError` for a pair with more tokens than the `longest` sequence that the model permits: now, not at the
    first validation.
    """
    marks = tags or [""] * len(pairs)
    tagged_sources = [mark + pair.source for mark, pair in zip(marks, pairs, strict=True)]
    sources = encode_mixed(tokenizers.source, tagged_sources, [bool(mark) for mark in marks])
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


def _bleu_of(pairs: Sequence[Pair], chosen: Sequence[Pair], language: str, wanted: str | None) -> tuple[str, str]:
    """The tokenization for BLEU, and a description of how BLEU is measured."""
    if not chosen:
        return "", ""
    references = [pair.target for pair in pairs]
    tokenization = choose_tokenization(language, references, wanted=wanted)
    require_scorable(len(references), references, tokenization.name)
    some = f"{len(chosen):,} of {len(pairs):,} sentences"
    return tokenization.name, f"sacreBLEU {tokenization}, cased, greedy, {some}"


def _spread(pairs: Sequence[Pair], count: int) -> Sequence[Pair]:
    """`count` evenly spaced pairs, so that a file sorted by length is covered; all if there are fewer."""
    if len(pairs) <= count:
        return pairs
    return [pairs[int(place)] for place in np.linspace(0, len(pairs) - 1, count)]


MAX_DATA_WORKERS = 8


class Translation(Task):
    """Learns p(target | source) of pairs.

    Raises `UserError` if sequences may be longer than the model permits.
    """

    def __init__(self, config: RunConfig, prepared: Prepared, model: Seq2Seq) -> None:
        require_positions(config, longest_sequence(model))
        self.config = config
        counts = Counter[str]()
        for corpus, store in zip(config.data.train, prepared.stores, strict=True):
            counts[corpus.tag] += len(store)
        self.amount = f"{counts.total():,} pairs"
        if counts["bt"]:
            self.amount += f", {counts['bt']:,} of them back-translated (tag {BACK_TRANSLATED})"
        if counts["replay"]:
            self.amount += f", {counts['replay']:,} of them replayed"
        directions = trained_directions(config.data)
        if len(directions) > 1:
            self.amount += f" in {len(directions)} directions ({', '.join(map(str, directions))})"
        self.stream = stream_of(
            config, prepared, processes=data_workers(config.training.data_workers, device_of(model))
        )
        self.valid_pairs = valid_pairs(config.data, prepared.valid)
        self.valid = valid_sets(config, prepared.tokenizers, model, self.valid_pairs, config.training.bleu_sentences)
        self.measured_by = self._measured_by()

    @property
    def validates(self) -> bool:
        return bool(self.valid)

    def validate(
        self, model: Model, *, precision: str, device: torch.device, sharing: Sharing = ALL_MINE
    ) -> Validation:
        """Figures of each direction, and their means if there are several."""
        assert isinstance(model, Seq2Seq)
        decoding = self.config.decoding
        found = {
            direction: each.measure(model, decoding, precision=precision, device=device, sharing=sharing)
            for direction, each in self.valid.items()
        }
        return mean_of(found)

    def warm_up(self, model: Model, *, precision: str, device: torch.device) -> None:
        """Translate one sentence: all directions use the same compiled loops."""
        assert isinstance(model, Seq2Seq)
        for each in list(self.valid.values())[:1]:
            each.translate(model, each.chosen[:1], self.config.decoding, precision=precision)

    def _measured_by(self) -> str:
        if len(self.valid) == 1:
            return next(iter(self.valid.values())).measured_by
        alike: dict[str, list[str]] = {}
        for direction, some in self.valid.items():
            if some.measured_by:
                alike.setdefault(some.measured_by, []).append(str(direction))
        each = (f"{', '.join(directions)}: {how}" for how, directions in alike.items())
        return "; ".join([f"mean of {len(self.valid)} directions", *each]) if self.valid else ""


def valid_sets(
    config: RunConfig, tokenizers: Tokenizers, model: Seq2Seq, pairs: Mapping[Direction, Sequence[Pair]], sentences: int
) -> dict[Direction, ValidSet]:
    """A `ValidSet` for each direction, of whose pairs some `sentences` are translated."""
    several = has_tags(config.data)
    return {
        direction: ValidSet(
            some,
            tagged(tokenizers, direction.target) if several else tokenizers,
            model,
            tokens=config.batching.tokens,
            sentences=sentences,
            language=direction.target if several else target_language(config.data),
            direction=direction,
            formality=config.augmentation.formality > 0,
            placeholders=config.augmentation.placeholders > 0,
            tokenize=config.training.bleu_tokenize,
            metrics=config.training.metrics,
        )
        for direction, some in pairs.items()
    }


def stream_of(config: RunConfig, prepared: Prepared, *, processes: int) -> BatchStream:
    """The batches of a run."""
    return BatchStream(
        views_of(config.data, prepared.stores, prepared.tokenizers, prepared.alignments, prepared.similar),
        prepared.tokenizers,
        tokens=config.batching.tokens,
        seed=config.training.seed,
        drawing=Drawing(
            config.tokens.sampling,
            config.augmentation.rates if config.augmentation.active else {},
            config.batching.max_length,
            [read_names(file) for file in config.augmentation.name_lists],
        ),
        chunk_pairs=config.batching.chunk_pairs,
        processes=processes,
    )


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


def views_of(
    data: DataConfig,
    stores: Sequence[TokenStore],
    tokenizers: Tokenizers,
    alignments: Sequence[AlignmentStore | None] = (),
    similar: Sequence[np.ndarray | None] = (),
) -> list[View]:
    """Each corpus of a run in each of its directions, with its weight and the tags before every source."""
    found = []
    constraints = []
    several = zip(data.train, stores, alignments or [None] * len(stores), similar or [None] * len(stores), strict=True)
    for corpus, store, words, rows in several:
        ways = [(direction_of(corpus), store, words)]
        if data.both_directions and not corpus.tag:
            ways.append((direction_of(corpus).reversed, store.reversed(), words.reversed() if words else None))
        for direction, side, aligned in ways:
            prefix = tuple(map(tokenizers.source.reserved_id, source_tags(data, corpus, direction)))
            near = rows if direction == direction_of(corpus) else None
            found.append(View(side, corpus.weight, prefix, Languages(*direction), aligned, near))
            constraints.append("" if direction != direction_of(corpus) else corpus.side_constraint)
    shares = balance([len(view.store) for view in found], data.temperature)
    views = []
    for view, share, constraint in zip(found, shares, constraints, strict=True):
        tags = [()] if not constraint else [(), (tokenizers.source.reserved_id(side_constraint_tag(constraint)),)]
        views += [view._replace(weight=view.weight * share / len(tags), prefix=(*view.prefix, *tag)) for tag in tags]
    return views


def source_tags(data: DataConfig, corpus: Corpus, direction: Direction) -> list[str]:
    """The tokens before every source: for the target language if there are several directions, and for back-translated
    text."""
    language = [language_tag(direction.target)] if has_tags(data) else []
    return language + [BACK_TRANSLATED] * (corpus.tag == "bt")


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
    found: dict[Direction, list[Pair]] = {}
    directions, several = directions_of(data), has_tags(data)
    for corpus, pairs in zip(data.valid, corpora, strict=True):
        direction = direction_of(corpus) if several else direction_of(data.valid[0])
        found.setdefault(direction, []).extend(pairs)
        if data.both_directions and direction.reversed in directions:
            turned = (Pair(pair.target, pair.source, pair.file, pair.line) for pair in pairs)
            found.setdefault(direction.reversed, []).extend(turned)
    return {direction: pairs for direction, pairs in found.items() if pairs}


def mean_of(found: Mapping[Direction, Validation]) -> Validation:
    """The mean of each figure over the directions, and the figures of each; a single validation is unchanged."""
    if len(found) == 1:
        return next(iter(found.values()))
    count = len(found)
    names = list(dict.fromkeys(name for seen in found.values() for name in seen.figures))
    return Validation(
        sum(seen.loss for seen in found.values()) / count,
        {name: sum(seen.figures[name] for seen in found.values()) / count for name in names},
        next(iter(found.values())).example,
        {str(direction): {"loss": seen.loss, **seen.figures} for direction, seen in found.items()},
    )

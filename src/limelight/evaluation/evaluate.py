"""Translate and score a test set: quality, speed and provenance in one record; and the means of several directions."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from limelight.config import Direction, find_direction
from limelight.errors import UserError, counted
from limelight.evaluation.metrics import (
    METRICS,
    Metric,
    bleu_metric,
    choose_tokenization,
    corpus_bleu,
    corpus_chrf,
    further_metric,
)
from limelight.evaluation.score import perplexity, score_pairs
from limelight.evaluation.summary import (
    Figures,
    LengthBucket,
    plain,
    provenance_lines,
    provenance_of,
    score_by_length,
)
from limelight.pipelines.options import TextOptions
from limelight.pipelines.translator import Translator
from limelight.text.pair import Pair

TITLES = {"bleu": "BLEU", "chrf": "chrF2"}


@dataclass(frozen=True)
class Evaluation(Figures):
    """Result of `evaluate`. Scores are from 0 to 100, higher is better; perplexity is at least 1, lower is better."""

    NAMES = ("perplexity", "sentences", "unfinished", "tokens", "seconds", "tokens_per_second",
             "by_length", "provenance")  # fmt: skip

    bleu: Metric
    chrf: Metric
    further: Mapping[str, Metric]
    """Metrics that were asked for, by name."""
    perplexity: float
    """Perplexity of the references under teacher forcing, per target token; comparable only with the same
    vocabulary."""
    sentences: int
    unfinished: int
    """Translations cut off at the length limit; many of them are a sign of loops."""
    tokens: int
    """Target tokens of the translations, end tokens not counted."""
    seconds: float
    """Wall-clock time of translation, from text to text."""
    by_length: tuple[LengthBucket, ...]
    translations: tuple[str, ...]
    """In the order of the pairs; not included in the JSON."""
    provenance: Mapping[str, Any]
    """Model, test files, number of pairs, search settings, BLEU's tokenization, seed, versions."""

    @property
    def metrics(self) -> dict[str, Metric]:
        """All metrics by name."""
        return {"bleu": self.bleu, "chrf": self.chrf, **self.further}

    @property
    def mean(self) -> dict[str, float]:
        """The figures of which `DirectionsEvaluation` has means."""
        return {name: metric.score for name, metric in self.metrics.items()} | {"perplexity": self.perplexity}

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second of translation."""
        return self.tokens / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values: each score with its signature, one entry per length bucket, and the provenance."""
        values: dict[str, Any] = {}
        for name, metric in self.metrics.items():
            values |= {name: plain(round(metric.score, 4)), f"{name}_signature": metric.signature}
        return values | super().to_dict()

    def table(self) -> str:
        """The result as lines of plain text."""
        lines = [f"{'':14}{'score':>8}  signature"]
        for name, metric in self.metrics.items():
            lines.append(f"{TITLES.get(name, name):15}{metric.score:7.2f}  {metric.signature}")
        lines += [
            f"{'perplexity':15}{self.perplexity:7.2f}  per target token of the references",
            "",
            f"{'source words':15}{'sentences':>9}{'BLEU':>9}{'chrF2':>9}",
        ]
        for bucket in self.by_length:
            scores = ["-" if score is None else f"{score:.2f}" for score in (bucket.bleu, bucket.chrf)]
            lines.append(f"{bucket.words:15}{bucket.sentences:9}{scores[0]:>9}{scores[1]:>9}")
        speed = f"{counted(self.tokens, 'token')} in {self.seconds:.1f} s: {self.tokens_per_second:,.0f} tokens/s"
        lines += ["", f"{counted(self.sentences, 'sentence')}, {self.unfinished:,} without an end; {speed}"]
        return "\n".join([*lines, *provenance_lines(self.provenance)])


def evaluate(
    translator: Translator,
    pairs: Iterable[Pair],
    *,
    tokenize: str | None = None,
    metrics: Sequence[str] = (),
    direction: Direction | None = None,
    origin: Mapping[str, Any] | None = None,
    **options: Unpack[TextOptions],
) -> Evaluation:
    """Translate the sources of `pairs` with `translate`, and score the result.

    `tokenize` is BLEU's, see `corpus_bleu`; by default `choose_tokenization` chooses it. `metrics` are names in
    `METRICS`. `origin` adds to the provenance what only the caller knows: the model's folder, the seed. `direction`
    is one of the directions of a model that has several. `options` are the options of `translate`, with its defaults.

    Raises `UserError` if there is nothing to evaluate.
    """
    pairs = list(pairs)
    if not pairs:
        raise UserError("there is nothing to evaluate: the test set has no pairs")
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tokenize = tokenize or choose_tokenization(references)
    bleu_metric(tokenize)  # raises before any work
    for name in metrics:
        METRICS.find(name)  # also this
    source_lang, target_lang = direction or (options.get("source_lang") or "", options.get("target_lang") or "")
    search_options: TextOptions = {"source_lang": source_lang, "target_lang": target_lang, **options}
    settings = translator.options(**search_options)
    # First: a reference that is too long for the model is refused before the translation.
    scores = score_pairs(translator, pairs, source_lang=source_lang, target_lang=target_lang)
    start = time.perf_counter()
    translations = translator.translate(sources, **search_options)
    seconds = time.perf_counter() - start
    texts = tuple(translation.text for translation in translations)
    return Evaluation(
        bleu=corpus_bleu(texts, references, tokenize=tokenize),
        chrf=corpus_chrf(texts, references),
        further={name: further_metric(name, texts, references) for name in metrics},
        perplexity=perplexity(scores),
        sentences=len(pairs),
        unfinished=sum(not translation.finished for translation in translations),
        tokens=sum(len(translation.tokens) for translation in translations),
        seconds=seconds,
        by_length=score_by_length(sources, texts, references, tokenize=tokenize),
        translations=texts,
        provenance=provenance_of(
            pairs,
            origin,
            **settings.search.to_dict(),
            guards=settings.checks(find_direction(translator.directions, source_lang, target_lang)),
            tokenize=tokenize,
        ),
    )


def evaluate_directions(
    translator: Translator, pairs: Mapping[Direction | None, Sequence[Pair]], **how: Any
) -> "Evaluation | DirectionsEvaluation":
    """`evaluate` the pairs of each direction; None is the only one of a model."""
    evaluations = {
        direction: evaluate(translator, of_direction, direction=direction, **how)
        for direction, of_direction in pairs.items()
    }
    if len(evaluations) == 1:
        return next(iter(evaluations.values()))
    return DirectionsEvaluation({str(direction): evaluation for direction, evaluation in evaluations.items()})


@dataclass(frozen=True)
class DirectionsEvaluation(Figures):
    """One `Evaluation` for each direction, in the order of measurement."""

    directions: Mapping[str, Evaluation]
    """By direction, such as `en-de`."""

    @property
    def mean(self) -> dict[str, float]:
        """The unweighted means over the directions. A mean of BLEU scores with different tokenizations can compare
        models, but is not a score to report."""
        rows = [evaluation.mean for evaluation in self.directions.values()]
        return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}

    @property
    def translations(self) -> tuple[str, ...]:
        """The translations of all directions, one direction after another."""
        return tuple(text for evaluation in self.directions.values() for text in evaluation.translations)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: `mean`, and `directions` with the values of each evaluation."""
        return {
            "mean": {name: plain(round(value, 4)) for name, value in self.mean.items()},
            "directions": {name: evaluation.to_dict() for name, evaluation in self.directions.items()},
        }

    def table(self) -> str:
        """A table with a line for each direction and one for the mean, and the signatures."""
        lines = [f"{'direction':11}{'sentences':>10}" + "".join(f" {TITLES.get(each, each):>11}" for each in self.mean)]
        rows = [(name, f"{each.sentences:,}", each.mean) for name, each in self.directions.items()]
        for name, sentences, figures in [*rows, ("mean", "", self.mean)]:
            lines.append(f"{name:11}{sentences:>10}" + "".join(f"{figure:12.2f}" for figure in figures.values()))
        signatures = [
            metric.signature for evaluation in self.directions.values() for metric in evaluation.metrics.values()
        ]
        return "\n".join([*lines, "", *dict.fromkeys(signatures)])

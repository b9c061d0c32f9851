"""Translate and score a test set: quality, speed and provenance in one record; and the means of several directions."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

from limelight.config import Direction
from limelight.errors import UserError, counted
from limelight.evaluation.metrics import (
    Metric,
    References,
    choose_tokenization,
    corpus_bleu,
    corpus_chrf,
    further_metric,
    require_metric,
    require_scorable,
)
from limelight.evaluation.score import perplexity, score_pairs
from limelight.evaluation.summary import (
    Figures,
    LengthBucket,
    files_of,
    provenance_lines,
    score_by_length,
    summarize_translation,
    versions,
)
from limelight.pipelines.options import TextOptions
from limelight.pipelines.translator import Translator
from limelight.text.pair import Pair
from limelight.text.words import is_mostly_unspaced


@dataclass(frozen=True, slots=True)
class Evaluation(Figures):
    """Result of `evaluate`. Scores are from 0 to 100, higher is better; perplexity is at least 1, lower is better."""

    bleu: Metric
    bleu_lowercase: Metric
    chrf: Metric
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
    tokenize: str
    """BLEU's tokenization: one of `TOKENIZATIONS`."""
    length_unit: str
    """Unit of source lengths: `words`, or `letters` if most sources are in scripts without spaces."""
    translations: tuple[str, ...]
    """In the order of the pairs; not included in the JSON."""
    further: Mapping[str, Metric]
    """Metrics that were asked for, by name."""
    provenance: Mapping[str, Any]
    """Model, test files, number of pairs, search settings, tokenization and its reason, seed, versions."""

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second of translation."""
        return self.tokens / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values: each score with its signature, one entry per length bucket, and the provenance."""
        values: dict[str, Any] = {}
        for name in ("bleu", "bleu_lowercase", "chrf"):
            metric: Metric = getattr(self, name)
            values |= {name: round(metric.score, 4), f"{name}_signature": metric.signature}
        for name, each in self.further.items():
            values |= {name: round(each.score, 4), f"{name}_signature": each.signature}
        return values | {
            "perplexity": round(self.perplexity, 6),
            "sentences": self.sentences,
            "unfinished": self.unfinished,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(self.tokens_per_second, 1),
            "length_unit": self.length_unit,
            "by_length": [{"words": bucket.label, **asdict(bucket)} for bucket in self.by_length],
            "provenance": dict(self.provenance),
        }

    def table(self) -> str:
        """The result as lines of plain text."""
        lines = [f"{'':14}{'score':>8}  signature"]
        named = {"BLEU": self.bleu, "BLEU lower-case": self.bleu_lowercase, "chrF2": self.chrf, **self.further}
        for name, metric in named.items():
            lines.append(f"{name:15}{metric.score:7.2f}  {metric.signature}")
        lines += [
            f"{'perplexity':15}{self.perplexity:7.2f}  per target token of the references",
            "",
            f"{f'source {self.length_unit}':15}{'sentences':>9}{'BLEU':>9}{'chrF2':>9}",
        ]
        for bucket in self.by_length:
            scores = ["-" if score is None else f"{score:.2f}" for score in (bucket.bleu, bucket.chrf)]
            lines.append(f"{bucket.label:15}{bucket.sentences:9}{scores[0]:>9}{scores[1]:>9}")
        speed = f"{counted(self.tokens, 'token')} in {self.seconds:.1f} s: {self.tokens_per_second:,.0f} tokens/s"
        lines += ["", f"{counted(self.sentences, 'sentence')}, {self.unfinished:,} without an end; {speed}"]
        explained = summarize_translation(
            self.bleu.score, tokenize=self.tokenize, sentences=self.sentences, unfinished=self.unfinished
        )
        return "\n".join([*lines, *provenance_lines(self.provenance), "", explained])


def evaluate(
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    references: References | None = None,
    tokenize: str | None = None,
    metrics: Sequence[str] = (),
    target: str = "",
    direction: Direction | None = None,
    origin: Mapping[str, Any] | None = None,
    **options: Unpack[TextOptions],
) -> Evaluation:
    """Translate the sources of `pairs` with `translate`, and score the result.

    `references` gives one or more references per pair instead of its target. `tokenize` is BLEU's, see `corpus_bleu`;
    by default `choose_tokenization` chooses it from the target language `target` and the script of the references.
    `metrics` are names of `further_metric`. `origin` adds to the provenance what only the caller knows: the model's
    folder, the seed. `direction` is one of those of a model that has several. `options` are those of `translate`, with
    its defaults.

    Raises `UserError` if there is nothing to evaluate or the counts differ.
    """
    if not pairs:
        raise UserError("there is nothing to evaluate: the test set has no pairs")
    sources = [pair.source for pair in pairs]
    if references is None:
        references = [pair.target for pair in pairs]
    first = [each if isinstance(each, str) else next(iter(each), "") for each in references]
    chosen = choose_tokenization(target, first, wanted=tokenize)
    require_scorable(len(sources), references, chosen.name)
    for name in metrics:
        require_metric(name)
    languages = direction or ("", "")
    asked: TextOptions = {"source_lang": languages[0], "target_lang": languages[1], **options}
    settings = translator.options(**asked)
    start = time.perf_counter()
    translations = translator.translate(sources, **asked)
    seconds = time.perf_counter() - start

    texts = tuple(translation.text for translation in translations)
    scores = score_pairs(translator, pairs, source_lang=languages[0], target_lang=languages[1])
    return Evaluation(
        bleu=corpus_bleu(texts, references, tokenize=chosen.name),
        bleu_lowercase=corpus_bleu(texts, references, tokenize=chosen.name, lowercase=True),
        chrf=corpus_chrf(texts, references),
        perplexity=perplexity(scores),
        sentences=len(pairs),
        unfinished=sum(not translation.finished for translation in translations),
        tokens=sum(len(translation.tokens) for translation in translations),
        seconds=seconds,
        tokenize=chosen.name,
        length_unit="letters" if is_mostly_unspaced(sources) else "words",
        by_length=score_by_length(sources, texts, references, tokenize=chosen.name),
        translations=texts,
        further={name: further_metric(name, texts, references) for name in metrics},
        provenance={
            **(origin or {}),
            **files_of(pairs),
            **settings.search.to_dict(),
            "guards": settings.checks(direction),
            "tokenize": str(chosen),
            "versions": versions(),
        },
    )


def evaluate_directions(
    translator: Translator, pairs: Mapping[Direction | None, Sequence[Pair]], *, target: str = "", **how: Any
) -> "Evaluation | DirectionsEvaluation":
    """`evaluate` the pairs of each direction; None is the only one of a model, whose target language is `target`."""
    found = {
        direction: evaluate(
            translator, some, target=direction.target if direction else target, direction=direction, **how
        )
        for direction, some in pairs.items()
    }
    if len(found) == 1:
        return next(iter(found.values()))
    return DirectionsEvaluation({str(direction): each for direction, each in found.items()})


MEANS = ("bleu", "bleu_lowercase", "chrf", "perplexity")
"""Figures that are averaged over the directions."""


@dataclass(frozen=True, slots=True)
class DirectionsEvaluation(Figures):
    """One `Evaluation` for each direction, in the order of measurement."""

    directions: Mapping[str, Evaluation]
    """By direction, such as `en-de`."""

    @property
    def mean(self) -> dict[str, float]:
        """The unweighted mean of each of `MEANS` over the directions. A mean of BLEU scores with different
        tokenizations can compare models, but is not a score to report."""
        rows = [each.to_dict() for each in self.directions.values()]
        return {name: round(sum(row[name] for row in rows) / len(rows), 4) for name in MEANS}

    @property
    def translations(self) -> tuple[str, ...]:
        """The translations of all directions, one direction after another."""
        return tuple(text for each in self.directions.values() for text in each.translations)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: `mean`, and `directions` with the values of each evaluation."""
        return {"mean": self.mean, "directions": {name: each.to_dict() for name, each in self.directions.items()}}

    def table(self) -> str:
        """A table with a line for each direction and one for the mean, and the signatures."""
        lines = [f"{'direction':11}{'sentences':>10}{'BLEU':>8}{'chrF2':>8}{'perplexity':>12}"]
        for name, each in self.directions.items():
            figures = f"{each.bleu.score:8.2f}{each.chrf.score:8.2f}{each.perplexity:12.2f}"
            lines.append(f"{name:11}{each.sentences:>10,}{figures}")
        mean = self.mean
        lines.append(f"{'mean':11}{'':10}{mean['bleu']:8.2f}{mean['chrf']:8.2f}{mean['perplexity']:12.2f}")
        signatures = dict.fromkeys(each.bleu.signature for each in self.directions.values())
        signatures |= dict.fromkeys(each.chrf.signature for each in self.directions.values())
        return "\n".join([*lines, "", *signatures])

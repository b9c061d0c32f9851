"""Two systems on one test set: scores, the significance of their difference, and the sentences that differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics import CHRF
from sacrebleu.significance import PairedTest

from limelight.errors import UserError
from limelight.evaluation.metrics import bleu_metric, choose_tokenization, nfc, sentence_chrf
from limelight.evaluation.summary import Figures, LengthBucket, files_of, plain, score_by_length, versions
from limelight.text.pair import Pair

BOOTSTRAPS, TRIALS = 1000, 10_000
"""Samples of the bootstrap and trials of the randomization; sacreBLEU's defaults."""
MOST = 10


@dataclass(frozen=True, slots=True)
class Difference:
    """A score of both systems, and how probable such a difference is by chance."""

    metric: str
    signature: str
    scores: tuple[float, float]
    intervals: tuple[float, float]
    """Half of the 95 % confidence interval of each score, by bootstrap (Koehn 2004)."""
    p_bootstrap: float
    p_randomization: float
    """By approximate randomization (Riezler and Maxwell 2005)."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A source with both translations; `difference` is chrF2 of the second minus that of the first."""

    place: str
    source: str
    reference: str
    translations: tuple[str, str]
    difference: float


@dataclass(frozen=True)
class Comparison(Figures):
    """Result of `compare`."""

    NAMES = ("names", "differences", "sentences", "provenance")

    names: tuple[str, str]
    differences: tuple[Difference, ...]
    by_length: tuple[tuple[LengthBucket, LengthBucket], ...]
    """The buckets of both systems."""
    sentences: tuple[Sentence, ...]
    """Those that differ most."""
    provenance: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        rows = [
            {"words": one.words, "sentences": one.sentences, "bleu": plain([one.bleu, other.bleu])}
            for one, other in self.by_length
        ]
        return {**super().to_dict(), "by_length": rows}

    def table(self) -> str:
        """The result as lines of plain text."""
        lines = [f"A: {self.names[0]}", f"B: {self.names[1]}", ""]
        lines.append(f"{'':8}{'A':>16}{'B':>16}{'B - A':>9}{'p bootstrap':>13}{'p randomization':>17}")
        for each in self.differences:
            scores = [f"{score:.2f} ± {half:.2f}" for score, half in zip(each.scores, each.intervals, strict=True)]
            more = each.scores[1] - each.scores[0]
            figures = f"{more:+9.2f}{each.p_bootstrap:13.4f}{each.p_randomization:17.4f}"
            lines.append(f"{each.metric:8}{scores[0]:>16}{scores[1]:>16}{figures}")
        lines += ["", f"{'words':8}{'sentences':>10}{'BLEU A':>9}{'BLEU B':>9}"]
        for buckets in self.by_length:
            bleu = ["-" if bucket.bleu is None else f"{bucket.bleu:.2f}" for bucket in buckets]
            lines.append(f"{buckets[0].words:8}{buckets[0].sentences:10}{bleu[0]:>9}{bleu[1]:>9}")
        for row in self.sentences:
            lines += ["", f"{row.place}: chrF2 {row.difference:+.1f}: {row.source}", f"  reference {row.reference}"]
            lines += [f"  {name}         {text}" for name, text in zip("AB", row.translations, strict=True)]
        return "\n".join([*lines, "", *(each.signature for each in self.differences)])


def compare(
    pairs: Sequence[Pair],
    names: tuple[str, str],
    translations: tuple[Sequence[str], Sequence[str]],
    *,
    tokenize: str | None = None,
) -> Comparison:
    """Compare two translations of the sources of `pairs` against their targets, by sacreBLEU's own paired tests.

    A p-value says how often a difference of this size or more would be seen by chance if the systems were equally good.
    `tokenize` is BLEU's, by default that of `choose_tokenization`. Raises `UserError` if there are no pairs, or another
    number of translations.
    """
    if not pairs:
        raise UserError("there is nothing to compare: the test set has no pairs")
    for name, texts in zip(names, translations, strict=True):
        if len(texts) != len(pairs):
            raise UserError(f"{name}: {len(texts):,} translations of {len(pairs):,} pairs: give one line for each pair")
    sources, references = [pair.source for pair in pairs], nfc([pair.target for pair in pairs])
    tokenize = tokenize or choose_tokenization(references)
    first, second = (nfc(texts) for texts in translations)
    sentences = [
        Sentence(
            pair.place, pair.source, pair.target, both, sentence_chrf(both[1], gold) - sentence_chrf(both[0], gold)
        )
        for pair, both, gold in zip(pairs, zip(first, second, strict=True), references, strict=True)
        if both[0] != both[1]
    ]
    by_length = (score_by_length(sources, texts, references, tokenize=tokenize) for texts in (first, second))
    provenance = {"bootstraps": BOOTSTRAPS, "trials": TRIALS, "tokenize": tokenize, "versions": versions()}
    return Comparison(
        names,
        tuple(_differences((first, second), references, tokenize)),
        tuple(zip(*by_length, strict=True)),
        tuple(sorted(sentences, key=lambda each: -abs(each.difference))[:MOST]),
        {**files_of(pairs), **provenance},
    )


def _differences(systems: tuple[list[str], list[str]], references: list[str], tokenize: str) -> list[Difference]:
    metrics = {"BLEU": bleu_metric(tokenize), "chrF2": CHRF()}
    named: list[tuple[str, Sequence[str]]] = [("A", systems[0]), ("B", systems[1])]
    tests = {"bs": BOOTSTRAPS, "ar": TRIALS}
    results: dict[str, Any] = {}
    for kind, samples in tests.items():
        signatures, results[kind] = PairedTest(named, metrics, [references], test_type=kind, n_samples=samples)()
    found = []
    for name in metrics:
        (first, second), (_, randomized) = results["bs"][name], results["ar"][name]
        intervals, by_chance = (float(first.ci), float(second.ci)), (float(second.p_value), float(randomized.p_value))
        signature = f"{name}: {signatures[name]}"
        found.append(Difference(name, signature, (first.score, second.score), intervals, *by_chance))
    return found

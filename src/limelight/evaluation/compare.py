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
SCORES = ("", "A", "B", "B - A", "p bootstrap", "p randomization")
LENGTHS = ("words", "sentences", "BLEU A", "BLEU B")
"""Names of the columns of both tables."""


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

    def score_rows(self) -> list[tuple[str, ...]]:
        """Metric, both scores with their intervals, difference, and both p-values."""
        return [
            (
                each.metric,
                *(f"{score:.2f} ± {half:.2f}" for score, half in zip(each.scores, each.intervals, strict=True)),
                f"{each.scores[1] - each.scores[0]:+.2f}",
                f"{each.p_bootstrap:.4f}",
                f"{each.p_randomization:.4f}",
            )
            for each in self.differences
        ]

    def length_rows(self) -> list[tuple[str, ...]]:
        """Words, number of sentences, and BLEU of both systems."""
        return [
            (
                one.words,
                str(one.sentences),
                *("-" if each.bleu is None else f"{each.bleu:.2f}" for each in (one, other)),
            )
            for one, other in self.by_length
        ]

    def table(self) -> str:
        """The result as lines of plain text."""
        lines = [f"A: {self.names[0]}", f"B: {self.names[1]}", ""]
        for row in (SCORES, *self.score_rows()):
            lines.append("{:8}{:>16}{:>16}{:>9}{:>13}{:>17}".format(*row))
        lines.append("")
        for row in (LENGTHS, *self.length_rows()):
            lines.append("{:8}{:>10}{:>9}{:>9}".format(*row))
        for one in self.sentences:
            lines += ["", f"{one.place}: chrF2 {one.difference:+.1f}: {one.source}", f"  reference {one.reference}"]
            lines += [f"  {name}         {text}" for name, text in zip("AB", one.translations, strict=True)]
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

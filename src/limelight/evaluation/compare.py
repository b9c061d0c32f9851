"""Two systems on one test set: scores, the significance of their difference, and the sentences that differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics import CHRF
from sacrebleu.significance import PairedTest

from limelight.errors import UserError
from limelight.evaluation.metrics import bleu_metric, nfc, sentence_scorer
from limelight.evaluation.summary import Figures, LengthBucket, files_of, score_by_length, versions
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


@dataclass(frozen=True, slots=True)
class Comparison(Figures):
    """Result of `compare`."""

    names: tuple[str, str]
    differences: tuple[Difference, ...]
    by_length: tuple[tuple[LengthBucket, ...], tuple[LengthBucket, ...]]
    sentences: tuple[Sentence, ...]
    """Those that differ most."""
    provenance: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        values = asdict(self)
        values["by_length"] = [
            {"words": one.label, "sentences": one.sentences, "bleu": [one.bleu, other.bleu]}
            for one, other in zip(*self.by_length, strict=True)
        ]
        return values

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
        for one, other in zip(*self.by_length, strict=True):
            bleu = ["-" if bucket.bleu is None else f"{bucket.bleu:.2f}" for bucket in (one, other)]
            lines.append(f"{one.label:8}{one.sentences:10}{bleu[0]:>9}{bleu[1]:>9}")
        for row in self.sentences:
            lines += ["", f"{row.place}: chrF2 {row.difference:+.1f}: {row.source}", f"  reference {row.reference}"]
            lines += [f"  {name}         {text}" for name, text in zip("AB", row.translations, strict=True)]
        return "\n".join([*lines, "", *(each.signature for each in self.differences)])


def compare(
    pairs: Sequence[Pair],
    names: tuple[str, str],
    translations: tuple[Sequence[str], Sequence[str]],
    *,
    tokenize: str = "13a",
    most: int = MOST,
) -> Comparison:
    """Compare two translations of the sources of `pairs` against their targets, by sacreBLEU's own paired tests.

    A p-value says how often a difference of this size or more would be seen by chance if the systems were equally good.
    Raises `UserError` if there are no pairs, or another number of translations.
    """
    if not pairs:
        raise UserError("there is nothing to compare: the test set has no pairs")
    for name, texts in zip(names, translations, strict=True):
        if len(texts) != len(pairs):
            raise UserError(f"{name}: {len(texts):,} translations of {len(pairs):,} pairs: give one line for each pair")
    references = [pair.target for pair in pairs]
    first, second = (nfc(texts) for texts in translations)
    score = sentence_scorer("chrf")
    rows = [(score(two, gold) - score(one, gold)) for one, two, gold in zip(first, second, references, strict=True)]
    order = sorted(range(len(pairs)), key=lambda row: -abs(rows[row]))
    return Comparison(
        names,
        tuple(_differences((first, second), nfc(references), tokenize)),
        (_by_length(pairs, first, tokenize), _by_length(pairs, second, tokenize)),
        tuple(
            Sentence(pairs[row].place, pairs[row].source, pairs[row].target, (first[row], second[row]), rows[row])
            for row in order[:most]
            if rows[row]
        ),
        {**files_of(pairs), "bootstraps": BOOTSTRAPS, "trials": TRIALS, "tokenize": tokenize, "versions": versions()},
    )


def _differences(systems: tuple[list[str], list[str]], references: list[str], tokenize: str) -> list[Difference]:
    results: dict[str, Any] = {}
    signatures: dict[str, Any] = {}
    for kind, samples in (("bs", BOOTSTRAPS), ("ar", TRIALS)):
        metrics = {"BLEU": bleu_metric(lowercase=False, tokenize=tokenize), "chrF2": CHRF()}
        named: list[tuple[str, Sequence[str]]] = [("A", systems[0]), ("B", systems[1])]
        signatures, results[kind] = PairedTest(named, metrics, [references], test_type=kind, n_samples=samples)()
    found = []
    for name, signature in signatures.items():
        first, second = results["bs"][name]
        by_chance = float(second.p_value), float(results["ar"][name][1].p_value)
        scores, intervals = (first.score, second.score), (float(first.ci), float(second.ci))
        found.append(Difference(name, f"{name}: {signature}", scores, intervals, *by_chance))
    return found


def _by_length(pairs: Sequence[Pair], texts: Sequence[str], tokenize: str) -> tuple[LengthBucket, ...]:
    return score_by_length([pair.source for pair in pairs], texts, [pair.target for pair in pairs], tokenize=tokenize)

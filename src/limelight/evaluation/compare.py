"""Two systems on one test set: scores, the significance of their difference, and the sentences that differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics import CHRF
from sacrebleu.significance import PairedTest

from limelight.errors import UserError
from limelight.evaluation.metrics import bleu_metric, choose_tokenization, nfc, sentence_chrf
from limelight.evaluation.summary import Figures, provenance_of
from limelight.text.pair import Pair

BOOTSTRAPS = 1000
"""Samples of the bootstrap; sacreBLEU's default."""
MAX_SENTENCES = 10
"""Maximum number of sentences that are shown."""
SCORES = ("", "A", "B", "B - A", "p")
"""Names of the columns of the table."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A score of both systems, and how probable such a difference is by chance."""

    metric: str
    signature: str
    scores: tuple[float, float]
    intervals: tuple[float, float]
    """Half of the 95 % confidence interval of each score, by bootstrap (Koehn 2004)."""
    p: float


@dataclass(frozen=True, slots=True)
class Sentence:
    """A source with both translations; `difference` is chrF2 of the second minus chrF2 of the first."""

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
    sentences: tuple[Sentence, ...]
    """The sentences that differ most."""
    provenance: Mapping[str, Any]

    def score_rows(self) -> list[tuple[str, ...]]:
        """Metric, both scores with their intervals, difference, and p-value."""
        return [
            (
                difference.metric,
                *(
                    f"{score:.2f} ± {half:.2f}"
                    for score, half in zip(difference.scores, difference.intervals, strict=True)
                ),
                f"{difference.scores[1] - difference.scores[0]:+.2f}",
                f"{difference.p:.4f}",
            )
            for difference in self.differences
        ]

    def table(self) -> str:
        """The result as lines of plain text."""
        lines = [f"A: {self.names[0]}", f"B: {self.names[1]}", ""]
        for row in (SCORES, *self.score_rows()):
            lines.append("{:8}{:>16}{:>16}{:>9}{:>9}".format(*row))
        for sentence in self.sentences:
            lines += [
                "",
                f"{sentence.place}: chrF2 {sentence.difference:+.1f}: {sentence.source}",
                f"  reference {sentence.reference}",
            ]
            lines += [f"  {name}         {text}" for name, text in zip("AB", sentence.translations, strict=True)]
        return "\n".join([*lines, "", *(difference.signature for difference in self.differences)])


def compare(
    pairs: Sequence[Pair],
    names: tuple[str, str],
    translations: tuple[Sequence[str], Sequence[str]],
    *,
    tokenize: str | None = None,
) -> Comparison:
    """Compare two translations of the sources of `pairs` against their targets, by sacreBLEU's paired bootstrap.

    A p-value is one-sided: it says how often a difference of this size or more, in this direction, would be seen by
    chance if the systems were equally good.
    `tokenize` is BLEU's, by default chosen by `choose_tokenization`. Raises `UserError` if there are no pairs, or
    another number of translations.
    """
    if not pairs:
        raise UserError("there is nothing to compare: the test set has no pairs")
    for name, texts in zip(names, translations, strict=True):
        if len(texts) != len(pairs):
            raise UserError(f"{name}: {len(texts):,} translations of {len(pairs):,} pairs: give one line for each pair")
    references = nfc([pair.target for pair in pairs])
    tokenize = tokenize or choose_tokenization(references)
    first, second = (nfc(texts) for texts in translations)
    sentences = [
        Sentence(
            pair.place, pair.source, pair.target, both, sentence_chrf(both[1], gold) - sentence_chrf(both[0], gold)
        )
        for pair, both, gold in zip(pairs, zip(first, second, strict=True), references, strict=True)
        if both[0] != both[1]
    ]
    metrics = {"BLEU": bleu_metric(tokenize), "chrF2": CHRF()}
    test: Any = PairedTest([("A", first), ("B", second)], metrics, [references], test_type="bs", n_samples=BOOTSTRAPS)
    signatures, results = test()
    differences = [
        Difference(
            name, f"{name}: {signatures[name]}", (one.score, other.score), (float(one.ci), float(other.ci)),
            # For equal systems, or one pair, sacreBLEU has its lowest p.
            float(other.p_value) if one.score != other.score and len(pairs) > 1 else 1.0,
        )
        for name in metrics
        for one, other in [results[name]]
    ]  # fmt: skip
    return Comparison(
        names,
        tuple(differences),
        tuple(sorted(sentences, key=lambda each: -abs(each.difference))[:MAX_SENTENCES]),
        provenance_of(pairs, bootstraps=BOOTSTRAPS, tokenize=tokenize),
    )

"""Corpus scores of translations against references: BLEU and chrF, each with its signature.

The scores are computed by sacreBLEU (Post 2018): two scores are comparable only if their signatures are equal. Text is
given untokenized; the metric tokenizes it.

Both sides are normalized to Unicode NFC first. Tokenizers write NFC, and a file may use another form: without
normalization, a translation equal to its reference may score near 0 in Vietnamese or Bengali.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from sacrebleu.metrics import BLEU, CHRF, TER

from limelight.errors import UserError
from limelight.registry import Registry
from limelight.text.languages import script_of
from limelight.text.words import is_unspaced

SAMPLE = 2000
"""Number of references that are read to determine their script."""
KANA_SHARE = 0.05
"""Minimum share of kana in Japanese, which is about half kana; Chinese text contains at most some Japanese names."""

TOKENIZATIONS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none")
"""sacreBLEU's tokenizations that download nothing."""


def choose_tokenization(references: Sequence[str]) -> str:
    """BLEU's tokenization for the script of most letters of the references: `13a` for scripts with spaces.

    Morphemes need a package; without it Japanese is scored by characters, and Korean, which has spaces, by `13a`.
    """
    letters = [character for text in references[:SAMPLE] for character in text if character.isalpha()]
    scripts, unspaced = Counter(map(script_of, letters)), sum(map(is_unspaced, letters))
    if 2 * scripts["hangul"] > len(letters):
        return "ko-mecab" if is_available("ko-mecab") else "13a"
    if 2 * unspaced <= len(letters):
        return "13a"
    if scripts["kana"] > KANA_SHARE * unspaced:
        return "ja-mecab" if is_available("ja-mecab") else "char"
    return "zh" if 2 * scripts["han"] > unspaced else "char"


class Metric(NamedTuple):
    """A score with the signature that is needed to reproduce it."""

    score: float
    """From 0 to 100; higher is better, but for TER."""
    signature: str
    """The signature: number of references, case, tokenization, smoothing, version."""


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a") -> Metric:
    """BLEU (Papineni et al. 2002) over the whole corpus as in sacreBLEU: up to 4-grams, exponential smoothing.

    `references[i]` is the reference of `hypotheses[i]`. `tokenize` is one of `TOKENIZATIONS`; `13a` is for languages
    written with spaces.

    Raises `UserError` if there is nothing to score, if the counts differ, and for an unknown tokenization.
    """
    return _corpus_score(bleu_metric(tokenize), hypotheses, references)


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    """chrF2 (Popović 2015) over the whole corpus: F-score of character n-grams up to 6, with recall weighted twice.

    It needs no word boundaries, so it is also suitable for scripts without spaces.

    Raises `UserError` if there is nothing to score or the counts differ.
    """
    return _corpus_score(CHRF(), hypotheses, references)


def _corpus_score(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> Metric:
    if not hypotheses:
        raise UserError("there is nothing to score: the list of translations is empty")
    if len(hypotheses) != len(references):
        raise UserError(f"{len(hypotheses)} translations cannot be scored against {len(references)} references")
    score = metric.corpus_score(nfc(hypotheses), [nfc(references)]).score
    return Metric(score, str(metric.get_signature()))


def sentence_chrf(translation: str, reference: str) -> float:
    """chrF2 of one sentence, from 0 to 100."""
    return CHRF().sentence_score(nfc([translation])[0], nfc([reference])).score


def is_available(tokenize: str) -> bool:
    """Whether this tokenization is usable here: some need a package or a model."""
    try:
        bleu_metric(tokenize)
    except UserError:
        return False
    return True


def bleu_metric(tokenize: str) -> BLEU:
    """sacreBLEU's BLEU. Raises `UserError` for a tokenization that cannot be used."""
    if tokenize not in TOKENIZATIONS:
        raise UserError(f"tokenize={tokenize!r} is not a tokenization for BLEU; choose from {', '.join(TOKENIZATIONS)}")
    try:
        # force: only silences the warning that hypotheses look tokenized, which would be printed at every validation.
        return BLEU(tokenize=tokenize, force=True)
    except (RuntimeError, AssertionError) as error:  # not installed, or an incompatible dictionary
        raise UserError(f"tokenize={tokenize!r} needs more than is installed: {' '.join(str(error).split())}") from None


def nfc(texts: Sequence[str]) -> list[str]:
    """The texts in Unicode NFC."""
    return [unicodedata.normalize("NFC", text) for text in texts]


METRICS: Registry[Callable[[Sequence[str], Sequence[str]], Metric | float]] = Registry(
    "metric",
    {
        "chrf++": partial(_corpus_score, CHRF(word_order=2)),  # Popović 2017
        "ter": partial(_corpus_score, TER()),  # Snover et al. 2006; lower is better
    },
)
"""Further figures of translations, for `training.metrics` and `evaluate --metric`: `(outputs, references) -> float`."""
register_metric = METRICS.register


def further_metric(name: str, outputs: Sequence[str], references: Sequence[str]) -> Metric:
    """The score by one of `METRICS`. Raises `UserError` for an unknown name."""
    score = METRICS.find(name)(outputs, references)
    return score if isinstance(score, Metric) else Metric(float(score), f"metric:{name}")

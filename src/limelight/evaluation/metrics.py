"""Corpus scores of translations against references: BLEU and chrF, each with the signature that makes it repeatable.

The numbers are sacreBLEU's (Post 2018), never a reimplementation: two scores may be compared only where their
signatures agree. Text goes in as people read it (not tokenized); the metric does its own tokenization.

Both sides are put into Unicode NFC first. Tokenizers write NFC, and a file may spell the same letters otherwise:
without that, a translation equal to its reference may score near 0 in Vietnamese or Bengali.
"""

import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.utils import SACREBLEU_DIR

from limelight.errors import UserError

References = Sequence[str] | Sequence[Sequence[str]]
"""For each hypothesis one reference, or a sequence of one or more of them."""


TOKENIZATIONS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none", "flores200")
"""sacreBLEU's tokenizations that run offline. It would fetch the model of `flores200`: that one is taken only where the
model is there already."""
_FLORES200 = Path(SACREBLEU_DIR, "models", "flores200sacrebleuspm")


class Metric(NamedTuple):
    """A score with its signature, from which it can be computed again."""

    name: str
    score: float
    """From 0 to 100; higher is better."""
    signature: str
    """How it was computed: number of references, case, tokenization, smoothing, version."""


def corpus_bleu(
    hypotheses: Sequence[str],
    references: References,
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Metric:
    """BLEU of Papineni et al. 2002 over the whole corpus as sacreBLEU has it: up to 4-grams, exponential smoothing.

    `references[i]` is the reference of `hypotheses[i]`, or all of them; the number of references may differ from
    sentence to sentence. `lowercase` compares without regard to case (signature `case:lc`). `tokenize` is one of
    `TOKENIZATIONS`; `13a` is for languages written with spaces.

    Raises `UserError` where there is nothing to score, where the counts differ, or for an unknown tokenization.
    """
    streams = _reference_streams(len(hypotheses), references)
    metric = _bleu(lowercase=lowercase, tokenize=tokenize)
    return Metric("BLEU", metric.corpus_score(_nfc(hypotheses), streams).score, str(metric.get_signature()))


def corpus_chrf(hypotheses: Sequence[str], references: References, *, lowercase: bool = False) -> Metric:
    """chrF2 of Popović 2015 over the whole corpus: F-score of character n-grams up to 6, recall weighing twice.

    References as in `corpus_bleu`. It needs no word boundaries, so it also serves scripts written without spaces.
    Raises `UserError` where there is nothing to score or where the counts differ.
    """
    streams = _reference_streams(len(hypotheses), references)
    metric = CHRF(lowercase=lowercase)
    return Metric("chrF", metric.corpus_score(_nfc(hypotheses), streams).score, str(metric.get_signature()))


def sentence_scorer(name: str, *, tokenize: str = "13a") -> Callable[[str, str], float]:
    """A function of a translation and its reference to the similarity of the two, from 0 to 100.

    `bleu` is smoothed and counts no n-grams longer than the sentence (sacreBLEU's `effective_order`); `tokenize` is
    that of `corpus_bleu`. `chrf` is chrF2. Raises `UserError` for a tokenization that cannot be used.
    """
    metric = _bleu(lowercase=False, tokenize=tokenize, sentences=True) if name == "bleu" else CHRF()

    def score(translation: str, reference: str) -> float:
        return metric.sentence_score(_nfc([translation])[0], _nfc([reference])).score

    return score


def require_scorable(sentences: int, references: References, tokenize: str = "13a") -> None:
    """Raise now the `UserError` that scoring so many translations would raise, before the work of making them."""
    _reference_streams(sentences, references)
    _bleu(lowercase=False, tokenize=tokenize)


def is_available(tokenize: str) -> bool:
    """Whether BLEU can be computed with this tokenization here: some need a package, or a model."""
    try:
        _bleu(lowercase=False, tokenize=tokenize)
    except UserError:
        return False
    return True


def _bleu(*, lowercase: bool, tokenize: str, sentences: bool = False) -> BLEU:
    if tokenize not in TOKENIZATIONS:
        raise UserError(f"tokenize={tokenize!r} is not a tokenization for BLEU; there are {', '.join(TOKENIZATIONS)}")
    if tokenize == "flores200" and not _FLORES200.exists():
        raise UserError(
            f"tokenize='flores200' needs a model that is not here, and nothing is downloaded: put it at {_FLORES200}, "
            "or take char"
        )
    try:
        # force: only silences the guess that hypotheses look tokenized, which would be printed at every validation.
        return BLEU(lowercase=lowercase, tokenize=tokenize, force=True, effective_order=sentences)
    except (RuntimeError, AssertionError) as error:  # not installed, or with another dictionary
        raise UserError(f"tokenize={tokenize!r} needs more than is installed: {' '.join(str(error).split())}") from None


def _reference_streams(sentences: int, references: References) -> Any:
    """sacreBLEU wants whole sets: all first references, then all second ones, with None where a sentence has fewer.

    (Its annotations do not know of None, its code and its documentation do; hence the loose type.)
    """
    if not sentences:
        raise UserError("there is nothing to score: the list of translations is empty")
    if len(references) != sentences:
        raise UserError(
            f"{sentences} translations cannot be scored against references for {len(references)} sentences: "
            "give each translation its reference, or a list of its references"
        )
    groups = [_nfc([each] if isinstance(each, str) else each) for each in references]
    bare = next((index for index, group in enumerate(groups) if not group), None)
    if bare is not None:
        raise UserError(f"sentence {bare + 1} of {len(groups)} has no reference: give at least one or leave it out")
    most = max(len(group) for group in groups)
    return [[group[place] if place < len(group) else None for group in groups] for place in range(most)]


def _nfc(texts: Sequence[str]) -> list[str]:
    return [unicodedata.normalize("NFC", text) for text in texts]

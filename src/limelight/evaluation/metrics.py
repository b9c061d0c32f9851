"""Corpus scores of translations against references: BLEU and chrF, each with its signature.

The scores are computed by sacreBLEU (Post 2018): two scores are comparable only if their signatures are equal. Text is
given untokenized; the metric tokenizes it.

Both sides are normalized to Unicode NFC first. Tokenizers write NFC, and a file may use another form: without
normalization, a translation equal to its reference may score near 0 in Vietnamese or Bengali.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.utils import SACREBLEU_DIR

from limelight.config import Corpus, DataConfig
from limelight.errors import UserError
from limelight.registry import Registry
from limelight.text.words import count_scripts

_NAMES = {
    "zh": "zh zho chi cmn yue wuu hak gan hsn cdo lzh chinese mandarin cantonese",
    "ja": "ja jpn japanese",
    "ko": "ko kor korean",
    "char": "th tha thai lo lao km khm khmer my mya bur burmese shn bo bod tib tibetan dz dzo dzongkha",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_MECAB = {"ja": ("ja-mecab", "char"), "ko": ("ko-mecab", "13a")}
"""Morpheme tokenizations and the fallback if their package is not installed (Korean is written with spaces)."""
SAMPLE = 2000
"""Number of references that are read to determine their script."""
KANA_SHARE = 0.05
"""Minimum share of kana in Japanese, which is about half kana; Chinese text contains at most some Japanese names."""


class Tokenization(NamedTuple):
    """One of `TOKENIZATIONS`, and the reason for the choice."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})"


def choose_tokenization(language: str, references: Iterable[str], *, wanted: str | None = None) -> Tokenization:
    """BLEU's tokenization of translations into `language`, or `wanted` if that is given.

    Args:
        language: a code or an English name: `zh`, `zh-TW`, `zho_Hans`, `Japanese`. For any other text, or a language
            tag with Latin script, the script of `references` decides.
        references: untokenized; the first `SAMPLE` of them are read.

    `flores200` is never chosen: sacreBLEU would download its model.
    """
    if wanted is not None:
        return Tokenization(wanted, "as requested")
    kind, reason = _kind_of_name(language), f"target language {language}"
    if not kind:
        kind = _kind_of_script(list(islice(references, SAMPLE)))
        reason = "by the script of the references" if kind else "words between spaces"
    if kind not in _MECAB:
        return Tokenization(kind or "13a", reason)
    by_morphemes, otherwise = _MECAB[kind]
    if is_available(by_morphemes):
        return Tokenization(by_morphemes, reason)
    return Tokenization(otherwise, f"{reason}; {by_morphemes} is not installed")


def target_language(data: DataConfig) -> str:
    """The target language of validation, or else of training; empty if it is not named, or there are several."""
    languages = {corpus.target for corpus in data.valid or data.train}
    return languages.pop() if len(languages) == 1 and languages != {Corpus.model_fields["target"].default} else ""


def _kind_of_name(language: str) -> str:
    first, *others = re.split("[-_]", language.lower())
    return "" if "latn" in others else _KINDS.get(first, "")


def _kind_of_script(references: Sequence[str]) -> str:
    """The kind of script of most letters; empty for scripts with spaces."""
    count = count_scripts(references)
    if 2 * count["hangul"] > count["letters"]:
        return "ko"
    if 2 * count["unspaced"] <= count["letters"]:
        return ""
    if count["kana"] > KANA_SHARE * count["unspaced"]:
        return "ja"
    return "zh" if 2 * count["han"] > count["unspaced"] else "char"


References = Sequence[str] | Sequence[Sequence[str]]
"""One reference for each hypothesis, or a sequence of one or more."""


TOKENIZATIONS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none", "flores200")
"""sacreBLEU's tokenizations that run offline. It would download the model of `flores200`, which is therefore allowed
only if the model is already present."""
_FLORES200 = Path(SACREBLEU_DIR, "models", "flores200sacrebleuspm")


class Metric(NamedTuple):
    """A score with the signature that is needed to reproduce it."""

    name: str
    score: float
    """From 0 to 100; higher is better, but for TER."""
    signature: str
    """The signature: number of references, case, tokenization, smoothing, version."""


def corpus_bleu(
    hypotheses: Sequence[str], references: References, *, lowercase: bool = False, tokenize: str = "13a"
) -> Metric:
    """BLEU (Papineni et al. 2002) over the whole corpus as in sacreBLEU: up to 4-grams, exponential smoothing.

    `references[i]` is the reference of `hypotheses[i]`, or a sequence of references; their number may differ between
    sentences. `lowercase` ignores case (signature `case:lc`). `tokenize` is one of `TOKENIZATIONS`; `13a` is for
    languages written with spaces.

    Raises `UserError` if there is nothing to score, if the counts differ, and for an unknown tokenization.
    """
    return _corpus_score("BLEU", bleu_metric(lowercase=lowercase, tokenize=tokenize), hypotheses, references)


def corpus_chrf(hypotheses: Sequence[str], references: References, *, lowercase: bool = False) -> Metric:
    """chrF2 (Popović 2015) over the whole corpus: F-score of character n-grams up to 6, with recall weighted twice.

    References as in `corpus_bleu`. It needs no word boundaries, so it is also suitable for scripts without spaces.

    Raises `UserError` if there is nothing to score or the counts differ.
    """
    return _corpus_score("chrF", CHRF(lowercase=lowercase), hypotheses, references)


def _corpus_score(name: str, metric: Any, hypotheses: Sequence[str], references: References) -> Metric:
    streams = _reference_streams(len(hypotheses), references)
    return Metric(name, metric.corpus_score(nfc(hypotheses), streams).score, str(metric.get_signature()))


def sentence_scorer(name: str, *, tokenize: str = "13a") -> Callable[[str, str], float]:
    """A function that scores a translation against its reference, from 0 to 100.

    `bleu` is smoothed and ignores n-grams longer than the sentence (sacreBLEU's `effective_order`); `tokenize` is that
    of `corpus_bleu`. `chrf` is chrF2. Raises `UserError` for a tokenization that cannot be used.
    """
    metric = bleu_metric(lowercase=False, tokenize=tokenize, sentences=True) if name == "bleu" else CHRF()

    def score(translation: str, reference: str) -> float:
        return metric.sentence_score(nfc([translation])[0], nfc([reference])).score

    return score


def require_scorable(sentences: int, references: References, tokenize: str = "13a") -> None:
    """Raise the `UserError` that scoring this many translations would raise, before they are made."""
    _reference_streams(sentences, references)
    bleu_metric(lowercase=False, tokenize=tokenize)


def is_available(tokenize: str) -> bool:
    """Whether this tokenization is usable here: some need a package or a model."""
    try:
        bleu_metric(lowercase=False, tokenize=tokenize)
    except UserError:
        return False
    return True


def bleu_metric(*, lowercase: bool, tokenize: str, sentences: bool = False) -> BLEU:
    """sacreBLEU's BLEU. Raises `UserError` for a tokenization that cannot be used."""
    if tokenize not in TOKENIZATIONS:
        raise UserError(f"tokenize={tokenize!r} is not a tokenization for BLEU; choose from {', '.join(TOKENIZATIONS)}")
    if tokenize == "flores200" and not _FLORES200.exists():
        raise UserError(
            f"tokenize='flores200' needs a model that is missing, and nothing is downloaded: put it at {_FLORES200}, "
            "or use char"
        )
    try:
        # force: only silences the warning that hypotheses look tokenized, which would be printed at every validation.
        return BLEU(lowercase=lowercase, tokenize=tokenize, force=True, effective_order=sentences)
    except (RuntimeError, AssertionError) as error:  # not installed, or an incompatible dictionary
        raise UserError(f"tokenize={tokenize!r} needs more than is installed: {' '.join(str(error).split())}") from None


def _reference_streams(sentences: int, references: References) -> list[list[str | None]]:
    """References as sacreBLEU expects them: all first references, then all second ones, with None for missing ones."""
    if not sentences:
        raise UserError("there is nothing to score: the list of translations is empty")
    groups = [nfc([each] if isinstance(each, str) else each) for each in references]
    if len(groups) != sentences or not all(groups):
        raise UserError(
            f"{sentences} translations cannot be scored against references for {sum(map(bool, groups))} sentences: "
            "give each translation its reference, or a list of its references"
        )
    return [list(stream) for stream in zip_longest(*groups)]


def nfc(texts: Sequence[str]) -> list[str]:
    """The texts in Unicode NFC."""
    return [unicodedata.normalize("NFC", text) for text in texts]


METRICS: Registry[Callable[[Sequence[str], Sequence[str]], float]] = Registry("metric", {})
"""Further figures of translations, for `training.metrics` and `evaluate --metric`: `(outputs, references) -> float`."""
register_metric = METRICS.register
SACREBLEU: dict[str, Callable[[], Any]] = {"chrf++": lambda: CHRF(word_order=2), "ter": TER}
"""chrF++ (Popović 2017), and TER (Snover et al. 2006; lower is better)."""


def require_metric(name: str) -> None:
    """Raise `UserError` for a name that `further_metric` does not know."""
    if name not in SACREBLEU:
        METRICS.find(name)


def further_metric(name: str, hypotheses: Sequence[str], references: References) -> Metric:
    """One of `SACREBLEU`, or of `METRICS`, which take one reference for each hypothesis."""
    if name in SACREBLEU:
        return _corpus_score(name, SACREBLEU[name](), hypotheses, references)
    only = [each if isinstance(each, str) else each[0] for each in references]
    return Metric(name, METRICS.find(name)(hypotheses, only), f"metric:{name}")

"""Which of sacreBLEU's tokenizations suits a target language, chosen by its name, or by the script of the references.

BLEU counts n-grams of words. `13a` splits at spaces: where a script has none it takes a clause for one word, and even a
perfect translation may score 0. Two scores can be compared only if their tokenizations (in the signature) are the same.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from limelight.config import Corpus, DataConfig
from limelight.evaluation.metrics import is_available
from limelight.text.scripts import count_scripts

_NAMES = {
    "zh": "zh zho chi cmn yue wuu hak gan hsn cdo lzh chinese mandarin cantonese",
    "ja": "ja jpn japanese",
    "ko": "ko kor korean",
    "char": "th tha thai lo lao km khm khmer my mya bur burmese shn bo bod tib tibetan dz dzo dzongkha",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_MECAB = {"ja": ("ja-mecab", "char"), "ko": ("ko-mecab", "13a")}
"""The tokenization by morphemes, and what stands in for it where its package is not installed (Korean has spaces)."""
SAMPLE = 2000
"""References that are read to find out their script."""
KANA_SHARE = 0.05
"""Japanese is about half kana; Chinese text quotes some Japanese names at most."""


class Tokenization(NamedTuple):
    """One of `TOKENIZATIONS`, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})"


def choose_tokenization(language: str, references: Iterable[str], *, wanted: str | None = None) -> Tokenization:
    """The tokenization for BLEU of translations into `language`, or `wanted` where that is given.

    Args:
        language: a code or an English name: `zh`, `zh-TW`, `zho_Hans`, `Japanese`. Any other text, or one that says the
            script is Latin, leaves the choice to the script of `references`.
        references: as people read them; the first `SAMPLE` of them are looked at.

    `flores200` is never chosen: sacreBLEU downloads its model.
    """
    if wanted is not None:
        return Tokenization(wanted, "as asked for")
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
    """The language that a model is validated in, or trained to translate into; empty where it has no name, or where
    there are several."""
    languages = {corpus.target for corpus in data.valid or data.train}
    return languages.pop() if len(languages) == 1 and languages != {Corpus.model_fields["target"].default} else ""


def _kind_of_name(language: str) -> str:
    first, *others = re.split("[-_]", language.lower())
    return "" if "latn" in others else _KINDS.get(first, "")


def _kind_of_script(references: Sequence[str]) -> str:
    """What most letters say; empty for scripts with spaces."""
    count = count_scripts(references)
    if 2 * count["hangul"] > count["letters"]:
        return "ko"
    if 2 * count["unspaced"] <= count["letters"]:
        return ""
    if count["kana"] > KANA_SHARE * count["unspaced"]:
        return "ja"
    return "zh" if 2 * count["han"] > count["unspaced"] else "char"

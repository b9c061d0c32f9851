"""The normalization of a text before tokenization, as rules of a sentencepiece model."""

import sys
import tempfile
import unicodedata
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import sentencepiece

from limelight.tokens import normalize
from limelight.tokens.sentencepiece_file import rules_of

RULE_NAME = "limelight"
_HANGUL = range(0xAC00, 0xD7A4)


@lru_cache(maxsize=1)
def compiled_rules() -> bytes:
    """The rules compiled by sentencepiece: 0.4 MB; takes half a second."""
    lines = (f"{_codes(found)}\t{_codes(wanted)}\n" for found, wanted in sorted(rules().items()))
    sentencepiece.set_min_log_level(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.tsv"
        path.write_text("".join(lines), encoding="ascii")
        normalizer = sentencepiece.SentencePieceNormalizer(rule_tsv=str(path))
    return rules_of(normalizer.serialized_model_proto())[1]


@lru_cache(maxsize=1)
def rules() -> dict[str, str]:
    """The effect of `normalize` on each character, and on the sequences that are equivalent to one character."""
    found: dict[str, str] = {}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        composed = unicodedata.decomposition(character)
        if (composed and not composed.startswith("<")) or code in _HANGUL or character.isspace() or character == "▁":
            for spelling in (character, *_spellings(character)):
                wanted = _normalized(spelling)
                if wanted != spelling:
                    found[spelling] = wanted
    return found


def _normalized(text: str) -> str:
    """The normalized form inside a text."""
    return normalize(f"|{text}|")[1:-1]


def _spellings(character: str) -> set[str]:
    """All canonically equivalent sequences: marks in any order, the first of them composed or not."""
    parts = unicodedata.normalize("NFD", character)
    found = set()
    for order in permutations(parts[1:]):
        marks = "".join(order)
        if unicodedata.normalize("NFD", parts[0] + marks) == parts:
            for count in range(len(marks)):
                found.add(unicodedata.normalize("NFC", parts[0] + marks[:count]) + marks[count:])
    return found


def _codes(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)

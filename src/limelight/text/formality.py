"""Forms of address in German and French: `Sie` and `vous` are formal, `du` and `tu` informal (Sennrich et al. 2016,
"Controlling Politeness in Neural Machine Translation via Side Constraints").

The rule reads pronouns and possessives, and the imperatives that have a form of their own. A text without any of them,
or with both kinds, has no label.
"""

from __future__ import annotations

import re

from limelight.text.languages import normal_code

FORMAL, INFORMAL = "formal", "informal"

_BEGIN = r"(?:^|[.!?:…]\s+|\n\s*)[\s„“”»«\"'(¿¡-]*"
"""The beginning of a sentence, where every word has a capital."""
_WORD = r"(?<![\w’'-])"
_DE_FORMAL = re.compile(rf"{_WORD}(?:Sie|Ihnen|Ihr(?:e[mnrs]?)?)(?!\w)")
_DE_INITIAL = re.compile(rf"{_BEGIN}(?=(?:Sie|Ihnen|Ihre?[mnrs]?)(?!\w))")
_DE_INFORMAL = re.compile(rf"{_WORD}(?:du|dich|dir|dein(?:e[mnrs]?|s)?|euch|eure[mnrs]?|euer)(?!\w)", re.IGNORECASE)
_FR_FORMAL = re.compile(
    r"(?<!\w)(?:vous|votre|vos|vôtres?)(?!\w)(?!\s+(?:tous|toutes|deux|trois|quatre)\b)", re.IGNORECASE
)
_FR_IMPERATIVE = re.compile(rf"{_BEGIN}(?!(?i:chez|assez|nez|rez)\b)[A-ZÉÈÊ]\w*ez\b")
_FR_INFORMAL = re.compile(
    r"(?<!\w)(?:tu|te|toi|tes|tien(?:ne)?s?|t[’'](?=\w))(?!\w)|(?<!\w)t[’'](?=\w)"
    r"|(?<!\w)(?<!\ble )(?<!\bun )(?<!\bce )(?<!\bdu )(?<!\bquel )t(?:on|a)(?=\s+\w)",
    re.IGNORECASE,
)
_SECOND = re.compile(r"(?<!\w)(?:you|your|yours|yourself|yourselves|vous|votre|vos)(?!\w)", re.IGNORECASE)
"""The second person in a source."""


def form_of_address(text: str, language: str, source: str = "") -> str:
    """`formal`, `informal`, or an empty string if the text has no form of address, has both, or is in another language
    than German and French.

    A word such as `Sanchez` is not a French imperative if the `source` has it. At the beginning of a German sentence
    `Sie` may also be `she` or `they`: it counts if the `source` has the second person.
    """
    code = normal_code(language)
    if code == "de":
        formal, informal = _is_formal_german(text, source), _DE_INFORMAL.search(text) is not None
    elif code == "fr":
        imperatives = (match[0].split()[-1] for match in _FR_IMPERATIVE.finditer(text))
        formal = _FR_FORMAL.search(text) is not None or any(each not in source for each in imperatives)
        informal = _FR_INFORMAL.search(text) is not None
    else:
        return ""
    return "" if formal == informal else FORMAL if formal else INFORMAL


def _is_formal_german(text: str, source: str) -> bool:
    if _SECOND.search(source):
        return _DE_FORMAL.search(text) is not None
    initial = {match.end() for match in _DE_INITIAL.finditer(text)}
    return any(match.start() not in initial for match in _DE_FORMAL.finditer(text))

"""Plural forms of catalogs: how many a language has, and which one is for the number one.

The header of a PO file has them as a C expression: `nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2);`. The
standard library reads it, which executes nothing but its operators.
"""

import re
from gettext import c2py
from typing import NamedTuple

from limelight.text.languages import normal_code

MAX_FORMS = 10

_FORMS = re.compile(r"nplurals\s*=\s*(\d{1,2})\s*;\s*plural\s*=\s*([^;\\\"]+)")
_TEEN = "n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20)"
_RULES = {
    "nplurals=1; plural=0;": "id ja km ko lo ms my th vi zh",
    "nplurals=2; plural=(n != 1);": "af bg ca da de el en eo es et eu fi gl he hi hu is it ka nb nl nn no pt sq sv tr",
    "nplurals=2; plural=(n > 1);": "fa fr pt-br",
    f"nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : {_TEEN} ? 1 : 2);": "be bs hr ru sr uk",
    f"nplurals=3; plural=(n==1 ? 0 : {_TEEN} ? 1 : 2);": "pl",
    "nplurals=3; plural=(n==1 ? 0 : n>=2 && n<=4 ? 1 : 2);": "cs sk",
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);": "lt",
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);": "lv",
    "nplurals=3; plural=(n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2);": "ro",
    "nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);": "ga",
    "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);": "sl",
    "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);": "ar",
}
_BY_LANGUAGE = {code: rule for rule, codes in _RULES.items() for code in codes.split()}
"""The rules that gettext's `msginit` writes."""


class PluralForms(NamedTuple):
    """The forms of a language."""

    total: int
    one: int
    """The index of the form for one; -1 if it is also the form for 2 or 5."""
    rule: str = ""
    """The value of the header field."""


def forms_of_header(header: str) -> PluralForms | None:
    """The forms in the field `Plural-Forms` of a header; None if it is missing or invalid."""
    match = _FORMS.search(header)
    if match is None or not 1 <= int(match[1]) <= MAX_FORMS:
        return None
    count = int(match[1])
    try:
        form = c2py(match[2])
        numbers = [int(form(number)) for number in (1, 2, 5)]
    except (ValueError, ArithmeticError):
        return None
    one = numbers[0] if numbers[0] < count and numbers[0] not in numbers[1:] else -1
    return PluralForms(count, one, f"{match[0]};")


def forms_of_language(language: str) -> PluralForms | None:
    """The forms of a language by its code; None if the code is unknown."""
    code = language.lower().replace("_", "-").partition("@")[0]
    rule = _BY_LANGUAGE.get(code) or _BY_LANGUAGE.get(normal_code(language))
    return forms_of_header(rule) if rule else None

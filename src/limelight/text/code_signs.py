"""Signs of markup and code that a translation has lost or added."""

from __future__ import annotations

import re
from collections import Counter

_AMOUNT = re.compile(r"[$%]\s?\d|\d\s?[$%]|(?<=\d)\u00a0|\u00a0(?=\d)")
_SIGN = re.compile(r"[{}<>\[\]\\|@#~^_`=&*$%\u00a0]")


def changed_signs(source: str, output: str) -> tuple[str, ...]:
    """The signs that occur more or less often in the output than in the source. An amount may be
    written in words, and languages have other spaces beside its unit."""
    if not (_SIGN.search(source) or _SIGN.search(output)):
        return ()
    was, now = (Counter(_SIGN.findall(_AMOUNT.sub("", text))) for text in (source, output))
    return tuple(sorted((was - now) | (now - was)))

"""Forms of address: `Sie` and `vous` are formal, `du` and `tu` informal (Sennrich et al. 2016, "Controlling Politeness
in Neural Machine Translation via Side Constraints").

`data/address.txt` has the words of each form in each language. A text without any of them, or with both kinds, has no
label.
"""

import re
from functools import cache

from limelight.text.languages import normal_code
from limelight.text.marking import FORMALITY_MARKS
from limelight.text.words import read_table

_WORD = re.compile(r"\w+")
_ENDS = frozenset('.!?:…\n„“"')
"""Characters before the first word of a sentence."""


@cache
def _words() -> dict[str, frozenset[str]]:
    return {name: frozenset(words.split()) for name, words in read_table("address.txt")}


def form_of_address(text: str, language: str, source: str = "") -> str:
    """`formal`, `informal`, or an empty string if the text has no form of address, or both.

    A word that is polite by its capital, such as `Sie`, may be another one at the beginning of a sentence: it counts
    there if the `source` has the second person.
    """
    is_asked = not _words()["you"].isdisjoint(_WORD.findall(source.lower()))
    forms, end = set[str](), 0
    for word in _WORD.finditer(text):
        begins = not end or not _ENDS.isdisjoint(text[end : word.start()])
        for form in FORMALITY_MARKS:
            words = _words().get(f"{normal_code(language)} {form}", frozenset())
            if word[0].lower() in words or (word[0] in words and (is_asked or not begins)):
                forms.add(form)
        end = word.end()
    return forms.pop() if len(forms) == 1 else ""

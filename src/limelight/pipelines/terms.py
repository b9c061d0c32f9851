"""Terms of a glossary in marked sentences: first annotated, and where a translation does not use them, as placeholders.

A model that was trained with annotated terms (`augmentation.terms`) inflects what it is given. Where it does not use a
term, or was not trained so, the source word becomes a placeholder, and the placeholder the target term as the glossary
has it: it is there then, but nothing around it agrees with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from limelight.pipelines.repair_marks import Repaired
from limelight.text.glossary import Glossary, Match, Term, is_used
from limelight.text.marks import MARK, MAX_PLACEHOLDERS, annotated, mark_number, placeholder, without_marks
from limelight.text.protect import Span


class Forced(NamedTuple):
    """A sentence whose terms are placeholders."""

    text: str
    spans: tuple[Span, ...]
    back: tuple[str, ...]
    """What each of its placeholders becomes: one of the sentence as it was, or a target term."""

    def repaired(self, found: Repaired) -> Repaired:
        """A translation of it, with terms; the first letter is large where a term begins it. Of its placeholders the
        numbers that they had before."""
        first = MARK.match(found.text)
        text = MARK.sub(lambda match: self.back[mark_number(match[0])], found.text)
        if first is not None and not MARK.match(text):
            text = text[:1].upper() + text[1:]
        return Repaired(text, self._numbers(found.moved), self._numbers(found.failed))

    def _numbers(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Those of the sentence as it was, of placeholders that are no terms."""
        return tuple(mark_number(self.back[number]) for number in numbers if MARK.match(self.back[number]))


def find_terms(text: str, glossary: Glossary | None) -> tuple[Match, ...]:
    """The terms in a marked text that no placeholder is within."""
    found = glossary.find(text) if glossary is not None else []
    return tuple(match for match in found if not MARK.search(text, match.begin, match.end))


def with_terms(text: str, terms: Sequence[Match]) -> str:
    """The marked text with target forms behind its terms."""
    parts, place = list[str](), 0
    for begin, end, term in terms:
        parts += [text[place:begin], annotated(text[begin:end], term.target)]
        place = end
    return "".join([*parts, text[place:]])


def unused_terms(terms: Sequence[Match], translation: str) -> tuple[Match, ...]:
    """Those that a translation does not use."""
    text = without_marks(translation)
    return tuple(match for match in terms if not is_used(match.term.target, text))


def force_terms(text: str, spans: Sequence[Span], terms: Sequence[Match]) -> Forced | None:
    """The sentence with placeholders for these terms as well, all numbered in order; None for too many of them."""
    if len(spans) + len(terms) > MAX_PLACEHOLDERS:
        return None
    places: list[tuple[int, int, int | Term]] = [
        (match.start(), match.end(), mark_number(match[0])) for match in MARK.finditer(text)
    ]
    places += [(match.begin, match.end, match.term) for match in terms]
    marked = sorted(places, key=lambda each: each[0])
    numbers = {number: place for place, (_, _, number) in enumerate(marked) if isinstance(number, int)}
    parts, back, own, place = list[str](), list[str](), list[Span](), 0
    for number, (begin, end, what) in enumerate(marked):
        parts += [text[place:begin], placeholder(number)]
        place = end
        if isinstance(what, Term):
            back.append(what.target)
            own.append(Span(what.target, "alone", -1, text[begin - 1 : begin] if begin else "", text[end : end + 1]))
        else:
            back.append(placeholder(what))
            own.append(spans[what]._replace(partner=numbers.get(spans[what].partner, -1)))
    return Forced("".join([*parts, text[place:]]), tuple(own), tuple(back))

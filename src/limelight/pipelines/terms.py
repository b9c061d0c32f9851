"""Terms of a glossary in marked sentences: as annotations, and as phrases to include.

A model that was trained with annotated terms (`augmentation.terms`) inflects the given target forms. If it does not use
a term, or was not trained this way, dynamic beam allocation (`decoding/allocation.py`) finds the best translation with
one of the term's forms.
"""

from __future__ import annotations

from collections.abc import Sequence

from limelight.config import Direction
from limelight.text.glossary import Glossary, Match, find_used, forms_of, is_used
from limelight.text.marks import MARK, annotated, without_marks
from limelight.text.sentences import split_sentences


def find_terms(text: str, glossary: Glossary | None) -> tuple[Match, ...]:
    """The terms in a marked text that do not contain a placeholder."""
    found = glossary.find(text) if glossary is not None else []
    return tuple(match for match in found if not MARK.search(text, match.begin, match.end))


def with_terms(text: str, terms: Sequence[Match]) -> str:
    """The marked text with target forms after its terms."""
    parts, place = list[str](), 0
    for begin, end, term in terms:
        parts += [text[place:begin], annotated(text[begin:end], term.target.split("|")[0])]
        place = end
    return "".join([*parts, text[place:]])


def unused_terms(terms: Sequence[Match], translation: str) -> tuple[Match, ...]:
    """The terms that a translation does not use."""
    text = without_marks(translation)
    return tuple(match for match in terms if not is_used(match.term.target, text))


def without_added_sentences(translation: str, source: str, direction: Direction) -> str:
    """The translation up to as many sentences as its source has. A search that has to contain a term which the model
    would hardly say puts it there: `Das Haus ist alt. Gebäude.`"""
    count = len(split_sentences(source, direction.source).texts)
    return " ".join(split_sentences(translation, direction.target).texts[:count])


def phrases_of(terms: Sequence[Match], translation: str, language: str) -> list[tuple[str, ...]]:
    """The target forms of each term; first the one that the translation already has, if any."""
    text = without_marks(translation)
    phrases = list[tuple[str, ...]]()
    for target in dict.fromkeys(match.term.target for match in terms):
        used = find_used(target, text)
        phrases.append(tuple(dict.fromkeys([*([used] if used else []), *forms_of(target, language)])))
    return phrases

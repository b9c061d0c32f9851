"""Glossaries: source terms with required target terms; finding them in a text and in its translation.

Target forms are inserted after the source words, between two marks (`text/marking.py`): a model that was trained with
annotated terms (`augmentation.terms`) uses and inflects them (Dinu et al. 2019; Bergmanis & Pinnis 2021). If a model
does not use a term, or was not trained this way, dynamic beam allocation (`decoding/allocation.py`) finds the best
translation with one of the term's forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from limelight.errors import UserError, shown
from limelight.text.marking import MARK, annotated, has_marks, without_marks
from limelight.text.sentences import split_sentences
from limelight.text.words import count_common, read_table, word_spans

MAX_TERMS = 100_000
MAX_CHARACTERS = 200
"""Maximum length of either side of a term."""
_ENDINGS = {
    "en": ("", "s", "es", "'s", "’s"),
    "de": ("", "e", "n", "en", "er", "es", "s", "em", "ern", "innen"),
    "fr": ("", "s", "x", "e", "es"),
}
"""Inflectional endings by language. Other languages use `_ANY`."""
_ANY = ("", "s", "e", "es", "n", "en", "a", "i")
MIN_STEM = {"en": 3, "de": 3}
"""Minimum letters of a word that takes an ending, by language; abbreviations in capitals have two, as in `PCs`."""
_BEFORE = {
    "en": {"s": r"(?<![sxz])(?<!ch)(?<!sh)", "es": r"(?:[sxzo]|ch|sh)"},
    "de": {"s": r"(?<![sßxz])", "n": r"(?:e|el|er|err|ar)", "innen": r"\w{4}"},
    "fr": {"s": r"(?<![sxz])", "x": r"(?:au|eu|ou)"},
}
"""What comes before some endings."""
_WITH_ER = re.compile(
    r"(?:bild|brett|ei|feld|geist|geld|gesicht|gespenst|glied|kind|kleid|leib|licht|lied|nest|rind|schild|ski|weib)\Z"
)
"""German nouns with a plural in -er and without an umlaut. Of others -er makes another word: `Bau` and `Bauer`."""
_EVERY_ENDING = frozenset({*_ANY, *(ending for several in _ENDINGS.values() for ending in several), "t", "st", "et"})
MIN_TARGET_STEM = 4
"""Minimum letters that the forms of a target word have in common."""
_TYPOGRAPHIC = str.maketrans("\u2018\u2019\u02bc\u2010\u2011", "'''--")
"""Apostrophes and hyphens of typesetting, which are equal to those of the keyboard."""


class Term(NamedTuple):
    """A source term and its target, both in the base form."""

    source: str
    target: str
    """May list several forms, separated by `|`; the first one is the base form."""


class Match(NamedTuple):
    """An occurrence of a term in a text."""

    begin: int
    end: int
    term: Term


class _Node:
    """The terms that consist of the words on the way to this node, and what follows these words in longer terms."""

    __slots__ = ("following", "terms")

    def __init__(self) -> None:
        self.terms: list[Term] = []
        self.following: dict[str, _Node] = {}

    def found(self, words: set[str]) -> Iterator[Term]:
        """The terms of this node and those that follow, of these words alone."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield from node.terms
            shorter, longer = sorted((node.following.keys(), words), key=len)
            waiting += [node.following[word] for word in shorter if word in longer]


class Glossary:
    """A set of terms, indexed by their first words."""

    def __init__(self, terms: Iterable[Term], source_lang: str = "") -> None:
        """Raises `UserError` for a term that is empty, too long, or contains marks."""
        self.terms = tuple(dict.fromkeys(terms))
        self.source_lang = source_lang
        self._places = {term: place for place, term in enumerate(self.terms)}
        self._language = re.split("[-_]", source_lang.lower())[0]
        self._endings = _ENDINGS.get(self._language, _ANY)
        others = dict(read_table("other_words.txt")).get(self._language, "")
        self._others = frozenset(each.strip() for each in others.split(","))
        """Pairs of words that are hardly ever forms of one, although they differ by an ending."""
        self._tree = _Node()
        self._by_first: dict[str, list[tuple[list[str], Term]]] = {}
        for term in self.terms:
            plain = term.source.translate(_TYPOGRAPHIC)
            words = [plain[begin:end] for begin, end in word_spans(plain)]
            if not words or not term.target.strip():
                raise UserError(f"the term {shown(term.source, 40)!r} has no words on both sides")
            if max(map(len, term)) > MAX_CHARACTERS or any(map(has_marks, term)):
                raise UserError(f"the term {shown(term.source, 40)!r} has more than {MAX_CHARACTERS} characters")
            self._by_first.setdefault(words[0].casefold(), []).append((words, term))
            node = self._tree
            for word in words:
                node = node.following.setdefault(word.casefold(), _Node())
            node.terms.append(term)
        for several in self._by_first.values():
            several.sort(key=lambda each: -len(each[0]))

    def __len__(self) -> int:
        return len(self.terms)

    def find(self, text: str) -> list[Match]:
        """The terms in a text; if several begin at a word, the longest. Only whole words match, in base form or with
        an ending of the language; words that are in capitals in a term have to be in capitals in the text."""
        text = text.translate(_TYPOGRAPHIC)
        words = word_spans(text)
        found, place = list[Match](), 0
        while place < len(words):
            match = self._at(text, words, place)
            if match is None:
                place += 1
            else:
                term, count = match
                found.append(Match(words[place][0], words[place + count - 1][1], term))
                place += count
        return found

    def possible(self, text: str) -> list[Term]:
        """The terms whose words all occur somewhere in a text, in the order of the glossary; of very many that only
        differ in signs, so many as a text of this length can have.

        The time depends on the words of the text and the terms that are found, not on the size of the glossary.
        """
        text = text.translate(_TYPOGRAPHIC)
        words = {text[begin:end] for begin, end in word_spans(text)}
        stems = {stem for word in words for stem in self._stems(word)}
        kept = islice(self._tree.found(stems), 20 + len(text) // 4)
        return sorted(kept, key=self._places.__getitem__)

    def _at(self, text: str, words: Sequence[tuple[int, int]], place: int) -> tuple[Term, int] | None:
        first = text[slice(*words[place])]
        for known in self._stems(first):
            for several, term in self._by_first.get(known, ()):
                there = [text[slice(*span)] for span in words[place : place + len(several)]]
                same = len(there) == len(several) and all(map(self._is_form, there, several))
                if same and _adjoin(text, words, place, len(several)):
                    return term, len(several)
        return None

    def _stems(self, word: str) -> Iterator[str]:
        """The words of which a word may be a form by its ending, itself first."""
        plain = word.casefold()
        for ending in self._endings:
            if plain.endswith(ending) and (not ending or len(plain) - len(ending) >= 2):
                yield plain[: len(plain) - len(ending)]
        if self._language == "en" and plain.endswith("ies"):
            yield f"{plain[:-3]}y"

    def _is_form(self, there: str, word: str) -> bool:
        if word.isupper() and len(word) > 1 and not there.startswith(word):
            return False
        plain, base = there.casefold(), word.casefold()
        if plain == base:
            return True
        if base not in self._stems(there) or f"{base} {plain}" in self._others:
            return False
        return not plain.startswith(base) or self._takes(word, plain[len(base) :], there)

    def _takes(self, word: str, ending: str, there: str) -> bool:
        """Whether a word takes an ending by the rules of the language, which exclude most other words."""
        base = word.casefold()
        if self._language == "de" and word[:1].isupper() and len(word) > 1 and not word.isupper():  # a noun
            if not there[:1].isupper() or ending == "em":
                return False
            if ending in ("er", "ern"):
                return _WITH_ER.search(base) is not None
        elif self._language == "de" and ending in ("ern", "innen"):
            return False
        if len(base) < MIN_STEM.get(self._language, 2) and not word.isupper() and ending[:1].isalpha():
            return False
        before = _BEFORE.get(self._language, {}).get(ending)
        return before is None or re.search(rf"{before}\Z", base) is not None


def _adjoin(text: str, words: Sequence[tuple[int, int]], place: int, count: int) -> bool:
    """Whether only spaces and hyphens separate `count` words."""
    gaps = (text[words[number][1] : words[number + 1][0]] for number in range(place, place + count - 1))
    return all(not gap.strip(" -\u00a0") for gap in gaps)


def find_used(target: str, text: str) -> list[str]:
    """The words of a text that are a form of a target term, at each place: with another ending, in another case, or at
    the end of a compound. In `target`, `|` separates forms that the glossary lists."""
    plain = text.translate(_TYPOGRAPHIC)
    there = word_spans(plain)
    found, place = list[str](), 0
    forms = [
        [form[begin:end].casefold() for begin, end in word_spans(form)]
        for form in target.translate(_TYPOGRAPHIC).split("|")
    ]
    while place < len(there):
        spans = next((spans for wanted in forms if (spans := _form_at(wanted, plain, there[place:]))), [])
        found += [text[spans[0][0] : spans[-1][1]]] if spans else []
        place += len(spans) or 1
    return found


def _form_at(wanted: Sequence[str], text: str, there: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """The first words of some, if they are these in any form."""
    spans = there[: len(wanted)]
    found = (text[begin:end].casefold() for begin, end in spans)
    return spans if wanted and len(spans) == len(wanted) and all(map(_is_form, wanted, found)) else []


def forms_of(target: str, language: str) -> list[str]:
    """Possible forms of a target term: as in the glossary, and with endings of the language. Some of these are not
    words; the model's probabilities decide among them."""
    endings = _ENDINGS.get(re.split("[-_]", language.lower())[0], _ANY)
    return list(dict.fromkeys(form + ending for ending in endings for form in target.split("|")))


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
    """The terms that a translation uses less often than its source has them."""
    text, left = without_marks(translation), list[Match]()
    for target, matches in groupby(sorted(terms, key=lambda each: each.term.target), key=lambda each: each.term.target):
        left += list(matches)[len(find_used(target, text)) :]
    return tuple(sorted(left))


def whole_term(text: str, terms: Sequence[Match]) -> str:
    """The target of the term that a text is, in its base form; empty for any other text."""
    if len(terms) != 1 or text[terms[0].begin : terms[0].end] != text:
        return ""
    term = terms[0].term
    if text.translate(_TYPOGRAPHIC).casefold() != term.source.translate(_TYPOGRAPHIC).casefold():
        return ""
    target = term.target.split("|")[0]
    return target[0].upper() + target[1:] if text[0].isupper() and term.source[0].islower() else target


def without_added_sentences(translation: str, source: str, direction: tuple[str, str]) -> str:
    """The translation up to as many sentences as its source has. A search that has to contain a term which the model
    would hardly say puts it there: `Das Haus ist alt. Gebäude.`"""
    count = len(split_sentences(source, direction[0]).texts)
    return " ".join(split_sentences(translation, direction[1]).texts[:count])


def phrases_of(terms: Sequence[Match], translation: str, language: str) -> list[tuple[str, ...]]:
    """The target forms of each term; first the one that the translation already has, if any."""
    text = without_marks(translation)
    phrases = list[tuple[str, ...]]()
    for target in dict.fromkeys(match.term.target for match in terms):
        phrases.append(tuple(dict.fromkeys([*find_used(target, text)[:1], *forms_of(target, language)])))
    return phrases


def _is_form(word: str, found: str) -> bool:
    """Whether a word is another one with another ending, or a compound that ends or begins with it."""
    plain, there = _folded(word), _folded(found)
    if plain == there or (len(plain) > MIN_TARGET_STEM and (there.startswith(plain) or there.endswith(plain))):
        return True
    stem = count_common(plain, there)
    return (
        stem >= min(MIN_TARGET_STEM, max(3, len(plain)))
        and plain[stem:] in _EVERY_ENDING
        and there[stem:] in _EVERY_ENDING
    )


def _folded(text: str) -> str:
    """Without umlauts and accents, in which inflected forms may differ."""
    return text.translate(str.maketrans("äöüàâéèêëîïôûç", "aouaaeeeeiiouc"))

"""Glossaries: source terms with required target terms; finding them in a text and in its translation.

Target forms are inserted after the source words, between two marks (`text/marking.py`): a model that was trained with
annotated terms (`augmentation.terms`) uses and inflects them (Dinu et al. 2019; Bergmanis & Pinnis 2021). If a model
does not use a term, or was not trained this way, dynamic beam allocation (`decoding/allocation.py`) finds the best
translation with one of the term's forms.
"""

from __future__ import annotations

import re
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from unicodedata import normalize

from limelight.errors import UserError, shown
from limelight.text.languages import normal_code
from limelight.text.marking import MARK, annotated, has_marks, without_marks
from limelight.text.sentences import split_sentences
from limelight.text.words import read_table, replaced, without_accents, word_spans, words_of

MAX_TERMS = 100_000
MAX_CHARACTERS = 200
"""Maximum length of either side of a term."""
MIN_STEM = 3
"""Minimum letters of a word that takes an ending, unless it is an abbreviation in capitals, as in `PCs`."""
MIN_TARGET_STEM = 4
"""Minimum letters that the forms of a target word have in common."""
_TYPOGRAPHIC = str.maketrans("\u2018\u2019\u02bb\u02bc\u2010\u2011\u0130", "''''--I")
"""Apostrophes and hyphens of typesetting, which are equal to the signs of the keyboard, and İ, the capital of i."""


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


class Endings:
    """How words of a language are inflected, by the rows of `data/endings.txt`.

    A rule such as `ch+es` adds an ending to words that end in `ch`, and `y>ies` replaces `y`. The row `De` is for
    German words with a capital, which nouns have.
    """

    def __init__(self, language: str) -> None:
        code, rows = normal_code(language), _rules()
        self.lower = rows.get(code, rows["*"])
        self.capital = rows.get(code.capitalize(), self.lower)

    def bases(self, word: str) -> Iterator[str]:
        """The word in lower case, and then the words of which it may be a form."""
        plain = normalize("NFC", word).casefold()
        yield plain
        for old, new in dict.fromkeys((*self.lower, *self.capital)):
            if plain.endswith(new):
                yield plain.removesuffix(new) + old

    def forms(self, word: str) -> Iterator[str]:
        """A word or phrase with each ending that its last word may have. Some of the results are not words."""
        for old, new in self.capital if word.rpartition(" ")[2][:1].isupper() else self.lower:
            if word.casefold().endswith(old):
                yield word[: len(word) - len(old)] + new

    def is_form(self, word: str, term_word: str) -> bool:
        """Whether a word of a text is a word of a term, perhaps with an ending."""
        is_abbreviation = term_word.isupper() and len(term_word) > 1
        if is_abbreviation and not word.startswith(term_word):
            return False
        is_noun = self.capital is not self.lower and term_word[:1].isupper()
        may_end = is_abbreviation or (len(term_word) >= MIN_STEM and (word[:1].isupper() or not is_noun))
        plain = word.casefold()
        return plain == term_word.casefold() or (may_end and plain in map(str.casefold, self.forms(term_word)))


@cache
def _rules() -> dict[str, tuple[tuple[str, str], ...]]:
    """Language -> pairs of the end of a word and the end of its form."""
    rows = dict[str, tuple[tuple[str, str], ...]]()
    for code, rules in read_table("endings.txt"):
        parts = (re.split("([+>])", rule) for rule in rules.split())
        rows[code] = tuple((old, new if kind == ">" else old + new) for old, kind, new in parts)
    return rows


class _Node(NamedTuple):
    """A place in the tree of terms, which is reached by words in lower case."""

    children: dict[str, _Node]
    terms: list[tuple[list[str], list[str], Term]]
    """The terms that end here, with their words, and what is before, between and after them; those with most signs
    first."""


class Glossary:
    """A set of terms, as a tree of their words."""

    def __init__(self, terms: Iterable[Term], source_lang: str = "") -> None:
        """Raises `UserError` for a term that is empty, too long, or contains marks."""
        bare = ((term.source, "|".join(filter(None, map(str.strip, term.target.split("|"))))) for term in terms)
        self.terms = tuple(dict.fromkeys(Term(*sides) for sides in bare))
        self._endings = Endings(source_lang)
        self._root = _Node({}, [])
        for term in self.terms:
            source = normalize("NFC", term.source).translate(_TYPOGRAPHIC).strip(" -\u00a0")
            words, spans = words_of(source), word_spans(source)
            if not (words and term.target):
                raise UserError(f"the term {shown(term.source, 40)!r} has no words on both sides")
            if max(map(len, term)) > MAX_CHARACTERS or any(map(has_marks, term)):
                limit = f"{MAX_CHARACTERS} characters, or private-use characters"
                raise UserError(f"the term {shown(term.source, 40)!r} has more than {limit}")
            node = self._root
            for word in words:
                node = node.children.setdefault(word.casefold(), _Node({}, []))
            signs = [source[: spans[0][0]], *_signs(source, spans), source[spans[-1][1] :]]
            insort(node.terms, (words, signs, term), key=lambda entry: -len("".join(entry[1])))

    def find(self, text: str) -> list[Match]:
        """The terms in a text; if several begin at a word, the longest. Only whole words match, in base form or with
        an ending of the language; words that are in capitals in a term have to be in capitals in the text."""
        text = text.translate(_TYPOGRAPHIC)
        words = word_spans(text)
        bases = [list(self._endings.bases(text[slice(*span)])) for span in words]
        matches, end = list[Match](), 0
        for number, (begin, _) in enumerate(words):
            if begin >= end and (match := self._begun_by(text, words, bases, number)):
                matches.append(match)
                end = match.end
        return matches

    def _begun_by(
        self, text: str, words: Sequence[tuple[int, int]], bases: Sequence[list[str]], number: int
    ) -> Match | None:
        """The longest term that begins with this word of a text."""
        nodes, longest, last = [self._root], None, number
        while nodes and last < len(words):
            nodes = [child for node in nodes for base in bases[last] if (child := node.children.get(base))]
            last += 1
            spans = words[number:last]
            for term_words, (before, *between, after), term in (term for node in nodes for term in node.terms):
                begin, end = spans[0][0] - len(before), spans[-1][1] + len(after)
                is_here = begin >= 0 and text.startswith(before, begin) and text.startswith(after, spans[-1][1])
                words_of_text = (normalize("NFC", text[slice(*span)]) for span in spans)
                is_form = all(map(self._endings.is_form, words_of_text, term_words))
                if is_here and is_form and _signs(text, spans) == between:
                    longest = Match(begin, end, term)
                    break
        return longest


def _signs(text: str, words: Sequence[tuple[int, int]]) -> list[str]:
    """The signs between some words, without spaces and hyphens."""
    return [text[end:begin].strip(" -\u00a0") for (_, end), (begin, _) in pairwise(words)]


def find_used(target: str, text: str) -> list[str]:
    """The occurrences of a target term in a text, in order: with another ending, in another case, or in a compound. In
    `target`, `|` separates forms that the glossary lists."""
    spans = word_spans(text.translate(_TYPOGRAPHIC))
    words = [_plain(text[begin:end]) for begin, end in spans]
    forms = [words_of(form) for form in _plain(target).split("|")]
    used, start = list[str](), 0
    while start < len(words):
        beginning = ((form, words[start : start + len(form)]) for form in forms)
        sizes = (len(form) for form, part in beginning if len(part) == len(form) and all(map(_is_form, form, part)))
        if size := next(sizes, 0):
            used.append(text[spans[start][0] : spans[start + size - 1][1]])
        start += size or 1
    return used


def find_terms(text: str, glossary: Glossary | None) -> tuple[Match, ...]:
    """The terms in a marked text that do not contain a placeholder."""
    matches = glossary.find(text) if glossary is not None else []
    return tuple(match for match in matches if not MARK.search(text, match.begin, match.end))


def with_terms(text: str, terms: Sequence[Match]) -> str:
    """The marked text with target forms after its terms."""
    return replaced(
        text,
        ((begin, end, annotated(text[begin:end], term.target.split("|")[0])) for begin, end, term in terms),
    )


def unused_terms(terms: Sequence[Match], translation: str) -> tuple[str, ...]:
    """The targets of the terms that a translation uses less often than its source has them."""
    text, by_target = without_marks(translation), defaultdict[str, list[Match]](list)
    for match in terms:
        by_target[match.term.target].append(match)
    lost = sorted(match for target, matches in by_target.items() for match in matches[len(find_used(target, text)) :])
    return tuple(match.term.target for match in lost)


def whole_term(text: str, terms: Sequence[Match]) -> str:
    """The target of the term that a text is, in its base form; empty for any other text."""
    if len(terms) != 1 or _plain(text) != _plain(terms[0].term.source):
        return ""
    source, target = terms[0].term.source, terms[0].term.target.split("|")[0]
    return target[0].upper() + target[1:] if text[0].isupper() and source[0].islower() else target


def _plain(text: str) -> str:
    """The text in lower case and with the signs of the keyboard."""
    return normalize("NFC", text).translate(_TYPOGRAPHIC).casefold()


def without_added_sentences(translation: str, source: str, direction: tuple[str, str]) -> str:
    """The translation up to as many sentences as its source has. A search that has to contain a term which the model
    would hardly say puts it there: `Das Haus ist alt. Gebäude.`"""
    count = len(split_sentences(source, direction[0]).texts)
    sentences = split_sentences(translation, direction[1])
    return "".join(gap + text for gap, text in zip(sentences.gaps, sentences.texts[:count], strict=False))


def phrases_of(terms: Sequence[Match], translation: str, language: str) -> list[tuple[str, ...]]:
    """The possible forms of each target: first the one that the translation already has, if any, then those of the
    glossary, and with endings of the language. Some of them are not words; the model's probabilities decide."""
    text, endings, phrases = without_marks(translation), Endings(language), list[tuple[str, ...]]()
    for target in dict.fromkeys(match.term.target for match in terms):
        forms = target.split("|")
        inflected = (other for form in forms for other in endings.forms(form))
        phrases.append(tuple(dict.fromkeys([*find_used(target, text)[:1], *forms, *inflected])))
    return phrases


def _is_form(word: str, other: str) -> bool:
    """Whether a word is another one with another ending of up to two letters, or a compound that ends or begins with
    it, or has it between hyphens. Inflected forms may differ in accents and umlauts."""
    plain, plain_other = without_accents(word), without_accents(other)
    if plain.isdecimal():
        return plain == plain_other
    stem = plain[: max(MIN_TARGET_STEM, len(plain) - 2)]
    is_compound = len(plain) > MIN_TARGET_STEM and (plain_other.startswith(plain) or plain_other.endswith(plain))
    is_part = is_compound or plain in plain_other.split("-")  # WLAN-Router
    return is_part or (plain_other.startswith(stem) and len(plain_other) <= len(plain) + 2)

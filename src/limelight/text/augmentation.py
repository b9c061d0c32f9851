"""Random augmentation of sentence pairs: joining, marks, letter case, other names and numbers, typing errors.

Each augmentation is a function `(pair, languages, random) -> pair`, registered in `AUGMENTATIONS` under the name of its
rate. It returns the pair unchanged if it does not apply. Random draws depend only on the seed, so a resumed run sees
the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from random import Random
from typing import NamedTuple

from limelight.text.formality import form_of_address
from limelight.text.invented import (
    invented_decimal,
    invented_insert,
    invented_name,
    invented_number,
    invented_quantity,
    invented_sign,
    shared_numbers,
    whole_number,
    written,
)
from limelight.text.languages import normal_code, script_of
from limelight.text.marked_pairs import Alignment, joined_alignment, place_marks
from limelight.text.marking import (
    ANNOTATION,
    FORMALITY_MARKS,
    MAX_PLACEHOLDERS,
    has_marks,
    placeholder,
)
from limelight.text.pair import Sides
from limelight.text.words import TERMINATORS, followed, replaced, without_accents, word_spans

MAX_TYPOS = 2
MAX_JOINED = 3
MAX_DRAWS = 8
INVENTED = 0.5
"""Share of invented names where there are lists: a model should copy any name."""


class Languages(NamedTuple):
    """The languages of the two sides; empty if unknown."""

    source: str
    target: str


class Augmented(NamedTuple):
    """A pair after all augmentations."""

    pair: Sides
    is_marked: bool = False
    """Whether private-use characters in it are marks (see `text/marking.py`), not characters of the corpus."""


ALIGNED = ("placeholders", "terms", "emphasis")
"""Augmentations that need word alignments."""

TAGGING = ("formality", "figures")
"""Augmentations that add tags or placeholders without alignments."""

Augmentation = Callable[[Sides, Languages, Random], Sides]

_WORD = re.compile(r"(?<!\S)(?!www\.|\S*(?:@|://))\S+")
"""A word that is not an address."""
_MISTAKABLE = re.compile(rf"{ANNOTATION.pattern}|(?<![\w@/.])([^\W\d_]{{3,}})(?![\w@/])")
_NAME = re.compile(r"\b[^\W\d_]{3,}\b")
_BREAKABLE = re.compile("(?<=[\\d«§]) (?=[^\\W_]|[%‰°€$£¥])|(?<=[^\\W_]) (?=[!?:;»%])")
"""A space at which a line should not break: behind a number or an opening quotation mark, or before a sign."""
_UNBREAKABLE = re.compile("[\u00a0\u202f\u2007]")
_MARKS = ("- ", "* ", "• ", "1. ", "2. ", "3. ", "1) ", "2) ", "a) ", "b) ")
_QUOTES = {"de": ("„", "“"), "fr": ("« ", " »"), "en": ("“", "”")}
_BRACKETS = ("()", "[]", "{}", "<>", "**", ("**", "**"), "``", "__", "‘’")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEAR = {
    key: row[max(0, column - 1) : column] + row[column + 1 : column + 2]
    for row in _ROWS
    for column, key in enumerate(row)
}
"""The adjacent keys of each key."""


def augment(
    pairs: Sequence[Sides],
    languages: Sequence[Languages],
    rates: Mapping[str, float],
    seed: int,
    alignment_of: Callable[[int], Alignment],
    tags: Sequence[object] = (),
    name_lists: Sequence[Sequence[str]] = (),
) -> list[Augmented]:
    """Vary each pair or leave it as it is: a pure function of its arguments.

    Args:
        pairs: in the order in which they are drawn; `join` joins a pair with those that follow it.
        languages: of each pair; only pairs of the same languages and the same tags are joined.
        rates: the share of pairs, from 0 to 1, for `join`, `placeholders`, `terms` and each name in `AUGMENTATIONS`; a
            missing one is 0.
        seed: any integer.
        alignment_of: index of a pair -> its word alignment, for `ALIGNED`.
        tags: the tags before each source; empty if all sources have the same tags or none.
        name_lists: lists of names of one kind each, for `names`; names are invented where there is none.
    """
    random = Random(seed)
    changes = AUGMENTATIONS | {"names": partial(names, lists=name_lists)}
    joinable = list(zip(languages, tags or [None] * len(pairs), strict=True))

    def drawn(name: str) -> bool:
        """Whether an augmentation is tried. Without a rate it draws nothing, so that runs without a new augmentation
        keep their sequence of draws."""
        rate = rates.get(name, 0.0)
        return rate > 0 and random.random() < rate

    def augmented(row: int) -> Augmented:
        parts = [row]
        if drawn("join"):
            following = range(row, min(row + random.randint(2, MAX_JOINED), len(pairs)))
            parts = [other for other in following if joinable[other] == joinable[row]]
        texts = [pairs[part] for part in parts]
        pair, is_marked = _joined(texts), False
        has_own = any(map(has_marks, pair))  # characters of the corpus, not marks
        marks = {name: drawn(name) for name in ALIGNED}
        if any(marks.values()):
            alignment = joined_alignment(texts, [alignment_of(part) for part in parts])
            if marks.pop("emphasis"):
                pair = _emphasis(pair, alignment, random)
            before, pair = pair, place_marks(pair, alignment, random, **marks)
            is_marked = pair != before
        for name, change in changes.items():
            if not (name in TAGGING and has_own) and drawn(name):
                before, pair = pair, change(pair, languages[row], random)
                is_marked |= name in TAGGING and pair != before
        return Augmented(pair, is_marked)

    return [augmented(row) for row in range(len(pairs))]


def _joined(pairs: Sequence[Sides]) -> Sides:
    return Sides(*(reduce(followed, sentences) for sentences in zip(*pairs, strict=True)))


def names(pair: Sides, _languages: Languages, random: Random, *, lists: Sequence[Sequence[str]] = ()) -> Sides:
    """Replace each capitalized word that occurs once on each side by another name: of the same list if it is in one,
    otherwise of any list; or by an invented one. Both begin with a vowel or neither does: `d'Anna`, but `de Paul`."""
    shared = set(_NAME.findall(pair.source)) & set(_NAME.findall(pair.target))
    for word in sorted(shared):
        if word.istitle() and pair.source.count(word) == pair.target.count(word) == 1:
            drawn = (_name_like(word, pair, lists, random) for _ in range(MAX_DRAWS))
            name = next((each for each in drawn if _begins_with_vowel(each) == _begins_with_vowel(word)), word)
            pair = Sides(*(side.replace(word, name) for side in pair))
    return pair


def _begins_with_vowel(name: str) -> bool:
    return without_accents(name[0]) in "AEIOU"


def _name_like(word: str, pair: Sides, lists: Sequence[Sequence[str]], random: Random) -> str:
    """A name of the same list, or up to two invented ones."""
    if lists and random.random() >= INVENTED:
        same = [names for names in lists if word in names]
        return random.choice(random.choice(same or lists))
    listed = [random.choice(names) for names in lists]
    every = _NAME.findall(" ".join([*pair, *listed]))
    words = [each for each in every if each[0].isascii() == word[0].isascii()]  # of one script
    return " ".join(invented_name(words, random) for _ in range(random.choice((1, 1, 2))))


def _emphasis(pair: Sides, alignment: Alignment, random: Random) -> Sides:
    """Write a word of the source and the word that translates it in capitals."""
    links = [link for link in alignment.links if link.sure]
    if not links or any(map(has_marks, pair)):
        return pair
    link = random.choice(links)
    spans = [word_spans(side)[number] for side, number in zip(pair, link[:2], strict=True)]
    words = [side[begin:end] for side, (begin, end) in zip(pair, spans, strict=True)]
    if not all(word.isalpha() and word.upper().isupper() and len(word) > 1 for word in words):
        return pair
    sides = zip(pair, spans, words, strict=True)
    return Sides(*(replaced(side, [(*span, word.upper())]) for side, span, word in sides))


def figures(pair: Sides, _languages: Languages, random: Random) -> Sides:
    """Replace the numbers that occur once on each side by placeholders, as those with separators are in translation."""
    shared = shared_numbers(*pair)[:MAX_PLACEHOLDERS]
    if any(map(has_marks, pair)):
        return pair
    first = random.randint(0, MAX_PLACEHOLDERS - len(shared)) if random.random() < 0.2 else 0
    for mark, number in enumerate(shared, first):
        pair = _with_number(pair, number, [placeholder(mark)] * 2)
    return pair


def spaces(pair: Sides, _languages: Languages, random: Random) -> Sides:
    """Make no-break spaces of the source ordinary ones, or ordinary ones where typography has none no-break ones."""
    if _UNBREAKABLE.search(pair.source):
        return pair._replace(source=_UNBREAKABLE.sub(" ", pair.source))
    return pair._replace(source=_BREAKABLE.sub(random.choice("\u00a0\u00a0\u202f"), pair.source))


def numbers(pair: Sides, languages: Languages, random: Random) -> Sides:
    """Replace each number that occurs once on each side by another, formatted for each language."""
    for number in shared_numbers(*pair):
        pair = _with_number(pair, number, written(str(invented_number(random)), languages, ungrouped=4))
    return pair


def decimals(pair: Sides, languages: Languages, random: Random) -> Sides:
    """Replace each number that occurs once on each side by a decimal, formatted for each language. A pair without such
    numbers gets a quantity in parentheses, or becomes one."""
    shared = shared_numbers(*pair)
    for number in shared:
        pair = _with_number(pair, number, written(invented_decimal(random), languages))
    if shared:
        return pair
    quantities = invented_quantity(languages, random)
    if random.randrange(4) == 0 and not any(map(has_marks, pair)):
        return Sides(*quantities)
    return Sides(*(f"{side} ({quantity})" for side, quantity in zip(pair, quantities, strict=True)))


def _with_number(pair: Sides, number: str, texts: Sequence[str]) -> Sides:
    """The pair with a number replaced by the text for each side."""
    return Sides(*(re.sub(whole_number(number), text, side) for side, text in zip(pair, texts, strict=True)))


def _between(pair: Sides, before: str, after: str) -> Sides:
    """The pair with the same text before and after both sides."""
    return Sides(*(f"{before}{side}{after}" for side in pair))


def signs(pair: Sides, _languages: Languages, random: Random) -> Sides:
    """Put brackets around both sides, the same signs before or after them, or a sign before the full stop."""
    kind, sign = random.randrange(4), invented_sign(random)
    if kind == 0:
        return _between(pair, *random.choice(_BRACKETS))
    if kind == 1:
        return _between(pair, f"{sign} ", "")
    if kind == 2 and all(side.endswith(".") for side in pair):
        return Sides(*(f"{side[:-1]} {sign}." for side in pair))
    return _between(pair, "", f" {sign}")


def inserts(pair: Sides, _languages: Languages, random: Random) -> Sides:
    """Add the same string at the beginning or the end of both sides; sometimes it replaces both sides. A word in a
    script of one of the sides is not added: it would have to be translated."""
    insert, kind = invented_insert(random), random.randrange(8)
    if not insert.isascii() and script_of(insert[0]) in map(script_of, pair.source + pair.target):
        return pair
    if kind == 0 and not any(map(has_marks, pair)):
        return Sides(insert, insert)
    return _between(pair, f"{insert} ", "") if kind == 1 else _between(pair, "", f" {insert}")


def lists(pair: Sides, _languages: Languages, random: Random) -> Sides:
    """Put the same list mark before both sides."""
    return _between(pair, random.choice(_MARKS), "")


def same(pair: Sides, _languages: Languages, _random: Random) -> Sides:
    """Use the target as the source, too."""
    return Sides(pair.target, pair.target)


def quotes(pair: Sides, languages: Languages, random: Random) -> Sides:
    """Put both sides in the quotation marks of their languages, or in straight ones."""
    straight = random.random() < 0.5 or not {*map(normal_code, languages)} <= _QUOTES.keys()
    marks = [('"', '"') if straight else _QUOTES[normal_code(language)] for language in languages]
    return Sides(*(f"{opening}{side}{closing}" for side, (opening, closing) in zip(pair, marks, strict=True)))


def bare(pair: Sides, _languages: Languages, _random: Random) -> Sides:
    """Remove the final punctuation mark of both sides if both have one."""
    if not all(side.endswith(tuple(TERMINATORS)) and side.rstrip(TERMINATORS).strip() for side in pair):
        return pair
    return Sides(*(side.rstrip(TERMINATORS).rstrip() for side in pair))


def _each_word(change: Callable[[str], str], sides: int, pair: Sides, _languages: Languages, _random: Random) -> Sides:
    """Change every word of the first side or of both, except addresses, if that changes each: Arabic has no case."""
    new = [_WORD.sub(lambda match: change(match[0]), side) for side in pair[:sides]]
    return pair if any(map(str.__eq__, new, pair)) else Sides(*new, *pair[sides:])


def typos(pair: Sides, languages: Languages, random: Random) -> Sides:
    """Put one or two typing errors into source words of at least three letters, but not into annotated terms, nor
    into names and variables, which a target in another language has, too."""
    source, kept = pair.source, "" if languages.source == languages.target != "" else pair.target
    for _ in range(random.randint(1, MAX_TYPOS)):
        places = [match.span(1) for match in _MISTAKABLE.finditer(source) if match[1] and match[1] not in kept]
        if not places:
            break
        begin, end = random.choice(places)
        source = replaced(source, [(begin, end, _mistyped(source[begin:end], random))])
    return pair._replace(source=source)


def formality(pair: Sides, languages: Languages, _random: Random) -> Sides:
    """Put the tag of the form of address before the source, if the target has one."""
    label = form_of_address(pair.target, languages.target, pair.source)
    return pair._replace(source=FORMALITY_MARKS[label] + pair.source) if label else pair


def _mistyped(word: str, random: Random) -> str:
    """Swap two adjacent letters, or drop or double one letter, or type an adjacent key in its place."""
    position = random.randrange(len(word) - 1)
    before, letter, after = word[:position], word[position], word[position + 1 :]
    kind = random.randrange(4)
    if kind == 0:
        return before + after[0] + letter + after[1:]
    if kind == 1:
        return before + after if position else word[:-1]
    if kind == 2:
        return before + letter * 2 + after
    near = _NEAR.get(letter.lower())
    typed = random.choice(near) if near else letter
    return before + (typed.upper() if letter.isupper() else typed) + after


AUGMENTATIONS: dict[str, Augmentation] = {
    "names": names,
    "numbers": numbers,
    "inserts": inserts,
    "quotes": quotes,
    "lists": lists,
    "bare": bare,
    "lowercase": partial(_each_word, str.lower, 2),
    "uppercase": partial(_each_word, str.upper, 2),
    "titlecase": partial(_each_word, lambda word: word[:1].upper() + word[1:], 1),
    "typos": typos,
    "decimals": decimals,
    "signs": signs,
    "spaces": spaces,
    "same": same,
    "figures": figures,
    "formality": formality,
}
"""In the order in which they are applied, `same` after those that need two languages; `join` and `ALIGNED` come
before."""

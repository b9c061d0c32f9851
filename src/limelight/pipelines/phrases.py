"""Phrases to include in a translation, or to exclude: their tokens, and finding them in a text."""

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from limelight.decoding.constraints import Constraints, Phrase
from limelight.decoding.request import Hypothesis, Request
from limelight.errors import UserError
from limelight.text.numbers import has_digits
from limelight.text.words import is_unspaced
from limelight.tokens.tokenizer import SPACE, UNKNOWN, Tokenizer, byte_of, is_control

WIDTH = 8
"""Minimum default beam size with phrases to include."""
MAX_SEARCHES = 4
"""Maximum number of searches of a sentence if an excluded phrase occurs in other tokens."""


class Phrases(NamedTuple):
    """Phrases to include and to exclude."""

    include: tuple[tuple[str, ...], ...] = ()
    """The forms of each phrase, of which one has to occur."""
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, include: Sequence[str | Sequence[str]] | None, exclude: Sequence[str] | None) -> "Phrases":
        """Phrases with their forms, or as one string with `|` between forms. Raises `UserError` for a blank one."""
        for name, given in (("must_include", include), ("must_not_include", exclude)):
            if isinstance(given, str):
                raise UserError(f"{name} is a list of phrases: write [{given!r}]")
        wanted = tuple(tuple(each.split("|") if isinstance(each, str) else each) for each in include or ())
        unwanted = tuple(form for each in exclude or () for form in each.split("|"))
        for form in (*unwanted, *(form for forms in wanted for form in forms)):
            if not form.strip():
                raise UserError("a phrase to include or exclude is blank")
        return cls(wanted, unwanted)

    @property
    def has_digits(self) -> bool:
        """Whether a phrase to include has a number, which cannot be a placeholder."""
        return any(has_digits(form) for forms in self.include for form in forms)

    def warnings(self, text: str) -> tuple[str, ...]:
        """Warnings for missing phrases and for excluded ones that occur."""
        missing = any(not any(has_phrase(text, form) for form in forms) for forms in self.include)
        there = any(has_phrase(text, phrase, any_case=True) for phrase in self.exclude)
        return ("phrase missing",) * missing + ("phrase not avoided",) * there


NO_PHRASES = Phrases()


class PhraseTokens:
    """Phrases as tokens of a vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = tokenizer.pieces(range(tokenizer.size))
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        self._joined = frozenset(number for number, piece in enumerate(pieces) if piece[:1].isalnum() or byte_of(piece))
        """Tokens that continue a word."""
        self._silent = frozenset(number for number, piece in enumerate(pieces) if is_control(piece))

    def constraints(self, phrases: Phrases) -> Constraints:
        """The constraints for phrases. Raises `UserError` for a phrase without tokens in the vocabulary."""
        include = list[Phrase]()
        for forms in phrases.include:
            runs = dict.fromkeys(run for form in forms for run in self._runs(form))
            if not runs:
                raise UserError(f"{forms[0]!r}: the vocabulary of this model has no tokens for this phrase")
            include.append(
                Phrase(tuple(runs), frozenset() if any(map(_is_open, forms)) else self._joined, self._silent)
            )
        exclude = dict.fromkeys(run for phrase in phrases.exclude for run in self._runs(phrase, phrase.lower()))
        return Constraints(tuple(include), tuple(exclude))

    def made_of(self, ids: Sequence[int], phrases: Sequence[str]) -> tuple[int, ...]:
        """The shortest sequence of a hypothesis' tokens that contains one of these phrases; empty if none does."""

        def has_one(run: Sequence[int]) -> bool:
            text = self._tokenizer.decode(run)
            return any(has_phrase(text, phrase, any_case=True) for phrase in phrases)

        sizes = range(1, len(ids) + 1) if has_one(ids) else ()
        runs = (tuple(ids[place : place + size]) for size in sizes for place in range(len(ids) - size + 1))
        return next((run for run in runs if has_one(run)), ())

    def searched(self, request: Request, phrases: Phrases) -> Generator[Request, list[Hypothesis], list[Hypothesis]]:
        """Steps of a job: search a request, and again if an excluded phrase occurred in other tokens."""
        found = list[Hypothesis]()
        for _ in range(MAX_SEARCHES):
            found = yield request
            run = self.made_of(found[0].ids, phrases.exclude) if phrases.exclude and found else ()
            if not run:
                break
            asked = request.constraints
            request = replace(request, constraints=asked._replace(exclude=(*asked.exclude, run)))
        return found

    def _runs(self, phrase: str, *further: str) -> Iterator[tuple[int, ...]]:
        """The token sequences of a phrase: after a space, and capitalized, as at the beginning of a text."""
        for text in dict.fromkeys((phrase, phrase[:1].upper() + phrase[1:], *further)):
            ids = self._tokenizer.encode(f" {text}")
            if UNKNOWN in ids or not ids:
                continue
            yield tuple(ids)
            if is_unspaced(text[:1]):  # no space comes before it
                [first] = self._tokenizer.pieces(ids[:1])
                if first == SPACE:
                    yield tuple(ids[1:])
                elif first[1:] in self._ids:
                    yield (self._ids[first[1:]], *ids[1:])


def has_phrase(text: str, phrase: str, *, any_case: bool = False) -> bool:
    """Whether a text contains a phrase as whole words; its first letter may be capitalized."""
    before = "" if is_unspaced(phrase[:1]) or not phrase[:1].isalnum() else r"(?<![^\W_])"
    after = "" if _is_open(phrase) else r"(?![^\W_])"
    first = f"[{re.escape(phrase[0])}{re.escape(phrase[0].upper()[:1])}]"
    flags = re.IGNORECASE if any_case else 0
    return re.search(f"{before}{first}{re.escape(phrase[1:])}{after}", text, flags) is not None


def _is_open(phrase: str) -> bool:
    """Whether a phrase may be directly followed by letters."""
    return is_unspaced(phrase[-1:]) or not phrase[-1:].isalnum()

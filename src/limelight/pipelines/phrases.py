"""Terms that a translation has to contain, as tokens."""

from collections.abc import Iterator, Sequence

from limelight.decoding.constraints import Phrase
from limelight.errors import UserError
from limelight.text.words import is_unspaced
from limelight.tokens.tokenizer import SPACE, UNKNOWN, Tokenizer, byte_of, is_control

WIDTH = 8
"""Minimum default beam size with phrases to include."""


class PhraseTokens:
    """Phrases as tokens of a vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = tokenizer.pieces(range(tokenizer.size))
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        self._joined = frozenset(number for number, piece in enumerate(pieces) if piece[:1].isalnum() or byte_of(piece))
        """Tokens that continue a word."""
        self._silent = frozenset(number for number, piece in enumerate(pieces) if is_control(piece))

    def of(self, phrases: Sequence[Sequence[str]]) -> tuple[Phrase, ...]:
        """The tokens of the forms of phrases. Raises `UserError` for a phrase without tokens in the vocabulary."""
        wanted = list[Phrase]()
        for forms in phrases:
            runs = dict.fromkeys(run for form in forms for run in self._runs(form))
            if not runs:
                raise UserError(f"{forms[0]!r}: the vocabulary of this model has no tokens for this phrase")
            is_open = any(is_unspaced(form[-1:]) or not form[-1:].isalnum() for form in forms)  # letters may follow
            wanted.append(Phrase(tuple(runs), frozenset() if is_open else self._joined, self._silent))
        return tuple(wanted)

    def _runs(self, phrase: str) -> Iterator[tuple[int, ...]]:
        """The token sequences of a phrase: after a space, and capitalized, as at the beginning of a text."""
        for text in dict.fromkeys((phrase, phrase[:1].upper() + phrase[1:])):
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

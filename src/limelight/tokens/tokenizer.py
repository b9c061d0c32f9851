"""The interface of tokenizers: the protocol, the special ids and the reserved tokens.

Special ids follow Marian's convention: end 0, unknown 1, padding the last id. So other tools can convert our models,
and a decoder starts from padding, whose embedding is zero.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Protocol, runtime_checkable

from limelight.errors import UserError
from limelight.text.marking import MARK_COUNT
from limelight.text.words import is_unspaced

END = 0
UNKNOWN = 1
END_PIECE = "</s>"
UNKNOWN_PIECE = "<unk>"
PADDING_PIECE = "<pad>"
UNKNOWN_TEXT = "\u2047"
"""The decoded text of an unknown token: the double question mark."""

SPACE = "\u2581"
"""The mark of a space inside tokens; words begin with it."""

PLACEHOLDERS = tuple(f"<ph{number}>" for number in range(MARK_COUNT))
"""Tokens for spans that a translation must not change: tags, variables, URLs. The last two enclose the target form of
a term after the source word: `cat <ph30> Katze <ph31>`."""

BACK_TRANSLATED = "<bt>"
"""Precedes a source that is a machine translation of its target (Caswell et al. 2019). Only in vocabularies of runs
that train on such text."""

FORMALITY_TAGS = ("<formal>", "<informal>")
"""Precede a source whose translation has this form of address (Sennrich et al. 2016). In vocabularies of runs with
`augmentation.formality`, or with a corpus that has such a side constraint."""

MASK = "[MASK]"
"""Replaces a token that a masked model has to predict (Devlin et al. 2019). Only in vocabularies of plain text."""

LINE = "<line>"
"""A line end inside a document, for tokenizers that collapse white space. Only in vocabularies of plain text."""

MAX_PIECES = 500_000
"""Maximum vocabulary size: twice the vocabulary of models that translate 200 languages."""

_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_DOMAIN = re.compile(rf"domain:{_LANGUAGE.pattern}")
# `<similar>` is in vocabularies of earlier versions.
_CONTROL = re.compile(
    rf"<2{_LANGUAGE.pattern}>|<ph\d+>|<{_DOMAIN.pattern}>|{'|'.join((BACK_TRANSLATED, *FORMALITY_TAGS))}|<similar>"
)
_BYTE = re.compile("<0x([0-9A-F]{2})>")
_SURROGATE = re.compile("[\ud800-\udfff]")
# White space at which a line may break. No-break spaces are excluded: French typography depends on them.
_BREAKABLE = re.compile(f"[\t-\r\x1c- \x85\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000{SPACE}]+")


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back. Texts are normalized first, see `normalize`, except by character tokenizers."""

    @property
    def kind(self) -> str:
        """The kind of segmentation: `bpe`, `unigram`, `characters`, `listed (unigram)`."""

    @property
    def size(self) -> int:
        """Number of ids, padding included."""

    @property
    def padding(self) -> int:
        """The padding id: the last one, `size - 1`."""

    def reserved_id(self, piece: str) -> int:
        """The id of a reserved token. Raises `UserError` if the vocabulary lacks it."""

    def encode(self, text: str) -> list[int]:
        """The best segmentation of `text`, without an end id."""

    def encode_sampled(self, texts: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        """A random segmentation of each text; a pure function of its arguments. `amount` 0 is `encode`."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`. End, padding, tags and placeholders are skipped; the unknown id is decoded as U+2047."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """A readable token for each id; words begin with U+2581."""

    def word_of(self, ids: Sequence[int]) -> list[int]:
        """For each id the index of its word, from 0; see `group_words`."""

    def save(self, folder: Path) -> None:
        """Write all files of the tokenizer to `folder`, which is created if missing."""


def normalize(text: str) -> str:
    """The normalized text, which is the input of a tokenizer and the result of `decode(encode(text))`.

    Unicode NFC; each run of breakable white space (including U+2581, the mark of a space inside tokens) becomes one
    space, and the ends are stripped; no-break spaces are kept; lone surrogates, which cannot be encoded, become U+FFFD.
    Nothing else changes: no case folding, no compatibility forms.
    """
    text = _SURROGATE.sub("\ufffd", text)
    return unicodedata.normalize("NFC", _BREAKABLE.sub(" ", text).strip(" "))


def language_tag(language: str) -> str:
    """The reserved token before a source that selects the target language: `<2de>`.

    Raises:
        UserError: `language` is not a name of letters, digits, `-` and `_`.
    """
    if not _LANGUAGE.fullmatch(language):
        raise UserError(f"{language!r} is not a language name; write letters, digits, - and _, for example de or pt-BR")
    return f"<2{language}>"


def side_constraint_tag(name: str) -> str:
    """The reserved token of a side constraint: `<formal>`, `<informal>` or `<domain:legal>`.

    Raises:
        UserError: it is none of these.
    """
    tag = f"<{name}>"
    if tag not in FORMALITY_TAGS and not _DOMAIN.fullmatch(name):
        raise UserError(
            f"{name!r} is not a side constraint: formal, informal, or domain:NAME (letters, digits, - and _)"
        )
    return tag


def reserved_pieces(languages: Sequence[str], further: Sequence[str] = ()) -> list[str]:
    """All reserved tokens, in the order of their ids (which begin after `UNKNOWN`)."""
    return list(dict.fromkeys([*map(language_tag, languages), *PLACEHOLDERS, *further]))


def is_control(piece: str) -> bool:
    """Whether a reserved token can only be inserted as an id: tags and placeholders.

    The same characters in a text are ordinary text. Other reserved tokens, such as `[MASK]`, are recognized in texts.
    """
    return _CONTROL.fullmatch(piece) is not None


def group_words(pieces: Sequence[str], alone: Sequence[bool]) -> list[int]:
    """The word index of each token, from 0.

    A word begins at a token with the mark of a space, and at and after each token that is `alone` (reserved and special
    ones); a bare mark before such a token belongs to it. In a script without spaces between words each token is a word,
    except marks such as vowel signs and the bytes of one character.
    """
    words: list[int] = []
    before = ""
    for position, (piece, text) in enumerate(zip(pieces, spelled(pieces), strict=True)):
        after_alone = position > 0 and alone[position - 1]
        after_bare_mark = position > 0 and pieces[position - 1] == SPACE
        begins = piece.startswith(SPACE) or after_alone
        begins |= (alone[position] or _begins_unspaced(before, text)) and not after_bare_mark
        words.append(words[-1] + begins if words else 0)
        before = text or before
    return words


def _begins_unspaced(before: str, text: str) -> bool:
    """Whether a word begins at `text` because it or the previous token is in a script without spaces between words."""
    if not (is_unspaced(text[:1]) or is_unspaced(before[-1:])) or not text:
        return False
    return not unicodedata.category(text[0]).startswith("M")


def spelled(pieces: Sequence[str]) -> list[str]:
    """The tokens with byte sequences decoded: the character at the position of its first byte, empty text at the
    others."""
    texts = list(pieces)
    for position, piece in enumerate(pieces):
        if texts[position] and (first := byte_of(piece)):
            length = max(1, f"{first[0]:08b}".find("0"))  # of the character in UTF-8, as its first byte says
            spelled = b"".join(takewhile(bool, map(byte_of, pieces[position : position + length])))
            texts[position : position + len(spelled)] = [spelled.decode(errors="replace"), *[""] * (len(spelled) - 1)]
    return texts


def byte_of(piece: str) -> bytes:
    """The byte of a token like `<0xE2>`; empty for other tokens."""
    match = _BYTE.fullmatch(piece) if piece.startswith("<") else None  # for every token of a text
    return bytes.fromhex(match[1]) if match else b""


def require_ids(ids: Sequence[int], size: int) -> None:
    """Raise `ValueError` for an id outside the vocabulary, probably from another tokenizer."""
    if len(ids) and not 0 <= min(ids) <= max(ids) < size:
        identifier = next(candidate for candidate in ids if not 0 <= candidate < size)
        raise ValueError(f"id {identifier} is not in this vocabulary of {size} ids")


def require_count(count: int) -> None:
    """Raises `UserError` for fewer tokens than the special ones, or more than `MAX_PIECES`."""
    if not 2 <= count <= MAX_PIECES:
        raise UserError(f"{count:,} pieces; a vocabulary has between 2 and {MAX_PIECES:,}")

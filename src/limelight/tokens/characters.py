"""Character vocabularies: every character is a token. Lossless, but sequences are four or five times as long.

Text is not normalized: line ends, tabs and repeated spaces are ordinary characters.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from limelight.errors import UserError, shown
from limelight.tokens.metadata import FileTokenizer
from limelight.tokens.tokenizer import (
    END_PIECE,
    PADDING_PIECE,
    SPACE,
    UNKNOWN,
    UNKNOWN_PIECE,
    UNKNOWN_TEXT,
    is_control,
    require_count,
    require_ids,
)
from limelight.tokens.vocabulary import no_text, require_size

MAX_CHARACTERS = 20_000
"""Default maximum number of characters; rarer ones become the unknown token. More than the everyday letters of all
scripts, and few enough for an embedding of each."""

# The form of reserved tokens. One pass finds all candidates in a text, however many reserved tokens there are.
_RESERVED = re.compile(r"(<[A-Za-z0-9_:-]{1,40}>|\[[A-Z]{1,34}\])")


class CharacterTokenizer(FileTokenizer):
    """A `Tokenizer` whose tokens are the characters of a text.

    `decode(encode(text)) == text` if all characters are known; each unknown one is decoded as U+2047.
    """

    def __init__(self, model: bytes, *, reserved: Sequence[str]) -> None:
        """Wrap the result of `train_characters`.

        Args:
            model: the characters in UTF-8, sorted by code point.
            reserved: tokens that are never split, with ids before the ids of the characters.

        Raises:
            UserError: `model` is invalid, or a reserved token does not have the form of one.
        """
        try:
            characters = model.decode("utf-8")
        except UnicodeDecodeError:
            raise UserError("not a list of characters: not in UTF-8") from None
        require_count(2 + len(reserved) + len(characters))
        if any(one >= other for one, other in pairwise(characters)):
            raise UserError("not a list of characters: they must be sorted by code point, without duplicates")
        count = len({*reserved, UNKNOWN_PIECE, PADDING_PIECE})
        if count < len(reserved) + 2 or not all(map(_RESERVED.fullmatch, reserved)):
            raise UserError(f"reserved pieces look like <name> or [NAME], each once; here are {shown(str(reserved))}")
        pieces = [END_PIECE, UNKNOWN_PIECE, *reserved, *map(_readable, characters)]
        super().__init__("characters", model, pieces, reserved)
        kept = ("" if is_control(piece) else piece for piece in reserved)
        self._texts = ["", UNKNOWN_TEXT, *kept, *characters, ""]
        self._characters = {character: number for number, character in enumerate(characters, 2 + len(reserved))}
        self._found = {piece: number for number, piece in enumerate(reserved, 2) if not is_control(piece)}
        for character, number in self._characters.items():
            self._alone[number] = character.isspace() and character != " "

    def encode(self, text: str) -> list[int]:
        """One token for each character, `[MASK]` and `<line>` of `text`, without an end id."""
        known, ids = self._characters, []
        for number, part in enumerate(_RESERVED.split(text)):
            if number % 2 and part in self._found:
                ids.append(self._found[part])
            else:
                ids += [known.get(character, UNKNOWN) for character in part]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; end and padding are skipped, the unknown id is decoded as U+2047."""
        require_ids(ids, self.size)
        return "".join([self._texts[number] for number in ids])


def train_characters(
    texts: Iterable[str], *, vocabulary_size: int | None, reserved: Sequence[str]
) -> CharacterTokenizer:
    """Learn a vocabulary of the characters of all texts, or of the most frequent ones.

    Args:
        vocabulary_size: maximum number of tokens without padding; default: room for `MAX_CHARACTERS`.
        reserved: tokens that are never split; they get the first ids.

    Raises:
        UserError: there is no text, or the size leaves no room for characters.
    """
    counts = Counter(chain.from_iterable(texts))
    for code in range(0xD800, 0xE000):  # lone surrogates, which cannot be encoded
        counts.pop(chr(code), None)
    if all(map(str.isspace, counts)):
        raise no_text()
    size = vocabulary_size or 2 + len(reserved) + MAX_CHARACTERS
    require_size(size, len(reserved))
    kept = sorted(counts, key=lambda character: (-counts[character], character))[: size - 2 - len(reserved)]
    return CharacterTokenizer("".join(sorted(kept)).encode("utf-8"), reserved=reserved)


def _readable(character: str) -> str:
    """A visible form of a character: U+2581 for a space, an escape such as `\\n` for other invisible ones."""
    if character == " ":
        return SPACE
    return character if character.isprintable() and character != SPACE else ascii(character)[1:-1]

"""Subwords to whole words: their text, and the attention they give and get together."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Groups = tuple[int, ...]
"""For each token the number of its word; the tokens of a word stand together."""

START_PIECE = "<s>"
END_PIECE = "</s>"

WORD_START = "▁"
JOINERS = "\u200c\u200d\u3000\xa0"
"""Letters of real words (Persian, Hindi, emoji) and spaces that Python does not call printable."""
BYTES = re.compile(r"(?:<0x[0-9A-Fa-f]{2}>)+")


def group_pieces(pieces: Sequence[str], words: Groups) -> tuple[str, ...]:
    """The text of each word, without the mark of a word's start and with spelled-out bytes read again."""
    texts: dict[int, str] = {}
    for piece, word in zip(pieces, words, strict=True):
        texts[word] = texts.get(word, "") + piece
    return tuple(readable(text) for text in texts.values())


def readable(text: str) -> str:
    """`▁Stra<0xC3><0x9F>e` as `Straße`; a bare mark stays, as it is all there is to see."""
    whole = BYTES.sub(lambda match: _decoded(match.group()), text)
    return whole.replace(WORD_START, " ").strip() or whole


def drawable(text: str) -> str:
    """The text without what moves a cursor, turns the writing direction or cannot stand in a file; joiners stay."""
    return "".join(letter if letter.isprintable() or letter in JOINERS else "\ufffd" for letter in text)


def merge_rows_and_columns(
    weights: npt.NDArray[np.float32], row_words: Groups, column_words: Groups
) -> npt.NDArray[np.float32]:
    """Attention between words: the mean over the tokens of the word that asks, the sum over those of the word asked.

    `weights` (..., rows, columns) become (..., words of the rows, words of the columns); rows keep their sums.
    """
    given = _membership(row_words)
    given /= given.sum(axis=1, keepdims=True)
    merged: npt.NDArray[np.float32] = (given @ weights @ _membership(column_words).T).astype(np.float32)
    return merged


def _membership(words: Groups) -> npt.NDArray[np.float64]:
    """(words, tokens): 1 where the token belongs to the word."""
    numbers = list(dict.fromkeys(words))
    return (np.asarray(numbers)[:, None] == np.asarray(words)[None, :]).astype(np.float64)


def _decoded(spelled: str) -> str:
    return bytes.fromhex(spelled.replace("<0x", "").replace(">", "")).decode("utf-8", errors="replace")

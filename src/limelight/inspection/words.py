"""Merging subwords to words: their text and their attention weights."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from limelight.tokens.tokenizer import SPACE

Groups = tuple[int, ...]
"""For each token the number of its word; the tokens of a word are consecutive."""

START_PIECE = "<s>"
BYTES = re.compile(r"(?:<0x[0-9A-Fa-f]{2}>)+")


def group_pieces(pieces: Sequence[str], words: Groups) -> tuple[str, ...]:
    """The text of each word, without the word-start mark and with byte tokens decoded."""
    texts: dict[int, str] = {}
    for piece, word in zip(pieces, words, strict=True):
        texts[word] = texts.get(word, "") + piece
    return tuple(readable(text) for text in texts.values())


def readable(text: str) -> str:
    """`▁Stra<0xC3><0x9F>e` as `Straße`; a word-start mark alone is kept."""
    text_read = BYTES.sub(lambda match: bytes.fromhex(re.sub("<0x|>", "", match[0])).decode(errors="replace"), text)
    return text_read.replace(SPACE, " ").strip() or text_read


def merge_rows_and_columns(
    weights: npt.NDArray[np.float32], row_words: Groups, column_words: Groups
) -> npt.NDArray[np.float32]:
    """Attention between words: the mean over the tokens of the query word, the sum over the tokens of the key word.

    `weights` (..., rows, columns) become (..., words of the rows, words of the columns); rows keep their sums.
    """
    row_share, taken = (
        membership([[word - words[0]] for word in words], len({*words})) for words in (row_words, column_words)
    )
    row_share /= row_share.sum(axis=1, keepdims=True)
    return (row_share @ weights @ taken.T).astype(np.float32)


def membership(words_of: Sequence[Sequence[int]], count: int) -> npt.NDArray[np.float64]:
    """(words, tokens): 1 where a token has characters of one of the `count` words."""
    members = np.zeros((count, len(words_of)))
    for token, words in enumerate(words_of):
        members[list(words), token] = 1
    return members

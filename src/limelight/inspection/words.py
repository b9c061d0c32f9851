"""Merging subwords to words, their text and their attention weights; captions."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Groups = tuple[int, ...]
"""For each token the number of its word; the tokens of a word are consecutive."""

START_PIECE = "<s>"
END_PIECE = "</s>"

WORD_START = "▁"
JOINERS = "\u200c\u200d\u3000\xa0"
"""Joiners (in Persian, Hindi, emoji) and spaces, which Python does not count as printable."""
BYTES = re.compile(r"(?:<0x[0-9A-Fa-f]{2}>)+")


def group_pieces(pieces: Sequence[str], words: Groups) -> tuple[str, ...]:
    """The text of each word, without the word-start mark and with byte tokens decoded."""
    texts: dict[int, str] = {}
    for piece, word in zip(pieces, words, strict=True):
        texts[word] = texts.get(word, "") + piece
    return tuple(readable(text) for text in texts.values())


def readable(text: str) -> str:
    """`▁Stra<0xC3><0x9F>e` as `Straße`; a word-start mark alone is kept."""
    whole = BYTES.sub(lambda match: _decoded(match.group()), text)
    return whole.replace(WORD_START, " ").strip() or whole


def drawable(text: str) -> str:
    """The text without characters that move a cursor, change the writing direction or are not valid in a file; joiners
    are kept."""
    return "".join(letter if letter.isprintable() or letter in JOINERS else "\ufffd" for letter in text)


def merge_rows_and_columns(
    weights: npt.NDArray[np.float32], row_words: Groups, column_words: Groups
) -> npt.NDArray[np.float32]:
    """Attention between words: the mean over the tokens of the query word, the sum over the tokens of the key word.

    `weights` (..., rows, columns) become (..., words of the rows, words of the columns); rows keep their sums.
    """
    given = _membership(row_words)
    given /= given.sum(axis=1, keepdims=True)
    merged: npt.NDArray[np.float32] = (given @ weights @ _membership(column_words).T).astype(np.float32)
    return merged


def _membership(words: Groups) -> npt.NDArray[np.float64]:
    """(words, tokens): 1 if the token belongs to the word, else 0."""
    numbers = list(dict.fromkeys(words))
    return (np.asarray(numbers)[:, None] == np.asarray(words)[None, :]).astype(np.float64)


def _decoded(spelled: str) -> str:
    return bytes.fromhex(spelled.replace("<0x", "").replace(">", "")).decode("utf-8", errors="replace")


TITLES: dict[str, str] = {
    "cross": "cross attention: predicted target (rows) to source (columns)",
    "encoder_self": "encoder self-attention: source to source",
    "decoder_self": "decoder self-attention: read target to read target",
}
MAX_TITLE_LENGTH = 60
"""Maximum characters of a sentence on one line."""


def caption(source: str, target: str, between: str = " → ") -> str:
    """`source → target`, or the one that is not empty."""
    return between.join(drawable(side) for side in (source, target) if side)


def shortened(text: str, longest: int = MAX_TITLE_LENGTH) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def chosen(layer: int | None, heads: int | Sequence[int] | None) -> str:
    """The layers and heads of a mean, in words."""
    which_layer = "mean of all layers" if layer is None else f"layer {layer}"
    if heads is None:
        which_heads = "mean of all heads"
    elif isinstance(heads, int):
        which_heads = f"head {heads}"
    else:
        which_heads = f"mean of heads {', '.join(map(str, heads))}"
    return f"{which_layer}, {which_heads}"

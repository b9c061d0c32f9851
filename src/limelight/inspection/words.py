"""Merging subwords to words, their text and their attention weights; captions. And texts whose words are given: the
text that a model should read, and which words each of its tokens belongs to.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt

from limelight.text.words import is_unspaced
from limelight.tokens.tokenizer import SPACE, spelled

Groups = tuple[int, ...]
"""For each token the number of its word; the tokens of a word are consecutive."""

START_PIECE = "<s>"
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
    text_read = BYTES.sub(lambda match: _decoded(match.group()), text)
    return text_read.replace(SPACE, " ").strip() or text_read


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
    row_share, taken = (membership([[word - words[0]] for word in words]) for words in (row_words, column_words))
    row_share /= row_share.sum(axis=1, keepdims=True)
    merged: npt.NDArray[np.float32] = (row_share @ weights @ taken.T).astype(np.float32)
    return merged


def membership(words_of: Sequence[Sequence[int]], count: int | None = None) -> npt.NDArray[np.float64]:
    """(words, tokens): 1 where a token has characters of a word; by default up to the last word of the last token."""
    members = np.zeros(((words_of[-1][-1] + 1 if words_of else 0) if count is None else count, len(words_of)))
    for token, words in enumerate(words_of):
        members[list(words), token] = 1
    return members


def _decoded(spelled: str) -> str:
    return bytes.fromhex(spelled.replace("<0x", "").replace(">", "")).decode("utf-8", errors="replace")


TITLES: dict[str, str] = {
    "cross": "cross attention: predicted target (rows) to source (columns)",
    "encoder_self": "encoder self-attention: source to source",
    "decoder_self": "decoder self-attention: read target to read target",
}


def caption(source: str, target: str, between: str = " → ") -> str:
    """`source → target`, or the one that is not empty."""
    return between.join(drawable(side) for side in (source, target) if side)


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


Span = tuple[int, int]
"""Begin and end in characters."""

_CLOSING = frozenset(".,!?;:)]}%…»”’。，！？；：")
_OPENING = frozenset("([{«“„¿¡#$")


def joined_words(words: Sequence[str]) -> tuple[str, list[Span]]:
    """The text of words and punctuation as people write it, and the span of each of them.

    Models are trained on such text, while alignments are of separate tokens: no space is put before closing and after
    opening punctuation, beside an apostrophe that ends or begins a word (`l'`, `'s`), and between the letters of a
    script without spaces. Straight quotes open and close in turn.
    """
    text, spans, attach, quoted = "", list[Span](), True, False
    for word in words:
        if word == '"':
            quoted = not quoted
        closes = word in _CLOSING or (word == '"' and not quoted) or (word[:1] in "'’" and len(word) > 1)
        joined = bool(text) and bool(word) and is_unspaced(text[-1]) and is_unspaced(word[0])
        if not (attach or closes or joined):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
        attach = word in _OPENING or (word == '"' and quoted) or (word[-1:] in "'’" and len(word) > 1)
    return text, spans


def words_of_tokens(pieces: Sequence[str], text: str, spans: Sequence[Span]) -> list[list[int]]:
    """For each token of a text the numbers of the words that it has characters of.

    Args:
        pieces: the tokens in their readable form, with U+2581 for a space.
        text: what they spell. Where a tokenizer normalizes, the characters that are equal on both sides count.
        spans: of the words.
    """
    owner = [-1] * len(text)
    for number, (begin, end) in enumerate(spans):
        owner[begin:end] = [number] * (end - begin)
    texts = [piece.replace(SPACE, " ") for piece in spelled(pieces)]
    token_of = [token for token, piece in enumerate(texts) for _ in piece]
    by_token: list[dict[int, None]] = [{} for _ in pieces]
    matcher = SequenceMatcher(None, "".join(texts), text, autojunk=False)
    for start, other_start, size in matcher.get_matching_blocks():
        for offset in range(size):
            if owner[other_start + offset] >= 0:
                by_token[token_of[start + offset]][owner[other_start + offset]] = None
    return [list(owners) for owners in by_token]

"""Texts whose words are given: the text that a model should read, and which words each of its tokens belongs to."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from limelight.inspection.words import WORD_START, readable
from limelight.text.words import is_unspaced

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
    spelled = _spelled(pieces)
    token_of = [token for token, piece in enumerate(spelled) for _ in piece]
    found: list[dict[int, None]] = [{} for _ in pieces]
    matcher = SequenceMatcher(None, "".join(spelled), text, autojunk=False)
    for here, there, size in matcher.get_matching_blocks():
        for offset in range(size):
            if owner[there + offset] >= 0:
                found[token_of[here + offset]][owner[there + offset]] = None
    return [list(each) for each in found]


def _spelled(pieces: Sequence[str]) -> list[str]:
    """The text of each token; that of a character in bytes stands at the first of them."""
    texts, place = [""] * len(pieces), 0
    while place < len(pieces):
        size = 1
        if pieces[place].startswith("<0x"):
            size = next(
                (size for size in (1, 2, 3, 4) if "\ufffd" not in readable("".join(pieces[place : place + size]))), 1
            )
        texts[place] = readable("".join(pieces[place : place + size])) if size > 1 else pieces[place]
        place += size
    return [text.replace(WORD_START, " ") for text in texts]

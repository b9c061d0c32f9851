"""Encode whole documents including line ends, which most tokenizers do not preserve.

Tokenizers that collapse white space would lose the lines of a document: for these, each line is encoded separately,
with the reserved token `<line>` between lines. A character tokenizer encodes `\\n` itself.
"""

from collections.abc import Sequence
from itertools import chain

from limelight.tokens.tokenizer import END, LINE, MASK, PLACEHOLDERS, UNKNOWN, Tokenizer

RESERVED = (MASK, LINE)
"""Tokens that a vocabulary of plain text reserves besides the placeholders."""

_NEVER_ORDINARY = {*PLACEHOLDERS, *RESERVED}


def encode_text(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a document, without an end id.

    Texts that end in `\\n` can be encoded separately: the concatenation of their ids equals the ids of their
    concatenation.

    Raises:
        UserError: the vocabulary has no token for the end of a line.
    """
    line = line_end(tokenizer)
    if line is None:
        return tokenizer.encode(text)
    # A line end before each line, but not before the first.
    return list(chain.from_iterable([line, *tokenizer.encode(part)] for part in text.split("\n")))[1:]


def decode_text(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of `ids`; end and padding are skipped.

    `decode_text(encode_text(text)) == text` for character tokenizers if all characters are known. For other tokenizers
    it is `decode(encode(line))` of each line, and a literal `<line>` in the text is decoded as a line end.

    Raises:
        UserError: the vocabulary has no token for the end of a line.
    """
    line = line_end(tokenizer)
    if line is None:
        return tokenizer.decode(ids)
    lines: list[list[int]] = [[]]
    for number in ids:
        if number == line:
            lines.append([])
        else:
            lines[-1].append(number)
    return "\n".join(tokenizer.decode(row) for row in lines)


def line_end(tokenizer: Tokenizer) -> int | None:
    """The id of `<line>`, or None for a tokenizer that preserves line ends.

    Raises:
        UserError: the vocabulary has no token for the end of a line.
    """
    if tokenizer.encode("\n"):
        return None
    return tokenizer.reserved_id(LINE)


def ordinary_pieces(tokenizer: Tokenizer) -> list[int]:
    """The ids of ordinary tokens: neither special nor reserved in a vocabulary of plain text."""
    apart = {END, UNKNOWN, tokenizer.padding}
    pieces = tokenizer.pieces(range(tokenizer.size))
    return [number for number, piece in enumerate(pieces) if number not in apart and piece not in _NEVER_ORDINARY]

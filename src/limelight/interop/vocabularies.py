"""Vocabularies of other formats: a sentencepiece model segments a text, a list of tokens gives the ids."""

import re
import sys
import tempfile
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import sentencepiece

from limelight.errors import UserError, shown
from limelight.interop.files import read
from limelight.interop.names import Rows
from limelight.tokens import (
    CharacterTokenizer,
    ListedTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    Tokenizers,
    normalize,
)
from limelight.tokens.listed import listed_model
from limelight.tokens.sentencepiece_file import pieces_in, rules_of, type_of, with_rules
from limelight.tokens.tokenizer import END_PIECE, PADDING_PIECE, UNKNOWN_PIECE, is_control

SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
MAX_MODEL_BYTES = 10_000_000
"""Maximum bytes of a sentencepiece model."""

_LANGUAGE_CODE = re.compile(r">>.+<<")


class Side(NamedTuple):
    """An imported vocabulary."""

    tokenizer: Tokenizer
    kind: str
    """Type of its sentencepiece model: `bpe`, `unigram`, `word` or `char`."""
    rows: Rows


def read_segmentation(path: Path) -> bytes:
    """The content of a sentencepiece model. Raises `UserError` with its path if it is missing or damaged."""
    model = read(path, MAX_MODEL_BYTES)
    try:
        type_of(model)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return model


def numbered(names: Sequence[str]) -> dict[str, int]:
    """The ids of tokens, their positions. Raises `UserError` if a token is there twice."""
    ids = {name: number for number, name in enumerate(names)}
    if len(ids) < len(names):
        twice = next(name for number, name in enumerate(names) if ids[name] != number)
        raise UserError(f"the vocabulary has the token {shown(twice)} twice")
    return ids


def read_side(
    model: bytes,
    names: Sequence[str],
    *,
    end: str = END_PIECE,
    unknown: str = UNKNOWN_PIECE,
    reserved: Collection[str] = (),
) -> Side:
    """The vocabulary with these tokens, whose ids are their positions, and of which some are reserved. Padding is their
    `<pad>`, or a row of zeros.

    Raises `UserError` if a token is there twice, or one of the two special tokens is not there.
    """
    ids = numbered(names)
    missing = [name for name in (end, unknown) if name not in ids]
    if missing:
        raise UserError(f"the vocabulary has no {' and no '.join(map(shown, missing))}")
    special = (end, unknown, PADDING_PIECE)
    others = [number for number, name in enumerate(names) if name not in special]
    theirs = [ids[end], ids[unknown], *others, ids.get(PADDING_PIECE, len(names))]
    pieces = [END_PIECE, UNKNOWN_PIECE, *(names[number] for number in others)]
    return Side(_tokenizer(model, pieces, reserved), type_of(model), Rows(len(names), theirs))


def read_sides(
    models: Sequence[bytes], names: Sequence[list[str]], start: int | None, where: str, **special: str
) -> tuple[Side, Side]:
    """The vocabularies of source and target, each as for `read_side`; the same object twice if they are equal. Padding
    is `start`, as for `starting_with`, in that of the target and in an equal list.

    Raises `UserError` that begins with `where`.
    """
    is_shared = names[0] == names[1]
    try:
        target = starting_with(read_side(models[1], names[1], **special), start)
        if is_shared and models[0] == models[1]:
            return target, target
        source = read_side(models[0], names[0], **special)
        return (starting_with(source, start) if is_shared else source), target
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def starting_with(side: Side, start: int | None) -> Side:
    """The vocabulary whose padding, from which our decoders start, is this row of theirs; a row of zeros for None.
    Raises `UserError` if there is no such row."""
    *others, _ = side.rows.theirs
    size = side.rows.size
    if start is not None and not 0 <= start < size:
        raise UserError(f"decoder_start_token_id={start} is not the id of a token")
    return side._replace(rows=Rows(size, [*others, size if start is None else start]))


def _tokenizer(model: bytes, pieces: list[str], more: Collection[str]) -> Tokenizer:
    """The tokenizer that maps these tokens to these ids."""
    known = pieces_in(model)
    if rules_of(model)[0] == RULE_NAME and list(known) == pieces:
        bare = with_rules(model, "identity", b"")  # our text is already normalized
        reserved = [piece for piece in pieces if known[piece] or is_control(piece)]
        return SentencePieceTokenizer(bare, reserved=reserved)
    reserved = [piece for piece in pieces if known.get(piece) or piece in more or _LANGUAGE_CODE.fullmatch(piece)]
    return ListedTokenizer(listed_model(model, pieces), reserved=reserved)


def refused_tokenizers(tokenizers: Tokenizers) -> Iterator[str]:
    """Reasons why these tokenizers cannot be exported."""
    if any(isinstance(tokenizer, CharacterTokenizer) for tokenizer in tokenizers):
        yield "tokens.kind=characters: elsewhere texts are split by a sentencepiece model (bpe or unigram)"


def write_sentencepiece(tokenizers: Tokenizers, folder: Path) -> None:
    """Write the sentencepiece model of each side, with rules that normalize text as `normalize` does."""
    for tokenizer, name in zip(tokenizers, (SOURCE_MODEL, TARGET_MODEL), strict=True):
        (folder / name).write_bytes(sentencepiece_of(tokenizer))


def sentencepiece_of(tokenizer: Tokenizer) -> bytes:
    """The sentencepiece model of a tokenizer for other tools."""
    if isinstance(tokenizer, ListedTokenizer):
        return tokenizer.sentencepiece  # it contains its own rules
    assert isinstance(tokenizer, SentencePieceTokenizer)
    return with_rules(tokenizer.model, RULE_NAME, compiled_rules())


# --- normalization of a text before it is segmented, as rules of a sentencepiece model ---

RULE_NAME = "limelight"
_HANGUL = range(0xAC00, 0xD7A4)


@cache
def compiled_rules() -> bytes:
    """The rules compiled by sentencepiece: 0.4 MB; takes half a second."""
    lines = (f"{_codes(spelling)}\t{_codes(wanted)}\n" for spelling, wanted in sorted(rules().items()))
    sentencepiece.set_min_log_level(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.tsv"
        path.write_text("".join(lines), encoding="ascii")
        normalizer = sentencepiece.SentencePieceNormalizer(rule_tsv=str(path))
    return rules_of(normalizer.serialized_model_proto())[1]


def rules() -> dict[str, str]:
    """The effect of `normalize` on each character, and on the sequences that are equivalent to one character."""
    by_spelling: dict[str, str] = {}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        composed = unicodedata.decomposition(character)
        if (composed and not composed.startswith("<")) or code in _HANGUL or character.isspace() or character == "▁":
            for spelling in (character, *_spellings(character)):
                wanted = normalize(f"|{spelling}|")[1:-1]  # inside a text
                if wanted != spelling:
                    by_spelling[spelling] = wanted
    return by_spelling


def _spellings(character: str) -> set[str]:
    """All canonically equivalent sequences: marks in any order, the first of them composed or not."""
    parts = unicodedata.normalize("NFD", character)
    spellings = set()
    for order in permutations(parts[1:]):
        marks = "".join(order)
        if unicodedata.normalize("NFD", parts[0] + marks) == parts:
            for count in range(len(marks)):
                spellings.add(unicodedata.normalize("NFC", parts[0] + marks[:count]) + marks[count:])
    return spellings


def _codes(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)

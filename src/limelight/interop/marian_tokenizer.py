"""Tokenizers of Marian models in transformers: a sentencepiece model for each side and a list of pieces.

There, sentencepiece splits the text and the list gives each piece its id. Here a sentencepiece model numbers its pieces
itself. A list that numbers them the same way, as in every model that was exported from here, is left aside; any other
is kept (`tokens/listed.py`).
"""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from limelight.errors import UserError
from limelight.interop.json_file import read_json, write_json
from limelight.interop.marian_config import MAX_POSITIONS
from limelight.interop.normalization import RULE_NAME, compiled_rules
from limelight.tokens import (
    CharacterTokenizer,
    ListedTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    Tokenizers,
    WordPieceTokenizer,
)
from limelight.tokens.listed import listed_model
from limelight.tokens.metadata import read_stored
from limelight.tokens.sentencepiece_file import pieces_in, rules_of, type_of, with_rules
from limelight.tokens.tokenizer import END_PIECE, PADDING_PIECE, UNKNOWN_PIECE
from limelight.untrusted import read_plain, shown

SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
SETTINGS = "tokenizer_config.json"

_FILLER = re.compile(r"<filler\d+>")
_LANGUAGE_CODE = re.compile(r">>.+<<")
_MAX_MODEL_BYTES = 10_000_000


class Side(NamedTuple):
    """An imported vocabulary."""

    tokenizer: Tokenizer
    kind: str
    """How its sentencepiece model splits words: `bpe`, `unigram`, `word` or `char`."""
    size: int
    """Pieces of the list."""
    theirs: list[int]
    """For each of our ids, padding included, the id that it has in the other model."""


def refused_tokenizers(tokenizers: Tokenizers) -> Iterator[str]:
    """Why these tokenizers cannot leave Limelight."""
    for refused, kind in ((WordPieceTokenizer, "wordpiece"), (CharacterTokenizer, "characters")):
        if any(isinstance(tokenizer, refused) for tokenizer in tokenizers):
            yield f"tokens.kind={kind}: elsewhere texts are split by a sentencepiece model (bpe or unigram)"


# ---- out


def pieces_of(tokenizers: Tokenizers) -> tuple[list[str], list[str]]:
    """All pieces of both sides, padding last; the shorter list is filled up, as both have one id for padding there.

    Raises `UserError` where two ids of a side have the same name.
    """
    lists = [each.pieces(range(each.size)) for each in tokenizers]
    longest = max(map(len, lists))
    for pieces in lists:
        if len(set(pieces)) < len(pieces):
            twice = next(piece for piece in pieces if pieces.count(piece) > 1)
            raise UserError(f"the vocabulary has the piece {shown(twice)} twice; elsewhere a piece has one id")
        pieces[-1:-1] = [f"<filler{number}>" for number in range(longest - len(pieces))]
    return lists[0], lists[1]


def write_tokenizers(tokenizers: Tokenizers, folder: Path) -> None:
    """Write all that transformers' `MarianTokenizer` reads."""
    write_sentencepiece(tokenizers, folder)
    source, target = pieces_of(tokenizers)
    write_json(folder / VOCABULARY, {piece: number for number, piece in enumerate(source)})
    if source != target:
        write_json(folder / TARGET_VOCABULARY, {piece: number for number, piece in enumerate(target)})
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": source != target,
        "eos_token": END_PIECE,
        "unk_token": UNKNOWN_PIECE,
        "pad_token": PADDING_PIECE,
        "model_max_length": MAX_POSITIONS,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / SETTINGS, settings)


def write_sentencepiece(tokenizers: Tokenizers, folder: Path) -> None:
    """Write the sentencepiece model of each side, which normalizes text by itself as ours is normalized before."""
    for tokenizer, name in zip(tokenizers, (SOURCE_MODEL, TARGET_MODEL), strict=True):
        (folder / name).write_bytes(_sentencepiece_of(tokenizer))


def _sentencepiece_of(tokenizer: Tokenizer) -> bytes:
    if isinstance(tokenizer, ListedTokenizer):
        return tokenizer.sentencepiece  # it has brought its own rules
    with tempfile.TemporaryDirectory() as place:
        tokenizer.save(Path(place))
        model = read_stored(Path(place)).model
    return with_rules(model, RULE_NAME, compiled_rules())


# ---- in


def read_tokenizers(folder: Path, *, start: int) -> tuple[Side, Side]:
    """The vocabularies of both sides; one and the same `Side` twice where nothing tells them apart.

    Args:
        start: the id the decoder begins with. Padding takes its place: nothing else is ever read at its id.

    Raises `UserError` for files that are missing, damaged or do not belong together.
    """
    separate = (folder / SETTINGS).exists() and read_json(folder / SETTINGS).get("separate_vocabs") is True
    models = [_read_model(folder / name) for name in (SOURCE_MODEL, TARGET_MODEL)]
    vocabulary = folder / VOCABULARY
    target = _read_side(folder / (TARGET_VOCABULARY if separate else VOCABULARY), models[1], TARGET_MODEL, start)
    if not separate and models[0] == models[1]:
        return target, target
    return _read_side(vocabulary, models[0], SOURCE_MODEL, None if separate else start), target


def _read_side(vocabulary: Path, model: bytes, name: str, last: int | None) -> Side:
    ids = read_json(vocabulary)
    size = len(ids)
    if sorted(number for number in ids.values() if type(number) is int) != list(range(size)):
        raise UserError(f"{vocabulary}: the ids of its {size:,} pieces are not the numbers from 0 to {size - 1:,}")
    special = (END_PIECE, UNKNOWN_PIECE, PADDING_PIECE)
    missing = [piece for piece in special if piece not in ids]
    if missing:
        raise UserError(f"{vocabulary}: has no {' and no '.join(missing)}")
    names = sorted(ids, key=ids.__getitem__)
    others = [number for number, piece in enumerate(names) if piece not in special and not _FILLER.fullmatch(piece)]
    theirs = [ids[END_PIECE], ids[UNKNOWN_PIECE], *others, ids[PADDING_PIECE] if last is None else last]
    path = vocabulary.with_name(name)
    try:
        tokenizer = _tokenizer(model, [names[number] for number in theirs[:-1]])
        return Side(tokenizer, type_of(model), size, theirs)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _read_model(path: Path) -> bytes:
    try:
        return read_plain(path, _MAX_MODEL_BYTES)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _tokenizer(model: bytes, pieces: list[str]) -> Tokenizer:
    """The tokenizer that gives these pieces these ids."""
    known = pieces_in(model)
    if rules_of(model)[0] == RULE_NAME and list(known) == pieces:
        bare = with_rules(model, "identity", b"")  # here text is normalized before the model sees it
        return SentencePieceTokenizer(bare, kind=type_of(model), reserved=[piece for piece in pieces if known[piece]])
    reserved = [piece for piece in pieces if known.get(piece) or _LANGUAGE_CODE.fullmatch(piece)]
    return ListedTokenizer(listed_model(model, pieces), reserved=reserved)

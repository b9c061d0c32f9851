"""Sentencepiece model files through sentencepiece's own protobuf module: read them, replace normalization rules, add
tokens. Sentencepiece's library can read such files but not modify them.
"""

from collections.abc import Iterable
from typing import Any

from limelight.errors import UserError

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # kinds of pieces
TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


def parsed(model: bytes) -> Any:
    """The model as a `ModelProto`. Raises `UserError` for an invalid one."""
    # Imported here: a command without such a tokenizer does without protobuf.
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    try:
        return sentencepiece_model_pb2.ModelProto.FromString(model)  # type: ignore[attr-defined]  # made when imported
    except DecodeError as error:
        raise UserError(f"not a sentencepiece model: {error}") from None


def type_of(model: bytes) -> str:
    """`unigram`, `bpe`, `word` or `char`. Raises `UserError` for an invalid model."""
    return TYPES[parsed(model).trainer_spec.model_type]


def pieces_in(model: bytes) -> dict[str, bool]:
    """The tokens in the order of their ids, and whether each is never split."""
    return {_text(piece.piece): piece.type == USER_DEFINED for piece in parsed(model).pieces}


def scores_in(model: bytes) -> dict[str, float]:
    """The score of each token: in unigram models its log-probability, in BPE models its rank, first merges highest."""
    return {_text(piece.piece): piece.score for piece in parsed(model).pieces}


def _text(piece: str | bytes) -> str:
    return piece if isinstance(piece, str) else piece.decode("utf-8", errors="replace")  # invalid UTF-8 comes as bytes


def add_pieces(model: bytes, scored: Iterable[tuple[str, float]], *, kind: int = NORMAL) -> bytes:
    """The model with tokens of these texts and scores added at the end."""
    added = parsed(b"")
    for text, score in scored:
        added.pieces.add(piece=text, score=score, type=kind)
    return model + bytes(added.SerializeToString())  # a concatenation merges messages


def rules_of(model: bytes) -> tuple[str, bytes]:
    """The name and the compiled normalization rules; empty rules leave text unchanged."""
    normalizer = parsed(model).normalizer_spec
    return normalizer.name, normalizer.precompiled_charsmap


def with_rules(model: bytes, name: str, rules: bytes) -> bytes:
    """The model with other normalization rules."""
    changed = parsed(model)
    changed.normalizer_spec.name, changed.normalizer_spec.precompiled_charsmap = name, rules
    return bytes(changed.SerializeToString())

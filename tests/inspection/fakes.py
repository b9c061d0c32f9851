"""Stand-ins for the tests of inspection and evaluation: a tokenizer of letters, and maps of random weights."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from limelight.inspection.attention_map import AttentionMap
from limelight.tokens import Tokenizers

ALPHABET = "▁abcdefghijklmnopqrstuvwxyz.ABCDEFGH"


class Letters:
    """Each letter is a token, a space is `▁` before the word it opens; two ids stand before them, padding behind."""

    kind = "letters"
    size = len(ALPHABET) + 3
    padding = size - 1

    def encode(self, text: str) -> list[int]:
        return [2 + ALPHABET.index(letter) for letter in text.replace(" ", "▁")]

    def encode_sampled(self, texts: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.pieces([identifier for identifier in ids if identifier > 1])).replace("▁", " ")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [ALPHABET[each - 2] if 1 < each < self.padding else "<>" for each in ids]

    def word_of(self, ids: Sequence[int]) -> list[int]:
        opens = [piece == "▁" for piece in self.pieces(ids)]
        return [sum(opens[1 : place + 1]) for place in range(len(ids))]

    def reserved_id(self, piece: str) -> int:
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        raise NotImplementedError


class Spelling(Letters):
    """Letters that name every id, whatever an untrained model may say; each is a word of its own."""

    def encode(self, text: str) -> list[int]:
        return [2 + ALPHABET.index(letter) for letter in text if letter in ALPHABET]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [f"▁{ALPHABET[1 + each % 26]}" for each in ids]

    def word_of(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.pieces(ids)).replace("▁", " ").strip()


LETTERS = Tokenizers(Letters(), Letters())


def random_map(
    seed: int,
    *,
    source: str = "ab cde f",
    target: str = "gh i jklm",
    encoder: tuple[int, int] = (2, 3),
    decoder: tuple[int, int] = (1, 3),
    cross: tuple[int, int] = (3, 2),
) -> AttentionMap:
    """Random weights whose rows sum to one; sizes are (layers, heads), and (0, 0) leaves a kind out."""
    random = np.random.default_rng(seed)
    source_ids, target_ids = LETTERS.source.encode(source), LETTERS.target.encode(target)
    source_words, target_words = LETTERS.source.word_of(source_ids), LETTERS.target.word_of(target_ids)
    rows, columns = len(target_ids) + 1, len(source_ids) + 1
    read = LETTERS.target.pieces(target_ids)
    return AttentionMap(
        source_pieces=(*LETTERS.source.pieces(source_ids), "</s>"),
        target_pieces=(*read, "</s>"),
        read_pieces=("<s>", *read),
        source_words=(*source_words, max(source_words, default=-1) + 1),
        target_words=(*target_words, max(target_words, default=-1) + 1),
        read_words=(0, *(word + 1 for word in target_words)),
        encoder_self=softmax(random.normal(size=(*encoder, columns, columns))),
        decoder_self=softmax(np.where(np.tri(rows) > 0, random.normal(size=(*decoder, rows, rows)), -np.inf)),
        cross=softmax(random.normal(size=(*cross, rows, columns))),
    )


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores)
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)

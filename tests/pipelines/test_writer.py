"""Pieces to text as they come: what is joined is what would be decoded at once, and nothing has to be taken back."""

import random
from collections.abc import Sequence

import pytest

from limelight.pipelines.generator import Writer
from limelight.tokens import Tokenizer, train_tokenizer
from limelight.tokens.text import RESERVED, decode_text, encode_text

TEXTS = ["The old dog sees a small cat.", "Two birds sing: näher, ö!", "one  two", "a-b c"]


def tokenizer_of(kind: str) -> Tokenizer:
    return train_tokenizer(
        TEXTS * 3,
        kind=kind,
        vocabulary_size=None,
        languages=(),
        byte_fallback=kind in ("bpe", "unigram"),
        seed=1,
        sentences=12,
        reserved=RESERVED,
    )


KINDS = ["characters", "bpe", "unigram"]
TOKENIZERS = {kind: tokenizer_of(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prompt", ["", "The dog", "a line\nand ano", "a line\n", "日本 \U0001f600"])
def test_the_parts_are_the_whole(kind: str, prompt: str, seed: int) -> None:
    tokenizer, chance = TOKENIZERS[kind], random.Random(seed)
    pieces = encode_text(tokenizer, prompt)
    for _ in range(40):
        more = [chance.randrange(1, tokenizer.padding) for _ in range(chance.randrange(40))]
        writer = Writer(tokenizer, pieces)
        parts = [writer.hear(piece) for piece in more] + [writer.rest()]
        both = decode_text(tokenizer, [*pieces, *more])
        assert decode_text(tokenizer, pieces) + "".join(parts) == both
        assert not writer.stopped


def test_the_bytes_of_a_character_come_together() -> None:
    tokenizer = TOKENIZERS["bpe"]
    pieces = encode_text(tokenizer, "dog \U0001f600é日")
    writer = Writer(tokenizer, [])
    parts = [writer.hear(piece) for piece in pieces]
    assert {" \U0001f600", "日"} <= set(parts)
    assert sum(part == "" for part in parts) >= 3 + 2
    assert "".join(parts) == "dog \U0001f600é日"
    writer = Writer(tokenizer, pieces)
    space, *cut, _ = encode_text(tokenizer, "\U0001f600")
    assert [writer.hear(piece) for piece in (space, *cut)] == ["", "", "", ""]
    assert writer.rest() == ""  # the text ended within a character
    assert writer.rest() == ""


def test_a_space_that_the_prompt_has_already_is_not_said_again() -> None:
    tokenizer = TOKENIZERS["bpe"]
    pieces, more = encode_text(tokenizer, "The old"), encode_text(tokenizer, "dog sees")
    for after_space in (False, True):
        writer = Writer(tokenizer, pieces, after_space=after_space)
        assert "".join(map(writer.hear, more)) == ("dog sees" if after_space else " dog sees")


class Words:
    """A tokenizer whose tokens are these texts."""

    kind = "words"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = ["", "?", *words, ""]
        self.size, self.padding = len(self.words), len(self.words) - 1

    def encode(self, text: str) -> list[int]:
        return [1]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.words[number] for number in ids)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.words[number] for number in ids]

    encode_sampled = word_of = save = reserved_id = encode


def stopped_at(text: str, stops: Sequence[str]) -> str | None:
    """All before the stop text that is complete first, letter by letter; of several the longest."""
    for end in range(1, len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            return text[: end - max(map(len, found))]
    return None


def test_the_stop_text_that_is_complete_first_ends_it_however_it_is_divided(seed: int) -> None:
    chance = random.Random(seed)
    tokenizer = Words(["a", "b", "ab", "ba", "aab", "bbab", "c"])
    assert isinstance(tokenizer, Tokenizer)
    seen = set()
    for _ in range(400):
        stops = ["".join(chance.choices("abc", k=chance.randint(1, 4))) for _ in range(chance.randint(1, 3))]
        pieces = [chance.randrange(2, tokenizer.padding) for _ in range(chance.randrange(12))]
        writer, said = Writer(tokenizer, [], stop=stops), ""
        for number, piece in enumerate(pieces):
            heard = tokenizer.decode(pieces[: number + 1])
            said += writer.hear(piece)
            expected = stopped_at(heard, stops)
            assert writer.stopped == (expected is not None)
            if writer.stopped:
                assert said == expected
                break
            held = heard.removeprefix(said)  # said is the beginning of it, and nothing is held without need
            assert heard == said + held
            assert not held or any(stop.startswith(held) for stop in stops)
        said += writer.rest()
        if not writer.stopped:
            assert said == tokenizer.decode(pieces)
        seen.add(writer.stopped)
    assert seen == {False, True}

"""The size of a vocabulary, and the sentences it is learned from."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable

from limelight.errors import UserError
from limelight.text.signs import ASCII, SIGNS
from limelight.tokens.tokenizer import MAX_PIECES, normalize

MIN_SIZE, MAX_SIZE = 512, 64_000
MAX_SENTENCES = 1_000_000
"""A vocabulary is learned from at most so many sentences; more change it little and cost memory and minutes."""


MIN_SEEN, MIN_SEEN_SIGN = 20, 5
"""Minimum number of occurrences of a character, and of one of `SIGNS`, that has a token of its own in any case."""
MAX_SHARE, MAX_UNSEEN = 1 / 4, 1 / 16
"""Maximum shares of a vocabulary for such characters, and for those of ASCII that the text does not have."""

ALPHABET = 128
"""Characters that a suggested size has room for: those of two languages in one script, with digits and punctuation."""


def suggest_vocabulary_size(sentences: int, alphabet: int = 0) -> int:
    """Pieces for a corpus of `sentences` pairs: a multiple of 8 (matrix products like that), between 512 and 64,000.

    A piece is needed for each character of `alphabet`. Those beyond `ALPHABET` come on top of the rule, so that as many
    pieces are left for merges in Chinese as in German.

    The rule is `4000 (sentences / 29000)^0.4`: 4,000 pieces at 29 thousand pairs, 12,500 at half a million, 30,000 at
    4.5 million. It is a line through what small corpora want (Gowda & May 2020; Araabi & Monz 2020; Sennrich & Zhang
    2019) and what the Transformer's paper took for 4.5 million pairs: the more text, the more often each piece is seen.
    """
    wanted = 4000 * (max(sentences, 1) / 29_000) ** 0.4
    beyond = max(0, alphabet - ALPHABET)
    return min(min(max(round(wanted / 8) * 8, MIN_SIZE), MAX_SIZE) + math.ceil(beyond / 8) * 8, MAX_SIZE)


def count_alphabet(sentences: Iterable[str], coverage: float = 1.0) -> int:
    """How many of the most frequent characters make up `coverage` of the text; 1 counts all there are."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
    left = coverage * counts.total()
    for number, (_, count) in enumerate(counts.most_common()):
        if left <= 0:
            return number
        left -= count
    return len(counts)


def required_characters(sentences: Iterable[str], size: int) -> str:
    """The characters that a vocabulary of `size` tokens learned from these sentences has to hold.

    These are the characters of the text from `MIN_SEEN` occurrences on, `SIGNS` from `MIN_SEEN_SIGN` on, up to
    `MAX_SHARE` of the vocabulary; and printable ASCII, unless the characters of it that the text does not have are more
    than `MAX_UNSEEN` of the vocabulary.
    """
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
    signs = set(SIGNS)
    seen = (each for each, count in counts.most_common() if count >= (MIN_SEEN_SIGN if each in signs else MIN_SEEN))
    required = [each for each in seen if not each.isspace()][: int(MAX_SHARE * size)]
    unseen = [each for each in ASCII if each not in counts]
    if len(unseen) <= MAX_UNSEEN * size:
        required += [each for each in ASCII if each not in required]
    return "".join(sorted(required))


def training_sentences(texts: Iterable[str], seed: int) -> list[str]:
    """The normalized texts that are not empty, or `MAX_SENTENCES` of them drawn evenly (Vitter 1985, algorithm R).

    Raises:
        UserError: there are none.
    """
    generator = random.Random(seed)
    kept: list[str] = []
    seen = 0
    for text in map(normalize, texts):
        if not text:
            continue
        seen += 1
        if len(kept) < MAX_SENTENCES:
            kept.append(text)
        elif (place := generator.randrange(seen)) < MAX_SENTENCES:
            kept[place] = text
    if not kept:
        raise no_text()
    return kept


def no_text() -> UserError:
    """The error for a corpus with nothing in it."""
    return UserError("there is no text to learn a vocabulary from: every line of the corpus is empty or was left out")


def require_size(size: int, reserved: int) -> None:
    """Raise `UserError` where no vocabulary of `size` pieces can be made, whatever the corpus."""
    fixed = 2 + reserved
    if not fixed < size <= MAX_PIECES:
        raise UserError(
            f"tokens.vocabulary_size is {size:,}; it must be more than the {fixed} special and reserved pieces "
            f"and at most {MAX_PIECES:,}"
        )


def too_large(size: int, largest: int) -> UserError:
    """The error for a vocabulary larger than the corpus can fill."""
    return UserError(
        f"tokens.vocabulary_size is {size:,}, but this corpus fills no more than {largest:,} pieces; "
        "choose a smaller size, or none for the default"
    )


def too_small(size: int, smallest: int) -> UserError:
    """The error for a vocabulary that cannot hold the characters of the corpus."""
    return UserError(
        f"tokens.vocabulary_size is {size:,}, but the characters of this corpus, with bytes and reserved pieces, "
        f"take {smallest:,} already; choose a larger size, or none for the default"
    )

"""The size of a vocabulary, and the sentences from which it is learned."""

import math
import random
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from limelight.errors import UserError
from limelight.text.kept_signs import ASCII, SIGNS
from limelight.tokens.tokenizer import MAX_PIECES, normalize

MIN_SIZE, MAX_SIZE = 512, 64_000
MAX_SENTENCES = 1_000_000
"""Maximum number of sentences from which a vocabulary is learned; more hardly change it but cost memory and minutes."""


MIN_SEEN, MIN_SEEN_SIGN = 20, 5
"""Minimum number of occurrences from which a character, or one of `SIGNS`, always gets a token."""
MAX_SHARE, MAX_UNSEEN = 1 / 4, 1 / 16
"""Maximum shares of a vocabulary for such characters, and for ASCII characters that the text does not have."""

ALPHABET = 128
"""Number of characters included in a suggested size: two languages in one script, digits and punctuation."""


def suggest_vocabulary_size(sentences: int, alphabet: int = 0) -> int:
    """Number of tokens for a corpus of `sentences` pairs: a multiple of 8 (for efficient matrix products), between 512
    and 64,000.

    Each character of `alphabet` needs a token. Those beyond `ALPHABET` are added to the rule, so that Chinese has as
    many tokens for merges as German.

    The rule is `4000 (sentences / 29000)^0.4`: 4,000 tokens at 29 thousand pairs, 12,500 at half a million, 30,000 at
    4.5 million. It interpolates between findings for small corpora (Gowda & May 2020; Araabi & Monz 2020; Sennrich &
    Zhang 2019) and the Transformer paper's choice for 4.5 million pairs: the more text, the more often each token is
    seen.
    """
    wanted = 4000 * (max(sentences, 1) / 29_000) ** 0.4
    beyond = max(0, alphabet - ALPHABET)
    return min(min(max(round(wanted / 8) * 8, MIN_SIZE), MAX_SIZE) + math.ceil(beyond / 8) * 8, MAX_SIZE)


def count_alphabet(sentences: Iterable[str], coverage: float) -> int:
    """Number of the most frequent characters that make up a fraction `coverage` of the text."""
    counts = Counter(chain.from_iterable(sentences))
    left = coverage * counts.total()
    for number, (_, count) in enumerate(counts.most_common()):
        if left <= 0:
            return number
        left -= count
    return len(counts)


def required_characters(sentences: Iterable[str], size: int) -> str:
    """The characters that a vocabulary of `size` tokens learned from these sentences must contain.

    These are the characters of the text with at least `MIN_SEEN` occurrences, `SIGNS` with at least `MIN_SEEN_SIGN`, up
    to `MAX_SHARE` of the vocabulary; and printable ASCII, unless its characters that the text lacks are more
    than `MAX_UNSEEN` of the vocabulary.
    """
    counts = Counter(chain.from_iterable(sentences))
    signs = set(SIGNS)
    seen = (
        character
        for character, count in counts.most_common()
        if count >= (MIN_SEEN_SIGN if character in signs else MIN_SEEN)
    )
    required = [character for character in seen if not character.isspace()][: int(MAX_SHARE * size)]
    unseen = [character for character in ASCII if character not in counts]
    if len(unseen) <= MAX_UNSEEN * size:
        required += [character for character in ASCII if character not in required]
    return "".join(sorted(required))


def training_sentences(texts: Iterable[str], seed: int) -> list[str]:
    """The normalized texts that are not empty, or a random sample of `MAX_SENTENCES` (Vitter 1985, algorithm R).

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
        elif (position := generator.randrange(seen)) < MAX_SENTENCES:
            kept[position] = text
    if not kept:
        raise no_text()
    return kept


def no_text() -> UserError:
    """The error for a corpus without text."""
    return UserError("there is no text to learn a vocabulary from: every line of the corpus is empty or was left out")


def require_size(size: int, reserved: int) -> None:
    """Raise `UserError` if no vocabulary of `size` tokens is possible for any corpus."""
    fixed = 2 + reserved
    if not fixed < size <= MAX_PIECES:
        raise UserError(
            f"tokens.vocabulary_size is {size:,}; it must be more than the {fixed} special and reserved pieces "
            f"and at most {MAX_PIECES:,}"
        )

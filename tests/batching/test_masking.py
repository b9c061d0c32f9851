"""Masks: who is chosen, what becomes of it, and that nothing of the text is lost."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.batching.batch import Batch
from limelight.batching.blocks import MaskedStream
from limelight.errors import UserError
from limelight.tokens import END, Tokenizer, train_tokenizer
from limelight.tokens.text import RESERVED, encode_text

SETTINGS = {"tokens": 60, "max_length": 17, "share": 0.15, "seed": 5, "chunk_rows": 19}
LINES = [f"{'abc def'[: number % 8]}{number * 7919 % 1009} {number}" for number in range(101)]


def train(kind: str, lines: list[str] = LINES) -> Tokenizer:
    return train_tokenizer(
        lines if kind != "characters" else ["\n".join(lines)],
        kind=kind,
        vocabulary_size=None,
        languages=(),
        byte_fallback=False,
        seed=1,
        sentences=9,
        reserved=RESERVED,
    )


TOKENIZERS = {kind: train(kind) for kind in ("bpe", "characters")}
LETTERS = TOKENIZERS["characters"]


def text_of(tokenizer: Tokenizer, *documents: str) -> np.ndarray:
    ids = [END]
    for document in documents:
        ids += [*encode_text(tokenizer, document), END]
    return np.array(ids, dtype="<u2")


def stream(tokenizer: Tokenizer = LETTERS, documents: tuple[str, ...] = ("\n".join(LINES),), **changed) -> MaskedStream:
    return MaskedStream(text_of(tokenizer, *documents), tokenizer, **{**SETTINGS, **changed})


def true_rows(batch: Batch) -> list[tuple[int, ...]]:
    """The rows as they were before anything was hidden."""
    return [tuple(row[valid].tolist()) for row, valid in zip(batch.target_out, batch.source_valid, strict=True)]


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(
    documents=st.lists(st.lists(st.sampled_from(["", *LINES]), max_size=7).map("\n".join), min_size=1, max_size=5),
    seed=st.integers(0, 2**31),
)
def test_an_epoch_has_every_line_once_and_nothing_else(kind: str, documents: list[str], seed: int) -> None:
    tokenizer = TOKENIZERS[kind]
    lines = [line for document in documents for line in document.split("\n") if line]
    if not lines:
        return
    masked = stream(tokenizer, tuple(documents), max_length=999, seed=seed)
    found = Counter(row for batch in masked.epoch() for row in true_rows(batch))
    assert found == Counter((END, *tokenizer.encode(line), END) for line in lines)
    assert len(masked) == len(lines)


def test_a_long_line_is_divided_and_loses_nothing(seed: int) -> None:
    masked = stream(documents=("abcdef" * 9, "ab"), max_length=7, seed=seed)
    rows = [row for batch in masked.epoch() for row in true_rows(batch)]
    assert all(len(row) <= 7 and row[0] == row[-1] == END for row in rows)
    texts = sorted(LETTERS.decode(row) for row in rows)
    assert len(texts) == math.ceil(54 / 5) + 1
    assert Counter("".join(texts)) == Counter("abcdef" * 9 + "ab")


def test_what_is_chosen_and_what_becomes_of_it(seed: int) -> None:
    """Shares within six standard deviations of a binomial distribution, for any seed."""
    rows, length, share = 400, 53, 0.15
    generator = np.random.default_rng(seed)
    masked = stream()
    ordinary = np.zeros(41, dtype=bool)
    ordinary[5:40] = True
    masked.ordinary, masked.mask, masked.padding = ordinary, 2, 40
    ids = generator.integers(0, 41, (rows, length))
    ids[:, 0] = 5
    batch = masked.hide(ids, generator)
    chosen, hidden = batch.target_valid.numpy(), batch.source.numpy()
    counts = ordinary[ids].sum(axis=1)
    assert chosen.sum(axis=1).tolist() == [max(1, round(share * count)) for count in counts]
    assert ordinary[ids[chosen]].all()
    assert (hidden[~chosen] == ids[~chosen]).all()
    assert (batch.target_out.numpy() == ids).all()
    assert (batch.source_valid.numpy() == (ids != 40)).all()
    total, now = int(chosen.sum()), hidden[chosen]
    is_mask = now == 2
    assert ordinary[now[~is_mask]].all()
    stays = 0.1 + 0.1 / 35  # a replacement may be the token itself
    for number, expected in ((is_mask.sum(), 0.8), ((now == ids[chosen]).sum(), stays)):
        assert abs(number - expected * total) < 6 * math.sqrt(expected * (1 - expected) * total)
    # Every place is as likely as another.
    where = chosen[ordinary[ids]].mean()
    for place in range(length):
        eligible = ordinary[ids[:, place]]
        bound = 6 * math.sqrt(where * (1 - where) / eligible.sum())
        assert abs(chosen[eligible, place].mean() - where) < bound + 0.01


def test_the_vocabulary_of_a_translator_is_refused() -> None:
    translators = train_tokenizer(
        ["abc"], kind="characters", vocabulary_size=None, languages=["en"], byte_fallback=True, seed=1, sentences=1
    )
    with pytest.raises(UserError, match="this vocabulary has no reserved token"):
        MaskedStream(np.array([END, 40, END]), translators, **SETTINGS)

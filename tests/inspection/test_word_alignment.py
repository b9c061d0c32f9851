"""Weights between words, and the choice of the heads that align."""

import numpy as np
import pytest

from limelight.inspection.erasure import TokenizedPair
from limelight.inspection.word_alignment import (
    agreement_of_directions,
    agreement_with_erasure,
    best_sources,
    choose_heads,
    word_weights,
)
from limelight.storage.tables import AlignmentHead
from tests.models.helpers import attention_of, batch_of, make_model, random_rows, recurrent, transformer

WORDS = [[0], [0], [1], [], [2]], [[0], [1], [1], [1]]


def pair_of(source: list[int], target: list[int]) -> TokenizedPair:
    return TokenizedPair(source, target, *WORDS, (3, 2))


def test_weights_are_those_of_the_step_before_and_of_the_step_after(seed: int) -> None:
    model = make_model(transformer()).eval()
    rows = random_rows((5, 4), 28), random_rows((5, 4), 28)
    found = word_weights(model, [pair_of(*row) for row in rows])
    for (source, target), each in zip(rows, found, strict=True):
        weights = attention_of(model, batch_of(model, [source], [target]))
        for layer, cross in enumerate(weights.layers("cross")):
            for head in range(cross.shape[1]):
                single = cross[0, head].detach().double().numpy()
                for reads in (0, 1):
                    for row, steps in enumerate(([0], [1, 2, 3])):
                        expected = [
                            np.mean([single[step + reads, columns].sum() for step in steps])
                            for columns in ([0, 1], [2], [4])
                        ]
                        np.testing.assert_allclose(each[reads, layer, head, row], expected, atol=1e-6)


def test_padding_changes_nothing(seed: int) -> None:
    model = make_model(recurrent()).eval()
    short, long = random_rows((5, 4), 28), random_rows((9, 12), 28)
    other = TokenizedPair(*long, [[0]] * 9, [[0]] * 12, (1, 1))
    [alone] = word_weights(model, [pair_of(*short)])
    beside, _ = word_weights(model, [pair_of(*short), other])
    np.testing.assert_allclose(beside, alone, atol=1e-6)


def test_the_largest_mean_weight_counts_and_nothing_is_linked_without_any() -> None:
    weights = np.zeros((2, 1, 2, 3, 2))
    weights[1, 0, 1] = [[0.1, 0.9], [0.6, 0.4], [0, 0]]
    weights[0, 0, 0] = [[0.9, 0.1], [0.9, 0.1], [0, 0]]
    assert best_sources(weights, [AlignmentHead(0, 1, reads=True)]) == [1, 0, -1]
    assert best_sources(weights, [AlignmentHead(0, 0, reads=False)]) == [0, 0, -1]
    assert best_sources(weights, []) == [0, 0, -1]
    assert best_sources(np.zeros((2, 1, 2, 3, 0)), []) == [-1, -1, -1]


def planted(orders: list[list[int]]) -> list[np.ndarray]:
    """Weights in which layer 1, head 2 reads the right word, and layer 0, head 0 the word before it."""
    draw = np.random.default_rng(1)
    tables = []
    for order in orders:
        table = draw.random((2, 2, 3, 6, 6)) * 0.1
        table[1, 1, 2, range(6), order] = 1
        table[0, 0, 0, range(1, 6), order[:-1]] = 1
        tables.append(table)
    return tables


def test_the_head_on_which_both_directions_agree_is_chosen(seed: int) -> None:
    draw = np.random.default_rng(seed)
    orders = [list(map(int, draw.permutation(6))) for _ in range(10)]
    turned = [[order.index(place) for place in range(6)] for order in orders]
    agreement = agreement_of_directions(planted(orders), planted(turned))
    assert choose_heads((2, 3), agreement) == ([AlignmentHead(1, 2, reads=True)], 1)
    assert agreement([AlignmentHead(0, 0, reads=False)]) < 0.5


def test_the_head_that_agrees_with_erasure_is_chosen(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(seed)
    orders = [list(map(int, draw.permutation(6))) for _ in range(10)]
    needed = iter(orders)
    monkeypatch.setattr("limelight.inspection.word_alignment.most_needed", lambda model, pair: next(needed))
    pair = TokenizedPair([1] * 6, [1] * 6, [[n] for n in range(6)], [[n] for n in range(6)], (6, 6))
    agreement = agreement_with_erasure(make_model(transformer()), [pair] * 10, planted(orders))
    assert choose_heads((2, 3), agreement) == ([AlignmentHead(1, 2, reads=True)], 1)

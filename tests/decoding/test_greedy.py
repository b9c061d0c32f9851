"""Greedy search against a plain loop, and its laws."""

import math
from collections.abc import Sequence

import pytest
import torch

from limelight.decoding.request import Hypothesis
from limelight.errors import UserError
from tests.decoding.decode import greedy_search
from tests.decoding.fakes import TableModel, limits, log_probabilities, random_model, sources


def plain_greedy(model: TableModel, kind: int, longest: int, forced: Sequence[int] = ()) -> Hypothesis:
    ids: list[int] = []
    total = 0.0
    for position in range(max(longest, len(forced)) + 1):
        options = [log_probabilities(model, kind, [*ids, piece])[-1] for piece in range(model.output_size)]
        piece = forced[position] if position < len(forced) else options.index(max(options))
        if piece != model.end_id and position == max(longest, len(forced)):
            break
        total += options[piece]
        if piece == model.end_id:
            return Hypothesis(tuple(ids), total, total, True)
        ids.append(piece)
    return Hypothesis(tuple(ids), total, total, False)


def same(found: Hypothesis, expected: Hypothesis, forced: int = 0) -> bool:
    """Equal, and the score is that of the tokens after the forced ones."""
    close = math.isclose(found.log_probability, expected.log_probability, abs_tol=1e-9)
    scored = math.isclose(found.score, math.fsum(found.log_probabilities[forced:]), abs_tol=1e-9)
    return close and scored and (found.ids, found.finished) == (expected.ids, expected.finished)


def test_it_is_the_plain_loop(seed: int) -> None:
    model, lengths = random_model(7, 5), (0, 1, 2, 3, 5, 11, 17)
    found = greedy_search(model, *sources(*range(7)), max_lengths=limits(*lengths))
    for kind, hypothesis in enumerate(found):
        assert same(hypothesis, plain_greedy(model, kind, lengths[kind]))


def test_a_prefix_is_followed_first_and_counts(seed: int) -> None:
    model, prefix = random_model(3, 5), [[2, 2, 4, 1], [], [3]]
    found = greedy_search(model, *sources(0, 1, 2), max_lengths=limits(7, 7, 7), prefix=prefix)
    for kind, hypothesis in enumerate(found):
        assert hypothesis.ids[: len(prefix[kind])] == tuple(prefix[kind])
        assert same(hypothesis, plain_greedy(model, kind, 7, prefix[kind]), len(prefix[kind]))


def test_the_limit_counts_pieces_without_the_end() -> None:
    """A hypothesis of as many tokens as the limit allows may still end; one that would go on is cut there."""
    logits = torch.full((1, 1009, 3), -9.0, dtype=torch.float64)
    logits[..., 1] = 9
    model = TableModel(logits)
    (cut,) = greedy_search(model, *sources(0), max_lengths=limits(3))
    assert (cut.ids, cut.finished) == ((1, 1, 1), False)
    logits[0, history_after(model, [1, 1, 1]), 0] = 99
    (ended,) = greedy_search(model, *sources(0), max_lengths=limits(3))
    assert (ended.ids, ended.finished) == ((1, 1, 1), True)


def history_after(model: TableModel, ids: list[int]) -> int:
    history = 0
    for piece in [model.start_id, *ids]:
        history = (history * 5 + piece + 1) % model.logits.shape[1]
    return history


def test_of_equal_pieces_the_lowest_is_taken() -> None:
    (hypothesis,) = greedy_search(
        TableModel(torch.zeros(1, 1009, 1000)), *sources(0), max_lengths=limits(2), prefix=[[7]]
    )
    assert hypothesis.ids == (7,)  # the end, 0, is the lowest id of all
    assert hypothesis.log_probability == pytest.approx(-2 * math.log(1000))


def test_prefixes_must_be_as_many_as_sources() -> None:
    with pytest.raises(UserError, match="1 prefixes for 2 sources: give one for each, an empty one forces nothing"):
        greedy_search(random_model(2, 5), *sources(0, 1), max_lengths=limits(3, 3), prefix=[[1]])

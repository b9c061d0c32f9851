"""Beam search against exhaustive search, against a plain loop, and its laws."""

import heapq
import math
import random
from collections.abc import Sequence

import pytest
import torch

from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.errors import RunError
from tests.decoding.decode import beam_search, decode_batch
from tests.decoding.fakes import (
    TableModel,
    all_endings,
    limits,
    log_probabilities,
    penalised,
    random_model,
    sources,
)

ALPHAS = (0.0, 0.6, 1.0, 2.5)


def plain_beam(
    model: TableModel, kind: int, *, beam: int, longest: int, alpha: float, forced: Sequence[int] = (),
    enough: float = math.inf, prune: float = math.inf, offset: float = 5.0,
) -> list[tuple[float, tuple[int, ...]]]:  # fmt: skip
    """The same search for one sentence with lists: all that ended until `enough` have, best first."""
    live, finished, count, known = [(0.0, ())], [], len(forced), 0.0
    for position in range(longest + 1):
        if position == count:
            known = live[0][0]
        options = []
        for log_probability, ids in live:
            pieces = forced[position : position + 1] or range(model.output_size)
            for piece in pieces:
                gained = log_probabilities(model, kind, [*ids, piece])[-1]
                options.append((log_probability + gained, (*ids, piece)))
        options.sort(key=lambda option: -option[0])
        now = penalised(1, max(1, position + 1 - count), alpha, offset)
        least = known + max([options[0][0] - known, *(score / now for score, _ in finished)]) - prune
        for log_probability, ids in options[:beam]:
            if ids[-1] == model.end_id and log_probability >= least:
                finished.append((penalised(log_probability - known, len(ids) - count, alpha, offset), ids[:-1]))
        if len(finished) >= enough:
            break
        live = [option for option in options[: 2 * beam] if option[1][-1] != model.end_id][:beam]
        live = [option for option in live if option[0] >= least]
        if not live:
            break
    return sorted(finished, key=lambda result: -result[0])


def search(model: TableModel, *kinds: int, longest: int, beam: int, alpha: float = 0.6, **options):
    lengths = options.pop("max_lengths", limits(*[longest] * len(kinds)))
    return beam_search(model, *sources(*kinds), beam_size=beam, max_lengths=lengths, length_penalty=alpha, **options)


def texts(results: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.ids for hypothesis in hypotheses] for hypotheses in results]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("longest", [0, 1, 3, 4])
def test_a_wide_beam_is_exhaustive_search(seed: int, alpha: float, longest: int) -> None:
    """Four classes, one of them the end: a beam of 4 * 3^4 holds every hypothesis there is."""
    model, n_best = random_model(3, 4), 5
    results = search(model, 0, 1, 2, longest=longest, beam=324, alpha=alpha, n_best=n_best)
    for kind, hypotheses in enumerate(results):
        expected = heapq.nlargest(n_best, all_endings(model, kind, longest, alpha))
        found = [hypothesis for hypothesis in hypotheses if hypothesis.finished]
        assert [hypothesis.ids for hypothesis in found] == [ids for _, ids in expected]
        for hypothesis, (score, ids) in zip(found, expected, strict=True):
            assert hypothesis.score == pytest.approx(score, abs=1e-6)
            exact = math.fsum(log_probabilities(model, kind, [*ids, 0]))
            assert hypothesis.log_probability == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_a_narrow_beam_is_the_plain_loop_and_stopping_early_loses_nothing(seed: int, beam: int, alpha: float) -> None:
    """A beam of one is greedy search, which ends with its first end. With patience it is the best of what a search
    without an end of its own has found by then. A prefix leads every hypothesis, and counts."""
    model, requests, draw = random_model(28, 5), list[Request](), random.Random(seed)
    for kind in range(28):
        prune = draw.choice((math.inf, 0.01, 0.5, 2.0, 1000.0)) if beam > 1 else math.inf
        settings = SearchSettings(
            beam_size=beam, n_best=draw.choice((1, beam)) if prune == math.inf else 1, length_penalty=alpha,
            length_offset=draw.choice((0.0, 5.0)), patience=draw.choice((0.2, 0.5, 1.0, 2.0, math.inf)), prune=prune,
        )  # fmt: skip
        requests.append(Request([kind], 11, settings, draw.choice(((), (4,), (3, 1), (3, 1, 2)))))
    for kind, (request, hypotheses) in enumerate(zip(requests, decode_batch(model, requests), strict=True)):
        how, forced = request.settings, request.prefix
        enough = 1 if beam == 1 else max(how.patience * beam, how.n_best)  # so many as are wanted are found in any case
        expected = plain_beam(
            model, kind, beam=beam, longest=11, alpha=alpha, forced=forced, enough=enough, prune=how.prune,
            offset=how.length_offset,
        )[: how.n_best]  # fmt: skip
        found = [hypothesis for hypothesis in hypotheses if hypothesis.finished]
        assert [hypothesis.ids for hypothesis in found] == [ids for _, ids in expected]
        assert [hypothesis.score for hypothesis in found] == pytest.approx([score for score, _ in expected], abs=1e-6)
        assert all(hypothesis.ids[: len(forced)] == forced for hypothesis in hypotheses)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_model_that_predicts_no_numbers_is_told(seed: int, beam: int, dtype: torch.dtype, value: float) -> None:
    """Of one sentence among several, and not before its third step."""
    logits = random_model(3, 11).logits.to(dtype)
    logits[..., 0] = -9
    model = TableModel(logits)
    search(model, 0, 1, 2, longest=5, beam=beam)
    model.logits[1, 100:, 7] = value
    with pytest.raises(RunError, match=r"the model's predictions are not a number \(NaN\)"):
        search(model, 0, 1, 2, longest=5, beam=beam)


def test_what_is_pruned_is_not_computed(seed: int) -> None:
    logits = random_model(1, 5, spread=3).logits
    logits[..., 0] = -60  # none ends
    everything, few = TableModel(logits), TableModel(logits)
    for model, prune in ((everything, math.inf), (few, 0.5)):
        decode_batch(model, [Request([0], 12, SearchSettings(beam_size=4, length_penalty=0.6, prune=prune))])
    assert everything.lived == [1] + [4] * 12
    assert len(few.lived) == 13
    assert sum(few.lived) < sum(everything.lived)


def test_the_limit_counts_tokens_without_the_end() -> None:
    """A hypothesis of as many tokens as the limit allows may still end; one that would go on is cut there."""
    logits = torch.full((1, 1009, 3), -9.0, dtype=torch.float64)
    logits[..., 1] = 9
    model, history = TableModel(logits), 0
    ((cut,),) = search(model, 0, longest=3, beam=1)
    assert (cut.ids, cut.finished) == ((1, 1, 1), False)
    for token in (model.start_id, 1, 1, 1):
        history = (history * 5 + token + 1) % 1009
    logits[0, history, 0] = 99
    ((ended,),) = search(model, 0, longest=3, beam=1)
    assert (ended.ids, ended.finished) == ((1, 1, 1), True)


def test_a_prefix_longer_than_the_limit_is_kept_whole(seed: int) -> None:
    ((hypothesis,),) = search(random_model(1, 5), 0, longest=2, beam=3, prefix=[[4, 3, 2, 1]])
    assert hypothesis.ids == (4, 3, 2, 1)


def endless(vocab: int) -> TableModel:
    """The end is the least probable of all classes, everywhere."""
    logits = torch.randn(1, 1009, vocab, dtype=torch.float64)
    logits[..., 0] = -60
    return TableModel(logits)


def test_what_does_not_end_is_returned_unfinished(seed: int) -> None:
    model = endless(11)
    (hypotheses,) = search(model, 0, longest=5, beam=4, n_best=4)
    assert len({hypothesis.ids for hypothesis in hypotheses}) == 4
    for hypothesis in hypotheses:
        assert not hypothesis.finished
        assert len(hypothesis.ids) == 5
        exact = math.fsum(log_probabilities(model, 0, hypothesis.ids))
        assert hypothesis.log_probability == pytest.approx(exact, abs=1e-6)
        assert hypothesis.score == pytest.approx(penalised(exact, 5, 0.6), abs=1e-6)
    scores = [hypothesis.score for hypothesis in hypotheses]
    assert scores == sorted(scores, reverse=True)


def test_equal_probabilities_go_to_the_lower_ids() -> None:
    """A vocabulary so large that top-k, left to itself, takes other ones."""
    logits = torch.zeros(1, 1009, 1000)
    logits[..., 0] = -9
    (hypotheses,) = search(TableModel(logits), 0, longest=1, beam=4, n_best=4)
    assert texts([hypotheses]) == [[(1,), (2,), (3,), (4,)]]
    logits[..., 0] = 9
    (hypotheses,) = search(TableModel(logits), 0, longest=2, beam=4, n_best=4, alpha=0.0)
    assert texts([hypotheses]) == [[(), (1,), (2,), (3,)]]


@pytest.mark.parametrize("beam", [1, 2])
def test_an_impossible_prefix_is_followed(beam: int) -> None:
    logits = torch.zeros(1, 1009, 5)
    logits[..., 3] = -torch.inf
    ((hypothesis,),) = search(TableModel(logits), 0, longest=3, beam=beam, prefix=[[3]])
    assert hypothesis.ids[0] == 3
    assert -math.inf < hypothesis.log_probability < -1000

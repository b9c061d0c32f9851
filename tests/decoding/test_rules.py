"""What may not come next: no run of tokens twice, and an option of one's own in one function and one row."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from limelight.config import DecodingConfig
from limelight.decoding.request import Request, SearchSettings, search_settings
from limelight.decoding.rules import RULES, Rule, no_repeat_ngram
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.pipelines.translator import Translator
from tests.decoding.decode import decode_batch
from tests.decoding.fakes import TableModel, characters, log_probabilities, random_model

HOW: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beam": {"beam_size": 3, "n_best": 2, "length_penalty": 0.6},
    "sampling": {"sampling": Sampling(seed=5, temperature=2.0), "n_best": 2},
}


def looping(kinds: int = 5, vocab: int = 7) -> TableModel:
    """Two tokens after one another are so probable that every search repeats them."""
    model = random_model(kinds, vocab)
    model.logits[..., 0] -= 9
    model.logits[..., 2:4] += 9
    return model


def runs(ids: Sequence[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(ids[place : place + size]) for place in range(len(ids) - size + 1)]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_run_of_tokens_comes_twice(seed: int, how: str, size: int) -> None:
    model = looping()
    free = decode_batch(model, [Request([kind], 15, SearchSettings(**HOW[how])) for kind in range(5)])
    ruled = SearchSettings(**HOW[how], rules=(("no_repeat_ngram", size),))
    found = decode_batch(model, [Request([kind], 15, ruled) for kind in range(5)])
    assert any(len(set(runs(one.ids, size))) < len(runs(one.ids, size)) for each in free for one in each)
    for kind, each in enumerate(found):
        for one in each:
            assert len(set(runs(one.ids, size))) == len(runs(one.ids, size))
            ids = [*one.ids, 0] if one.finished else one.ids
            assert one.log_probability == pytest.approx(math.fsum(log_probabilities(model, kind, ids)))


def test_greedy_search_takes_the_most_probable_of_what_is_permitted(seed: int) -> None:
    """A plain loop beside it."""
    model, size = looping(), 2
    settings = SearchSettings(rules=(("no_repeat_ngram", size),))
    for kind, (found,) in enumerate(decode_batch(model, [Request([kind], 11, settings) for kind in range(5)])):
        ids: list[int] = []
        while len(ids) < 11:
            scores = [log_probabilities(model, kind, [*ids, token])[-1] for token in range(model.output_size)]
            for token in range(model.output_size):
                if token and tuple([*ids, token][-size:]) in runs(ids, size):
                    scores[token] = -math.inf
            best = scores.index(max(scores))
            if best == 0:
                break
            ids.append(best)
        assert list(found.ids) == ids


def test_a_forced_beginning_may_repeat_itself(seed: int) -> None:
    settings = SearchSettings(rules=(("no_repeat_ngram", 1),))
    ((found,),) = decode_batch(looping(), [Request([1], 9, settings, (4, 4, 4))])
    assert found.ids[:3] == (4, 4, 4)
    assert len(set(found.ids[3:]) | {4}) == len(found.ids) - 2


@pytest.mark.parametrize("how", HOW)
def test_where_nothing_is_left_the_text_ends(seed: int, how: str) -> None:
    """Six tokens there are; each may come once."""
    settings = SearchSettings(**HOW[how], rules=(("no_repeat_ngram", 1),))
    ((found, *_),) = decode_batch(looping(), [Request([1], 90, settings)])
    assert found.finished
    assert len(set(found.ids)) == len(found.ids) <= 6


@pytest.mark.parametrize("value", [0, -1, 2.5, "3"])
def test_a_size_that_means_nothing_is_refused(value: object) -> None:
    with pytest.raises(UserError, match="no_repeat_ngram must be a whole number of at least 1, not"):
        no_repeat_ngram(value)
    with pytest.raises(UserError, match="no_repeat_ngram must be"):
        search_settings(DecodingConfig(), {"no_repeat_ngram": value})  # type: ignore[typeddict-item]


# ---- an option of one's own: this function, and the row in the first line of the test below


def at_least(count: int) -> Rule:
    """No end before so many tokens."""

    def rule(tokens: np.ndarray, factors: np.ndarray) -> None:
        if tokens.shape[1] < count:
            factors[:, 0] = np.inf

    return rule


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_new_option_is_a_function_and_a_row(seed: int, beam_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "min_tokens", at_least)
    model = random_model(12, 11)
    model.logits[..., 0] += 2
    one = Translator(model, characters(), DecodingConfig(max_length_extra=30))
    texts = ["face", "dab", "i", "cabbage"]
    free = one.translate(texts, beam_size=beam_size)
    long = one.translate(texts, beam_size=beam_size, min_tokens=7)  # type: ignore[call-overload]
    assert min(len(found.tokens) for found in free) < 7 <= min(len(found.tokens) for found in long)
    prepared = one.prepare(texts, beam_size=beam_size, min_tokens=7)  # type: ignore[call-arg]
    assert all(each.request and each.request.settings.to_dict()["min_tokens"] == 7 for each in prepared)


@pytest.mark.parametrize("how", HOW)
def test_repeated_tokens_are_less_probable(seed: int, how: str) -> None:
    """The log-probability of a hypothesis is that of its tokens, those that occurred before times the penalty."""
    model = looping()
    settings = SearchSettings(**HOW[how], rules=(("repetition_penalty", 3.0),))
    found = decode_batch(model, [Request([kind], 9, settings) for kind in range(5)])
    for kind, each in enumerate(found):
        for one in each:
            ids = [*one.ids, 0] if one.finished else list(one.ids)
            own = log_probabilities(model, kind, ids)
            weighed = [
                3.0 * value if token in ids[:at] else value
                for at, (token, value) in enumerate(zip(ids, own, strict=True))
            ]
            assert one.log_probability == pytest.approx(math.fsum(weighed), rel=1e-5)
    with pytest.raises(UserError, match="repetition_penalty must be a number of at least 1"):
        search_settings(DecodingConfig(), {"repetition_penalty": 0.9})

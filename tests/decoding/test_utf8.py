"""Byte tokens form valid UTF-8 in the output of every search."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.decoding.utf8 import Utf8
from limelight.models.interface import Seq2Seq
from tests.decoding.fakes import TableModel

LETTERS = 5
"""Ids before the bytes: the end, and letters. The id after them is padding."""
VOCABULARY = LETTERS + 256
HISTORIES = 211
VALUES = np.array([-1] * LETTERS + [*range(256), -1])

HOW: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beam": {"beam_size": 3, "n_best": 3, "length_penalty": 0.6},
    "sampling": {"sampling": Sampling(seed=5), "n_best": 3},
}


def decoded(model: Seq2Seq, requests: list[Request], utf8: Utf8 | None) -> list[list[Hypothesis]]:
    engine = Engine(model, utf8=utf8)
    ids = [engine.submit(request) for request in requests]
    found = {}
    while engine.busy:
        for outcome in engine.step():
            assert outcome.error is None
            found[outcome.id] = outcome.hypotheses
    return [found[each] for each in ids]


def is_valid(hypothesis: Hypothesis) -> bool:
    """Whether each run of bytes is valid UTF-8, but for an incomplete character of one cut at the length limit."""
    values = [int(VALUES[token]) for token in hypothesis.ids]
    runs = [list(run) for is_byte, run in itertools.groupby(values, lambda value: value >= 0) if is_byte]
    if runs and values[-1] >= 0 and not hypothesis.finished:
        with_room = [bytes(runs[-1]).decode(errors="ignore").encode(), bytes(runs[-1])]
        runs[-1] = list(with_room[0]) if len(with_room[1]) - len(with_room[0]) < 4 else runs[-1]
    try:
        [bytes(run).decode() for run in runs]
    except UnicodeDecodeError:
        return False
    return True


def bytes_model(kinds: int) -> TableModel:
    """A random model that prefers bytes of characters outside ASCII to letters, and letters to other bytes."""
    model = TableModel(1.5 * torch.randn(kinds, HISTORIES, VOCABULARY))
    model.logits[..., LETTERS : LETTERS + 128] -= 9
    model.logits[..., 0] += 2.5
    return model


@pytest.mark.parametrize("how", HOW)
def test_no_output_has_invalid_bytes(how: str, seed: int) -> None:
    model, settings = bytes_model(90), SearchSettings(**HOW[how])
    prefixes = [(), (1,), (2,), (3,)]
    requests = [Request([kind], 12, settings, each, substream=(kind,)) for kind in range(90) for each in prefixes]
    free = [each for found in decoded(model, requests, None) for each in found]
    assert sum(not is_valid(each) for each in free) > len(free) // 4
    ruled = [each for found in decoded(model, requests, Utf8(VALUES)) for each in found]
    assert all(is_valid(each) for each in ruled)
    assert any(VALUES[token] >= 0xE0 for each in ruled for token in each.ids)


def test_greedy_search_takes_the_most_probable_valid_token(seed: int) -> None:
    """A plain loop over all tokens, which asks Python's decoder."""
    model, utf8 = bytes_model(5), Utf8(VALUES)
    for kind, (found,) in enumerate(decoded(model, [Request([kind], 9) for kind in range(5)], utf8)):
        ids: list[int] = []
        history = (model.start_id + 1) % HISTORIES
        while len(ids) < 9:
            order = model.logits[kind, history].argsort(descending=True).tolist()
            token = next(each for each in order if may_follow(ids, each))
            if token == 0:
                break
            ids.append(token)
            history = (history * 5 + token + 1) % HISTORIES
        assert list(found.ids) == ids


def may_follow(ids: list[int], token: int) -> bool:
    begun = list[int]()
    for each in reversed(ids):
        if VALUES[each] < 0x80:
            break
        begun.insert(0, int(VALUES[each]))
    pending = begun[len(bytes(begun).decode(errors="ignore").encode()) :]
    if VALUES[token] < 0x80:
        return not pending
    together = bytes([*pending, int(VALUES[token])])
    return any(
        is_text(together + bytes(rest)) for rest in [(), (0x80,), (0xBF,), (0x80, 0x80), (0xBF, 0x80), (0x80,) * 3,
                                                     (0xBF, 0x80, 0x80), (0x9F, 0x80), (0x8F, 0x80, 0x80)]
    )  # fmt: skip


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_every_character_may_be_spelled() -> None:
    utf8 = Utf8(VALUES)
    for code in [*range(0x80, 0x10FFFF, 97), 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]:
        if 0xD800 <= code < 0xE000:
            continue
        ids = [LETTERS + byte for byte in chr(code).encode()]
        for count, token in enumerate(ids):
            assert utf8.permitted([3, *ids[:count]])[token]
            assert utf8.permitted([3, *ids[:count]])[1] == (count == 0)


def test_a_nan_is_noticed_within_a_character(seed: int) -> None:
    model = bytes_model(2)
    model.logits[0, 1:] = torch.nan
    engine = Engine(model, utf8=Utf8(VALUES))
    prefix = (LETTERS + 0xE2,)
    engine.submit(Request([0], 9, prefix=prefix))
    engine.submit(Request([1], 9, prefix=prefix))
    outcomes = []
    while engine.busy:
        outcomes += engine.step()
    assert {outcome.id: outcome.error is not None for outcome in outcomes} == {0: True, 1: False}

"""Searching a shortlist: nothing that is not on it, all that is as before, and files that are taken or refused."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from limelight.config import DecodingConfig, TransformerConfig
from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.decoding.shortlist import VECTOR, ShortOutput
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.models.interface import Active, Seq2Seq
from limelight.pipelines.translator import Translator
from limelight.storage.tables import MAX_CANDIDATES, Shortlist
from tests.decoding.fakes import TableModel, characters, random_model

KINDS, VOCABULARY = 5, 17


class Scored(TableModel):
    """The features are the history's logits, and the projection is the identity: rows of it can be taken apart."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__(logits, source_padding=KINDS)

    def output_weights(self):
        return torch.eye(self.output_size, dtype=torch.float64), None


def scored(ties: bool = False) -> Scored:
    logits = random_model(KINDS, VOCABULARY).logits
    return Scored(logits.round() if ties else logits)


def lists(pieces: dict[int, list[int]], always: Sequence[int] = (), sources: int = KINDS) -> Shortlist:
    """A shortlist in which the rows that are not named are empty."""
    width = max(1, *map(len, pieces.values()))
    rows = [pieces.get(source, []) for source in range(sources)]
    return Shortlist(
        np.array([row + [0] * (width - len(row)) for row in rows], dtype=np.int32), np.array(always, dtype=np.int32)
    )


def whole(model: Seq2Seq) -> Shortlist:
    return lists({0: [0]}, always=range(model.output_size), sources=model.source_padding)


SETTINGS = {
    "greedy": SearchSettings(),
    "beam": SearchSettings(beam_size=3, n_best=2, length_penalty=0.6),
    "sampling": SearchSettings(n_best=2, sampling=Sampling(seed=3)),
    "rules": SearchSettings(beam_size=2, rules=(("no_repeat_ngram", 1),)),
}


HOW = list(SETTINGS)


def found_by(
    model: Seq2Seq, requests: Sequence[Request], shortlist: Shortlist | None, batch_tokens: int = 10_000
) -> list[list[Hypothesis]]:
    """What is found for each, each with its own list of what `shortlist` has for it."""
    short = None if shortlist is None else ShortOutput(model, shortlist, "fp32")
    engine = Engine(model, batch_tokens=batch_tokens, short=short)
    for request in requests:
        listed = None if short is None else short.listed(request.source, request.prefix)
        engine.submit(replace(request, shortlist=listed))
    found: dict[int, list[Hypothesis]] = {}
    while engine.busy:
        for number, hypotheses, error in engine.step():
            assert error is None
            found[number] = hypotheses
    return [found[number] for number in range(len(requests))]


def random_requests(how: str, count: int, tokens: int) -> list[Request]:
    return [
        Request(
            [*random.choices(range(1, tokens), k=random.randint(1, 6)), 0],
            random.randint(0, 9),
            SETTINGS[how],
            tuple(random.choices(range(2, tokens), k=random.choice((0, 0, 3)))),
            substream=(number,),
        )
        for number in range(count)
    ]


# ---- which tokens are on a list


def test_a_list_is_what_its_pieces_may_become_and_what_is_always_there(seed: int) -> None:
    random.seed(seed)
    shortlist = lists({1: [7, 3], 2: [4], 4: [9, 8, 5]}, always=[12])
    for source, expected in (
        ([1], {0, 1, 3, 7, 12}),
        ([2, 2, 0], {0, 1, 4, 12}),
        ([1, 3, 2], {0, 1, 3, 7, 4, 12}),
        ([3], {0, 1, 12}),
    ):
        assert set(np.flatnonzero(shortlist.of(source, VOCABULARY)).tolist()) == expected


def test_ids_rise_and_the_forced_are_among_them(seed: int) -> None:
    short = ShortOutput(scored(), lists({1: [7, 3], 2: [4]}, always=[12]), "fp32")
    assert short.listed([1]).tolist() == [0, 1, 3, 7, 12]
    assert short.listed([2, 1], (15, 5)).tolist() == [0, 1, 3, 4, 5, 7, 12, 15]


def test_each_row_has_the_scores_of_its_own_list(seed: int) -> None:
    """Of three slots, the middle one free; the first has two hypotheses."""
    short = ShortOutput(scored(), lists({1: [7, 3], 2: [4]}, always=[12]), "fp32")
    output = short.onto([short.listed([1]), None, short.listed([2], (15,))])
    assert output.ids is not None
    assert output.ids.shape == (3, VECTOR)
    features = torch.randn(3, VOCABULARY, dtype=torch.float64)
    found = output.logits(features, Active(np.array([2, 0, 1])))
    for row, slot, own in ((0, 0, [0, 1, 3, 7, 12]), (1, 0, [0, 1, 3, 7, 12]), (2, 2, [0, 1, 4, 12, 15])):
        assert output.ids[slot].tolist() == own + [VOCABULARY] * (VECTOR - 5)
        assert found[row, :5].tolist() == features[row, own].tolist()
        assert (found[row, 5:] == -math.inf).all()


# ---- searches


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("ties", [False, True])
def test_with_the_whole_vocabulary_on_it_nothing_changes(seed: int, how: str, ties: bool) -> None:
    random.seed(seed)
    model, requests = scored(ties), random_requests(how, 13, KINDS)
    for batch_tokens in (10_000, 40, 1):
        expected = found_by(model, requests, None, batch_tokens)
        assert found_by(model, requests, whole(model), batch_tokens) == expected


@pytest.mark.parametrize("how", HOW)
def test_a_search_of_the_list_is_a_search_of_a_smaller_model(seed: int, how: str) -> None:
    """Equal to that of a model whose vocabulary is the list, by whatever numbers its tokens go."""
    random.seed(seed)
    model, kept = scored(), sorted([0, 1, *random.sample(range(2, VOCABULARY), 6)])

    class Smaller(Scored):
        """Reads and writes the places of the tokens in the list."""

        def step(self, ids, state):
            known = torch.tensor([*kept, model.start_id])
            return TableModel.step(self, known[ids], state)

        def project(self, features):
            return features[..., kept]

    smaller = Smaller(model.logits)
    smaller.start_id, smaller.target_padding = len(kept), len(kept)
    requests = [Request([kind], 6, SETTINGS[how]) for kind in range(KINDS)]
    found = found_by(model, requests, lists({0: [0]}, always=kept))
    for some, others in zip(found, found_by(smaller, requests, None), strict=True):
        assert [one.ids for one in some] == [tuple(kept[token] for token in one.ids) for one in others]
        scores = [one.log_probability for one in others]
        assert [one.log_probability for one in some] == pytest.approx(scores)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("budget", [2, 6, 1000])
def test_those_that_stand_beside_it_change_nothing(seed: int, how: str, budget: int) -> None:
    """Lists of a few tokens each, some of which they share; requests join and leave at different steps."""
    random.seed(seed)
    model = scored()
    own = {kind: random.sample(range(2, VOCABULARY), 4) for kind in range(KINDS)}
    requests = random_requests(how, 17, KINDS)
    together = found_by(model, requests, lists(own), batch_tokens=budget * requests[0].width)
    for request, found in zip(requests, together, strict=True):
        (alone,) = found_by(model, [request], lists(own))
        assert found == alone


def test_a_forced_last_id_does_not_permit_the_padding_of_a_list(seed: int) -> None:
    settings = SearchSettings(beam_size=3, n_best=3, rules=(("repetition_penalty", 1.2),))
    request = Request([1], 4, settings, (VOCABULARY - 1,))
    (found,) = found_by(scored(), [request], lists({1: [7, 3]}))
    assert len(found) == 3
    for each in found:
        assert each.ids[0] == VOCABULARY - 1
        assert {*each.ids} <= {1, 3, 7, VOCABULARY - 1}


def test_an_engine_takes_lists_for_all_or_for_none(seed: int) -> None:
    with pytest.raises(UserError, match="an engine with shortlists takes requests that have one"):
        Engine(scored()).submit(Request([1], 5, shortlist=np.array([0, 1])))
    with pytest.raises(UserError, match="an engine with shortlists takes requests that have one"):
        Engine(scored(), short=ShortOutput(scored(), lists({1: [7]}), "fp32")).submit(Request([1], 5))


@pytest.mark.parametrize("precision", [None, "fp32", "bf16", "int8"])
def test_a_translator_takes_it(seed: int, precision: str | None) -> None:
    """With the whole vocabulary on it translations are those without it, a prefix is kept, and draws are possible."""
    model = build_model(
        TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=12, heads=3, d_ff=7), characters()
    )
    config = DecodingConfig(max_length_extra=3)
    plain = Translator(model.eval(), characters(), config, precision=precision)
    short = Translator(model, characters(), config, precision=precision, shortlist=whole(model))
    texts = ["abc", "", "i", "fedcba"]
    if precision != "int8":  # its activations are rounded in another way
        found, expected = short.translate(texts, beam_size=3), plain.translate(texts, beam_size=3)
        assert [each.text for each in found] == [each.text for each in expected]
        assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-2)
    one = Translator(model, characters(), config, precision=precision, shortlist=lists({2: [4, 5]}, sources=11))
    assert set(one.translate("aaaa").tokens) <= {"?", "c", "d"}
    assert one.translate("aaaa", prefix="gg").text.startswith("gg")
    assert set(one.translate("aaaa", sampling=Sampling(seed=1), n_best=3).tokens) <= {"?", "c", "d"}


# ---- what is refused


def test_lists_for_another_model_are_refused() -> None:
    model = scored()
    for shortlist, fault in (
        (lists({0: [0]}, sources=4), "the shortlist: it is for 4 source tokens .*; the model has 5"),
        (lists({0: [17]}), "ids from 0 to 17; .* ids from 0 to 16"),
        (lists({0: [-2, 30]}), "ids from -2 to 30"),
        (lists({0: [0]}, always=[17]), "ids from 0 to 17"),
        (Shortlist(np.zeros((5, 0), dtype=np.int32), np.zeros(0, dtype=np.int32)), "with 0 candidates"),
        (lists({0: [1] * (MAX_CANDIDATES + 1)}), f"with 257 candidates .* has 1 to {MAX_CANDIDATES} candidates"),
    ):
        with pytest.raises(UserError, match=fault):
            ShortOutput(model, shortlist, "fp32")

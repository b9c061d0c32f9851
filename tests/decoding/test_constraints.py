"""Phrases that must come: automata against plain containment, searches against all texts."""

import heapq
import math
import random
from collections.abc import Sequence
from itertools import product

import pytest

from limelight.decoding.constraints import Automaton, Phrase
from limelight.decoding.engine import Engine
from limelight.decoding.request import Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.decoding.shortlist import ShortOutput
from limelight.errors import UserError
from tests.decoding.decode import decode_batch
from tests.decoding.fakes import all_endings, log_probabilities, random_model
from tests.decoding.test_mixed_settings import drained
from tests.decoding.test_shortlist import scored, whole

EXACT = SearchSettings(beam_size=324, n_best=3, length_penalty=0.6)


def has(ids: Sequence[int], phrase: Phrase, phrases: Sequence[Phrase]) -> bool:
    """Whether a text contains a phrase, said plainly: tokens that begin some phrase join nothing."""
    joined = phrase.joined - {form[0] for each in phrases for form in each.forms}
    return any(
        tuple(ids[place : place + len(form)]) == form and not {*ids[place + len(form) :][:1]} & joined
        for form in phrase.forms
        for place in range(len(ids))
    )


def has_all(ids: Sequence[int], phrases: Sequence[Phrase]) -> bool:
    return all(has(ids, phrase, phrases) for phrase in phrases)


def random_phrase(vocab: int, *, longest: int = 3, joined: int = 0) -> Phrase:
    forms = tuple(
        tuple(random.choices(range(1, vocab), k=random.randint(1, longest))) for _ in range(random.choice((1, 1, 2, 3)))
    )
    return Phrase(forms, frozenset(random.sample(range(1, vocab), joined)))


def test_the_state_says_whether_and_how_nearly_a_phrase_is_contained(seed: int) -> None:
    random.seed(seed)
    for _ in range(25):
        phrase = random_phrase(4, joined=random.choice((0, 0, 1)))
        automaton = Automaton(phrase)
        for ids in product(range(1, 4), repeat=5):
            state = ()
            for token in ids:
                state = automaton.after(state, token)
            assert (automaton.after(state, 0) is None) == has(ids, phrase, [phrase])
            if state is not None:
                tails = (rest for size in range(4) for rest in product(range(1, 4), repeat=size))
                nearest = next(rest for rest in tails if has([*ids, *rest], phrase, [phrase]))
                assert automaton.needed[state] == len(nearest)


def test_a_word_may_go_on_after_a_token_without_text() -> None:
    """1 is a phrase, which 3 would continue; 4 has no text."""
    automaton = Automaton(Phrase(((1,),), frozenset({3}), frozenset({4})))
    for ids, contained in {(1, 4, 2): True, (1, 4): True, (1, 4, 4, 3): False, (1, 4, 3, 1): True}.items():
        state = ()
        for token in ids:
            state = automaton.after(state, token)
        assert (automaton.after(state, 0) is None) == contained, ids
    assert automaton.after(None, 4) is None


@pytest.mark.parametrize("joined", [0, 1])
def test_a_wide_beam_finds_the_best_of_all_texts_that_have_the_phrases(seed: int, joined: int) -> None:
    """Four classes, one of them the end, at most four tokens: every text there is."""
    random.seed(seed)
    model = random_model(3, 4)
    for number in range(8):
        include = tuple(random_phrase(4, longest=2, joined=joined) for _ in range(random.choice((1, 1, 2))))
        kind = number % 3
        request = Request([kind], 4, EXACT, phrases=include)
        [found] = decode_batch(model, [request])
        texts = all_endings(model, kind, request.limit, 0.6)
        expected = heapq.nlargest(3, (each for each in texts if has_all(each[1], include)))
        assert [each.ids for each in found if each.finished] == [ids for _, ids in expected]
        for hypothesis, (score, ids) in zip(found, expected, strict=False):
            assert hypothesis.score == pytest.approx(score, abs=1e-6)
            assert hypothesis.log_probability == pytest.approx(math.fsum(log_probabilities(model, kind, [*ids, 0])))


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_every_phrase_comes_with_every_beam(seed: int, beam_size: int) -> None:
    """However improbable its tokens are, and however short the limit."""
    random.seed(seed)
    model = random_model(23, 9, spread=4.0)
    settings = SearchSettings(beam_size=beam_size, length_penalty=0.6, patience=1.0, prune=1.0)
    for number in range(12):
        include = tuple(random_phrase(9, joined=random.choice((0, 3))) for _ in range(random.randint(1, 4)))
        request = Request([number], random.choice((0, 3, 12)), settings, phrases=include)
        [[found]] = decode_batch(model, [request])
        assert found.finished
        assert has_all(found.ids, request.phrases)
        assert len(found.ids) <= request.limit
        exact = math.fsum(log_probabilities(model, number % 23, [*found.ids, 0]))
        assert found.log_probability == pytest.approx(exact)


def test_phrases_and_shortlists_go_together(seed: int) -> None:
    random.seed(seed)
    model = scored()
    short = ShortOutput(model, whole(model), "fp32")
    phrases = [random_phrase(model.output_size, longest=2) for _ in range(5)]
    tokens = [{token for form in phrase.forms for token in form} for phrase in phrases]
    requests = [
        Request(
            [kind], 9, SearchSettings(beam_size=3), phrases=(phrase,),
            shortlist=short.listed([kind], sorted(own)),
        )
        for kind, (phrase, own) in enumerate(zip(phrases, tokens, strict=True))
    ]  # fmt: skip
    together = Engine(model, short=short)
    for request in requests:
        together.submit(request)
    for outcome in drained(together):
        assert has(outcome.hypotheses[0].ids, phrases[outcome.id], [phrases[outcome.id]])
        alone = Engine(model, short=short)
        alone.submit(requests[outcome.id])
        assert drained(alone)[0].hypotheses == outcome.hypotheses


@pytest.mark.parametrize(
    ("phrases", "settings", "message"),
    [
        ((Phrase(((),)),), {}, "it has tokens"),
        ((Phrase(((0,),)),), {}, "other than 0, the end"),
        ((Phrase(((9,),)),), {}, "from 0 to 8"),
        ((Phrase(()),), {}, "from 1 to 200 forms"),
        ((Phrase(((4, 5),)),) * 65, {}, "the maximum is 64"),
        ((Phrase(((4,),)),), {"sampling": Sampling()}, "sampling exclude each other"),
    ],
)
def test_phrases_that_cannot_be_are_refused(phrases: tuple[Phrase, ...], settings: dict, message: str) -> None:
    request = Request([1], 5, SearchSettings(**settings), phrases=phrases)
    with pytest.raises(UserError, match=message):
        Engine(random_model(2, 9)).submit(request)

"""From text to text: order, blank lines, options and what a user is told."""

import math
from collections.abc import Sequence

import pytest
import torch

from limelight.config import DecodingConfig
from limelight.decoding.sampling import Sampling
from limelight.errors import RunError, UserError
from limelight.layers.embedding import LearnedPositions
from limelight.pipelines.translator import Translation, Translator
from limelight.tokens import Tokenizers
from tests.decoding.decode import beam_search
from tests.decoding.fakes import Characters, TableModel, characters, limits, random_model

TEXTS = ["dab", "a", "", "cabbage", "  \t", "face", "bad", "eggbeef", "c", "hi"]


def translator(kinds: int = 12, **settings) -> Translator:
    """A random table for each first letter."""
    return Translator(random_model(kinds, 11), characters(), DecodingConfig(**settings))


@pytest.mark.parametrize("other", [None, math.nan, 5, b"face", ["face"], {"en": "face"}])
def test_what_is_no_text_is_refused_by_its_number(other: object, seed: int) -> None:
    one = translator()
    with pytest.raises(UserError, match=r"text 2 is .*, not a string"):
        one.translate(["face", other])
    if not isinstance(other, list):
        with pytest.raises(UserError, match=r"texts is .*: give a string, or a list of strings"):
            one.translate(other)
    assert one.translate(iter(["face"])) == [one.translate("face")]


def test_it_is_the_search_between_two_tokenizers(seed: int) -> None:
    one = translator(patience=1000.0)
    found = one.translate("face", beam_size=3, n_best=2, length_penalty=0.9)
    source = torch.tensor([[*one.tokenizers.source.encode("face"), 0]])
    ((best, other),) = beam_search(
        one.model, source, source >= 0, beam_size=3, n_best=2, length_penalty=0.9, max_lengths=limits(26)
    )
    for translation, hypothesis in ((found, best), (found.alternatives[0], other)):
        assert translation.text == one.tokenizers.target.decode(hypothesis.ids)
        assert translation.tokens == tuple(one.tokenizers.target.pieces(hypothesis.ids))
        assert translation.source == "face"
        assert (translation.score, translation.log_probability) == (hypothesis.score, hypothesis.log_probability)
        assert translation.finished == hypothesis.finished


@pytest.mark.parametrize(
    "settings",
    [
        {"patience": 0.25},
        {"prune": 0.01},
        {"length_penalty": 0.0},
        {"length_offset": 0.0},
        {"max_length_factor": 0.1, "max_length_extra": 2},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_a_call_has_settings_of_its_own(settings: dict) -> None:
    """As a model that has them translates, in lists and streams; the next call has the model's own again.

    The model is always the same: with one drawn at random a setting may change nothing.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        one = translator(length_penalty=1.0)
    one.model.logits[..., 0] -= 1  # long enough for every setting to matter
    other = Translator(one.model, one.tokenizers, DecodingConfig(**{"length_penalty": 1.0, **settings}))
    before, expected = one.translate(TEXTS), other.translate(TEXTS)
    assert one.translate(TEXTS, **settings) == expected != before
    assert list(one.translate_stream(TEXTS, **settings)) == expected
    assert one.translate(TEXTS) == before
    if "max_length_extra" in settings:
        assert all(len(found.tokens) <= 2 for found in expected)


@pytest.mark.parametrize("batch_tokens", [1, 17, 4096])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_results_come_in_the_order_of_the_texts_whatever_the_batches(
    seed: int, batch_tokens: int, beam_size: int
) -> None:
    one = translator()
    together = one.translate(TEXTS, beam_size=beam_size, batch_tokens=batch_tokens)
    assert [translation.source for translation in together] == TEXTS
    assert together == [one.translate(text, beam_size=beam_size) for text in TEXTS]


@pytest.mark.parametrize("blank", ["", " ", "\t \n", "\u3000"])
def test_blank_texts_stay_empty(seed: int, blank: str) -> None:
    assert translator().translate(blank, n_best=3) == Translation("", 0.0, (), 0.0, blank, finished=True)


def test_a_translation_is_one_line(seed: int) -> None:
    class Own(Characters):
        def decode(self, ids: Sequence[int]) -> str:
            return "a\nb\r\nc\u2028d"

    one = Translator(random_model(12, 11), Tokenizers(Own(), Own()))
    assert one.translate("face").text == "a b  c\u2028d"


def test_n_best_are_alternatives_of_the_first(seed: int) -> None:
    found = translator().translate("face", n_best=7)  # more than the default beam of 4: it becomes wider
    assert len(found.alternatives) == 6
    assert all(other.alternatives == () for other in found.alternatives)
    assert len({found.tokens, *(other.tokens for other in found.alternatives)}) == 7


def test_a_prefix_begins_its_translation(seed: int) -> None:
    one = translator()
    found = one.translate(TEXTS, prefix=["gab"] * len(TEXTS))
    for translation in found:
        assert translation.text.startswith("gab") == bool(translation.source.strip())
    assert one.translate("face", prefix="gab") == found[TEXTS.index("face")]
    assert one.translate("face", prefix="") == one.translate("face")


def test_a_stream_is_the_list(seed: int) -> None:
    one = translator()
    expected = one.translate(TEXTS, beam_size=2, n_best=2, length_penalty=0.3)
    for chunk in (1, 3, 100):
        found = one.translate_stream(iter(TEXTS), beam_size=2, n_best=2, length_penalty=0.3, chunk=chunk)
        assert list(found) == expected


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_in_evaluation_mode_and_put_back_as_it_was(seed: int, training: bool) -> None:
    modes = []

    class Watching(TableModel):
        def step(self, ids, state):
            modes.append((self.training, self.part.training, torch.is_inference_mode_enabled()))
            return super().step(ids, state)

    model = Watching(random_model(1, 11).logits)
    model.part = torch.nn.Dropout(0.5)
    model.train(training)
    model.part.train(not training)
    Translator(model, characters()).translate(["ab", "c"])
    assert set(modes) == {(False, False, True)}
    assert (model.training, model.part.training) == (training, not training)


# --- sampling ---


def test_a_seed_repeats_samples(seed: int) -> None:
    one = translator()
    first = one.translate(TEXTS, sampling=Sampling(seed=seed))
    assert one.translate(TEXTS, sampling=Sampling(seed=seed)) == first
    assert one.translate(TEXTS, sampling=Sampling(seed=seed + 1)) != first


def test_samples_of_one_text_are_drawn_independently_best_first(seed: int) -> None:
    found = translator().translate(["face", "bad"], sampling=Sampling(seed=seed), n_best=20)
    for translation in found:
        every = [translation, *translation.alternatives]
        assert len(every) == 20
        assert len({other.tokens for other in every}) > 1
        assert all(other.source == translation.source for other in every)
        scores = [other.score for other in every]
        assert scores == sorted(scores, reverse=True)


# --- what a user is told ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 0}, "beam_size must be at least 1"),
        ({"beam_size": 2, "n_best": 3}, r"n_best must be from 1 to beam_size \(2\), not 3"),
        ({"n_best": 0}, r"n_best must be from 1 to beam_size \(4\), not 0"),
        ({"length_penalty": -1.0}, "length_penalty must be at least 0, not -1.0"),
        ({"length_penalty": 1000}, "length_penalty must be at most 10, not 1000"),
        ({"batch_tokens": 0}, "batch_tokens must be at least 1, not 0"),
        ({"sampling": Sampling(), "beam_size": 4}, "beam_size=4 and sampling exclude each other"),
        ({"sampling": Sampling(), "n_best": 0}, "n_best must be from 1 to 1000, not 0"),
        ({"n_best": 1001}, "n_best must be from 1 to 1000, not 1001"),
        ({"sampling": 5}, "sampling must be a Sampling"),
        ({"prefix": ["a", "b"]}, "prefix is a list of 2 for 1 text: give one for each, '' forces nothing"),
        ({"prefix": "a"}, "prefix is a single string for 1 text: give one for each"),
    ],
)
def test_impossible_settings_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        translator().translate(["face"], **options)


@pytest.mark.parametrize("name", ["", "runs/a"])
def test_an_error_of_the_weights_names_the_model(name: str, seed: int) -> None:
    one = translator()
    one.name = name
    one.model.logits[:] = math.nan
    with pytest.raises(RunError, match="not a number") as caught:
        one.translate("face")
    assert getattr(caught.value, "__notes__", []) == [f"the model is {name}"] * bool(name)


def bounded(longest: int) -> Translator:
    one = translator()
    one.model.positions = LearnedPositions(4, longest=longest)
    one.refresh(changed=True)
    return one


def test_a_text_that_is_too_long_is_named_by_its_place() -> None:
    with pytest.raises(UserError, match="text 4 has 8 tokens with its end, and this model takes at most 7"):
        bounded(7).translate(TEXTS)
    with pytest.raises(UserError, match="text 4 has 8 tokens"):
        list(bounded(7).translate_stream(TEXTS, chunk=3))
    with pytest.raises(UserError, match="prefix 1 has 9 tokens"):
        bounded(8).translate("a", prefix="cabbageh")

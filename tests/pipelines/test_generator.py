"""Text from a prompt: held to plain loops over whole texts, in double precision."""

import random
from collections.abc import Sequence

import pytest
import torch

from limelight.config import (
    DecoderOnlyConfig,
    ModelConfig,
)
from limelight.decoding.engine import Engine
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.models.transformer.halves import DecoderOnly
from limelight.pipelines.generator import TextGenerator
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.tokens.text import RESERVED, decode_text, encode_text

SIZES = {"layers": 2, "d_model": 12, "heads": 2, "d_ff": 13, "norm": "pre", "dropout": 0.3}
LEARNED = DecoderOnlyConfig(**SIZES, positions="learned", max_positions=11)
ROTARY = DecoderOnlyConfig(**SIZES, positions="rotary")
TEXTS = ["the old dog\nsees a small cat", "two birds sing."]


def tokenizers_of(kind: str) -> Tokenizers:
    one = train_tokenizer(
        TEXTS,
        kind=kind,
        vocabulary_size=None,
        languages=(),
        byte_fallback=False,
        seed=1,
        sentences=2,
        reserved=RESERVED,
    )
    return Tokenizers(one, one)


CHARACTERS = tokenizers_of("characters")
CASES = {"learned": (LEARNED, 11), "rotary": (ROTARY, 7), "one-at-a-time": (ROTARY, 1), "unbounded": (ROTARY, None)}


def exact(config: ModelConfig, tokenizers: Tokenizers = CHARACTERS) -> DecoderOnly:
    model = build_model(config, tokenizers).double().train()
    assert isinstance(model, DecoderOnly)
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 2  # so that predictions differ more than rounding does
    return model


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, seed: int) -> tuple[DecoderOnly, int | None]:
    random.seed(seed)
    config, window = CASES[request.param]
    return exact(config), window


def next_log_probabilities(model: DecoderOnly, context: Sequence[int]) -> list[float]:
    """What comes after a context, read anew from its beginning."""
    model.eval()
    with torch.no_grad():
        features = model.read(torch.tensor([context]))
        found = model.project(features[0, -1]).log_softmax(dim=-1).tolist()
    model.train()
    return found


def contexts(prompt: Sequence[int], window: int | None):
    """The context of each further token: `send` it. What is longer than the window is cut to its last half."""
    context = [0, *prompt]
    if window is not None and len(context) > window:
        context = context[-max(1, window // 2) :]
    while True:
        piece = yield context
        context = [*context, piece]
        if window is not None and len(context) > window:
            context = context[-max(1, window // 2) :]


def plain_greedy(
    model: DecoderOnly, prompt: Sequence[int], window: int | None, most: int
) -> tuple[list[int], float, bool]:
    pieces, total, following = [], 0.0, contexts(prompt, window)
    context = next(following)
    while len(pieces) < most:
        scores = next_log_probabilities(model, context)
        piece = max(range(len(scores)), key=scores.__getitem__)
        total += scores[piece]
        if piece == 0:
            return pieces, total, True
        pieces.append(piece)
        context = following.send(piece)
    return pieces, total, False


@pytest.mark.parametrize("prompt", ["", "the", "the old dog\nsees a"])
def test_greedy_search_is_a_loop_over_whole_texts(case: tuple[DecoderOnly, int | None], prompt: str) -> None:
    """Windows too: a text much longer than one, and a prompt that fills more than one."""
    model, window = case
    generator = TextGenerator(model, CHARACTERS, window=window)
    (found,) = generator.generate(prompt, max_tokens=40)
    pieces, total, ended = plain_greedy(model, encode_text(CHARACTERS.target, prompt), window, 40)
    assert found.tokens == tuple(CHARACTERS.target.pieces(pieces))
    assert found.log_probability == pytest.approx(total, abs=1e-6)
    assert found.ended_by == ("end" if ended else "length")
    assert (found.text, found.prompt) == (decode_text(CHARACTERS.target, pieces), prompt)
    assert all(module.training for module in model.modules())


def test_samples_are_given_the_log_probability_of_what_was_drawn(
    case: tuple[DecoderOnly, int | None], seed: int
) -> None:
    model, window = case
    generator = TextGenerator(model, CHARACTERS, window=window)
    sampling = Sampling(temperature=1.3, seed=seed)
    found = generator.generate("the old dog", samples=5, max_tokens=17, sampling=sampling)
    assert len(found) == 5
    prompt, ids = encode_text(CHARACTERS.target, "the old dog"), list(range(CHARACTERS.target.size))
    names = {name: number for number, name in zip(ids, CHARACTERS.target.pieces(ids), strict=True)}
    for each in found:
        total, following = 0.0, contexts(prompt, window)
        context = next(following)
        for piece in (names[token] for token in each.tokens):
            total += next_log_probabilities(model, context)[piece]
            context = following.send(piece)
        if each.ended_by == "end":
            total += next_log_probabilities(model, context)[0]
        else:
            assert len(each.tokens) == 17
        assert each.log_probability == pytest.approx(total, abs=1e-6)
    assert generator.generate("the old dog", samples=5, max_tokens=17, sampling=sampling) == found


def test_a_window_never_reads_more_than_it_holds(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    added = []
    original = Engine.submit
    monkeypatch.setattr(Engine, "submit", lambda self, request: (added.append(request), original(self, request))[1])
    model = exact(ROTARY)
    TextGenerator(model, CHARACTERS, window=8).generate("the old", max_tokens=30, sampling=Sampling(top_k=1))
    sizes = [len(request.source) + 1 for request in added]
    assert sizes == [8] + [4] * (len(sizes) - 1)
    assert all(len(request.source) + 1 + request.max_tokens <= 8 + 1 for request in added)
    monkeypatch.undo()
    assert TextGenerator(exact(LEARNED), CHARACTERS).window == 11  # what has no vector cannot be seen
    assert TextGenerator(exact(LEARNED), CHARACTERS, window=5).window == 5
    assert TextGenerator(exact(ROTARY), CHARACTERS).window is None


def test_a_sample_is_a_function_of_its_number_and_not_of_the_others(seed: int) -> None:
    generator = TextGenerator(exact(ROTARY), CHARACTERS, window=6)
    how = {"max_tokens": 25, "sampling": Sampling(seed=seed, temperature=3.0)}
    five = generator.generate("the", samples=5, **how)
    for count in (1, 3):
        few = generator.generate("the", samples=count, **how)
        assert [each.tokens for each in few] == [each.tokens for each in five[:count]]
    assert len({each.tokens for each in five}) > 1


@pytest.mark.parametrize("kind", ["characters", "bpe"])
@pytest.mark.parametrize("window", [9, None])
def test_a_stream_is_the_text_in_parts(kind: str, window: int | None, seed: int) -> None:
    tokenizers = tokenizers_of(kind)
    generator = TextGenerator(exact(ROTARY, tokenizers), tokenizers, window=window)
    for number, stop in enumerate([(), ("a",), ("e", "\n", " s")]):
        how = {"max_tokens": 25, "sampling": Sampling(seed=seed + number), "stop": stop}
        (found,) = generator.generate("the old\ndog ", **how)
        assert "".join(generator.stream("the old\ndog ", **how)) == found.text
        assert not any(each in found.text for each in stop)
        assert (found.ended_by == "stop") <= bool(stop)
    assert not torch.is_inference_mode_enabled()


def test_a_stop_text_ends_the_work(seed: int) -> None:
    """Greedy text without one gives the text; each of its letters may then stop it, across windows too."""
    model = exact(ROTARY)
    generator = TextGenerator(model, CHARACTERS, window=6)
    (whole,) = generator.generate("the", max_tokens=30)
    chance = random.Random(seed)
    for size in (1, 2, 3) * bool(whole.text):
        place = chance.randrange(len(whole.text))
        stop = whole.text[place : place + size]
        (found,) = generator.generate("the", max_tokens=30, stop=[stop])
        cut = whole.text.index(stop)
        assert (found.text, found.ended_by) == (whole.text[:cut], "stop")
        silent = sum(token.startswith("<ph") for token in found.tokens)  # placeholders have no text
        assert len(found.tokens) - silent <= cut + size
        assert whole.tokens[: len(found.tokens)] == found.tokens


def test_texts_are_written_side_by_side(seed: int) -> None:
    generator = TextGenerator(exact(ROTARY), CHARACTERS)
    how = {"samples": 3, "max_tokens": 20, "sampling": Sampling(seed=seed)}
    grown = list(generator.write("", **how))
    found = generator.generate("", **how)
    for sample, expected in enumerate(found):
        own = [each for each in grown if each.sample == sample]
        assert "".join(each.text for each in own) == expected.text
        assert [each.done for each in own] == [None] * (len(own) - 1) + [expected]
    assert {each.sample for each in grown[:3]} == {0, 1, 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples must be at least 1, not 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, not 0"),
        ({"samples": 2}, "2 samples of greedy search would be equal: give `sampling`, or samples=1"),
        ({"stop": ["a", ""]}, "an empty stop text would end every text before it begins"),
    ],
)
def test_settings_out_of_bounds_are_told_before_any_work(options: dict, message: str, seed: int) -> None:
    with pytest.raises(UserError, match=message):
        TextGenerator(exact(ROTARY), CHARACTERS, window=6).write("the", **options)


def test_a_stop_text_is_not_its_characters(seed: int) -> None:
    writer = TextGenerator(exact(ROTARY), CHARACTERS, window=6)
    text = writer.generate("the", max_tokens=9)[0].text
    assert writer.generate("the", max_tokens=9, stop=f"{text}!!")[0].text == text

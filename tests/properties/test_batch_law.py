"""The law of batches: a text has the same translation, with the same score, alone and in any batch, in every precision,
whatever is asked beside it.

It holds for Transformers on a CPU with compiled attention, for every bit: what is random here is never sure, so that
another last digit would soon be another token. Without numba and for recurrent models sums are
taken over padded batches: there scores agree to about six digits.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from limelight.config import DecodingConfig, TransformerConfig
from limelight.decoding.sampling import Sampling
from limelight.inference.prepare import CompiledTransformer
from limelight.models.families import build_model
from limelight.pipelines.translator import Translation, Translator
from limelight.storage.tables import Shortlist
from limelight.tokens import Tokenizers, train_tokenizer

pytestmark = pytest.mark.skipif(CompiledTransformer is None, reason="needs numba")

WORDS = "the a red green old small house river bird stone sees finds carries behind under near"
SIZES = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "heads": 4, "d_ff": 96}
MODELS = {
    "post": TransformerConfig(**SIZES),
    "pre": TransformerConfig(**SIZES, norm="pre", activation="gelu", positions="learned", max_positions=200),
    "rotary": TransformerConfig(**SIZES, norm="pre", positions="rotary"),
    "ssru": TransformerConfig(**SIZES, norm="pre", positions="rotary", decoder_autoreg="ssru"),
}


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    lines = [" ".join(random.Random(number).choices(WORDS.split(), k=7)) for number in range(300)]
    both = train_tokenizer(
        lines, kind="bpe", vocabulary_size=150, languages=[], byte_fallback=False, seed=1, sentences=len(lines)
    )
    return Tokenizers(both, both)


def assert_the_law(alone: list[Translation], together: list[Translation]) -> None:
    for one, other in zip(alone, together, strict=True):
        assert one.tokens == other.tokens, one.source
        assert abs(one.score - other.score) <= 1e-5 * (1 + abs(one.score)), one.source
        assert [each.tokens for each in one.alternatives] == [each.tokens for each in other.alternatives]


@pytest.mark.parametrize(
    ("name", "precision"),
    [("post", "int8"), ("pre", "fp32"), ("pre", "int8"), ("rotary", "bf16"), ("rotary", "int8")],
)
def test_a_text_is_translated_the_same_in_any_batch(
    name: str, precision: str, tokenizers: Tokenizers, seed: int
) -> None:
    draw = random.Random(seed)
    config = DecodingConfig(max_length_factor=0.2, max_length_extra=5)
    model = build_model(MODELS[name], tokenizers).eval()
    translator = Translator(model, tokenizers, config, precision=precision)
    assert isinstance(translator.searched, CompiledTransformer)
    # From one word to more positions than the compiled loops of the encoder take.
    texts = [
        " ".join(draw.choices(WORDS.split(), k=length)) for length in [1, 1, 2, 80, *draw.choices(range(1, 20), k=8)]
    ]
    for how in ({"beam_size": 1}, {"beam_size": 4, "n_best": 2}):
        alone = [translator.translate(text, **how) for text in texts]
        assert_the_law(alone, translator.translate(texts, **how))
        for tokens in (150, 700):  # texts join and leave at other steps, beside others
            order = draw.sample(range(len(texts)), len(texts))
            mixed = translator.translate([texts[place] for place in order], batch_tokens=tokens, **how)
            assert_the_law([alone[place] for place in order], mixed)


def random_options(draw: random.Random) -> dict[str, Any]:
    """Some of what can be asked of a search."""
    if draw.random() < 0.3:
        cuts = {"temperature": draw.choice((0.5, 1.0)), "top_k": draw.choice((0, 5)), "top_p": draw.choice((0.7, 1.0))}
        return {"sampling": Sampling(**cuts, seed=draw.randrange(9)), "n_best": draw.choice((1, 3))}
    beam_size = draw.choice((1, 1, 3, 4))
    return {
        "beam_size": beam_size,
        "n_best": draw.randint(1, beam_size),
        "length_penalty": draw.choice((0.0, 0.6, 1.0)),
        "patience": draw.choice((0.5, 1.0, 9.0)),
        "max_length_extra": draw.randint(1, 9),
    }


def shortlist_of(tokenizers: Tokenizers, draw: random.Random) -> Shortlist:
    """Random candidates, so many that lists have different lengths."""
    size = tokenizers.source.padding
    rows = [[draw.randrange(size) if draw.random() < 0.8 else 0 for _ in range(12)] for _ in range(size)]
    return Shortlist(np.array(rows, dtype=np.int32), np.array([3, 5], dtype=np.int32))


@pytest.mark.parametrize("shortlisted", [False, True])
@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_requests_of_any_settings_in_one_engine_get_what_each_gets_alone(
    precision: str, shortlisted: bool, tokenizers: Tokenizers, seed: int
) -> None:
    """They come at different steps: beams, greedy and drawn ones, with forced beginnings and with shortlists."""
    draw = random.Random(seed)
    model = build_model(MODELS["post"], tokenizers).eval()
    config = DecodingConfig(max_length_factor=0.2, max_length_extra=5)
    shortlist = shortlist_of(tokenizers, draw) if shortlisted else None
    translator = Translator(model, tokenizers, config, precision=precision, shortlist=shortlist)
    asked: list[tuple[str, str, Mapping[str, Any]]] = [
        (
            " ".join(draw.choices(WORDS.split(), k=draw.randint(1, 20))),
            draw.choice(("", "", "the red")),
            random_options(draw),
        )
        for _ in range(16)
    ]
    prepared = [translator.prepare([text], prefix=[prefix], **how)[0] for text, prefix, how in asked]
    engine, waiting, found = translator.engine(batch_tokens=700), list(enumerate(prepared)), {}
    numbers: dict[int, int] = {}
    while waiting or engine.busy:
        for _ in range(min(draw.randint(0, 5), len(waiting))):
            place, each = waiting.pop(0)
            assert each.request is not None
            numbers[engine.submit(each.request)] = place
        for number, hypotheses, error in engine.step():
            assert error is None
            best, *others = translator.finish(prepared[numbers[number]], hypotheses)
            found[numbers[number]] = replace(best, alternatives=tuple(others))
    together = [found[place] for place in range(len(asked))]
    alone = [translator.translate(text, prefix=prefix, guards=False, **how) for text, prefix, how in asked]
    assert_the_law(alone, together)

"""Many threads, one translator: each gets what it would get alone, and the settings of the process stay as they are."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from limelight.config import DecodingConfig, ModelConfig, RecurrentConfig, TransformerConfig
from limelight.models.families import build_model
from limelight.pipelines.translator import Translation, Translator
from tests.decoding.fakes import characters

CALLERS, CALLS = 4, 2
SIZES = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 24, "heads": 3, "d_ff": 29, "dropout": 0.3}
MODELS: dict[str, ModelConfig] = {
    "sinusoidal": TransformerConfig(**SIZES),
    "rotary": TransformerConfig(**SIZES, positions="rotary"),
    "recurrent": RecurrentConfig(embedding=13, hidden=17, score_size=11),
}


def text() -> str:
    return "".join(random.choices("abcdefghi", k=random.randint(1, 15)))


def called_at_once(one: Translator, given: list[list[list[str]]]) -> list[list[list[Translation]]]:
    """Each caller's lists of texts, one after the other; all callers begin together."""
    together = Barrier(CALLERS)

    def call(lists: list[list[str]]) -> list[list[Translation]]:
        together.wait()
        return [one.translate(texts, beam_size=3) for texts in lists]

    with ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(call, given))


@pytest.mark.parametrize(
    ("name", "precision", "threads"),
    [
        *((name, "fp32", None) for name in MODELS),
        ("sinusoidal", None, None),
        ("sinusoidal", "int8", None),
        ("sinusoidal", "fp32", 2),
        ("sinusoidal", "int8", 2),
    ],
)
def test_many_threads_get_what_each_would_get_alone(
    name: str, precision: str | None, threads: int | None, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`threads` is for an owner of the process, whose calls wait for one another; others run at the same time."""
    monkeypatch.setattr("limelight.pipelines.scheduler.SENTENCES_EACH", 2)
    random.seed(seed)
    given = [[[text() for _ in range(random.randint(1, 4))] for _ in range(CALLS)] for _ in range(CALLERS)]
    settings, weights = (
        DecodingConfig(max_length_factor=1.5, max_length_extra=2),
        build_model(MODELS[name], characters()).eval(),
    )
    alone = Translator(weights, characters(), settings, precision=precision)
    expected = [[alone.translate(texts, beam_size=3) for texts in lists] for lists in given]
    before = torch.get_num_threads(), sys.getswitchinterval()
    shared = Translator(weights, characters(), settings, precision=precision, threads=threads)
    found = called_at_once(shared, given)
    assert (torch.get_num_threads(), sys.getswitchinterval()) == before
    for mine, theirs in zip(expected, found, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert [each.tokens for each in other] == [each.tokens for each in one]
            assert [each.score for each in other] == pytest.approx([each.score for each in one], abs=1e-5)

"""How well a text is predicted: held to one step after another, in double precision."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from limelight.config import DecoderOnlyConfig
from limelight.evaluation import text as module
from limelight.evaluation.text import evaluate_text
from limelight.models.families import build_model
from limelight.models.transformer.halves import DecoderOnly
from limelight.pipelines.generator import TextGenerator
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.tokens.text import RESERVED, encode_text

SIZES = {"layers": 2, "d_model": 12, "heads": 2, "d_ff": 13, "norm": "pre", "dropout": 0.3}
CASES: dict[str, tuple[DecoderOnlyConfig, int]] = {
    "learned": (DecoderOnlyConfig(**SIZES, positions="learned", max_positions=11), 11),
    "rotary": (DecoderOnlyConfig(**SIZES, positions="rotary"), 7),
    "sinusoidal": (DecoderOnlyConfig(**SIZES), 1000),
}
TEXT = "the old dog\nsees a small cat\n\ntwo birds sïng.\n"


def tokenizers_of(kind: str) -> Tokenizers:
    settings = {"vocabulary_size": None, "languages": (), "byte_fallback": False, "seed": 1, "sentences": 3}
    one = train_tokenizer([TEXT], kind=kind, reserved=RESERVED, **settings)
    return Tokenizers(one, one)


CHARACTERS = tokenizers_of("characters")


def generator_of(name: str, tokenizers: Tokenizers = CHARACTERS) -> TextGenerator:
    config, window = CASES[name]
    model = build_model(config, tokenizers).double().train()
    assert isinstance(model, DecoderOnly)
    with torch.no_grad():
        for weight in model.parameters():
            weight *= 2
    return TextGenerator(model, tokenizers, window=window)


def total_of(generator: TextGenerator, ids: list[int], window: int) -> float:
    """Minus the log-probability of a text, one step after the other; a window begins anew when it is full."""
    model = generator.model.eval()
    nothing = torch.zeros(1, 0, dtype=torch.int64)
    total = 0.0
    with torch.no_grad():
        for place, (read, wanted) in enumerate(pairwise(ids)):
            if place % window == 0:
                state = model.start(model.encode(nothing, nothing.bool()))
            features, state = model.step(torch.tensor([[read]]), state)
            total -= model.project(features[0, 0]).log_softmax(dim=-1)[wanted].item()
    generator.model.train()
    return total


@pytest.mark.parametrize("at_once", [1, 13])
@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_that_of_one_step_after_another(
    name: str, at_once: int, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.txt").write_text("a dog\r\n?", encoding="utf-8")
    generator = generator_of(name)
    found = evaluate_text(generator, [tmp_path / "a.txt", tmp_path / "b.txt"])
    tokenizer = CHARACTERS.target
    ids = [0, *encode_text(tokenizer, TEXT), 0, *encode_text(tokenizer, "a dog\n?\n"), 0]
    window = CASES[name][1]
    expected = total_of(generator, ids, window)
    assert found.total == pytest.approx(expected, rel=1e-9)
    assert (found.pieces, found.documents, found.unknown) == (len(ids) - 1, 2, 1)
    characters = len(TEXT) + len("a dog\n?\n")
    assert (found.characters, found.bytes) == (characters, characters + 1)
    assert found.context == min(window, found.pieces)
    assert found.loss == pytest.approx(expected / found.pieces)
    assert found.perplexity == pytest.approx(math.exp(expected / found.pieces))
    assert found.loss_per_character == pytest.approx(expected / characters)
    assert found.bits_per_byte == pytest.approx(expected / (characters + 1) / math.log(2))
    assert all(each.training for each in generator.model.modules())
    assert "inf" in replace(found, total=1e6, seconds=0.0).table()


@pytest.mark.parametrize("kind", ["characters", "bpe"])
def test_lines_may_be_documents(kind: str, tmp_path: Path, seed: int) -> None:
    tokenizers = tokenizers_of(kind)
    generator = generator_of("sinusoidal", tokenizers)
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    found = evaluate_text(generator, [str(tmp_path / "a.txt")], by_line=True)
    ids = [0]
    for line in filter(None, TEXT.split("\n")):
        ids += [*encode_text(tokenizers.target, line), 0]
    assert found.total == pytest.approx(total_of(generator, ids, 1000), rel=1e-9)
    assert (found.documents, found.characters) == (3, len(TEXT) - 1)  # the blank line is left out
    assert found.provenance["document"] == "line"

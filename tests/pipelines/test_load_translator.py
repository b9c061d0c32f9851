"""From folders to a translator: one model, or an ensemble of several."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from limelight.config import AugmentationConfig, DecodingConfig, RunConfig, TransformerConfig
from limelight.decoding.ensemble import Ensemble
from limelight.errors import UserError
from limelight.inference.linear import int8_kind
from limelight.interop import export_limelight
from limelight.models.families import build_model
from limelight.pipelines.load import load_translator, make_translator
from limelight.pipelines.translator import Translator
from limelight.storage.model import load_model, save_model
from limelight.tokens import Tokenizers, train_tokenizer

WORDS = "the a red green old small house river bird stone sees finds carries behind under near"
TEXTS = ["the red bird", "", "a small stone near the river", "old house"]


def phrases(seed: int) -> list[str]:
    words = WORDS.split()
    places = torch.randint(len(words), (200, 5), generator=torch.Generator().manual_seed(seed)).tolist()
    return [" ".join(words[place] for place in row) for row in places]


def joint_tokenizer(words: list[str]) -> Tokenizers:
    both = train_tokenizer(
        words, kind="bpe", vocabulary_size=90, languages=[], byte_fallback=False, seed=1, sentences=len(words)
    )
    return Tokenizers(both, both)


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    return joint_tokenizer(phrases(1))


MODEL = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=12, heads=3, d_ff=7)


def stored(folder: Path, tokenizers: Tokenizers, model: TransformerConfig = MODEL, **decoding) -> Path:
    """A run with a small random model."""
    config = RunConfig(model=model, decoding=DecodingConfig(max_length_extra=3, **decoding))
    save_model(folder / "best", build_model(model, tokenizers), tokenizers, config, notes={}, card="")
    return folder


def test_a_run_gives_its_model_its_tokenizers_and_its_settings(
    seed: int, tmp_path: Path, tokenizers: Tokenizers
) -> None:
    run = stored(tmp_path / "run", tokenizers, beam_size=3)
    one = load_translator(run)
    assert one.config.beam_size == 3
    assert not one.model.training
    found = one.translate(TEXTS)
    assert [translation.source for translation in found] == TEXTS
    for path in (str(run), [run], run / "best"):
        assert load_translator(path).translate(TEXTS) == found
    assert one.translate(TEXTS, beam_size=3) == found


def test_several_runs_are_an_ensemble_with_the_settings_of_the_first(
    seed: int, tmp_path: Path, tokenizers: Tokenizers
) -> None:
    runs = [stored(tmp_path / name, tokenizers, beam_size=beam) for name, beam in (("a", 3), ("b", 2))]
    both = load_translator(runs)
    assert both.config.beam_size == 3
    singles = [load_translator(run) for run in runs]
    by_hand = Ensemble([one.model for one in singles])
    by_hand = Translator(by_hand, tokenizers, singles[0].config, precision="fp32")
    assert both.translate(TEXTS) == by_hand.translate(TEXTS)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_an_ensemble_knows_what_all_its_models_have_learned(
    share: float, seed: int, tmp_path: Path, tokenizers: Tokenizers
) -> None:
    models = []
    for name, own in (("a", 0.1), ("b", share)):
        model = load_model(stored(tmp_path / name, tokenizers))
        learned = {"augmentation": AugmentationConfig(placeholders=own, terms=own)}
        models.append(replace(model, config=model.config.model_copy(update=learned)))
    both = make_translator(models)
    assert both.knows_placeholders is both.knows_terms is (share > 0)


@pytest.mark.skipif(int8_kind() is None, reason="needs numba and AVX2")
@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize(
    "changes",
    [
        {"tie": "three-way"},
        {"positions": "learned", "tie": "none", "output_bias": True},
        {"positions": "rotary", "norm": "pre"},
        {"decoder_autoreg": "ssru", "tie": "two-way"},
    ],
    ids=str,
)
def test_a_model_in_int8_is_searched_without_the_readable_one(
    changes: dict, precision: str, seed: int, tmp_path: Path, tokenizers: Tokenizers
) -> None:
    run = stored(tmp_path, tokenizers, MODEL.model_copy(update=changes))
    export_limelight(load_model(run), tmp_path / "int8", quantization="int8")
    one = load_model(tmp_path / "int8")
    found = Translator(one, tokenizers, precision=precision).translate(TEXTS)
    assert "model" not in vars(one)
    assert found == Translator(one.model, tokenizers, precision=precision).translate(TEXTS)
    assert all(each.is_cpu for each in (*one.model.parameters(), *one.model.buffers()))


def test_an_ensemble_needs_one_tokenizer(seed: int, tmp_path: Path, tokenizers: Tokenizers) -> None:
    first = stored(tmp_path / "first", tokenizers)
    foreign = stored(tmp_path / "foreign", joint_tokenizer([text.upper() for text in phrases(2)]))
    message = r"first and .*foreign cannot be an ensemble: their tokenizers differ in size or tokens"
    with pytest.raises(UserError, match=message):
        load_translator([first, foreign])

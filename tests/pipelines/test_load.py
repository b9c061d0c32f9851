"""A folder becomes what its model is for."""

from pathlib import Path

import pytest
import torch

from limelight.config import (
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentConfig,
    RunConfig,
    TransformerConfig,
)
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.pipelines.encoders import MaskFiller
from limelight.pipelines.generator import TextGenerator
from limelight.pipelines.load import load
from limelight.pipelines.translator import Translator
from limelight.storage.model import save_model
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.tokens.text import RESERVED

STACK = {"d_model": 4, "heads": 2, "d_ff": 4}
FAMILIES: dict[str, tuple[ModelConfig, type]] = {
    "transformer": (TransformerConfig(**STACK, encoder_layers=1, decoder_layers=1), Translator),
    "recurrent": (RecurrentConfig(embedding=3, hidden=3), Translator),
    "decoder_only": (DecoderOnlyConfig(**STACK, layers=1), TextGenerator),
    "encoder_only": (EncoderOnlyConfig(**STACK, layers=1), MaskFiller),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder of each family."""
    folder = tmp_path_factory.mktemp("runs")
    settings = {"vocabulary_size": None, "languages": (), "byte_fallback": False, "seed": 1, "sentences": 2}
    one = train_tokenizer(["a dog", "two"], kind="characters", reserved=RESERVED, **settings)
    both = Tokenizers(one, one)
    for family, (config, _) in FAMILIES.items():
        save_model(folder / family, build_model(config, both), both, RunConfig(model=config), notes={}, card="")
    return folder


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_model_is_for(runs: Path, family: str) -> None:
    for paths in (runs / family, str(runs / family), [runs / family]):
        assert type(load(paths)) is FAMILIES[family][1]
    assert type(load(runs / family, torch.device("cpu"))) is FAMILIES[family][1]
    assert type(load(runs / family, device="cpu")) is FAMILIES[family][1]


def test_what_would_change_nothing_is_refused(runs: Path) -> None:
    for family, option in (
        ("decoder_only", {"shortlist": True}),
        ("encoder_only", {"shortlist": True}),
        ("decoder_only", {"threads": 1}),
        ("encoder_only", {"precision": "bf16"}),
    ):
        [(name, value)] = option.items()
        with pytest.raises(UserError, match=f"{name}={value} is not an option of a model of the family {family}"):
            load(runs / family, **option)
    with pytest.raises(UserError, match="2 models: translators alone can be an ensemble"):
        load([runs / "decoder_only", runs / "decoder_only"])
    with pytest.raises(UserError, match="device gpu: this machine"):
        load(runs / "transformer", "gpu")
    with pytest.raises(UserError, match="shortlist"):  # there is none in the folder
        load(runs / "transformer", shortlist=True)

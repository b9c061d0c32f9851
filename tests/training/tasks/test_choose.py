"""Each kind of model takes its kind of text, and says so of any other."""

from pathlib import Path

import pytest

from limelight.config import (
    Corpus,
    DataConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
    RunConfig,
    TransformerConfig,
)
from limelight.errors import UserError
from limelight.training.tasks import prepare_data

PAIRS, TEXT = {"train": (Corpus(files=("pairs.tsv",)),)}, {"text": ("text.txt",)}
FAULTS = [
    (TransformerConfig(), {}, "nothing to train on: a model of the family transformer learns from --train FILE"),
    (RecurrentConfig(), TEXT, "--text is for models of plain text, and this is a model of the family recurrent"),
    (TransformerConfig(), PAIRS | TEXT, "--text is for models of plain text"),
    (DecoderOnlyConfig(), {}, "nothing to train on: a model of the family decoder_only learns from --text FILE"),
    (DecoderOnlyConfig(), PAIRS, "--train is for pairs, and a model of the family decoder_only learns from plain text"),
    (RecurrentLanguageModelConfig(), PAIRS | TEXT, "--train is for pairs"),
    (EncoderOnlyConfig(), {}, r"the family encoder_only learns from --text FILE\.\.\. or --train FILE"),
    (EncoderOnlyConfig(), PAIRS | TEXT, "--text and --train are two different tasks"),
    (DecoderOnlyConfig(), TEXT | {"valid": PAIRS["train"]}, "give text for validation with --valid-text"),
    (TransformerConfig(), PAIRS | {"valid_text": TEXT["text"]}, "give pairs for validation with --valid"),
]


@pytest.mark.parametrize(("model", "data", "fault"), FAULTS)
def test_the_wrong_kind_of_text(model: ModelConfig, data: dict[str, object], fault: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=fault):
        prepare_data(RunConfig(model=model, data=DataConfig(**data)), tmp_path, lambda _: None)

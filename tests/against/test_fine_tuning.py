"""A Marian model made by transformers is fine-tuned: it begins as the very model it is there, and learns."""

from pathlib import Path

import pytest
import torch
from transformers import MarianMTModel, MarianTokenizer

from limelight.config import Corpus, DataConfig, RunConfig
from limelight.interop import import_model
from limelight.pipelines.load import load_translator
from limelight.training.parent import fitting_recipe, read_parent
from tests.against.test_huggingface import make_marian, read_there, write_opus_tokenizer
from tests.interop.helpers import ENGLISH, GERMAN
from tests.training.helpers import go, log_of

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

PAIRS = list(zip(ENGLISH, GERMAN, strict=True))


@pytest.fixture
def parent(tmp_path: Path, seed: int) -> Path:
    """A folder of the shape of OPUS-MT's: `halves` sinusoids, swish, one list of tokens, a bias of the output."""
    vocabulary = write_opus_tokenizer(tmp_path / "opus-mt")
    marian = make_marian(len(vocabulary), tie="three-way", activation_function="swish")
    with torch.no_grad():
        marian.final_logits_bias.normal_()
        marian.final_logits_bias[0, -1] = 0
        marian.model.shared.weight.mul_(0.5)[-1] = 0
    marian.save_pretrained(tmp_path / "opus-mt")
    return tmp_path / "opus-mt"


def run_with(parent: Path, folder: Path) -> RunConfig:
    """What `limelight train --from` resolves to, with the same few pairs to train on and to validate with."""
    import_model(parent, folder / "model")
    corpora = {}
    for side in ("train", "valid"):
        text = folder / f"{side}.tsv"
        text.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
        corpora[side] = (Corpus(files=(str(text),), source="en", target="de"),)
    config = fitting_recipe("finetune", read_parent(str(folder / "model")))
    return config.model_copy(
        update={
            "begin_with": str(folder / "model"),
            "data": DataConfig(**corpora),
        }
    )


def loss_there(model: MarianMTModel, tokenizer: MarianTokenizer) -> float:
    """Of a token, its end included; padding, which no model may predict, is left out as a class."""
    total, count = 0.0, 0
    for source, target in PAIRS:
        inputs = tokenizer(source, text_target=target, return_tensors="pt")
        labels = inputs.pop("labels")
        start = torch.full_like(labels[:, :1], model.config.decoder_start_token_id)
        with torch.no_grad():
            logits = model(**inputs, decoder_input_ids=torch.cat([start, labels[:, :-1]], dim=1)).logits[..., :-1]
        total += torch.nn.functional.cross_entropy(logits[0].double(), labels[0], reduction="sum").item()
        count += labels.numel()
    return total / count


def test_the_first_validation_is_that_of_the_model_there(parent: Path, tmp_path: Path) -> None:
    config = run_with(parent, tmp_path)
    go(config, tmp_path / "run", max_steps=1, learning_rate=1e-12, precision="fp32", device="cpu", best_by="loss")
    first = log_of(tmp_path / "run")[0]
    assert (first["event"], first["step"]) == ("validation", 0)
    assert first["loss"] == pytest.approx(loss_there(*read_there(parent)), rel=1e-5)
    before, after = (load_translator(tmp_path / name) for name in ("model", "run"))
    # The run names two languages, so that it is guarded by default; the imported model names none.
    texts = [[each.text for each in translator.translate(ENGLISH, guards=False)] for translator in (before, after)]
    assert texts[0] == texts[1]

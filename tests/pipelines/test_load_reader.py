"""Which reader a folder holds."""

from pathlib import Path

import pytest

from limelight.config import RunConfig, TransformerConfig
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.pipelines.encoders import Classifier, MaskFiller
from limelight.pipelines.load import load, load_classifier, load_mask_filler
from limelight.storage.model import save_model
from limelight.tokens import Tokenizers
from tests.pipelines.helpers import LABELS, classifier, config, masked_model, tokenizer


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place, both = tmp_path_factory.mktemp("runs"), Tokenizers(tokenizer(), tokenizer())
    translating = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12)
    models = {
        "masked": (masked_model(), config()),
        "classifier": (classifier().model, config()),
        "translator": (build_model(translating, both), translating),
    }
    for name, (model, section) in models.items():
        save_model(place / name, model, both, RunConfig(model=section), notes={}, card="card")
    return {name: place / name for name in models}


def test_a_masked_model_fills_and_a_classifier_chooses(folders: dict[str, Path]) -> None:
    assert isinstance(load(folders["masked"]), MaskFiller)
    found = load(str(folders["classifier"]))
    assert isinstance(found, Classifier)
    assert found.labels == LABELS
    assert load_mask_filler(folders["masked"]).fill("a [MASK]").masks
    assert not found.model.training


def test_a_reader_of_the_other_kind_is_named_with_its_verb(folders: dict[str, Path]) -> None:
    with pytest.raises(UserError, match=r"which does not fill; use it with `limelight classify`$"):
        load_mask_filler(folders["classifier"])
    with pytest.raises(UserError, match=r"which does not classify; use it with `limelight fill`$"):
        load_classifier(folders["masked"])
    with pytest.raises(UserError, match=r"the family transformer, which does not fill; use it with `limelight tra"):
        load_mask_filler(folders["translator"])


def test_a_classifier_without_its_labels_is_refused(tmp_path: Path) -> None:
    own = classifier()
    both = Tokenizers(own.tokenizer, own.tokenizer)
    save_model(tmp_path / "run", own.model, both, RunConfig(model=config()), notes={}, card="")
    (tmp_path / "run" / "labels.json").write_text('["ant", "bee"]', encoding="utf-8")
    with pytest.raises(UserError, match=r"these weights do not fit .*output\.bias is \(3,\), expected \(2,\)"):
        load(tmp_path / "run")
    (tmp_path / "run" / "labels.json").unlink()
    with pytest.raises(UserError, match=r"labels\.json: cannot read the labels: No such file"):
        load(tmp_path / "run")
    (tmp_path / "labels.json").write_text('["ant", "bee", "cat"]', encoding="utf-8")
    (tmp_path / "run" / "labels.json").symlink_to(tmp_path / "labels.json")
    with pytest.raises(UserError, match=r"labels\.json: a link out of"):
        load(tmp_path / "run")

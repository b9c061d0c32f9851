"""The model card says what a model is and where it comes from."""

from limelight.config import Corpus, DataConfig, RunConfig, TrainingConfig
from limelight.models.families import count_parameters
from limelight.tokens import Tokenizers
from limelight.training.card import model_card
from limelight.training.checkpoints.checkpoint import Progress
from tests.models.helpers import Vocabulary, make_model
from tests.training.helpers import RECURRENT

CONFIG = RunConfig(
    recipe="small",
    data=DataConfig(
        train=(
            Corpus(files=("a.en", "a.de"), source="en", target="de"),
            Corpus(files=("b.tsv",), source="en", target="de", weight=0.5),
        ),
        valid=(Corpus(files=("v.tsv",), source="en", target="de"),),
    ),
    training=TrainingConfig(seed=77),
)
PROGRESS = Progress(step=1234, pieces=56789, seconds=90.0)


def card(config: RunConfig = CONFIG, **notes: str) -> str:
    tokenizers = Tokenizers(Vocabulary(31), Vocabulary(29))
    model = make_model(RECURRENT, source_size=31, target_size=29)
    return model_card(config, model, tokenizers, PROGRESS, {"made_from": "update 1234", **notes})


def rows(text: str) -> dict[str, str]:
    cells = [line.split("|") for line in text.splitlines() if line.startswith("| ") and line.count("|") == 3]
    return {name.strip(): value.strip() for _, name, value, _ in cells}


def test_where_a_model_comes_from() -> None:
    text = card(
        valid_bleu="31.42", valid_chrf="52.07", valid_loss="2.7183", measured_by="sacreBLEU zh, 5 of 9 sentences"
    )
    assert text.startswith("# en -> de: a model of the family transformer\n")
    found = rows(text)
    assert found["recipe"] == "small"
    assert found["model"] == f"transformer, {count_parameters(make_model(RECURRENT)):,} parameters"
    assert found["vocabulary"] == "made up, 29 and 31 ids"
    assert found["trained on"] == "a.en + a.de (en -> de); b.tsv (en -> de, weight 0.5)"
    assert found["validated on"] == "v.tsv (en -> de)"
    assert found["weights"] == "update 1234"
    assert found["validation BLEU"] == "31.42"
    assert found["validation chrF"] == "52.07"
    assert found["validation loss"] == "2.7183"
    assert found["measured by"] == "sacreBLEU zh, 5 of 9 sentences"
    assert found["training"] == "1,234 updates, 56,789 target tokens, 1.5 minutes"
    assert found["seed"] == "77"
    assert "torch " in found["made with"]

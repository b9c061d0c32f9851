"""Every row of the registry resolves; and a family of models is one file and one row: this file holds a whole one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from torch import Tensor
from torch.nn import functional

import limelight
from limelight.cli.app import COMMANDS
from limelight.config import config_from, known_keys, override
from limelight.config import models as settings
from limelight.config.models import LearnsFrom, ModelSection, Width
from limelight.errors import UserError
from limelight.layers.embedding import TokenEmbedding
from limelight.models import families
from limelight.models.families import FAMILIES, TRANSLATE, Family, Use, family_of, use_of
from limelight.models.interface import Seq2Seq, State
from limelight.pipelines.translator import Translator
from limelight.registry import resolve
from limelight.storage.model import StoredModel, load_model
from limelight.training.tasks.task import Task
from tests.training.helpers import go, tiny_run

USES = {use.name: use for family in FAMILIES for use in family.uses.values()}


@pytest.mark.parametrize("name", USES)
def test_every_place_of_a_row_resolves(name: str) -> None:
    use = USES[name]
    assert list(signature(resolve(use.prepare)).parameters) == ["config", "run", "say"]
    assert issubclass(resolve(use.task), Task)
    assert next(iter(signature(resolve(use.pipeline)).parameters)) == "stored"
    assert name in COMMANDS


def test_every_family_of_settings_has_a_row_that_uses_all_it_learns_from() -> None:
    assert {family.settings for family in FAMILIES} == set(settings.FAMILIES.values())
    for family in FAMILIES:
        assert set(family.uses) == set(family.settings.learns_from)


def test_what_has_no_row_is_refused() -> None:
    class Unknown(ModelSection):
        family: str

    with pytest.raises(TypeError, match=r"limelight\.models\.families has no row for Unknown"):
        family_of(Unknown(family="unknown"))
    toy = build_toy(settings.RecurrentConfig(), 3, 3, ())
    with pytest.raises(TypeError, match="the family encoder_only has no use for a Toy"):
        use_of(settings.EncoderOnlyConfig(), toy)


# ---- a family of its own


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[ModelSection]]:
    """The settings of a family that is there for the length of a test: its class and its row."""
    monkeypatch.setattr(settings, "FAMILIES", settings.FAMILIES)

    class ToyConfig(ModelSection):
        learns_from: ClassVar[tuple[LearnsFrom, ...]] = ("pairs",)
        family: Literal["toy"] = "toy"
        width_: Width = 8

        @property
        def width(self) -> int:
            return self.width_

    row = Family(ToyConfig, build_toy, {"pairs": TRANSLATE})
    monkeypatch.setattr(families, "FAMILIES", (*FAMILIES, row))
    yield ToyConfig
    del settings.FAMILIES["toy"]


@dataclass
class Mean(State):
    """The mean of each source; nothing is carried along."""

    mean: Tensor


class Toy(Seq2Seq[Mean, Mean]):
    """The next token from the mean of the source and the token before."""

    def __init__(self, source: TokenEmbedding, target: TokenEmbedding, end_id: int) -> None:
        super().__init__()
        self.source, self.target = source, target
        self.source_padding, self.target_padding = len(source.weight) - 1, len(target.weight) - 1
        self.start_id, self.end_id = self.target_padding, end_id

    def encode(self, source: Tensor, source_valid: Tensor) -> Mean:
        return Mean(self.source(source).sum(1) / source_valid.sum(1, keepdim=True))

    def start(self, memory: Mean, width: int = 1) -> Mean:
        return memory

    def step(self, ids: Tensor, state: Mean) -> tuple[Tensor, Mean]:
        return self.target(ids) + state.mean[:, None], state

    def forward(self, batch: Any) -> Tensor:
        return self.step(batch.target_in, self.encode(batch.source, batch.source_valid))[0]

    def output_weights(self) -> tuple[Tensor, None]:
        return self.target.output_weight(), None

    def project(self, features: Tensor) -> Tensor:
        return functional.linear(features, self.output_weights()[0])


def build_toy(config: Any, source_size: int, target_size: int, labels: Sequence[str]) -> Toy:
    embeddings = (TokenEmbedding(size, config.width, scale=False) for size in (source_size, target_size))
    return Toy(*embeddings, end_id=0)


def test_a_family_is_one_file_and_one_row(toy: type[ModelSection], tmp_path: Path, seed: int) -> None:
    """It is configured, trained, resumed, stored, loaded and translates; validation has translated with it, too."""
    config = override(tiny_run(tmp_path / "text", model=toy()), ["model.width_=6"])
    assert config_from(config.model_dump(mode="json")) == config
    assert "model.width_" in known_keys("toy")
    run = tmp_path / "run"
    assert go(config, run, max_steps=4).step == 4
    assert go(config, run, max_steps=8).step == 8

    stored = load_model(run)
    assert isinstance(stored, StoredModel)
    assert isinstance(stored.model, Toy)
    assert use_of(stored.config.model, stored.model) is TRANSLATE
    assert isinstance(TRANSLATE, Use)
    translator = limelight.load(run)
    assert isinstance(translator, Translator)
    found = translator.translate(["one two", "three"], beam_size=2)
    assert [each.text for each in found] == [
        translator.translate(text, beam_size=2).text for text in ("one two", "three")
    ]
    with pytest.raises(UserError, match="a Toy supports only fp32, not bf16"):
        limelight.load(run, precision="bf16").translate("one")
    with pytest.raises(UserError, match="shortlist"):
        limelight.load(run, shortlist=True)

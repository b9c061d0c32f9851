"""What a run may change of the model it begins with."""

from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from limelight.config import Corpus, DataConfig, ModelConfig, RunConfig, TokensConfig, dump_config
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.recipes import find_recipe
from limelight.tokens import Tokenizers
from limelight.training.parent import (
    MAY_DIFFER,
    fitting_recipe,
    parent_warnings,
    require_same_function,
)
from tests.models.helpers import (
    Vocabulary,
    batch_of,
    decoder_only,
    random_rows,
    recurrent,
    transformer,
)

BASES: dict[str, ModelConfig] = {
    "post": transformer(),
    "pre": transformer(norm="pre", activation="gelu", tie="two-way"),
    "split heads": transformer(d_model=12, head_size=None, tie="none", output_bias=True),
    "learned": transformer(positions="learned", max_positions=37),
    "rotary": transformer(positions="rotary", d_model=12, heads=3, head_size=4),
    "writer": decoder_only(),
    "bahdanau": recurrent(),
    "luong": recurrent(wiring="luong", score="general"),
}


def other_values(section: ModelConfig, name: str) -> list[Any]:
    """Values of a setting that it does not have."""
    value, field = getattr(section, name), type(section).model_fields[name]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float):
        return [value / 2]
    choices = get_args(field.annotation)
    if choices and all(isinstance(choice, str) for choice in choices):
        return [choice for choice in choices if choice != value]
    return [2 * (value or 4), *([1] if name == "heads" else [])]


def stored(folder: Path, config: RunConfig) -> RunConfig:
    """A configuration that begins with the model that this one describes."""
    folder.mkdir()
    (folder / "model.safetensors").touch()
    (folder / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    return config.model_copy(update={"begin_with": str(folder)})


def refused(config: RunConfig) -> str:
    """What is said of it; an empty text where it may begin."""
    try:
        require_same_function(config)
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("base", BASES)
def test_what_would_be_another_function_is_refused(base: str, tmp_path: Path, seed: int) -> None:
    """Every setting of every family by brute force: with the same weights, do other numbers come out?"""
    section = BASES[base]
    run = stored(tmp_path / "parent", RunConfig(model=section))
    model = build(section)
    sources, targets = random_rows([5, 3], 23), random_rows([4, 6], 23)
    expected = logits(model, sources, targets)
    changed = 0
    for name in type(section).model_fields.keys() - (MAY_DIFFER - {"dropout"}):
        for value in other_values(section, name):
            there = section.model_copy(update={name: value})
            said = refused(run.model_copy(update={"model": there}))
            fits = copied(there, model)
            if name == "dropout" or (name, value) == ("output_bias", True):
                assert said == "", name
            elif fits is None or not torch.equal(logits(fits, sources, targets), expected):
                assert f"model.{name} is " in said, (name, value)
                changed += 1
    assert changed > 3


def build(section: ModelConfig) -> Seq2Seq | None:
    both = Vocabulary(23)
    try:
        model = build_model(section, Tokenizers(both, both))
    except (UserError, ValueError):
        return None
    assert isinstance(model, Seq2Seq)
    return model.double().eval()


def copied(section: ModelConfig, model: torch.nn.Module) -> Seq2Seq | None:
    """A model of this section with the same weights; None where they do not fit by name and shape."""
    other, weights = build(section), dict(model.named_parameters())
    if other is None:
        return None
    own = dict(other.named_parameters())
    if {name: weight.shape for name, weight in own.items()} != {name: weight.shape for name, weight in weights.items()}:
        return None
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(weights[name])
    return other


def logits(model: Seq2Seq, sources: list[list[int]], targets: list[list[int]]) -> torch.Tensor:
    with torch.no_grad():
        return model.project(model(batch_of(model, sources, targets)))


def test_tags_that_the_parent_lacks_are_told(tmp_path: Path) -> None:
    corpora = [Corpus(files=("a.tsv",), source="en", target=target) for target in ("de", "fr")]
    run = stored(tmp_path / "parent", RunConfig(data=DataConfig(train=(corpora[0],))))
    assert list(parent_warnings(run)) == []
    [line] = parent_warnings(run.model_copy(update={"data": DataConfig(train=tuple(corpora))}))
    assert line.startswith("warning: ")
    assert "trained without language tags" in line


def test_a_recipe_takes_over_the_vocabulary_and_finetune_the_model_too() -> None:
    parent = RunConfig(
        model=transformer(norm="pre", dropout=0.25), tokens=TokensConfig(kind="unigram", joint=False, sampling=0.3)
    )
    gentle = fitting_recipe("finetune", parent)
    assert (gentle.recipe, gentle.model, gentle.tokens) == ("finetune", parent.model, parent.tokens)
    assert gentle.training.learning_rate < find_recipe("small").training.learning_rate
    small = fitting_recipe("small", parent)
    assert small.model == find_recipe("small").model
    assert small.tokens == parent.tokens.model_copy(update={"sampling": find_recipe("small").tokens.sampling})
    spelled = fitting_recipe("small", RunConfig(tokens=TokensConfig(kind="characters")))
    assert (spelled.tokens.kind, spelled.tokens.sampling) == ("characters", 0.0)


def test_general_text_that_is_not_replayed_is_told_of() -> None:
    data = DataConfig(general=(Corpus(files=("g.tsv",)),))
    assert "--general" in " ".join(parent_warnings(RunConfig(data=data, begin_with="runs/a")))

"""The recipes: complete configurations, which `recipes.yaml` lists with their papers."""

from functools import cache
from pathlib import Path
from typing import Any

from limelight.config import AugmentationConfig, DataConfig, RunConfig, TrainingConfig, config_from
from limelight.untrusted import read_yaml

FILE = Path(__file__).with_suffix(".yaml")


@cache
def _recipes() -> dict[str, dict[str, Any]]:
    return dict(read_yaml(FILE.read_text(encoding="utf-8")))


def recipe(name: str) -> RunConfig:
    """The configuration of a recipe."""
    return finetune() if name == "finetune" else config_from(_values(name) | {"recipe": name}, where=FILE.name)


def _values(name: str) -> dict[str, Any]:
    """The sections of a recipe, on top of the sections of the recipe that it is like."""
    own = {key: value for key, value in _recipes()[name].items() if key not in ("about", "like")}
    like = _recipes()[name].get("like")
    values = _values(like) if like else {}
    for section, settings in own.items():
        values[section] = settings if "family" in settings else values.get(section, {}) | settings
    return values


RATE_WIDTH = 256
"""Width of a model for which `finetune` has its rate. For others the rate is inversely proportional to the width, as
for hidden weights under Adam (Yang et al. 2022, "Tensor Programs V", table 3)."""

MAX_RATE = 1e-3


def finetune(parent: RunConfig | None = None) -> RunConfig:
    """The recipe for the kind of text that `parent` learns from, with its model, vocabulary, unit of documents and
    search settings, and its rates of placeholders and terms: translation uses these only if the last run trained them.

    Without a parent the model is the base of Vaswani et al. 2017, which fits few models: the command line always passes
    the one of `--from`.
    """
    parent = parent or RunConfig()
    own = _recipes()["finetune"][next(kind for kind in ("pairs", "labels", "text") if kind in parent.model.learns_from)]
    rate = own["training"]["learning_rate"] * RATE_WIDTH / parent.model.width
    tokens = min(own["batching"]["tokens"], parent.batching.tokens * parent.training.accumulate)
    return RunConfig(
        recipe="finetune",
        tokens=parent.tokens,
        data=DataConfig(documents=parent.data.documents, **own.get("data", {})),
        augmentation=AugmentationConfig(**parent.augmentation.model_dump(include={"placeholders", "terms"})),
        batching=parent.batching.model_copy(update={"tokens": tokens}),
        model=parent.model,
        training=TrainingConfig(**{**own["training"], "learning_rate": min(MAX_RATE, float(f"{rate:.2g}"))}),
        decoding=parent.decoding,
    )

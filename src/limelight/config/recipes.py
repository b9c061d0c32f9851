"""The recipes: complete configurations, which `recipes.yaml` lists with their papers, and the one for fine-tuning."""

from functools import cache
from pathlib import Path
from typing import Any

from limelight.config import DataConfig, RunConfig, TrainingConfig, config_from
from limelight.untrusted import read_yaml

FILE = Path(__file__).with_suffix(".yaml")


@cache
def _recipes() -> dict[str, dict[str, Any]]:
    return dict(read_yaml(FILE.read_text(encoding="utf-8")))


def recipe(name: str) -> RunConfig:
    """The configuration of a recipe."""
    return finetune() if name == "finetune" else config_from(_values(name) | {"recipe": name}, where=FILE.name)


def about(name: str) -> str:
    """Where a recipe comes from."""
    return finetune.__doc__ or "" if name == "finetune" else str(_recipes()[name]["about"])


def _values(name: str) -> dict[str, Any]:
    """The sections of a recipe, on top of the sections of the recipe that it is like."""
    own = {key: value for key, value in _recipes()[name].items() if key not in ("about", "like")}
    like = _recipes()[name].get("like")
    values = _values(like) if like else {}
    for section, settings in own.items():
        values[section] = settings if "family" in settings else values.get(section, {}) | settings
    return values


RATE, REPLAYING_RATE, RATE_WIDTH = 3e-4, 1e-4, 256
"""Learning rate of a model of this width, and of one that replays general text. For others it is inversely
proportional to the width, as for hidden weights under Adam (Yang et al. 2022, "Tensor Programs V", table 3)."""

MAX_RATE = 1e-3


def finetune(parent: RunConfig | None = None) -> RunConfig:
    """The model, vocabulary and search settings of `parent` with a small learning rate; no paper, measured on captions
    (docs/own-text.md). A translation model replays general text.

    Without a parent the model is the base of Vaswani et al. 2017, which fits few models: the command line always passes
    the one of `--from`.
    """
    parent = parent or RunConfig()
    learns_from = parent.model.learns_from
    translates = "pairs" in learns_from
    tokens = parent.batching.tokens * parent.training.accumulate
    rate = (REPLAYING_RATE if translates else RATE) * RATE_WIDTH / parent.model.width
    return RunConfig(
        recipe="finetune",
        tokens=parent.tokens,
        data=DataConfig(replay=1.0 if translates else 0.0),
        batching=parent.batching.model_copy(update={"tokens": min(tokens, 1024 if translates else 4096)}),
        model=parent.model,
        training=TrainingConfig(
            schedule="inverse_sqrt",
            learning_rate=min(MAX_RATE, float(f"{rate:.2g}")),
            warmup=100,
            label_smoothing=0.1 if translates else 0.0,
            validate_every=50 if translates else 100,
            checkpoint_every=100 if translates else 500,
            bleu_sentences=250 if translates else 0,
            best_by="bleu" if translates else "macro_f1" if "labels" in learns_from else "loss",
            patience=4 if translates else 10,
            average=1,
        ),
        decoding=parent.decoding,
    )

"""How long a recipe takes on this machine: a few updates are measured."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from limelight.config import Corpus, RunConfig, override
from limelight.preparation.pairs import prepare
from limelight.recipes import find_recipe
from limelight.text.pair import one_line
from limelight.training.optimization.optimizer import reasonable_epochs
from limelight.training.preflight import measured_pace
from limelight.training.tasks import build_task, fresh_model

SAMPLE = 2_000
"""Pairs of which updates are measured."""


class Estimate(NamedTuple):
    """The expected duration of a run."""

    recipe: str
    seconds_per_update: float
    tokens_per_second: float
    """Source and target places of a batch."""
    epochs: float
    """Reasonable for so much text."""
    minutes: float


def estimate(recipe: str, pairs: Iterable[tuple[str, str]], count: int) -> Estimate:
    """Measure a recipe on the first `SAMPLE` pairs, for a text with `count` pairs."""
    with tempfile.TemporaryDirectory(prefix="limelight-") as name:
        text, run = Path(name) / "sample.tsv", Path(name) / "run"
        sample = list(islice(pairs, SAMPLE))
        text.write_text("".join(f"{one_line(one)}\t{one_line(other)}\n" for one, other in sample), encoding="utf-8")
        run.mkdir()
        config = _config(recipe, text)
        prepared = prepare(config, run, lambda line: None)
        task = build_task(config, prepared, fresh_model(config, prepared))
        seconds = measured_pace(config, prepared)
        places = config.batching.tokens * config.training.accumulate
        epoch = max(1.0, task.batches_per_epoch() / config.training.accumulate) * count / max(len(sample), 1)
    epochs = reasonable_epochs(epoch * places)
    return Estimate(recipe, seconds, places / seconds, epochs, epoch * epochs * seconds / 60)


def _config(recipe: str, text: Path) -> RunConfig:
    """The recipe on a small text: with few pairs the vocabulary cannot be as large as the recipe says."""
    config = find_recipe(recipe)
    data = config.data.model_copy(update={"train": (Corpus(files=(str(text),), source="source", target="target"),)})
    return override(config.model_copy(update={"data": data}), ["data.on_doubt=warn", "tokens.vocabulary_size=1000"])


def invented_pairs(count: int = SAMPLE, seed: int = 0) -> Sequence[tuple[str, str]]:
    """Sentences of invented words, to measure a machine without text."""
    draw = random.Random(seed)
    words = ["".join(draw.choice("abcdefghiklmnoprstuvw") for _ in range(draw.randrange(2, 9))) for _ in range(3000)]

    def sentence() -> str:
        return " ".join(draw.choice(words) for _ in range(draw.randrange(5, 20)))

    return [(sentence(), sentence()) for _ in range(count)]

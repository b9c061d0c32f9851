"""The model card: description, origin and validation results of a model."""

import platform
from pathlib import Path

import torch

from limelight import __version__
from limelight.config import Corpus, RunConfig, directions_of, has_tags
from limelight.errors import shown
from limelight.models.families import count_parameters, use_of
from limelight.models.interface import Model
from limelight.models.transformer.halves import Classifier
from limelight.tokens import Tokenizers
from limelight.training.checkpoints.checkpoint import Progress
from limelight.training.parent import untrained_directions
from limelight.training.report import NAMES


def model_card(
    config: RunConfig,
    model: Model,
    tokenizers: Tokenizers,
    progress: Progress,
    notes: dict[str, str],
    *,
    parent: str = "",
) -> str:
    """The card as Markdown.

    Args:
        parent: the card of the model that the run began with, appended for its license and origin.
    """
    data, begin_with, command = config.data, config.begin_with, use_of(config.model, model).name
    learned = [" -> ".join(direction) for direction in directions_of(data)] if config.learns == "pairs" else []
    learned = learned or [Path(file).name for file in data.text[:3]] or ["texts with labels"]
    kinds = " and ".join(dict.fromkeys(tokenizer.kind for tokenizer in tokenizers))
    sizes = " and ".join(map(str, sorted({tokenizer.size for tokenizer in tokenizers})))
    heading = parent.partition("\n")[0].removeprefix("# ").strip()
    kept = ", ".join(map(str, untrained_directions(config)))
    held_out = f"the last {100 * data.held_out:g} % of each text" if data.text and data.held_out else "nothing"
    rows = {
        "recipe": config.recipe,
        "model": f"{config.model.family}, {count_parameters(model):,} parameters",
        "vocabulary": f"{kinds}, {sizes} ids" + (f", taken from {begin_with}" if begin_with else ""),
        "began with": f"{begin_with} ({heading})" if heading else begin_with,
        "trained on": "; ".join(map(_describe, data.train)) or ", ".join(data.text),
        "directions kept": f"{kept}: of the model it began with, not trained on further" if kept else "",
        "validated on": "; ".join(map(_describe, data.valid)) or ", ".join(data.valid_text) or held_out,
        "labels": shown(", ".join(model.labels)) if isinstance(model, Classifier) else "",
        "weights": notes["made_from"],
        **{
            f"validation {NAMES.get(name, name)}": value
            for key, value in notes.items()
            if (name := key.removeprefix("valid_")) != key
        },
        "measured by": notes.get("measured_by", ""),
        "training": f"{progress.step:,} updates, {progress.pieces:,} target tokens, "
        f"{progress.seconds / 60:.1f} minutes",
        "seed": str(config.training.seed),
        "made with": f"limelight {__version__}, torch {torch.__version__}, Python {platform.python_version()}",
    }
    table = "\n".join(f"| {name} | {value.replace('|', '/')} |" for name, value in rows.items() if value)
    page = (
        f"# {', '.join(learned)}: a model of the family {config.model.family}\n\n| | |\n|---|---|\n{table}\n\n"
        f"Use it with `limelight {command} --model FOLDER{' --to LANG' * has_tags(data)}`.\n"
        "Every setting is in `config.yaml`; `limelight train --config config.yaml --out NEW` runs it again.\n"
    )
    return f"{page}\n---\n\nThe model it began with, on its own page:\n\n{parent}" if parent else page


def _describe(corpus: Corpus) -> str:
    weight = "" if corpus.weight == 1 else f", weight {corpus.weight:g}"
    origin = {"bt": ", back-translated", "replay": ", replayed"}.get(corpus.tag, "")
    constraint = f", {corpus.side_constraint}" if corpus.side_constraint else ""
    return f"{corpus} ({corpus.source} -> {corpus.target}{origin}{constraint}{weight})"

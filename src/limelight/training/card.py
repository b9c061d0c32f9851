"""The model card: what a model is, where it comes from, how good it was. Written for whoever finds the folder later."""

import platform

import torch

from limelight import __version__
from limelight.config import Corpus, RunConfig
from limelight.models.build import count_parameters
from limelight.models.interface import Model
from limelight.tokens import Tokenizers
from limelight.training.checkpoint import Progress


def model_card(
    config: RunConfig, model: Model, tokenizers: Tokenizers, progress: Progress, notes: dict[str, str]
) -> str:
    """The card as Markdown."""
    pair = " -> ".join((config.data.train[0].source, config.data.train[0].target)) if config.data.train else "?"
    sizes = sorted({tokenizers.source.size, tokenizers.target.size})
    rows = [
        ("recipe", config.recipe),
        ("model", f"{config.model.family}, {count_parameters(model):,} parameters"),
        ("vocabulary", f"{config.tokens.kind}, {' and '.join(map(str, sizes))} ids"),
        ("trained on", "; ".join(_describe(corpus) for corpus in config.data.train)),
        ("validated on", "; ".join(_describe(corpus) for corpus in config.data.valid) or "nothing"),
        ("weights", notes["made_from"]),
        ("validation BLEU (sacreBLEU 13a, cased, greedy)", notes.get("valid_bleu", "not measured")),
        ("validation loss per piece", notes.get("valid_loss", "not measured")),
        (
            "training",
            f"{progress.step:,} updates, {progress.pieces:,} target pieces, {progress.seconds / 60:.1f} minutes",
        ),
        ("seed", str(config.training.seed)),
        ("made with", f"limelight {__version__}, torch {torch.__version__}, Python {platform.python_version()}"),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return (
        f"# {pair}: a {config.model.family} translation model\n\n| | |\n|---|---|\n{table}\n\n"
        'Use it with `limelight translate --model FOLDER`, or `limelight.load("FOLDER").translate(text)`.\n'
        "Every setting is in `config.yaml`; `limelight train --config config.yaml --out NEW` runs it again.\n"
    )


def _describe(corpus: Corpus) -> str:
    weight = "" if corpus.weight == 1 else f", weight {corpus.weight:g}"
    return f"{' + '.join(corpus.files)} ({corpus.source} -> {corpus.target}{weight})"

"""The model card: description, origin and validation results of a model."""

import platform
from collections.abc import Sequence
from pathlib import Path

import torch

from limelight import __version__
from limelight.config import Corpus, RunConfig, directions_of, has_tags
from limelight.models.families import count_parameters
from limelight.models.interface import LanguageModel, Model
from limelight.models.transformer.halves import Classifier, MaskedModel
from limelight.tokens import Tokenizers
from limelight.training.checkpoints.checkpoint import Progress
from limelight.training.parent import untrained_directions


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
    title, use, figures = _kind_of(model, config, notes.get("measured_by", ""))
    rows = [
        ("recipe", config.recipe),
        ("model", f"{config.model.family}, {count_parameters(model):,} parameters"),
        ("vocabulary", _vocabulary(tokenizers, config.begin_with)),
        *([("began with", _parent(config.begin_with, parent))] if config.begin_with else []),
        ("trained on", "; ".join(map(_describe, config.data.train)) or ", ".join(config.data.text)),
        *([("directions kept", kept)] if (kept := _kept(config)) else []),
        ("validated on", _validated_on(config)),
        *([("labels", _shortened(model.labels))] if isinstance(model, Classifier) else []),
        ("weights", notes["made_from"]),
        *((f"validation {name}", notes.get(f"valid_{figure}", "not measured")) for figure, name in figures.items()),
        (
            "training",
            f"{progress.step:,} updates, {progress.pieces:,} target tokens, {progress.seconds / 60:.1f} minutes",
        ),
        ("seed", str(config.training.seed)),
        ("made with", f"limelight {__version__}, torch {torch.__version__}, Python {platform.python_version()}"),
    ]
    table = "\n".join(f"| {name} | {value} |" for name, value in rows)
    page = (
        f"# {title}\n\n| | |\n|---|---|\n{table}\n\n{use}\n"
        "Every setting is in `config.yaml`; `limelight train --config config.yaml --out NEW` runs it again.\n"
    )
    return f"{page}\n---\n\nThe model it began with, on its own page:\n\n{parent}" if parent else page


def _vocabulary(tokenizers: Tokenizers, begin_with: str) -> str:
    kinds = " and ".join(dict.fromkeys(tokenizer.kind for tokenizer in tokenizers))
    sizes = " and ".join(map(str, sorted({tokenizer.size for tokenizer in tokenizers})))
    return f"{kinds}, {sizes} ids" + (f", those of {begin_with}" if begin_with else "")


def _parent(begin_with: str, card: str) -> str:
    """The folder of the parent, and the title of its card."""
    heading = card.partition("\n")[0].removeprefix("# ").replace("|", "/").strip()
    return f"{begin_with} ({heading})" if heading else begin_with


def _kind_of(model: Model, config: RunConfig, measured_by: str) -> tuple[str, str, dict[str, str]]:
    """The title of the model, its usage, and the validation figures with their names."""
    family, data = config.model.family, config.data
    files = Path(data.text[0]).name if data.text else ""
    if isinstance(model, MaskedModel):
        use = 'Use it with `limelight fill --model FOLDER "A text with a [MASK]."`, or `--from` it a classifier begins.'
        return f"{files}: a masked model ({family})", use, {"loss": "loss per guessed token"}
    if isinstance(model, Classifier):
        use = "Use it with `limelight classify --model FOLDER FILE`."
        figures = {"accuracy": "accuracy", "macro_f1": "macro-F1", "loss": "loss per text"}
        return f"A classifier of texts ({family})", use, figures
    if isinstance(model, LanguageModel):
        use = 'Use it with `limelight generate --model FOLDER "A prompt"`.'
        return (
            f"{files}: a model of the family {family}",
            use,
            {"bits_per_byte": "bits per byte", "loss": "loss per token"},
        )
    directions = directions_of(data)
    pair = ", ".join(" -> ".join(direction) for direction in directions) or "?"
    to, language = (" --to LANG", ', target_lang="LANG"') if has_tags(data) else ("", "")
    use = (
        f"Use it with `limelight translate --model FOLDER{to}`, or "
        f'`limelight.load("FOLDER").translate(text{language})`.'
    )
    figures = {"bleu": f"BLEU ({measured_by})" if measured_by else "BLEU", "chrf": "chrF", "loss": "loss per token"}
    return f"{pair}: a {family} translation model", use, figures


def _kept(config: RunConfig) -> str:
    """The directions of the model it began with that it was not trained on further."""
    kept = untrained_directions(config)
    return f"{', '.join(map(str, kept))}: of the model it began with, not trained on further" if kept else ""


def _validated_on(config: RunConfig) -> str:
    data = config.data
    if data.train:
        return "; ".join(map(_describe, data.valid)) or "nothing"
    held_out = f"the last {100 * data.held_out:g} % of each text" if data.held_out else "nothing"
    return ", ".join(data.valid_text) or held_out


def _shortened(labels: Sequence[str]) -> str:
    """The first labels, for a table."""
    shown = ", ".join(label.replace("|", "/") for label in labels[:20])
    return f"{len(labels):,}: {shown}{' ...' if len(labels) > 20 else ''}"


def _describe(corpus: Corpus) -> str:
    weight = "" if corpus.weight == 1 else f", weight {corpus.weight:g}"
    origin = {"bt": ", back-translated", "replay": ", replayed"}.get(corpus.tag, "")
    constraint = f", {corpus.side_constraint}" if corpus.side_constraint else ""
    return f"{' + '.join(corpus.files)} ({corpus.source} -> {corpus.target}{origin}{constraint}{weight})"

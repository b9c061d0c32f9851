"""The model card: description, origin and validation results of a model."""

import platform
from pathlib import Path

import torch

from limelight import __version__
from limelight.config import Corpus, RunConfig, directions_of, has_tags
from limelight.errors import shown
from limelight.models.families import count_parameters
from limelight.models.interface import Model
from limelight.models.transformer.halves import Classifier, DecoderOnly, MaskedModel
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
    data, begin_with = config.data, config.begin_with
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
        **{f"validation {name}": notes.get(f"valid_{figure}", "not measured") for figure, name in figures.items()},
        "training": f"{progress.step:,} updates, {progress.pieces:,} target tokens, "
        f"{progress.seconds / 60:.1f} minutes",
        "seed": str(config.training.seed),
        "made with": f"limelight {__version__}, torch {torch.__version__}, Python {platform.python_version()}",
    }
    table = "\n".join(f"| {name} | {value.replace('|', '/')} |" for name, value in rows.items() if value)
    page = (
        f"# {title}\n\n| | |\n|---|---|\n{table}\n\n{use}\n"
        "Every setting is in `config.yaml`; `limelight train --config config.yaml --out NEW` runs it again.\n"
    )
    return f"{page}\n---\n\nThe model it began with, on its own page:\n\n{parent}" if parent else page


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
    if isinstance(model, DecoderOnly):
        use = 'Use it with `limelight generate --model FOLDER "A prompt"`.'
        figures = {"bits_per_byte": "bits per byte", "loss": "loss per token"}
        return f"{files}: a model of the family {family}", use, figures
    pair = ", ".join(" -> ".join(direction) for direction in directions_of(data)) or "?"
    to, language = (" --to LANG", ', target_lang="LANG"') if has_tags(data) else ("", "")
    use = (
        f"Use it with `limelight translate --model FOLDER{to}`, or "
        f'`limelight.load("FOLDER").translate(text{language})`.'
    )
    figures = {"bleu": f"BLEU ({measured_by})" if measured_by else "BLEU", "chrf": "chrF", "loss": "loss per token"}
    return f"{pair}: a {family} translation model", use, figures


def _describe(corpus: Corpus) -> str:
    weight = "" if corpus.weight == 1 else f", weight {corpus.weight:g}"
    origin = {"bt": ", back-translated", "replay": ", replayed"}.get(corpus.tag, "")
    constraint = f", {corpus.side_constraint}" if corpus.side_constraint else ""
    return f"{corpus} ({corpus.source} -> {corpus.target}{origin}{constraint}{weight})"

"""What a run has learned, and what went wrong, in words for people who trained it: `limelight doctor RUN`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from limelight.config import load_config
from limelight.errors import UserError, counted
from limelight.evaluation.score import perplexity, score_pairs
from limelight.pipelines.load import Device, load_translator
from limelight.pipelines.snapshots import LOG, log_entries
from limelight.pipelines.translator import Translator
from limelight.preparation.kept import kept_valid
from limelight.preparation.lexicon import evenly
from limelight.storage.layout import CONFIG, find_model
from limelight.text.pair import Pair

MAX_PAIRS = 64
"""Validation pairs of a corpus that are scored."""
IGNORED = 1.2
"""A model that reads its source finds targets of other sources at least so many times as perplexing."""
UNLEARNED = 0.25
"""A perplexity of more than this share of the vocabulary means that almost nothing was learned."""
OVERFITTED = 0.1
"""Share of the validation loss above its minimum that is reported."""

ADVICE = {
    "unlearned": "almost nothing was learned: was the run stopped too early, or is the learning rate too high?",
    "ignores-source": "the model ignores the source: targets of other sources are as probable. Usually the two sides "
    "of the training text do not belong together (`limelight doctor FILES` examines them), or there are too few "
    "updates or pairs",
    "overfitted": "overfitting: the training loss still falls, and the validation loss rises. The best model was kept; "
    "more text, fewer updates or more dropout (--set model.dropout=0.3) help",
    "improving": "the last validation was the best one: a longer run would be better (give the same command a larger "
    "--max-minutes or --max-steps)",
}
"""Faults by name, with what to do."""


def examine_run(run: Path, device: Device = None) -> list[str]:
    """The findings of the log of a run, and of the probabilities of its validation text under its best model."""
    config = load_config(find_model(run) / CONFIG)
    if not (run / LOG).is_file():
        raise UserError(f"{run / LOG}: the run has no log; give the folder that `limelight train --out RUN` wrote")
    lines = list(findings_of_losses(list(log_entries(run / LOG))))
    valid = config.data.valid if config.learns == "pairs" else ()
    corpora = [(corpus, pairs) for corpus, pairs in kept_valid(run, valid) if pairs]
    if not corpora:
        return [*lines, "the run has no sentence pairs for validation, so what the model does cannot be examined"]
    translator = load_translator(run, device)
    for corpus, pairs in corpora:
        languages = corpus.direction if len(translator.directions) > 1 else (None, None)
        lines += findings_of_perplexities(translator, evenly(pairs, MAX_PAIRS), *languages)
    if not {*lines} & {*ADVICE.values()}:
        lines.append("no fault was found")
    return lines


def findings_of_losses(log: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The course of the losses in the log of a run, and its faults."""
    losses = [(line["loss"], line["step"]) for line in log if line.get("event") == "validation" and line.get("loss")]
    trained = [line["loss"] for line in log if line.get("event") == "training" and line.get("loss")]
    if len(losses) < 2 or not trained:
        yield "fewer than two validations: too short a run to see how it develops"
        return
    best, last = min(losses), losses[-1]
    yield (
        f"validation loss {losses[0][0]:.2f} at first, {best[0]:.2f} at best (update {best[1]:,}), {last[0]:.2f} at "
        "last"
    )
    earlier = trained[: max(1, len(trained) * 2 // 3)]
    if last[0] > best[0] * (1 + OVERFITTED) and fmean(trained[-3:]) < fmean(earlier[-3:]):
        yield ADVICE["overfitted"]
    elif last == best:
        yield ADVICE["improving"]


def findings_of_perplexities(
    translator: Translator, pairs: Sequence[Pair], source: str | None, target: str | None
) -> Iterator[str]:
    """The perplexity of targets with their own sources and with the sources of other pairs, and its faults."""
    half = max(1, len(pairs) // 2)
    others = [*pairs[half:], *pairs[:half]]
    mismatched = [replace(pair, source=other.source) for pair, other in zip(pairs, others, strict=True)]
    own, other = (
        perplexity(score_pairs(translator, scored, source_lang=source, target_lang=target))
        for scored in (pairs, mismatched)
    )
    targets = counted(len(pairs), "validation target")
    yield f"perplexity of {targets}: {own:.1f} with its source, {other:.1f} with another one"
    if own > UNLEARNED * translator.tokenizers.target.size:
        yield ADVICE["unlearned"]
    elif len(pairs) > 1 and other < IGNORED * own:
        yield ADVICE["ignores-source"]

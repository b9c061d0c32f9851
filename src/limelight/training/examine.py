"""What a run has learned, and what went wrong, in words for people who trained it: `limelight doctor RUN`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limelight.config import direction_of, load_config
from limelight.errors import RunError, counted, shown
from limelight.evaluation.score import perplexity, score_pairs
from limelight.pipelines.load import load_translator
from limelight.pipelines.snapshots import LOG, log_entries
from limelight.pipelines.translator import Translator
from limelight.preparation.kept import keeps, kept_pairs
from limelight.storage.layout import CONFIG, find_model
from limelight.text.checks import find_loop, is_copied
from limelight.text.pair import Pair
from limelight.tokens import UNKNOWN

MAX_PAIRS = 64
"""Validation pairs that are translated."""
IGNORED = 1.2
"""A model that reads its source finds targets of other sources at least so many times as perplexing."""
UNLEARNED = 0.25
"""A perplexity of more than this share of the vocabulary means that almost nothing was learned."""
OFTEN, OVERFITTED = 0.1, 0.1
"""Share of translations with a fault, and of the validation loss above its minimum, that are reported."""
MAX_UNKNOWN = 0.01
"""Share of unknown tokens that is reported."""

ADVICE = {
    "unlearned": "almost nothing was learned: was the run stopped too early, or is the learning rate too high?",
    "ignores-source": "the model ignores the source: targets of other sources are as probable. Usually the two sides "
    "of the training text do not belong together (`limelight doctor FILES` examines them), or there are too few "
    "updates or pairs",
    "overfitted": "overfitting: the training loss still falls, and the validation loss rises. The best model was kept; "
    "more text, fewer updates or more dropout (--set model.dropout=0.3) help",
    "improving": "the last validation was the best one: a longer run would be better (give the same command a larger "
    "--max-minutes or --max-steps)",
    "loops": "repeat themselves: the model is undertrained, or pairs are misaligned",
    "copies": "are copies of their source: is untranslated text in the training text (`limelight clean`)?",
    "same-output": "are the same text for different sources: the model ignores its source, or is undertrained",
    "unknown": "are unknown: the vocabulary lacks characters of this text; train on text that has them, or set "
    "tokens.byte_fallback=true",
}
"""Faults by name, with what to do."""


@dataclass
class RunReport:
    """What is to be said about a run."""

    lines: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Keys of `ADVICE`."""

    def add(self, fault: str, what: str = "") -> None:
        """Report a fault; `what` are the words before its advice."""
        self.faults.append(fault)
        self.lines.append(f"{what} {ADVICE[fault]}".strip())


def examine_run(run: Path) -> RunReport:
    """Examine the log of a run, and what its best model does with its validation text."""
    report, config = RunReport(), load_config(find_model(run) / CONFIG)
    if not (run / LOG).is_file():
        raise RunError(f"{run / LOG}: the run has no log; give the folder that `limelight train --out RUN` wrote")
    _curve(report, list(log_entries(run / LOG)))
    names = {f"valid-{number}": corpus for number, corpus in enumerate(config.data.valid)}
    corpora = [(corpus, kept_pairs(run, name)) for name, corpus in names.items() if keeps(run, name)]
    if not any(pairs for _, pairs in corpora):
        report.lines.append("the run has no validation text, so what the model does cannot be examined")
        return report
    translator = load_translator(run)
    for corpus, pairs in corpora:
        languages = direction_of(corpus) if len(translator.directions) > 1 else (None, None)
        step = max(1, len(pairs) // MAX_PAIRS)
        if pairs:
            _behavior(report, translator, pairs[::step][:MAX_PAIRS], *languages)
    if not report.faults:
        report.lines.append("no fault was found")
    return report


def _curve(report: RunReport, log: Sequence[dict[str, Any]]) -> None:
    """What the losses say."""
    losses = [(each["step"], each["loss"]) for each in log if each.get("event") == "validation" and each.get("loss")]
    trained = [each["loss"] for each in log if each.get("event") == "training" and each.get("loss")]
    if len(losses) < 2 or not trained:
        report.lines.append("fewer than two validations: too short a run to see how it develops")
        return
    (_, first), (step, best), last = losses[0], min(losses, key=lambda each: each[1]), losses[-1]
    report.lines.append(
        f"validation loss {first:.2f} at first, {best:.2f} at best (update {step:,}), {last[1]:.2f} at last"
    )
    earlier = trained[: max(1, len(trained) * 2 // 3)]
    falls = sum(trained[-3:]) / len(trained[-3:]) < sum(earlier[-3:]) / len(earlier[-3:])
    if last[1] > best * (1 + OVERFITTED) and falls:
        report.add("overfitted")
    elif last == (step, best):
        report.add("improving")


def _behavior(
    report: RunReport, translator: Translator, pairs: Sequence[Pair], source: str | None, target: str | None
) -> None:
    """What the model does with validation text."""
    step = max(1, len(pairs) // 2)
    others = [pairs[(number + step) % len(pairs)].source for number in range(len(pairs))]
    turned = [Pair(other, pair.target, pair.file, pair.line) for other, pair in zip(others, pairs, strict=True)]
    own, other = (
        perplexity(score_pairs(translator, some, source_lang=source, target_lang=target)) for some in (pairs, turned)
    )
    targets = counted(len(pairs), "validation target")
    report.lines.append(f"perplexity of {targets}: {own:.1f} with its source, {other:.1f} with another one")
    if own > UNLEARNED * translator.tokenizers.target.size:
        report.add("unlearned")
    elif len(pairs) > 1 and other < IGNORED * own:
        report.add("ignores-source")
    found = translator.translate(
        [pair.source for pair in pairs], source_lang=source, target_lang=target, beam_size=1, lines=True, guards=False,
        protect=False,
    )  # fmt: skip
    _faults_of(report, pairs, [each.text for each in found])
    for side in ("source", "target"):
        rows = getattr(translator.tokenizers, side).encode_batch([getattr(pair, side) for pair in pairs])
        total, unknown = sum(map(len, rows)), sum(row.count(UNKNOWN) for row in rows)
        if total and unknown > math.ceil(MAX_UNKNOWN * total):
            report.add("unknown", f"{unknown:,} of {total:,} {side} tokens")


def _faults_of(report: RunReport, pairs: Sequence[Pair], outputs: Sequence[str]) -> None:
    common, often = Counter(outputs).most_common(1)[0]
    same = often > max(2, Counter(pair.target for pair in pairs).most_common(1)[0][1])
    tests = {
        "loops": lambda pair, output: find_loop(pair.source, output),
        "copies": lambda pair, output: is_copied(pair.source, output) and not is_copied(pair.source, pair.target),
        "same-output": lambda _, output: same and output == common,
    }
    for name, test in tests.items():
        wrong = [(pair, output) for pair, output in zip(pairs, outputs, strict=True) if test(pair, output)]
        if len(wrong) > OFTEN * len(pairs):
            report.add(name, f"{len(wrong)} of {counted(len(pairs), 'translation')}")
            pair, output = wrong[0]
            report.lines.append(f"    {pair.place}: {shown(pair.source, 60)} -> {shown(output, 60)}")

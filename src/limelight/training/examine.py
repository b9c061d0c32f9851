"""What a run has learned, and what went wrong, in words for people who trained it: `limelight doctor RUN`."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limelight.config import direction_of, load_config
from limelight.errors import RunError, counted, shown
from limelight.evaluation.score import perplexity, score_pairs
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.preparation.hold_out import keeps, kept_pairs
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


@dataclass
class RunReport:
    """What was found."""

    lines: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Names: `unlearned`, `ignores-source`, `copies`, `loops`, `same-output`, `overfitted`, `improving`, `unknown`,
    `few-pairs`."""

    def add(self, fault: str, line: str) -> None:
        """Report a fault."""
        self.faults.append(fault)
        self.lines.append(line)


def examine_run(run: Path) -> RunReport:
    """Examine the log of a run, and what its best model does with its validation text."""
    report, config = RunReport(), load_config(find_model(run) / CONFIG)
    log = list(_log(run / "log.jsonl"))
    _curve(report, log)
    corpora = [
        (corpus, kept_pairs(run, f"valid-{number}")[0])
        for number, corpus in enumerate(config.data.valid)
        if keeps(run, f"valid-{number}")
    ]
    corpora = [(corpus, pairs) for corpus, pairs in corpora if pairs]
    if not corpora:
        report.lines.append("the run has no validation text, so what the model does cannot be examined")
        return report
    translator = load_translator(run)
    for corpus, pairs in corpora:
        direction = direction_of(corpus)
        several = len(translator.directions) > 1
        languages = (direction.source, direction.target) if several else ("", "")
        step = max(1, len(pairs) // MAX_PAIRS)
        _behavior(report, translator, pairs[::step][:MAX_PAIRS], languages)
    if not report.faults:
        report.lines.append("no fault was found")
    return report


def _log(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise RunError(f"{path}: the run has no log; give the folder that `limelight train --out RUN` wrote")
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def _curve(report: RunReport, log: Sequence[dict[str, Any]]) -> None:
    """What the losses say."""
    losses = [(each["step"], each["loss"]) for each in log if each.get("event") == "validation" and each.get("loss")]
    trained = [each["loss"] for each in log if each.get("event") == "training" and each.get("loss")]
    if len(losses) < 2 or not trained:
        report.lines.append("fewer than two validations: too short a run to see how it develops")
        return
    best = min(losses, key=lambda each: each[1])
    last = losses[-1]
    report.lines.append(
        f"validation loss {losses[0][1]:.2f} at first, {best[1]:.2f} at best (update {best[0]:,}), "
        f"{last[1]:.2f} at last"
    )
    earlier = trained[: max(1, len(trained) * 2 // 3)]
    falls = sum(trained[-3:]) / len(trained[-3:]) < sum(earlier[-3:]) / len(earlier[-3:])
    if last[1] > best[1] * (1 + OVERFITTED) and falls:
        report.add(
            "overfitted",
            "overfitting: the training loss still falls, and the validation loss rises. The best model was kept; more "
            "text, fewer updates or more dropout (--set model.dropout=0.3) help",
        )
    elif best == last:
        report.add(
            "improving",
            "the last validation was the best one: a longer run would be better (give the same command a larger "
            "--max-minutes or --max-steps)",
        )


def _behavior(report: RunReport, translator: Translator, pairs: Sequence[Pair], languages: tuple[str, str]) -> None:
    """What the model does with validation text."""
    source, target = (each or None for each in languages)
    own = perplexity(score_pairs(translator, pairs, source_lang=source, target_lang=target))
    step = max(1, len(pairs) // 2)
    others = [
        Pair(pairs[(number + step) % len(pairs)].source, pair.target, pair.file, pair.line)
        for number, pair in enumerate(pairs)
    ]
    other = perplexity(score_pairs(translator, others, source_lang=source, target_lang=target))
    tokenizers = translator.tokenizers
    report.lines.append(
        f"perplexity of {counted(len(pairs), 'validation target')}: {own:.1f} with its source, {other:.1f} with "
        "another one"
    )
    if own > UNLEARNED * tokenizers.target.size:
        report.add(
            "unlearned",
            f"almost nothing was learned: a perplexity of {own:,.0f} with {tokenizers.target.size:,} tokens. Was the "
            "run stopped too early, or is the learning rate too high?",
        )
    elif len(pairs) > 1 and other < IGNORED * own:
        report.add(
            "ignores-source",
            "the model ignores the source: targets of other sources are as probable. Usually the two sides of the "
            "training text do not belong together (`limelight doctor FILES` examines them), or there are too few "
            "updates or pairs",
        )
    texts = [pair.source for pair in pairs]
    found = translator.translate(
        texts, source_lang=source, target_lang=target, beam_size=1, lines=True, guards=False, protect=False
    )
    outputs = [each.text for each in found]
    _faults_of(report, pairs, outputs)
    _coverage(report, translator, pairs)


def _faults_of(report: RunReport, pairs: Sequence[Pair], outputs: Sequence[str]) -> None:
    tests = {
        "loops": [bool(find_loop(pair.source, output)) for pair, output in zip(pairs, outputs, strict=True)],
        "copies": [
            is_copied(pair.source, output) and not is_copied(pair.source, pair.target)
            for pair, output in zip(pairs, outputs, strict=True)
        ],
    }
    advice = {
        "loops": "repeat themselves: the model is undertrained, or pairs are misaligned",
        "copies": "are copies of their source: is untranslated text in the training text (`limelight clean`)?",
        "same-output": "are the same text for different sources: the model ignores its source, or is undertrained",
    }
    common, often = Counter(outputs).most_common(1)[0]
    targets = Counter(pair.target for pair in pairs)
    same = often > max(2, targets.most_common(1)[0][1])
    tests["same-output"] = [same and output == common for output in outputs]
    for name, flags in tests.items():
        if sum(flags) > OFTEN * len(pairs):
            number = flags.index(True)
            report.add(name, f"{sum(flags)} of {counted(len(pairs), 'translation')} {advice[name]}")
            report.lines.append(
                f"    {pairs[number].place}: {shown(pairs[number].source, 60)} -> {shown(outputs[number], 60)}"
            )


def _coverage(report: RunReport, translator: Translator, pairs: Sequence[Pair]) -> None:
    for side in ("source", "target"):
        tokenizer = getattr(translator.tokenizers, side)
        rows = tokenizer.encode_batch([getattr(pair, side) for pair in pairs])
        total = sum(map(len, rows))
        unknown = sum(row.count(UNKNOWN) for row in rows)
        if total and unknown > math.ceil(MAX_UNKNOWN * total):
            report.add(
                "unknown",
                f"{unknown:,} of {total:,} {side} tokens are unknown: the vocabulary lacks characters of this text; "
                "train on text that has them, or set tokens.byte_fallback=true",
            )

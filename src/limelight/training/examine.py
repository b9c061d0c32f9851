"""What a run has learned, and what went wrong, in words for people who trained it: `limelight doctor RUN`. And how long
a recipe takes on this machine: a few updates are measured.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from limelight.config import Corpus, RunConfig, direction_of, load_config, override
from limelight.errors import RunError, counted, shown
from limelight.evaluation.score import perplexity, score_pairs
from limelight.pipelines.load import load_translator
from limelight.pipelines.snapshots import LOG, log_entries
from limelight.pipelines.translator import Translator
from limelight.preparation.hold_out import keeps, kept_pairs
from limelight.preparation.pairs import prepare
from limelight.recipes import find_recipe
from limelight.storage.layout import CONFIG, find_model
from limelight.text.checks import find_loop, is_copied
from limelight.text.pair import Pair, one_line
from limelight.tokens import UNKNOWN
from limelight.training.optimization.schedule import reasonable_epochs
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
        epoch = max(1.0, task.stream.batches_per_epoch() / config.training.accumulate) * count / max(len(sample), 1)
    epochs = reasonable_epochs(epoch * places)
    return Estimate(recipe, seconds, places / seconds, epochs, epoch * epochs * seconds / 60)


def _config(recipe: str, text: Path) -> RunConfig:
    """The recipe on a small text, whose vocabulary is as large as the text permits."""
    config = find_recipe(recipe)
    data = config.data.model_copy(update={"train": (Corpus(files=(str(text),), source="source", target="target"),)})
    return override(config.model_copy(update={"data": data}), ["data.on_doubt=warn", "tokens.vocabulary_size=null"])


def invented_pairs(count: int = SAMPLE, seed: int = 0) -> Sequence[tuple[str, str]]:
    """Sentences of invented words, to measure a machine without text."""
    draw = random.Random(seed)
    words = ["".join(draw.choice("abcdefghiklmnoprstuvw") for _ in range(draw.randrange(2, 9))) for _ in range(3000)]

    def sentence() -> str:
        return " ".join(draw.choice(words) for _ in range(draw.randrange(5, 20)))

    return [(sentence(), sentence()) for _ in range(count)]


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
    if not (run / LOG).is_file():
        raise RunError(f"{run / LOG}: the run has no log; give the folder that `limelight train --out RUN` wrote")
    _curve(report, list(log_entries(run / LOG)))
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

"""The end of a run that begins with another model: choose between the trained weights, the parent's weights and their
means, and measure what was learned and forgotten.

Weights between a model and a fine-tuned copy of it keep most of what the copy has learned and forget less
(Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"). So the share of the trained weights is chosen that has
the lowest loss on the new text, among those whose loss on general text rises little. The loss decides, since BLEU of a
few hundred pairs is too uncertain. A run with new tags, such as the tag of a language, keeps all of its weights: in a
mean with a model that was not trained with a tag, it would be learned only in part.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

import torch
from pydantic import TypeAdapter
from torch import Tensor

from limelight.config import Direction, RunConfig, directions_of, has_tags
from limelight.errors import UserError
from limelight.evaluation.evaluate import evaluate_directions
from limelight.files import write_whole
from limelight.formats import read_pairs
from limelight.models.interface import Seq2Seq
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.preparation.extend import has_new_tags
from limelight.preparation.hold_out import HELD_OUT
from limelight.preparation.replay import read_general
from limelight.storage.layout import BEST, WEIGHTS, find_start
from limelight.storage.weights import put_weights, read_numbers, read_weights
from limelight.text.pair import Pair
from limelight.training.checkpoints.keep import notes_of, weights_put_back, write_best
from limelight.training.complete import Corpora
from limelight.training.run_state import Run, validate
from limelight.training.tasks.translation import Translation, valid_sets

BEFORE_AFTER = "before-after.json"
"""The file of a run with the scores of its parent and of its model."""
SHARE = "share"
"""The note of a model that says the share of the trained weights in it."""
SHARES = tuple(eighths / 8 for eighths in range(9))
MAX_RISE = 0.01
"""Maximum relative rise of the loss on general text; on text of other kinds it may be twice as large."""
UNMEASURED = 0.25
"""The share without general text, if it is better, and without text for validation."""


class Scores(NamedTuple):
    """Means over the directions."""

    bleu: float
    chrf: float


@dataclass(frozen=True, slots=True)
class Change:
    """The scores of the parent and of the new model on held-out text."""

    pairs: int
    before: Scores
    after: Scores

    def __str__(self) -> str:
        return (
            f"BLEU {self.before.bleu:.2f} -> {self.after.bleu:.2f}, chrF {self.before.chrf:.2f} -> "
            f"{self.after.chrf:.2f} ({self.pairs:,} pairs)"
        )


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """What a fine-tuned model has learned and forgotten."""

    share: float
    """The share of the trained weights in the model; the rest comes from the parent."""
    new: Change | None
    """On the new text; None without any for validation."""
    general: Change | None
    """On general text; None without any."""
    format: Literal[1] = 1

    def lines(self) -> list[str]:
        """The result in words."""
        changes = {"the new text": self.new, "general text": self.general}
        return [f"{name}:  {change}" for name, change in changes.items() if change]


_STORED = TypeAdapter(BeforeAfter)


def read_before_after(folder: Path) -> BeforeAfter | None:
    """The scores in a run or model folder; None if there are none."""
    try:
        return _STORED.validate_json((folder / BEFORE_AFTER).read_bytes())
    except (OSError, ValueError):
        return None


def mix_with_parent(run: Run, task: Translation) -> None:
    """Replace the model of a finished run by the chosen mean of it and its parent, and write what it has learned and
    forgotten. A model that is such a mean already stays as it is, so an interrupted call can be repeated.

    Does nothing for a run without replay (`data.replay`), and where the parent is gone.
    """
    config, say, best = run.config, run.report.say, run.folder / BEST
    if not (config.data.replay and config.begin_with and best.is_dir()):
        return
    chosen = SHARE in read_weights(best / WEIGHTS)[1]
    if chosen and read_before_after(run.folder):
        return
    (run.folder / BEFORE_AFTER).unlink(missing_ok=True)  # of an earlier end of this run
    try:
        parent = find_start(config.begin_with, run.folder)
    except UserError as error:
        say(f"warning: the model is not compared with its parent: {error}")
        return
    if not chosen:
        _choose(run, task, parent)
    with run.interruptible():
        translators = [
            load_translator(folder, run.device, precision="fp32", threads=torch.get_num_threads())  # both alike
            for folder in (parent, best)
        ]
        new, general = (
            Change(sum(map(len, text.values())), *(_scores(translator, text, config) for translator in translators))
            if any(text.values())
            else None
            for text in (_unseen(run, task), read_general(run.folder, "valid", "test"))
        )
    share = float(read_weights(best / WEIGHTS)[1][SHARE])
    before_after = BeforeAfter(share, new, general)
    write_whole(run.folder / BEFORE_AFTER, _STORED.dump_json(before_after, indent=2).decode() + "\n")
    if not share:
        say(
            f"the model is {config.begin_with}, unchanged: no mean of old and trained weights has a lower loss on the "
            f"new text and a loss on general text that rises by at most {MAX_RISE:.0%}"
        )
    for line in before_after.lines():
        say(line)


def _choose(run: Run, task: Translation, parent: Path) -> None:
    """Save the chosen mean of the weights as the model of the run."""
    trained, notes = read_weights(run.folder / BEST / WEIGHTS)
    of_parent = read_numbers(parent / WEIGHTS)
    shapes = [{name: tensor.shape for name, tensor in weights.items()} for weights in (of_parent, trained)]
    mixes = shapes[0] == shapes[1]  # with other layers there is no mean
    share = 0.0 if notes.get("step") == "0" else 1.0
    with weights_put_back(run.model):
        if share and mixes and not has_new_tags(run.folder):
            with run.interruptible():
                share = _best_share(run, task, of_parent, trained) if task.validates else UNMEASURED
        put_weights(run.model, _mean(of_parent, trained, share) if mixes else trained, where="the mean")
        made_from = notes["made_from"]
        if mixes and share < 1:
            made_from = f"{share:.1%} of the weights of {made_from}, the rest those of {run.config.begin_with}"
            notes |= notes_of(run, validate(run))
        write_best(run, notes | {SHARE: repr(share), "made_from": made_from})


def _best_share(run: Run, task: Translation, of_parent: Mapping[str, Tensor], trained: Mapping[str, Tensor]) -> float:
    """The share of the trained weights with the lowest loss on the new text, among those whose loss on general text
    rises little."""
    assert isinstance(run.model, Seq2Seq)
    texts = [
        valid_sets(run.config, run.tokenizers, run.model, text, 0)
        for text in (task.valid_pairs, read_general(run.folder, "valid", "test"))
    ]
    best, least, most = 0.0, math.inf, math.inf
    for share in SHARES if texts[1] else (0.0, UNMEASURED):
        put_weights(run.model, _mean(of_parent, trained, share), where="the mean")
        new, general = (
            fmean(valid.measure(run.model, run.precision).loss for valid in text.values()) if text else 0.0
            for text in texts
        )
        run.report.say(
            f"{share:6.1%} of the trained weights: loss {new:.4f} on the new text"
            + (f", {general:.4f} on general text" if general else "")
        )
        if not share:
            most = general * (1 + MAX_RISE)
        if not general <= most:
            break  # the rise is nearly quadratic in the share
        if new < least:
            best, least = share, new
    return best


def _mean(of_parent: Mapping[str, Tensor], trained: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    return {name: torch.lerp(of_parent[name].float(), tensor.float(), share) for name, tensor in trained.items()}


def _unseen(run: Run, task: Translation) -> Corpora:
    """The new text that measures the model: the part for tests, if text was held out, else that for validation."""
    unseen: dict[Direction, list[Pair]] = {}
    for corpus in run.config.data.valid if run.config.data.hold_out else ():
        test = run.folder / HELD_OUT / Path(corpus.files[0]).name.replace("valid", "test", 1)
        if test.is_file():
            unseen[corpus.direction] = list(read_pairs([test]))
    return unseen or task.valid_pairs


def _scores(translator: Translator, text: Corpora, config: RunConfig) -> Scores:
    """BLEU and chrF with the search of the model, as `limelight evaluate` measures them."""
    several = has_tags(config.data)
    if several:
        translator.directions = directions_of(config.data)  # the parent lacks those that are new
    by_direction = {direction if several else None: pairs for direction, pairs in text.items()}
    figures = evaluate_directions(translator, by_direction).mean
    return Scores(figures["bleu"], figures["chrf"])

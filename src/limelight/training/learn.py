"""A translation memory becomes a fine-tuned model, or nothing does: `limelight learn`."""

import os
import shutil
from pathlib import Path

from limelight.config import RunConfig
from limelight.errors import RunError, UserError
from limelight.files import cause, remove, whole_folder
from limelight.preparation.hold_out import HELD_OUT
from limelight.preparation.replay import GENERAL, MIN_PAIRS, plan_replay
from limelight.signals import Stopped
from limelight.storage.layout import BEST, CONFIG
from limelight.training.checkpoints.lock import LOCK
from limelight.training.mix import BEFORE_AFTER, BeforeAfter, read_before_after
from limelight.training.parent import resolve_directions
from limelight.training.run import train

UNFINISHED = ".unfinished"
"""The end of the name of the run folder, which exists until the model is written or refused."""
MAX_LOST = 0.5
"""Maximum loss of BLEU on held-out pairs of the memory, unless chrF rises. Both are uncertain; the loss has to fall."""


def learn(config: RunConfig, output: Path, *, quiet: bool = False) -> BeforeAfter:
    """Train on the memory that `config` names, and write the model to the folder `output` if it is better.

    The run is in a folder beside `output`; after an interruption the same call resumes it. Raises `UserError` for an
    `output` that exists, and `RunError` with the scores if no model has a lower loss on held-out pairs of the memory
    and nearly the same on general text, or if BLEU of these pairs falls by more than `MAX_LOST` and chrF does not
    rise; nothing is left then. Other errors say what is left.
    """
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise UserError("limelight learn is one process: start it without torchrun")
    work = Path(f"{output}{UNFINISHED}")
    if output.exists():
        left = f"; {work} is left of an interrupted call, and can be removed" if work.exists() else ""
        raise UserError(f"{output}: it exists already; give -o another name, or remove it{left}")
    _require_measurable(config, work)
    existed = work.exists()
    try:
        train(config, work, quiet=quiet)
    except (UserError, RunError, Stopped) as error:
        if (work / LOCK).exists():
            raise  # another process works there
        if isinstance(error, UserError) and not existed and not (work / CONFIG).exists():
            remove(work)  # the memory cannot be learned from as it is
        elif work.exists():
            error.add_note(f"the work so far is in {work}: the same command continues it; to begin again, remove it")
        raise
    scores = read_before_after(work)
    if reason := _refusal(scores, config.begin_with):
        remove(work)
        raise RunError(reason)
    assert scores is not None

    try:
        with whole_folder(output) as partial:
            shutil.copytree(work / BEST, partial, dirs_exist_ok=True)
            shutil.copy(work / BEFORE_AFTER, partial / BEFORE_AFTER)
            for name in (GENERAL, HELD_OUT):
                if (work / name).is_dir():
                    shutil.copytree(work / name, partial / name)
    except OSError as error:
        raise RunError(
            f"{output}: the model cannot be written: {cause(error)}; it is kept in {work}, and the same command "
            "writes it after the cause is fixed"
        ) from error
    remove(work)
    return scores


def _require_measurable(config: RunConfig, work: Path) -> None:
    """Raise `UserError` for a memory that nothing can be held out of, before any work."""
    planned = plan_replay(resolve_directions(config, work), work)
    files = " ".join(file for corpus in config.data.train for file in corpus.files)
    if not planned.data.replay:
        raise UserError(f"--memory {files}: it is not in the direction of {config.begin_with}")
    if not planned.data.hold_out:
        raise UserError(
            f"--memory {files}: fewer than {MIN_PAIRS} usable pairs in a direction, of which nothing can be held "
            "out; give all of the memory, not only the new segments"
        )


def _refusal(scores: BeforeAfter | None, parent: str) -> str:
    """Why a model is not kept; empty if it is."""
    if scores is None or scores.new is None:
        return f"the model could not be compared with {parent}, and nothing was written"
    figures = "; ".join(scores.lines())
    before, after = scores.new.before, scores.new.after
    if scores.share and (before.bleu - after.bleu <= MAX_LOST or after.chrf > before.chrf):
        return ""
    return (
        "what was learned does not make translations of held-out pairs better, or makes those of general text worse: "
        f"{parent} stays as it is, and nothing was written; `limelight doctor` examines the memory. {figures}"
    )

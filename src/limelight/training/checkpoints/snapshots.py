"""Model folders of a run at several updates: `RUN/snapshots/update-00000100/` (`training.keep_snapshots`).

When they are due depends only on the bounds of the run, so a resumed run keeps the same ones."""

from collections.abc import Iterable
from pathlib import Path

from limelight.config import TrainingConfig
from limelight.files import remove, write_folder
from limelight.preparation.shortlist import share_detector
from limelight.storage.layout import SNAPSHOTS, find_snapshots
from limelight.storage.model import save_model
from limelight.training.card import model_card
from limelight.training.optimization.optimizer import last_second
from limelight.training.parent import parent_card
from limelight.training.run_state import Run


def is_snapshot_due(training: TrainingConfig, step: int, before: float, seconds: float) -> bool:
    """Whether to keep update `step`, which lasted from `before` to `seconds` of training time.

    Each bound of the run is divided into `keep_snapshots` equal parts, and the update that completes a part is due.
    Without a bound every update is due at first, then every second, fourth and so on, as `thinned` leaves them.
    """
    count, end = training.keep_snapshots, last_second(training)
    if not count:
        return False
    if training.max_steps is None and end is None:
        stride = 1
        while step > count * stride:
            stride *= 2
        return step % stride == 0
    by_steps = training.max_steps is not None and _completes(step - 1, step, training.max_steps, count)
    return by_steps or (end is not None and _completes(before, seconds, end, count))


def _completes(before: int | float, now: int | float, end: int | float, parts: int) -> bool:
    """Whether one of `parts` equal parts of 0 to `end` is completed between `before` and `now`."""
    return now * parts // end > before * parts // end


def thinned(steps: Iterable[int], count: int) -> list[int]:
    """At most `count` of these updates, in ascending order: as evenly spaced as possible, always including the last.

    Repeatedly removes the update whose neighbors are closest to each other; the beginning of the run is a neighbor.
    """
    kept = sorted(steps)
    while len(kept) > max(count, 1):
        around = [0, *kept]
        gaps = [around[place + 2] - around[place] for place in range(len(kept) - 1)]
        del kept[gaps.index(min(gaps))]
    return kept


def keep_model_snapshot(run: Run) -> None:
    """Write a snapshot of the model, and remove those that `thinned` drops. Only the first process writes.

    Folders are written atomically. Raises `OSError` or `RunError` with the path if one cannot be written.
    """
    step, count = run.progress.step, run.config.training.keep_snapshots
    if not run.group.is_first or not count or not step:
        return
    notes = {"step": str(step), "made_from": f"update {step}"}
    card = model_card(run.config, run.model, run.tokenizers, run.progress, notes, parent=parent_card(run.folder))

    def fill(partial: Path) -> None:
        save_model(partial, run.model, run.tokenizers, run.config, notes=notes, card=card)
        share_detector(run.folder, partial)

    there = find_snapshots(run.folder)
    if step in there:  # the last update may also complete a part
        return
    write_folder(run.folder / SNAPSHOTS / f"update-{step:08d}", fill)
    for update in set(there) - set(thinned({*there, step}, count)):
        remove(there[update])


def drop_later_snapshots(run: Run) -> None:
    """Remove snapshots of updates after the checkpoint from which the run was resumed."""
    if run.group.is_first:
        for update, folder in find_snapshots(run.folder).items():
            if update > run.progress.step:
                remove(folder)

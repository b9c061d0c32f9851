"""Which weights are kept: snapshots to be averaged, the best model so far, and the final choice between the two."""

from collections.abc import Callable
from pathlib import Path

from limelight.config import RunConfig
from limelight.files import PARTIAL
from limelight.models.interface import Seq2Seq
from limelight.models.stored import BEST, save_model
from limelight.models.weights import named_weights, put_weights, save_weights
from limelight.tokens import Tokenizers
from limelight.training.average import average_weights
from limelight.training.card import model_card
from limelight.training.checkpoint import Progress
from limelight.training.validation import Validation

SNAPSHOTS = "snapshots"


def keep_snapshot(folder: Path, config: RunConfig, model: Seq2Seq, progress: Progress, score: float) -> None:
    """Store the weights beside the others to be averaged; those that will not be any more are removed."""
    place = folder / SNAPSHOTS
    place.mkdir(exist_ok=True)
    name = f"step-{progress.step:08d}.safetensors"
    save_weights(place / name, named_weights(model))
    kept = {**progress.snapshots, name: score}
    by_best = config.training.average_of == "best"
    order = sorted(kept, key=(lambda each: (kept[each], each)) if by_best else None)
    progress.snapshots = {each: kept[each] for each in sorted(order[-config.training.average :])}
    for path in place.iterdir():
        if path.name not in progress.snapshots and not path.name.endswith(PARTIAL):
            path.unlink()


def store_best(
    folder: Path, config: RunConfig, model: Seq2Seq, tokenizers: Tokenizers, progress: Progress, seen: Validation | None,
    *, made_from: str = "",
) -> None:  # fmt: skip
    """Make the model as it stands the one that `--model RUN` finds."""
    notes = {"step": str(progress.step), "made_from": made_from or f"update {progress.step}"}
    if seen is not None:
        notes["valid_loss"] = f"{seen.loss:.4f}"
    if seen is not None and seen.bleu is not None:
        notes["valid_bleu"] = f"{seen.bleu:.2f}"
    card = model_card(config, model, tokenizers, progress, notes)
    save_model(folder / BEST, model, tokenizers, config, notes=notes, card=card)
    (folder / "README.md").write_text(card, encoding="utf-8")


def finish_model(
    folder: Path, config: RunConfig, model: Seq2Seq, tokenizers: Tokenizers, progress: Progress,
    *, look: Callable[[], Validation], say: Callable[[str], None],
) -> None:  # fmt: skip
    """Average the snapshots; the average becomes the model if it validates at least as well as the best one.

    The weights being trained are the same afterwards: a run may be trained on.
    """
    names = sorted(progress.snapshots)
    if config.training.average < 2 or len(names) < 2:
        return
    own = {name: tensor.clone() for name, tensor in named_weights(model).items()}
    put_weights(model, average_weights([folder / SNAPSHOTS / name for name in names]), where=str(folder / SNAPSHOTS))
    made_from = f"the average of updates {', '.join(str(int(name[5:13])) for name in names)}"
    try:
        seen = look() if config.data.valid else None
        score = seen.score(config.training.best_by) if seen else float("inf")
        better = progress.best_score is None or score >= progress.best_score
        shown = "" if seen is None else f": {_figures(seen)} in validation"
        say(f"{made_from}{shown}; {'it is the model now' if better else 'the best single one stays the model'}")
        if better:
            store_best(folder, config, model, tokenizers, progress, seen, made_from=made_from)
    finally:
        put_weights(model, own, where="the weights being trained")


def _figures(seen: Validation) -> str:
    bleu = "" if seen.bleu is None else f"BLEU {seen.bleu:.2f}, "
    return f"{bleu}loss {seen.loss:.4f}"

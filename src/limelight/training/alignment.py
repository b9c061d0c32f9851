"""Choose the heads that align words: at the end of a run, or for an existing model."""

from collections.abc import Callable
from pathlib import Path

import torch

from limelight.errors import UserError
from limelight.inspection.word_alignment import AlignmentHead
from limelight.pipelines.load import load_translator
from limelight.storage.layout import ALIGNMENT, BEST, find_model
from limelight.storage.tables import save_alignment
from limelight.text.words import words_and_signs
from limelight.training.confidence import Corpora

MIN_PAIRS = 20
"""With fewer pairs the choice is left to chance."""
MAX_CONSIDERED = 1000


def keep_alignment(run: Path, corpora: Corpora, say: Callable[[str], None], *, device: torch.device) -> None:
    """At the end of a run, choose the heads on the validation text, if there is enough.

    A failure is reported and is not one of the run. A model without cross-attention has no such heads.
    """
    if sum(map(len, corpora.values())) < MIN_PAIRS or not (run / BEST).is_dir():
        return
    try:
        _, heads, agreement = learn_alignment(run, corpora, device=device)
    except UserError:  # no cross-attention, or no fitting pair
        return
    except Exception as error:  # whatever it is, the run is done
        say(f"warning: the heads that align words could not be chosen ({type(error).__name__}: {error})")
        return
    say(f"heads that align words: {described(heads)}; agreement {agreement:.2f}")


def learn_alignment(
    model: str | Path, corpora: Corpora, *, device: torch.device | None = None
) -> tuple[Path, list[AlignmentHead], float]:
    """Write `alignment.json` to a model folder.

    Returns the file, the heads and their agreement. Raises `UserError` for a model without cross-attention
    and if no pair is usable.
    """
    translator = load_translator(model, device)
    several = len(translator.directions) > 1
    pairs = [
        ((words_and_signs(pair.source), words_and_signs(pair.target)), direction if several else None)
        for direction, some in corpora.items()
        for pair in some[:MAX_CONSIDERED]
    ]
    heads, agreement = translator.aligner.choose(pairs)
    path = find_model(model) / ALIGNMENT
    save_alignment(path, heads, {"agreement": round(agreement, 4)})
    return path, heads, agreement


def described(heads: list[AlignmentHead]) -> str:
    """`layer 0 head 2 (reading), layer 1 head 3 (predicting)`."""
    return ", ".join(
        f"layer {each.layer} head {each.head} ({'reading' if each.reads else 'predicting'})" for each in heads
    )

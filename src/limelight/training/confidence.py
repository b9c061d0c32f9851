"""Fit the confidence estimate of a translation model: at the end of a run, or for an existing model."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from limelight.config import Direction
from limelight.evaluation.confidence import (
    MIN_PAIRS,
    Errors,
    Examples,
    calibration_errors,
    examples_of,
    fit_examples,
)
from limelight.pipelines.load import load_translator
from limelight.storage.layout import BEST, CONFIDENCE, find_model
from limelight.storage.tables import save_confidence
from limelight.text.pair import Pair

MAX_AT_THE_END = 500
"""Maximum number of pairs that a run translates for this at its end."""

Corpora = Mapping[Direction, Sequence[Pair]]


def keep_confidence(run: Path, corpora: Corpora, say: Callable[[str], None], *, device: torch.device) -> None:
    """At the end of a run, fit the confidence of its model on the validation text, if there is enough.

    A failure is reported and is not one of the run: its model is complete without a confidence.
    """
    count = sum(len(pairs) for pairs in corpora.values())
    if count < MIN_PAIRS or not (run / BEST).is_dir():
        return
    most = MAX_AT_THE_END // len(corpora)
    say(f"fitting the confidence of the model on {min(count, most * len(corpora)):,} validation pairs")
    try:
        learn_confidence(run, corpora, most=most, device=device)
    except Exception as error:  # whatever it is, the run is done
        say(
            f"warning: the confidence of the model could not be fitted ({type(error).__name__}: {error}); its "
            "translations have none. `limelight calibrate` fits it on other text"
        )


def learn_confidence(
    model: str | Path,
    corpora: Corpora,
    *,
    test: Corpora | None = None,
    most: int = 3000,
    device: torch.device | None = None,
) -> tuple[Path, dict[str, Errors]]:
    """Write `confidence.json` to a model folder, fitted on at most `most` pairs of each direction.

    Returns the file and, measured on `test`, the expected calibration errors of sentences and of words. Raises
    `UserError` if there are too few pairs, `ValueError` if no usable weights are found.
    """
    translator = load_translator(model, device, threads=torch.get_num_threads())
    found = _examples(corpora, lambda pairs, direction: examples_of(translator, pairs, direction, most=most))
    confidence = fit_examples(found)
    tested = _examples(test or {}, lambda pairs, direction: examples_of(translator, pairs, direction, most=most))
    errors = calibration_errors(confidence, tested) if tested else {}
    notes = {"pairs": {name: len(each.good) for name, each in found.items()}, "calibration_error": errors}
    path = find_model(model) / CONFIDENCE
    save_confidence(path, confidence, notes)
    return path, errors


def _examples(corpora: Corpora, translated: Callable[[Sequence[Pair], Direction], Examples]) -> dict[str, Examples]:
    return {str(direction): translated(pairs, direction) for direction, pairs in corpora.items() if pairs}

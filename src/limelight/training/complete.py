"""What completes a translation model at the end of its run: the confidence estimate, the heads that align words, the
first look of the page, and the cost of int8. `limelight calibrate` does the first two for an existing model.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import torch

from limelight.config import Direction
from limelight.errors import UserError, fault_of
from limelight.evaluation.confidence import (
    MIN_PAIRS,
    Examples,
    calibration_errors,
    examples_of,
    fit_examples,
)
from limelight.evaluation.evaluate import evaluate_directions
from limelight.files import write_whole
from limelight.inference.linear import int8_kind
from limelight.pipelines.codec import names_of
from limelight.pipelines.explain import Question, explain
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.storage.layout import ALIGNMENT, BEST, CONFIDENCE, FIRST_LOOK, INT8_COST, find_model
from limelight.storage.tables import AlignmentHead, Heads, Int8Cost, save_table
from limelight.text.pair import Pair
from limelight.text.words import words_and_signs

MAX_AT_THE_END = 500
"""Maximum number of pairs that a run translates for this at its end."""

MIN_ALIGNED = 20
"""With fewer pairs the choice is left to chance."""
MAX_CONSIDERED = 1000
"""Maximum number of pairs of a direction from which heads are chosen, and on which int8 is measured."""

Corpora = Mapping[Direction, Sequence[Pair]]


def complete_model(run: Path, corpora: Corpora, say: Callable[[str], None], *, device: torch.device) -> None:
    """Complete the model of a run with the validation text, where that has enough pairs, except for what the model has
    already. The model is loaded once for each precision.

    A failure is reported and is not one of the run: its model is complete without them.
    """
    best, count = run / BEST, sum(map(len, corpora.values()))
    translator = cache(partial(load_translator, run, device, threads=torch.get_num_threads()))

    def fit() -> None:
        say("fitting the confidence of the model on validation pairs")
        learn_confidence(translator(), corpora, most=MAX_AT_THE_END // len(corpora))

    def choose() -> None:
        with suppress(UserError):  # a model without cross-attention has no such heads
            _, heads, agreement = learn_alignment(translator(), corpora)
            say(f"heads that align words: {described(heads)}; agreement {agreement:.2f}")

    def measure() -> None:
        say(f"int8 costs {learn_int8_cost(translator(), corpora):z.2f} BLEU on validation pairs")

    for file, least, work, failure in (
        (CONFIDENCE, MIN_PAIRS, fit, "confidence could not be fitted; `limelight calibrate` fits it on other text"),
        (ALIGNMENT, MIN_ALIGNED, choose, "heads that align words could not be chosen"),
        (FIRST_LOOK, MIN_ALIGNED, lambda: keep_first_look(translator(), corpora), "the first look of the page failed"),
        (INT8_COST, MIN_PAIRS if int8_kind() else math.inf, measure, "what int8 costs could not be measured"),
    ):
        if best.is_dir() and count >= least and not (best / file).exists():
            try:
                work()
            except Exception as error:  # whatever it is, the run is done
                say(f"warning: {failure} ({fault_of(error)})")


def keep_first_look(translator: Translator, corpora: Corpora) -> None:
    """Write `first-look.json` to the model folder: what the page shows of the first short source, if there is one."""
    texts = ((direction, pair.source) for direction, pairs in corpora.items() for pair in pairs)
    for direction, text in texts:
        if 4 <= len(text.split()) <= 14:
            look = explain(translator, Question(text, *names_of(direction)))
            return write_whole(find_model(translator.name) / FIRST_LOOK, json.dumps(look))


def learn_confidence(
    translator: Translator, corpora: Corpora, *, test: Corpora | None = None, most: int = 3000
) -> tuple[Path, dict[str, float]]:
    """Write `confidence.json` to the model folder, fitted on at most `most` pairs of each direction.

    Returns the file and, measured on `test`, the expected calibration errors. Raises
    `UserError` if there are too few pairs, `ValueError` if no usable weights are found.
    """

    def examples(texts: Corpora) -> dict[str, Examples]:
        return {
            str(direction): examples_of(translator, pairs, direction, count=most)
            for direction, pairs in texts.items()
            if pairs
        }

    learned, tested = examples(corpora), examples(test or {})
    translator.confidence = fit_examples(learned)
    errors = calibration_errors(translator.confidence, tested) if tested else {}
    notes = {
        "pairs": {name: len(of_direction.good) for name, of_direction in learned.items()},
        "calibration_error": errors,
    }
    path = find_model(translator.name) / CONFIDENCE
    save_table(path, translator.confidence, notes)
    return path, errors


def learn_alignment(translator: Translator, corpora: Corpora) -> tuple[Path, list[AlignmentHead], float]:
    """Write `alignment.json` to the model folder.

    Returns the file, the heads and their agreement. Raises `UserError` for a model without cross-attention
    and if no pair is usable.
    """
    several = len(translator.directions) > 1
    pairs = [
        ((words_and_signs(pair.source), words_and_signs(pair.target)), direction if several else None)
        for direction, of_direction in corpora.items()
        for pair in of_direction[:MAX_CONSIDERED]
    ]
    heads, agreement = translator.aligner.choose(pairs)
    translator.alignment_heads = heads
    path = find_model(translator.name) / ALIGNMENT
    save_table(path, Heads(heads=heads), {"agreement": round(agreement, 4)})
    return path, heads, agreement


def learn_int8_cost(translator: Translator, corpora: Corpora) -> float:
    """Write `int8.json` to the model folder: the BLEU that a greedy search in int8 on the CPU costs, mean over the
    directions."""
    model, threads, several = translator.name, torch.get_num_threads(), len(translator.directions) > 1
    measured = {direction if several else None: pairs[:MAX_CONSIDERED] for direction, pairs in corpora.items()}
    in_int8 = load_translator(model, torch.device("cpu"), precision="int8", threads=threads)
    exact, rounded = (evaluate_directions(each, measured, beam_size=1).mean["bleu"] for each in (translator, in_int8))
    pairs = {str(direction): min(len(of_direction), MAX_CONSIDERED) for direction, of_direction in corpora.items()}
    save_table(find_model(model) / INT8_COST, Int8Cost(bleu=exact - rounded), {"pairs": pairs})
    return exact - rounded


def described(heads: list[AlignmentHead]) -> str:
    """`layer 0 head 2 (reading), layer 1 head 3 (predicting)`."""
    return ", ".join(
        f"layer {head.layer} head {head.head} ({'reading' if head.reads else 'predicting'})" for head in heads
    )

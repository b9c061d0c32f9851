"""What completes a translation model at the end of its run: the confidence estimate, the heads that align words, the
first look of the page, and the cost of int8. `limelight calibrate` does the first two for an existing model.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from limelight.config import Direction
from limelight.errors import UserError
from limelight.evaluation.confidence import (
    MIN_PAIRS,
    Examples,
    calibration_errors,
    examples_of,
    fit_examples,
)
from limelight.evaluation.metrics import choose_tokenization, corpus_bleu
from limelight.files import write_whole
from limelight.inference.linear import int8_kind
from limelight.inspection.word_alignment import AlignmentHead
from limelight.pipelines.codec import names_of
from limelight.pipelines.explain import Question, explain
from limelight.pipelines.load import load_translator
from limelight.storage.layout import ALIGNMENT, BEST, CARD, CONFIDENCE, FIRST_LOOK, INT8_COST, find_model
from limelight.storage.tables import Head, Heads, Int8Cost, save_table
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
    already.

    A failure is reported and is not one of the run: its model is complete without them.
    """
    best, count = run / BEST, sum(map(len, corpora.values()))
    if best.is_dir() and count >= MIN_PAIRS and not (best / CONFIDENCE).exists():
        say("fitting the confidence of the model on validation pairs")
        with _reported(say, "confidence could not be fitted; `limelight calibrate` fits it on other text"):
            learn_confidence(run, corpora, most=MAX_AT_THE_END // len(corpora), device=device)
    if best.is_dir() and count >= MIN_ALIGNED and not (best / ALIGNMENT).exists():
        # a model without cross-attention has no such heads
        with _reported(say, "heads that align words could not be chosen"), suppress(UserError):
            _, heads, agreement = learn_alignment(run, corpora, device=device)
            say(f"heads that align words: {described(heads)}; agreement {agreement:.2f}")
    if best.is_dir() and count >= MIN_ALIGNED and not (best / FIRST_LOOK).exists():
        with _reported(say, "the first look of the page could not be stored"):
            keep_first_look(run, corpora, device=device)
    if best.is_dir() and count >= MIN_PAIRS and int8_kind() and not (best / INT8_COST).exists():
        with _reported(say, "what int8 costs could not be measured"):
            line = f"costs {learn_int8_cost(run, corpora):.2f} BLEU on validation pairs"
            say(f"int8 {line}")
            card = (best / CARD).read_text(encoding="utf-8")
            write_whole(best / CARD, card.replace("\n| seed |", f"\n| int8 | {line} |\n| seed |", 1))


def keep_first_look(model: str | Path, corpora: Corpora, *, device: torch.device | None = None) -> None:
    """Write `first-look.json` to a model folder: what the page shows of the first short source, if there is one."""
    texts = ((direction, pair.source) for direction, pairs in corpora.items() for pair in pairs)
    for direction, text in texts:
        if 4 <= len(text.split()) <= 14:
            found = explain(load_translator(model, device), Question(text, *names_of(direction)))
            return write_whole(find_model(model) / FIRST_LOOK, json.dumps(found))


@contextmanager
def _reported(say: Callable[[str], None], failure: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever it is, the run is done
        say(f"warning: {failure} ({type(error).__name__}: {error})")


def learn_confidence(
    model: str | Path,
    corpora: Corpora,
    *,
    test: Corpora | None = None,
    most: int = 3000,
    device: torch.device | None = None,
) -> tuple[Path, dict[str, float]]:
    """Write `confidence.json` to a model folder, fitted on at most `most` pairs of each direction.

    Returns the file and, measured on `test`, the expected calibration errors. Raises
    `UserError` if there are too few pairs, `ValueError` if no usable weights are found.
    """
    translator = load_translator(model, device, threads=torch.get_num_threads())

    def examples(some: Corpora) -> dict[str, Examples]:
        return {str(each): examples_of(translator, pairs, each, most=most) for each, pairs in some.items() if pairs}

    found, tested = examples(corpora), examples(test or {})
    confidence = fit_examples(found)
    errors = calibration_errors(confidence, tested) if tested else {}
    notes = {"pairs": {name: len(each.good) for name, each in found.items()}, "calibration_error": errors}
    path = find_model(model) / CONFIDENCE
    save_table(path, confidence, notes)
    return path, errors


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
    save_table(path, Heads(heads=[Head(*each) for each in heads]), {"agreement": round(agreement, 4)})
    return path, heads, agreement


def learn_int8_cost(model: str | Path, corpora: Corpora) -> float:
    """Write `int8.json` to a model folder: the BLEU that a greedy search in int8 costs, mean over the directions."""

    def bleu(precision: str) -> float:
        cpu, scores = torch.device("cpu"), []
        translator = load_translator(model, cpu, precision=precision, threads=torch.get_num_threads())
        for direction, pairs in corpora.items():
            some, (source_lang, target_lang) = pairs[:MAX_CONSIDERED], names_of(direction)
            found = translator.translate(
                [pair.source for pair in some], source_lang=source_lang, target_lang=target_lang, beam_size=1
            )
            references = [pair.target for pair in some]
            tokenize = choose_tokenization(references)
            scores.append(corpus_bleu([each.text for each in found], references, tokenize=tokenize).score)
        return sum(scores) / len(scores)

    cost = bleu("fp32") - bleu("int8")
    pairs = {str(direction): min(len(some), MAX_CONSIDERED) for direction, some in corpora.items()}
    save_table(find_model(model) / INT8_COST, Int8Cost(bleu=cost), {"pairs": pairs})
    return cost


def described(heads: list[AlignmentHead]) -> str:
    """`layer 0 head 2 (reading), layer 1 head 3 (predicting)`."""
    return ", ".join(
        f"layer {each.layer} head {each.head} ({'reading' if each.reads else 'predicting'})" for each in heads
    )

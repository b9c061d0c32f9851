"""Hypotheses to text: the last step of a translation."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from limelight.decoding.hypothesis import Hypothesis
from limelight.pipelines.confidence import estimated
from limelight.pipelines.paragraph import names_of
from limelight.pipelines.sentence import Prepared
from limelight.pipelines.translation import Translation
from limelight.storage.confidence import Confidence
from limelight.tokens import Tokenizers
from limelight.tokens.marked import decode_marked


def finish_sentence(
    prepared: Prepared, hypotheses: Sequence[Hypothesis], tokenizers: Tokenizers, confidence: Confidence | None
) -> Translation:
    """The best hypothesis as the translation of a sentence, the others as its alternatives. A blank text, for which
    there is nothing to find, becomes an empty one."""
    source_lang, target_lang = names_of(prepared.direction)
    empty = Translation(
        "", 0.0, (), 0.0, prepared.text, finished=True, source_lang=source_lang, target_lang=target_lang
    )
    if not hypotheses:
        return empty
    target = tokenizers.target
    decode_ids = partial(decode_marked, target) if prepared.marked else target.decode
    found = []
    for hypothesis in hypotheses:
        each = replace(
            empty,
            text=_one_line(decode_ids(hypothesis.ids)),
            score=hypothesis.score,
            tokens=tuple(target.pieces(hypothesis.ids)),
            log_probability=hypothesis.log_probability,
            finished=hypothesis.finished,
        )
        if confidence is not None:
            of_sentence, words = estimated(confidence, str(prepared.direction or ""), target, each, hypothesis)
            each = replace(each, confidence=of_sentence, words=words)
        found.append(each)
    return replace(found[0], alternatives=tuple(found[1:]))


def _one_line(text: str) -> str:
    """A line in has to be a line out."""
    return text.replace("\r", " ").replace("\n", " ")

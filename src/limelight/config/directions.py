"""Which languages a corpus translates between, as far as they are known: one direction for each model.

A model without language tags learns every pair it is given as the same task. Pairs of two directions in one model, or
validation in the other direction, make no error anywhere: they only make a bad model.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from limelight.config.run import Corpus
from limelight.errors import UserError

UNNAMED = {side: Corpus.model_fields[side].default for side in ("source", "target")}
"""What a side is called whose language nobody has named."""


def require_one_direction(corpora: Iterable[Corpus]) -> None:
    """Raises `UserError` for two corpora whose known languages differ on the same side, naming both."""
    first: dict[str, Corpus] = {}
    for corpus in corpora:
        for side in UNNAMED:
            if not _known(corpus, side):
                continue
            earlier = first.setdefault(side, corpus)
            if _known(earlier, side) != _known(corpus, side):
                raise UserError(
                    f"{_described(corpus)}, and {_described(earlier)}: a model translates in one direction. Give the "
                    "two files of each corpus in the same order and train a model for each direction; where a file "
                    "name is misleading, name the languages with --source and --target"
                )


def require_not_reversed(tests: Iterable[Corpus], trained: Sequence[Corpus]) -> None:
    """Raises `UserError` for a test set whose source is the target language of a model, or the other way round."""
    for test in tests:
        for corpus in trained:
            model = [_known(corpus, side) for side in UNNAMED]
            here = [_known(test, side) for side in UNNAMED]
            if model[0] != model[1] and any(one and one == other for one, other in zip(here, model[::-1], strict=True)):
                raise UserError(
                    f"{_described(test)}, and the model translates from {corpus.source} to {corpus.target}: give the "
                    "two files in the other order, or another model"
                )


def _known(corpus: Corpus, side: str) -> str:
    """The language of a side without region or script, in small letters: `pt` of `pt-BR`; empty where unknown."""
    language: str = getattr(corpus, side)
    if language == UNNAMED[side]:
        return ""
    return language.lower().replace("_", "-").partition("-")[0]


def _described(corpus: Corpus) -> str:
    names = " + ".join(Path(file).name for file in corpus.files)
    return f"{names} translates from {corpus.source} to {corpus.target}"

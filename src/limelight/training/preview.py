"""Preview of augmentation: the first pairs of a run, drawn as in training."""

import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from limelight.batching.drawing import augmented_pairs, stored_rows, texts_of, varied_rows
from limelight.config import RunConfig
from limelight.errors import UserError
from limelight.preparation.hold_out import plan_hold_out
from limelight.preparation.pairs import Prepared
from limelight.text.marks import show_marks
from limelight.tokens import Tokenizer
from limelight.tokens.marked import decode_marked
from limelight.training.directions import resolve_directions
from limelight.training.preflight import check_run
from limelight.training.tasks import prepare_data
from limelight.training.tasks.translation import stream_of

TOO_LONG = "too long, as stored"
"""Shown in place of the augmentations of a pair that would exceed `batching.max_length`."""


class Previewed(NamedTuple):
    """A pair as input to the model, decoded from its ids; marks are shown as `<ph0>`."""

    source: str
    target: str
    applied: tuple[str, ...]
    """The names of the augmentations that changed it."""


def preview(config: RunConfig, count: int, say: Callable[[str], None]) -> list[Previewed]:
    """The first `count` pairs of a run with this configuration. Data is prepared as for the run, in a temporary folder.

    Raises `UserError` as `train` does, and for a model that does not translate.
    """
    with tempfile.TemporaryDirectory(prefix="limelight-") as name:
        folder = Path(name) / "run"
        config = plan_hold_out(resolve_directions(config, folder), folder)
        check_run(config, folder)
        if not config.data.train:
            raise UserError("--preview shows pairs: give --train FILE (or two files)")
        folder.mkdir()
        prepared = prepare_data(config, folder, say)
        if not isinstance(prepared, Prepared):
            raise UserError("--preview shows augmented pairs: it needs a translation model")
        return list(islice(_drawn(config, prepared), count))


def _drawn(config: RunConfig, prepared: Prepared) -> Iterator[Previewed]:
    stream, (source, target) = stream_of(config, prepared, processes=0), prepared.tokenizers
    views, how = stream.views, stream.drawing
    for rows, seeds in stream.first_parts():
        augmented = augmented_pairs(views, rows, texts_of(views, rows), how, seeds[0])
        drawn = varied_rows(views, rows, prepared.tokenizers, how, seeds)
        stored = stored_rows(views, rows)
        for place, ((view, _), each) in enumerate(zip(rows, augmented, strict=True)):
            sides = drawn.sources[place], drawn.targets[place]
            as_stored = each.applied and np.array_equal(sides[0], stored.sources[place])
            yield Previewed(
                " ".join([*source.pieces(views[view].prefix), _shown(source, sides[0])]),
                _shown(target, sides[1]),
                (TOO_LONG,) if as_stored and np.array_equal(sides[1], stored.targets[place]) else each.applied,
            )


def _shown(tokenizer: Tokenizer, ids: np.ndarray) -> str:
    return show_marks(decode_marked(tokenizer, ids.tolist()))

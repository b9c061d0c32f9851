"""What a search is to the engine: hypotheses that are shown probabilities and say with which pieces they go on.

The hypotheses are arrays on the host. A step moves a few hundred small numbers about in some twenty operations, each of
which takes numpy a microsecond and torch five or ten; and the device has to be waited for once a step all the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from limelight.decoding.hypothesis import Hypothesis
from limelight.errors import RunError, UserError
from limelight.models.interface import Seq2Seq
from limelight.models.state import Integers, Living
from limelight.shapes import Float

Numbers = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


class Request(NamedTuple):
    """What is asked of the search of one sentence."""

    limit: int
    """Most pieces of a hypothesis, the end not counted. What goes on there is cut, and unfinished."""
    prefix: tuple[int, ...] = ()
    """Pieces every hypothesis begins with; a longer one raises the limit: what is forced is never cut."""
    first: int | None = None
    """The piece the decoder reads first, which is none of the hypothesis: the model's start id when not given."""


class Search(ABC):
    """`width` hypotheses of each of a number of sentences; those of a sentence are all of one length.

    A sentence has a place from `admit` on. Once it is decided its place is dead: it is carried along until another
    sentence takes it or `keep` leaves it out.
    """

    def __init__(self, width: int, *, start_id: int, end_id: int) -> None:
        self.width, self.start_id, self.end_id = width, start_id, end_id
        self.open = np.zeros(0, dtype=bool)
        """Which places hold a sentence that is not decided yet."""
        self.ids: Integers = np.zeros((0, width), dtype=np.int64)
        """The piece each hypothesis goes on with: what the model reads next."""
        self.positions: Integers = np.zeros(0, dtype=np.int64)
        """How many pieces the hypotheses of a sentence have."""
        self.limits: Integers = np.zeros(0, dtype=np.int64)
        self.pieces: Integers = np.zeros((0, width, 0), dtype=np.int64)
        self.log_probabilities: Numbers = np.zeros((0, width))
        self.prefixes: list[tuple[int, ...]] = []

    def admit(self, requests: Sequence[Request], places: Integers) -> None:
        """Sentences take these places: of others that are decided, or behind the last."""
        limits = np.array([max(request.limit, len(request.prefix)) for request in requests], dtype=np.int64)
        self._grow(int(places.max()) + 1, int(limits.max()) + 1)
        self.open[places] = True
        self.positions[places] = 0
        self.limits[places] = limits
        self.log_probabilities[places] = 0.0
        for place, request in zip(places, requests, strict=True):
            self.ids[place] = self.start_id if request.first is None else request.first
            self.prefixes[place] = request.prefix

    def keep(self, places: Integers) -> None:
        """These places alone, in this order."""
        self.open, self.ids, self.positions = self.open[places], self.ids[places], self.positions[places]
        self.limits, self.pieces = self.limits[places], self.pieces[places]
        self.log_probabilities = self.log_probabilities[places]
        self.prefixes = [self.prefixes[place] for place in places]

    def living(self) -> Living:
        """The hypotheses that are worth another step."""
        return Living.of(np.where(self.open, self.width, 0))

    @abstractmethod
    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"], living: Living, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        """Choose the next pieces, given what the model thinks of each (fp32 or better) after each living hypothesis.

        `ids` are those of a shortlist, one for each column, rising; without it the columns are the ids.

        Returns which hypothesis of its sentence each one continues, or None where each continues itself; and the places
        that have just been decided. Waits for the device once.
        """

    @abstractmethod
    def results(self, place: int) -> list[Hypothesis]:
        """What became of a decided sentence, best first."""

    def forced(self, ids: Integers | None) -> dict[int, int]:
        """The column of the piece that is prescribed now, for each place where one is."""
        pieces = {
            place: prefix[self.positions[place]]
            for place, prefix in enumerate(self.prefixes)
            if prefix and self.open[place] and self.positions[place] < len(prefix)
        }
        if ids is None:
            return pieces
        return {place: int(np.searchsorted(ids, piece)) for place, piece in pieces.items()}

    def _grow(self, batch: int, room: int) -> None:
        more, longer = max(0, batch - len(self.open)), max(0, room - self.pieces.shape[2])
        if more or longer:
            self.pieces = np.pad(self.pieces, ((0, more), (0, 0), (0, longer)))
        if more:
            self.open = np.pad(self.open, (0, more))
            self.ids = np.pad(self.ids, ((0, more), (0, 0)))
            self.positions, self.limits = np.pad(self.positions, (0, more)), np.pad(self.limits, (0, more))
            self.log_probabilities = np.pad(self.log_probabilities, ((0, more), (0, 0)))
            self.prefixes += [()] * more


def requests_for(model: Seq2Seq, max_lengths: Sequence[int], prefix: Sequence[Sequence[int]] | None) -> list[Request]:
    """A request for each limit. Raises `UserError` for another number of prefixes, and ids that cannot be pieces."""
    if prefix is None:
        return [Request(limit) for limit in max_lengths]
    if len(prefix) != len(max_lengths):
        raise UserError(
            f"{len(prefix)} prefixes for {len(max_lengths)} sources: give one for each, an empty one forces nothing"
        )
    for row, ids in enumerate(prefix):
        for piece in ids:
            if piece == model.end_id or not 0 <= piece < model.output_size:
                raise UserError(
                    f"prefix {row + 1} forces the id {piece}: a piece is an id from 0 to {model.output_size - 1} "
                    f"other than {model.end_id}, the end"
                )
    return [Request(limit, tuple(ids)) for limit, ids in zip(max_lengths, prefix, strict=True)]


def numbers(values: Tensor) -> Numbers:
    """On the host, in double precision, which not every GPU has."""
    return values.cpu().double().numpy()


def no_numbers() -> RunError:
    """What is wrong with a model whose predictions are no numbers."""
    return RunError(
        "what the model predicts is not a number (NaN), so nothing can be made of it: its weights are damaged, too "
        "large for the precision that was asked for, or of a training that diverged; take another checkpoint, or train "
        "it again with a lower training.learning_rate"
    )

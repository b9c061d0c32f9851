"""Greedy search: always the most probable piece. Also the form of every search that follows paths of their own."""

from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from limelight.decoding.engine import decode_batch
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.search import Integers, Numbers, Request, Search, no_numbers, numbers, requests_for
from limelight.decoding.top import most_probable
from limelight.models.interface import Seq2Seq
from limelight.models.state import Living
from limelight.shapes import Bool, Float, Int

Choose = Callable[[Float[Tensor, "rows vocab"]], Int[Tensor, " rows"]]
"""Log-probabilities of a step (fp32 or better) to the column with which each hypothesis goes on."""


def greedy_search(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    *,
    max_lengths: Int[Tensor, " batch"],
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """The hypothesis of each source that takes the most probable piece at every step; of equal ones the lower id.

    Args:
        source: source ids, each row with its end, padded.
        max_lengths: most pieces of each row, the end not counted. A row that has so many and does not end there is
            returned as it is, with `finished=False`.
        prefix: target pieces each row has to begin with, without start and end; a longer one raises the row's limit.

    Raises `UserError` for prefixes that do not fit.
    """
    search = PathSearch(1, choose=most_probable, start_id=model.start_id, end_id=model.end_id)
    requests = requests_for(model, max_lengths.tolist(), prefix)
    return [found[0] for found in decode_batch(model, search, source, source_valid, requests)]


class PathSearch(Search):
    """`width` hypotheses of each sentence that know nothing of one another, extended by what `choose` picks.

    One that has ended is carried along until all of its sentence have.
    """

    def __init__(self, width: int, *, choose: Choose, start_id: int, end_id: int) -> None:
        super().__init__(width, start_id=start_id, end_id=end_id)
        self.choose = choose
        self.lengths: Integers = np.zeros((0, width), dtype=np.int64)
        """How many pieces a hypothesis has that has come to its end; -1 while it goes on."""
        self.ended = np.zeros((0, width), dtype=bool)
        """Whether it came there by itself."""

    def admit(self, requests: Sequence[Request], places: Integers) -> None:
        more = max(0, int(places.max()) + 1 - len(self.lengths))
        self.lengths, self.ended = (np.pad(each, ((0, more), (0, 0))) for each in (self.lengths, self.ended))
        super().admit(requests, places)
        self.lengths[places], self.ended[places] = -1, False

    def keep(self, places: Integers) -> None:
        super().keep(places)
        self.lengths, self.ended = self.lengths[places], self.ended[places]

    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"], living: Living, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        rows = np.flatnonzero(self.open)
        columns, gained = self._chosen(log_probabilities, living, self.forced(ids))
        pieces, positions = columns if ids is None else ids[columns], self.positions[rows]
        going_on = self.lengths[rows] < 0
        ended = going_on & (pieces == self.end_id)
        cut = going_on & ~ended & (positions == self.limits[rows])[:, None]

        self.log_probabilities[rows] += np.where(going_on & ~cut, gained, 0.0)
        self.pieces[rows, :, positions] = pieces
        self.lengths[rows] = np.where(ended | cut, positions[:, None], self.lengths[rows])
        self.ended[rows] |= ended
        self.positions[rows] += 1
        self.ids[rows] = pieces
        decided = rows[(self.lengths[rows] >= 0).all(axis=1)]
        self.open[decided] = False
        return None, decided

    def _chosen(self, log_probabilities: Tensor, living: Living, forced: dict[int, int]) -> tuple[Integers, Numbers]:
        """The column of every hypothesis' next piece, and what the model thinks of it: (open sentences, width)."""
        columns = self.choose(log_probabilities)
        for place, column in forced.items():
            columns[living.firsts[place] : living.firsts[place + 1]] = column
        gained = numbers(log_probabilities.gather(-1, columns[:, None]))
        if np.isnan(gained).any():  # one NaN among the logits of a row makes all of its log-probabilities so
            raise no_numbers()
        return columns.cpu().numpy().reshape(-1, self.width), gained.reshape(-1, self.width)

    def results(self, place: int) -> list[Hypothesis]:
        """All of them, best first."""
        found = [
            Hypothesis(tuple(ids[:length].tolist()), float(log_probability), float(log_probability), bool(ended))
            for ids, length, log_probability, ended in zip(
                self.pieces[place], self.lengths[place], self.log_probabilities[place], self.ended[place], strict=True
            )
        ]
        return sorted(found, key=lambda hypothesis: -hypothesis.score)

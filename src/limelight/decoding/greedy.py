"""Searches with independent hypotheses: greedy search, which takes the most probable token, and sampling."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from limelight.decoding.host import Integers, numbers
from limelight.decoding.request import Hypothesis, Request
from limelight.decoding.sampling import Cuts, draw
from limelight.decoding.search import Search
from limelight.decoding.utf8 import Utf8
from limelight.models.interface import Active
from limelight.shapes import Float, Int


class PathSearch(Search):
    """`width` independent hypotheses of each request: sampled if the request has a `sampling`, else the most probable
    tokens; among equal ones the lower id.

    A finished hypothesis keeps its row until all hypotheses of its request are finished.
    """

    ARRAYS = (*Search.ARRAYS, "lengths", "ended")
    LISTS = (*Search.LISTS, "generators")

    def __init__(self, width: int, *, start_id: int, end_id: int, classes: int, utf8: Utf8 | None = None) -> None:
        super().__init__(width, start_id=start_id, end_id=end_id, classes=classes, utf8=utf8)
        self.lengths: Integers = np.zeros((0, width), dtype=np.int64)
        """Number of tokens of each finished hypothesis; -1 while it is active."""
        self.ended = np.zeros((0, width), dtype=bool)
        """Whether a hypothesis finished with the end token, and not at its length limit."""
        self.generators: list[np.random.Generator | None] = []
        """The random generator of each request that samples."""

    def admit(self, requests: Sequence[Request], slots: Integers) -> None:
        super().admit(requests, slots)
        self.lengths[slots], self.ended[slots] = -1, False
        for slot, request in zip(slots.tolist(), requests, strict=True):
            sampling = request.settings.sampling
            self.generators[slot] = None if sampling is None else sampling.generator(request.substream)

    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        slots = np.flatnonzero(self.open)
        chosen = self._choose(log_probabilities, slots)
        gained = numbers(log_probabilities.gather(-1, chosen[:, None])).reshape(-1, self.width)
        columns = chosen.cpu().numpy().reshape(-1, self.width)
        tokens = columns if ids is None else np.take_along_axis(ids[slots], columns, axis=1)
        sound = self._close_unsound(slots, gained)
        if len(sound) < len(slots):
            among = np.isin(slots, sound)
            slots, gained, tokens = sound, gained[among], tokens[among]

        positions = self.positions[slots]
        going_on = self.lengths[slots] < 0
        ended = going_on & (tokens == self.end_id)
        cut = going_on & ~ended & (positions == self.limits[slots])[:, None]
        self.log_probabilities[slots] += np.where(going_on & ~cut, gained, 0.0)
        self.tokens[slots, :, positions] = tokens
        self.sums[slots, :, positions] = self.log_probabilities[slots]
        self.lengths[slots] = np.where(ended | cut, positions[:, None], self.lengths[slots])
        self.ended[slots] |= ended
        self.positions[slots] += 1
        self._note_forced(slots)
        self.ids[slots] = tokens
        decided = slots[(self.lengths[slots] >= 0).all(axis=1)]
        self.open[decided] = False
        return None, decided

    def _choose(self, log_probabilities: Float[Tensor, "rows vocab"], slots: Integers) -> Int[Tensor, " rows"]:
        """The column that each hypothesis chooses. Requests with the same cuts are sampled together."""
        if not any(self.generators):
            return log_probabilities.argmax(dim=-1)  # the first maximum
        alike: dict[Cuts | None, list[int]] = {}
        for place, slot in enumerate(slots.tolist()):
            sampling = self.requests[slot].settings.sampling
            alike.setdefault(None if sampling is None else sampling.cuts, []).append(place)
        columns = torch.empty(len(slots), self.width, dtype=torch.int64, device=log_probabilities.device)
        table = log_probabilities.unflatten(0, (len(slots), self.width))
        for cuts, places in alike.items():
            rows = table[places].flatten(0, 1)
            chosen = rows.argmax(dim=-1) if cuts is None else draw(rows, cuts, self._uniform(slots[places], rows))
            columns[places] = chosen.view(-1, self.width)
        return columns.flatten()

    def _uniform(self, slots: Integers, rows: Tensor) -> Float[Tensor, " rows"]:
        """A number in [0, 1) for each hypothesis of these requests, drawn from its request's own generator."""
        drawn = np.empty((len(slots), self.width))
        for row, slot in zip(drawn, slots, strict=True):
            generator = self.generators[slot]
            assert generator is not None
            generator.random(out=row)
        exact = torch.float32 if rows.device.type == "mps" else torch.float64  # Apple's GPUs have no float64
        return torch.from_numpy(drawn).flatten().to(exact).to(rows.device)

    def results(self, slot: int) -> list[Hypothesis]:
        """All hypotheses of a request, best first."""
        found = (self._row(slot, row, int(self.lengths[slot, row])) for row in range(self.width))
        return sorted(found, key=lambda hypothesis: -hypothesis.score)

    def partial(self, slot: int, since: int) -> Hypothesis:
        best = int(self.log_probabilities[slot].argmax())
        length = int(self.lengths[slot, best])
        return self._row(slot, best, length if length >= 0 else int(self.positions[slot]), since)

    def _row(self, slot: int, row: int, length: int, since: int = 0) -> Hypothesis:
        finished, log_probability = bool(self.ended[slot, row]), float(self.log_probabilities[slot, row])
        return self.hypothesis(slot, row, length, log_probability, finished=finished, since=since)

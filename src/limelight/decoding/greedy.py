"""Searches with independent hypotheses: greedy search, which takes the most probable token, and sampling."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from limelight.decoding.host import Integers, NotANumberError, Numbers, numbers
from limelight.decoding.request import Hypothesis, Request
from limelight.decoding.sampling import Cuts, draw
from limelight.decoding.search import Search, gains, grown
from limelight.decoding.top import most_probable
from limelight.decoding.utf8 import Utf8
from limelight.models.interface import Active, Ranking
from limelight.shapes import Float


class PathSearch(Search):
    """`width` independent hypotheses of each request: sampled if the request has a `sampling`, else the most probable
    tokens; among equal ones the lower id.

    A finished hypothesis keeps its place until all hypotheses of its request are finished.
    """

    def __init__(self, width: int, *, start_id: int, end_id: int, classes: int, utf8: Utf8 | None = None) -> None:
        super().__init__(width, start_id=start_id, end_id=end_id, classes=classes, utf8=utf8)
        self.lengths: Integers = np.zeros((0, width), dtype=np.int64)
        """Number of tokens of each finished hypothesis; -1 while it is active."""
        self.ended = np.zeros((0, width), dtype=bool)
        """Whether a hypothesis finished with the end token, and not at its length limit."""
        self.generators: list[np.random.Generator | None] = []
        """The random generator of each request that samples."""

    def admit(self, requests: Sequence[Request], slots: Integers) -> None:
        more = max(0, int(slots.max()) + 1 - len(self.lengths))
        sizes = len(self.lengths) + more, self.width
        self.lengths, self.ended = grown(self.lengths, *sizes), grown(self.ended, *sizes)
        self.generators += [None] * more
        super().admit(requests, slots)
        self.lengths[slots], self.ended[slots] = -1, False
        for slot, request in zip(slots, requests, strict=True):
            sampling = request.settings.sampling
            self.generators[slot] = None if sampling is None else sampling.generator(request.substream)

    def keep(self, slots: Integers) -> None:
        super().keep(slots)
        self.lengths, self.ended = self.lengths[slots], self.ended[slots]
        self.generators = [self.generators[slot] for slot in slots]

    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"] | Ranking, active: Active, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        slots = np.flatnonzero(self.open)
        columns, gained = self._chosen(log_probabilities, active, slots, ids)
        tokens = columns if ids is None else np.take_along_axis(ids[slots], columns, axis=1)
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

    def _chosen(
        self, log_probabilities: Tensor | Ranking, active: Active, slots: Integers, ids: Integers | None
    ) -> tuple[Integers, Numbers]:
        """The column of the next token of each hypothesis, and its log-probability: (open slots, width) each."""
        if isinstance(log_probabilities, Ranking):
            if not any(self.generators) and not self.forced(ids):
                most = log_probabilities.most_probable()
                found = most.ids.reshape(-1, self.width), most.log_probabilities.reshape(-1, self.width)
                if not self.invalid(slots, found[0]):
                    return found
            log_probabilities = log_probabilities[:]

        def rows(slot: int) -> slice:
            return slice(*active.firsts[slot : slot + 2].tolist())

        sampled = set[int]()
        if any(self.generators):
            sampled = {slot for slot in slots.tolist() if self.generators[slot] is not None}
        for slot in sampled:  # before the draw, and not after it: a repeated draw would have another distribution
            self.keep_valid(slot, log_probabilities[rows(slot)], ids)
        columns, forced = self._choose(log_probabilities, slots), self.forced(ids)
        for slot, column in forced.items():
            columns[rows(slot)] = column
        found = _read(log_probabilities, columns, self.width)
        tokens = found[0] if ids is None else np.take_along_axis(ids[slots], found[0], axis=1)
        invalid = self.invalid(slots, tokens) - sampled - forced.keys()
        for slot in invalid:
            self.keep_valid(slot, log_probabilities[rows(slot)], ids)
            columns[rows(slot)] = most_probable(log_probabilities[rows(slot)])
        return _read(log_probabilities, columns, self.width) if invalid else found

    def _choose(self, log_probabilities: Float[Tensor, "rows vocab"], slots: Integers) -> Tensor:
        """(rows,): the column that each hypothesis chooses, before tokens are forced. Requests with the same cuts are
        sampled together."""
        if not any(self.generators):
            return most_probable(log_probabilities)
        alike: dict[Cuts | None, list[int]] = {}
        for place, slot in enumerate(slots.tolist()):
            sampling = self.request(slot).settings.sampling
            alike.setdefault(None if sampling is None else sampling.cuts, []).append(place)
        if log_probabilities[:, 0].isnan().any():  # before any draw: those of other requests must not change
            raise NotANumberError
        columns = torch.empty(len(slots), self.width, dtype=torch.int64, device=log_probabilities.device)
        table = log_probabilities.unflatten(0, (len(slots), self.width))
        for cuts, places in alike.items():
            rows = (table if len(places) == len(slots) else table[places]).flatten(0, 1)
            chosen = most_probable(rows) if cuts is None else draw(rows, cuts, self._uniform(slots[places], rows))
            columns[places] = chosen.view(-1, self.width)
        return columns.flatten()

    def _uniform(self, slots: Integers, rows: Tensor) -> Tensor:
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
        found = [
            replace(
                self._hypothesis(slot, number, ids[: max(length, 0)].tolist()),
                log_probabilities=gains(sums[: max(length, 0) + ended].tolist()),
            )
            for number, (ids, sums, length, ended) in enumerate(
                zip(self.tokens[slot], self.sums[slot], self.lengths[slot], self.ended[slot], strict=True)
            )
        ]
        return sorted(found, key=lambda hypothesis: -hypothesis.score)

    def partial(self, slot: int, since: int) -> Hypothesis:
        best = int(self.log_probabilities[slot].argmax())
        length = self.lengths[slot, best] if self.lengths[slot, best] >= 0 else self.positions[slot]
        return self._hypothesis(slot, best, self.tokens[slot, best, since:length].tolist(), since)

    def _hypothesis(self, slot: int, number: int, ids: list[int], before: int = 0) -> Hypothesis:
        """Greedy search has the score that beam search would give; the score of samples is not normalized."""
        log_probability, finished = float(self.log_probabilities[slot, number]), bool(self.ended[slot, number])
        sampled, tokens = self.request(slot).settings.sampling is not None, before + len(ids) + finished
        score = self.score(slot, log_probability, 0 if sampled else tokens)
        return Hypothesis(tuple(ids), score, log_probability, finished)


def _read(log_probabilities: Tensor, columns: Tensor, width: int) -> tuple[Integers, Numbers]:
    """The columns and their log-probabilities on the host, (open slots, width) each."""
    gained = numbers(log_probabilities.gather(-1, columns[:, None]))
    if np.isnan(gained).any():  # one NaN logit makes all log-probabilities of its row NaN
        raise NotANumberError
    return columns.cpu().numpy().reshape(-1, width), gained.reshape(-1, width)

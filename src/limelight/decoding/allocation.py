"""Dynamic beam allocation: lexically constrained beam search.

Post and Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam Allocation for Neural Machine Translation":
hypotheses are grouped into banks by how many tokens of the phrases they contain, and each bank has a share of the beam.
So a hypothesis that already contains a phrase does not compete with those that do not. Phrases may have several forms,
as in Hu et al. 2019. A hypothesis ends only when it contains all phrases.

Different from the paper: a hypothesis that cannot complete its phrases within the length limit is not a candidate, and
one that certainly can is always kept. So all phrases are contained with every beam size, unless rules
forbid them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from limelight.decoding.constraints import Needs, Phrase, Progress
from limelight.decoding.host import Integers, Numbers, numbers
from limelight.decoding.top import top_logits_with_ties
from limelight.shapes import Float
from limelight.tokens.tokenizer import END


class Candidate(NamedTuple):
    """A hypothesis with one more token."""

    score: float
    """Its log-probability."""
    parent: int
    column: int
    gained: float
    """The log-probability of the token alone."""
    needs: Needs
    ends: bool


class Allocation:
    """The phrases of a request, and the progress of its active hypotheses."""

    def __init__(self, phrases: Sequence[Phrase], width: int) -> None:
        self.width = width
        self._progress = Progress(phrases)
        self._banks = self._progress.begin.missing + 1
        self.needs = [self._progress.begin] * width
        """The needs of each active hypothesis."""

    def choose(
        self, log_probabilities: Float[Tensor, "rows vocab"], before: Numbers, room: int, ids: Integers | None
    ) -> tuple[Numbers, Integers, Integers]:
        """The chosen continuations: log-probability, parent, column. First those that end, then those that do not, at
        most `width` of each, best first.

        `before` are the log-probabilities of the active hypotheses, `room` is how many more tokens they may have, `ids`
        are the ascending ids of the columns; None if the columns are the ids.
        """
        candidates = self._candidates(log_probabilities, before, ids)
        possible = [candidate for candidate in candidates if candidate.ends or candidate.needs.least < room]
        if room > 0 and not possible:  # rules permit only the end
            possible = self._endings(log_probabilities, before, ids)
        chosen = self._shared_out(possible)
        ending = [possible[index] for index in chosen if possible[index].ends]
        others = [candidate for candidate in possible if not candidate.ends]
        going_on = [others[index] for index in self._shared_out(others)]
        sure = [candidate for candidate in others if candidate.needs.most < room]
        if sure and not any(candidate.needs.most < room for candidate in going_on):
            going_on[-1] = sure[0]
        going_on.sort(key=_rank)
        self.needs[: len(going_on)] = [candidate.needs for candidate in going_on]
        rows = [(candidate.gained, candidate.parent, candidate.column) for candidate in ending + going_on]
        gained, parents, columns = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        return gained, parents.astype(np.int64), columns.astype(np.int64)

    def _candidates(self, log_probabilities: Tensor, before: Numbers, ids: Integers | None) -> list[Candidate]:
        """The most probable tokens of each hypothesis, those that it needs, and its end if it needs none; best first.

        For each hypothesis one more than the beam size is enough, as one may be its end."""
        top = top_logits_with_ties(log_probabilities, self.width + 1).ids.cpu().numpy()
        rows, columns = list[int](), list[int]()
        for row, likely in enumerate(top.tolist()):
            needs = self.needs[row]
            tokens = self._progress.wanted(needs.states) | (set() if needs.missing else {END})
            wanted = tokens if ids is None else np.searchsorted(ids, sorted(tokens)).tolist()
            own = sorted({*likely, *wanted})
            rows += [row] * len(own)
            columns += own
        gained = numbers(log_probabilities[rows, columns])
        scores = gained + before[rows]
        candidates = list[Candidate]()
        for row, column, gain, score in zip(rows, columns, gained.tolist(), scores.tolist(), strict=True):
            token = column if ids is None else int(ids[column])
            ends = token == END
            if score == -np.inf or (ends and self.needs[row].missing):
                continue
            needs = self.needs[row] if ends else self._progress.after(self.needs[row].states, token)
            candidates.append(Candidate(score, row, column, gain, needs, ends))
        return sorted(candidates, key=_rank)

    def _endings(self, log_probabilities: Tensor, before: Numbers, ids: Integers | None) -> list[Candidate]:
        """The end of each hypothesis for which it is possible, whatever phrases it lacks."""
        column = END if ids is None else int(np.searchsorted(ids, END))
        gained = numbers(log_probabilities[:, column]).tolist()
        rows = zip(gained, before.tolist(), self.needs, strict=False)
        ends = [Candidate(gain + old, row, column, gain, needs, True) for row, (gain, old, needs) in enumerate(rows)]
        return sorted((end for end in ends if end.score > -np.inf), key=_rank)

    def _shared_out(self, candidates: Sequence[Candidate]) -> list[int]:
        """Indices of the chosen candidates: the share of each bank, the most complete bank first, then the best of the
        rest."""
        banks: dict[int, list[int]] = {}
        for index, candidate in enumerate(candidates):
            banks.setdefault(candidate.needs.missing, []).append(index)
        share = max(1, self.width // self._banks)
        chosen = list[int]()
        for missing in sorted(banks):
            chosen += banks[missing][: min(share, self.width - len(chosen))]
        rest = sorted({*range(len(candidates))} - {*chosen})
        return sorted(chosen + rest[: self.width - len(chosen)])


def _rank(candidate: Candidate) -> tuple[float, int, int]:
    """Sort key: best first, ties by parent, then column."""
    return -candidate.score, candidate.parent, candidate.column

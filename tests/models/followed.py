"""A state beside what each of its hypotheses has read, so that it is known what every step must give."""

import random
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from limelight.batching.batch import pad_rows
from limelight.models.interface import Active, Seq2Seq, State
from limelight.models.transformer.halves import DecoderOnly
from tests.models.helpers import batch_as_it_stands, random_rows

EXACT = 1e-9


def assert_same(one: Tensor, other: Tensor, tolerance: float = EXACT) -> None:
    torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def random_sources(model: Seq2Seq, lengths: Sequence[int]) -> list[list[int]]:
    """So many tokens, and the end; a prompt has none, and one token less: it may be empty."""
    if isinstance(model, DecoderOnly):
        return random_rows([length - 1 for length in lengths], model.source_padding + 1)
    return [[*row, model.end_id] for row in random_rows(lengths, model.source_padding + 1)]


def begun(model: Seq2Seq, sources: list[list[int]], width: int) -> State:
    return model.start(model.encode(*pad_rows(sources, model.source_padding)), width)


class Followed:
    """Every step is held to what `truth`, the model itself unless another is given, makes of the source and all the
    tokens of each hypothesis at once."""

    def __init__(
        self,
        model: Seq2Seq,
        sources: list[list[int]],
        width: int,
        *,
        truth: Seq2Seq | None = None,
        tolerance: float = EXACT,
    ) -> None:
        self.model, self.width, self.truth, self.tolerance = model, width, truth or model, tolerance
        self.state = begun(model, sources, width)
        self.sources: list[list[int] | None] = list(sources)
        """None where a sentence is dead: what comes out there does not matter."""
        self.read: list[list[list[int]]] = [[[] for _ in range(width)] for _ in sources]
        self.active = [width] * len(sources)
        """How many hypotheses of each sentence are still read: its first ones."""

    @classmethod
    def at_random(cls, model: Seq2Seq, seed: int, **how: object) -> "Followed":
        """Two sentences, of one to three hypotheses; the seed decides that and how they live."""
        random.seed(seed)
        return cls(model, random_sources(model, (3, 5)), random.choice((1, 2, 3)), **how)

    def step(self) -> None:
        """Every active hypothesis reads a token, if there is any; those that have just begun read the start."""
        if not any(self.active):
            return
        for hypotheses in self.read:
            for pieces in hypotheses:
                pieces.append(int(torch.randint(1, self.model.target_padding, ())) if pieces else self.model.start_id)
        last = torch.tensor([[pieces[-1] for pieces in hypotheses] for hypotheses in self.read])
        active = Active(np.array(self.active))
        features, self.state = self.model.step_some(last, self.state, active)
        assert len(features) == sum(self.active)
        # What was read without the start is a target; the features behind its last token predict what comes next.
        alive = [
            (int(active.firsts[row]) + column, source, self.read[row][column][1:])
            for row, source in enumerate(self.sources)
            if source is not None
            for column in range(self.active[row])
        ]
        if alive:
            rows, sources, targets = zip(*alive, strict=True)
            expected = self.truth(batch_as_it_stands(self.truth, list(sources), list(targets)))
            last = [len(target) for target in targets]
            assert_same(features[list(rows)], expected[torch.arange(len(last)), last], self.tolerance)

    def thin(self) -> None:
        """Some hypotheses are given up, and all of the sentences that are dead."""
        self.active = [
            random.randint(1, active) if source is not None else 0
            for active, source in zip(self.active, self.sources, strict=True)
        ]

    def reorder(self) -> None:
        """Every hypothesis goes on from one that lives."""
        parents = torch.tensor([random.choices(range(max(1, active)), k=self.width) for active in self.active])
        self.active = [self.width if active else 0 for active in self.active]
        self.state = self.state.reorder(parents)
        self.read = [
            [list(hypotheses[parent]) for parent in chosen]
            for hypotheses, chosen in zip(self.read, parents.tolist(), strict=True)
        ]

    def keep(self, rows: list[int]) -> None:
        self.state = self.state.keep(torch.tensor(rows))
        self.sources = [self.sources[row] for row in rows]
        self.read = [[list(pieces) for pieces in self.read[row]] for row in rows]
        self.active = [self.active[row] for row in rows]

    def admit(self, sources: list[list[int]], places: list[int]) -> None:
        self.state = self.state.admit(begun(self.model, sources, self.width), torch.tensor(places))
        more = max(0, max(places) + 1 - len(self.sources))
        self.sources += [None] * more
        self.read += [[] for _ in range(more)]
        self.active += [0] * more
        for source, place in zip(sources, places, strict=True):
            self.sources[place], self.read[place] = source, [[] for _ in range(self.width)]
            self.active[place] = self.width

    def release(self, rows: list[int]) -> None:
        self.state = self.state.release(torch.tensor(rows))
        for row in rows:
            self.sources[row] = None

    def live(self, steps: int) -> None:
        """Steps, and between them whatever a state can do, in an order that Python's `random` decides."""
        for _ in range(steps):
            self.step()
            deed = random.choice(("reorder", "keep", "admit", "release", "thin", "nothing"))
            rows = len(self.sources)
            if deed == "reorder":
                self.reorder()
            elif deed == "keep":
                self.keep(random.choices(range(rows), k=random.randint(1, rows)))  # one kept twice goes two ways
            elif deed == "release":
                self.release([random.randrange(rows)])
            elif deed == "thin":
                self.thin()
            elif deed == "admit":
                count = random.randint(1, 3)
                free = random.sample(range(rows), random.randint(0, min(rows, count)))
                places = free + list(range(rows, rows + count - len(free)))
                self.admit(random_sources(self.model, [random.randint(1, 8) for _ in places]), places)

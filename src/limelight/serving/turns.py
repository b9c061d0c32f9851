"""Two engines of one model in one thread, which take turns: what is short does not wait for what is long.

A step of an engine takes longer the more it decodes. Beside the sentences of a long document, every step of a single
sentence would take as long as theirs. So they are decoded apart, and share the time.
"""

import time
from collections.abc import Callable

from limelight.decoding.engine import Engine, Outcome
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request

SHARE = 4
"""Long requests get one part in so many of the time while there are short ones."""

FEW_ROWS = 64
"""Hypotheses of long requests that are decoded together while short ones come: what a single step costs."""

FEW_TOKENS = 64
"""Source tokens of long requests that join in a single step then."""

RECENT = 64
"""For so many steps after the last short request: a client sends its next one when it has the answer."""


class Turns:
    """Requests of two classes, decoded as `Engine` does; the answers are the same whatever the turns.

    Args:
        engine: makes an engine; called twice.
        clock: seconds.
    """

    def __init__(self, engine: Callable[[], Engine], clock: Callable[[], float] = time.perf_counter) -> None:
        self.short, self.long = engine(), engine()
        self._clock = clock
        self._earned = self._cost = 0.0
        """Seconds that long requests may use now, and those that their last step took."""
        self._recent = 0

    def submit(self, request: Request, *, long: bool = False, followed: bool = False) -> int:
        """See `Engine.submit`."""
        return 2 * (self.long if long else self.short).submit(request, followed=followed) + long

    def cancel(self, number: int) -> bool:
        """See `Engine.cancel`."""
        return self._of(number).cancel(number // 2)

    def partial(self, number: int) -> Hypothesis | None:
        """See `Engine.partial`."""
        return self._of(number).partial(number // 2)

    def certain(self, number: int) -> tuple[int, ...]:
        """See `Engine.certain`."""
        return self._of(number).certain(number // 2)

    @property
    def busy(self) -> bool:
        """Whether there is anything left to do."""
        return self.short.busy or self.long.busy

    def step(self) -> list[Outcome]:
        """A step of the engine whose turn it is."""
        began, long = self._clock(), self._turn_of_long()
        if not long:
            outcomes = self.short.step()
            self._recent = RECENT
            self._earned += (self._clock() - began) / (SHARE - 1) if self.long.busy else -self._earned
        elif self._recent:
            outcomes = self.long.step(max_rows=FEW_ROWS, max_joining=FEW_TOKENS)
            self._recent -= 1
        else:
            outcomes = self.long.step()
        if long:
            self._cost = self._clock() - began
            self._earned = max(0.0, self._earned - self._cost)
        return [outcome._replace(id=2 * outcome.id + long) for outcome in outcomes]

    def _turn_of_long(self) -> bool:
        return self.long.busy and (not self.short.busy or self._earned > self._cost)

    def _of(self, number: int) -> Engine:
        return self.long if number % 2 else self.short

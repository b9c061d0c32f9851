"""A text on its way to a translation: which requests have to be decoded now, and what follows from their answers.

Whoever decodes, `Translator.translate` or a scheduler that serves many clients, does the same with a job:

    while job.requests:
        job.receive([hypotheses of each request, in their order])
    job.translation

A job is a generator inside: it yields requests, is sent what was found, and returns the translation. So a sentence can
be searched again, with other settings, without a word about it in any engine or scheduler.
"""

from collections.abc import Generator, Sequence
from typing import TypeVar

from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.pipelines.translation import Translation

Result = TypeVar("Result")
Found = list[Hypothesis]
"""What an engine found for one request, best first."""

Steps = Generator[list[Request], Sequence[Found], Result]
"""Yields requests, is sent what was found for each of them, and returns a result."""


class Job:
    """One text. `requests` wait to be decoded; where there are none, `translation` is there."""

    def __init__(self, steps: Steps[Translation]) -> None:
        self._steps = steps
        self.requests: list[Request] = []
        self.translation: Translation | None = None
        self._advance(None)

    def receive(self, found: Sequence[Found]) -> None:
        """What was found for each of `requests`, in their order; afterwards there are others, or a translation."""
        if len(found) != len(self.requests):
            raise ValueError(f"{len(found)} answers to {len(self.requests)} requests")
        if self.requests:  # else it is done, and stays so
            self._advance(found)

    def _advance(self, found: Sequence[Found] | None) -> None:
        try:
            self.requests = next(self._steps) if found is None else self._steps.send(found)
        except StopIteration as end:
            self.requests, self.translation = [], end.value


def side_by_side(several: Sequence[Steps[Result]]) -> Steps[list[Result]]:
    """Several generators as one: the requests that all of them wait for are yielded together."""
    results: list[Result | None] = [None] * len(several)
    waiting: dict[int, list[Request]] = {}

    def advance(place: int, found: Sequence[Found] | None) -> None:
        waiting.pop(place, None)
        try:
            waiting[place] = next(several[place]) if found is None else several[place].send(found)
        except StopIteration as end:
            results[place] = end.value

    for place in range(len(several)):
        advance(place, None)
    while waiting:
        asked = dict(sorted(waiting.items()))
        answers = iter((yield [request for requests in asked.values() for request in requests]))
        for place, requests in asked.items():
            advance(place, [next(answers) for _ in requests])
    return [result for result in results if result is not None]

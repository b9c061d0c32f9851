"""Generators that ask for searches: alone, side by side, and as a job."""

import pytest

from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.pipelines.job import Job, Steps, side_by_side
from limelight.pipelines.translation import Translation


def asking(name: str, *counts: int) -> Steps[str]:
    """Asks for so many requests at a time, and returns all answers."""
    heard = []
    for number, count in enumerate(counts):
        found = yield [Request([number + 1], 5) for _ in range(count)]
        heard += [hypotheses[0].ids for hypotheses in found]
    return f"{name} {heard}"


def answer(request: Request) -> list[Hypothesis]:
    return [Hypothesis((request.source[0],), 0.0, 0.0, True)]


def done(steps: Steps[list[str]]) -> tuple[list[str], list[int]]:
    """The results, and how many requests there were at a time."""
    counts, found = [], None
    while True:
        try:
            requests = next(steps) if found is None else steps.send(found)
        except StopIteration as end:
            return end.value, counts
        counts.append(len(requests))
        found = [answer(request) for request in requests]


def test_those_that_ask_are_answered_together_and_apart() -> None:
    steps = side_by_side([asking("a", 1, 2), asking("b"), asking("c", 3), asking("d", 1, 1, 1)])
    results, counts = done(steps)
    assert results == ["a [(1,), (2,), (2,)]", "b []", "c [(1,), (1,), (1,)]", "d [(1,), (2,), (3,)]"]
    assert counts == [5, 3, 1]


def test_nobody_asks_for_nothing() -> None:
    assert done(side_by_side([])) == ([], [])


def test_a_job_has_requests_and_then_a_translation() -> None:
    def steps() -> Steps[Translation]:
        [[found]] = yield [Request([1], 5)]
        return Translation(str(found.ids), 0.0, (), 0.0, "x", finished=True)

    job = Job(steps())
    assert (len(job.requests), job.translation) == (1, None)
    with pytest.raises(ValueError, match="2 answers to 1 requests"):
        job.receive([[], []])
    job.receive([answer(job.requests[0])])
    assert job.requests == []
    assert job.translation is not None
    assert job.translation.text == "(1,)"


def test_a_job_that_is_done_keeps_its_translation() -> None:
    """Whoever drives several jobs may hand each of them the answers to what it asked for, be it nothing."""

    def steps() -> Steps[Translation]:
        yield [Request([1], 5)]
        return Translation("found", 0.0, (), 0.0, "source", True)

    job = Job(steps())
    job.receive([answer(job.requests[0])])
    for _ in range(2):
        assert job.translation is not None
        assert job.translation.text == "found"
        job.receive([])

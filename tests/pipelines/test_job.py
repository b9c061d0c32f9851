"""Sentences that ask for searches, one at a time: as a job."""

import pytest

from limelight.decoding.request import Hypothesis, Request
from limelight.errors import UserError
from limelight.pipelines.job import Ask, Job, Steps


def asking(name: str, count: int) -> Steps[str]:
    """Asks for so many searches, and returns what was found by each."""
    heard = []
    for number in range(count):
        found = yield Request([number + 1], 5)
        heard.append(found[0].ids[0])
    return f"{name}{heard}"


def answer(request: Request) -> list[Hypothesis]:
    return [Hypothesis((request.source[0],), 0.0, 0.0, True)]


def worked(job: Job, *, backwards: bool = False, most: int = 16) -> list[int]:
    """The sentences in the order in which they were searched."""
    order, waiting = list[int](), list[Ask]()
    while waiting := waiting + job.take(most):
        ask = waiting.pop(-1 if backwards else 0)
        order.append(ask.sentence)
        following = job.receive(ask, answer(ask.request))
        waiting += [following] if following else []
    return order


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("most", [1, 2, 16])
def test_sentences_are_searched_in_any_order_and_joined_in_theirs(backwards: bool, most: int) -> None:
    job = Job([asking("a", 1), asking("b", 0), asking("c", 3), asking("d", 2)], " ".join)
    assert not job.done
    assert sorted(worked(job, backwards=backwards, most=most)) == [0, 2, 2, 2, 3, 3]
    assert job.result == "a[1] b[] c[1, 2, 3] d[1, 2]"


def test_the_next_search_of_a_sentence_does_not_wait_for_the_others() -> None:
    job = Job([asking("a", 2), asking("b", 1)], " ".join)
    first, second = job.take(9)
    following = job.receive(first, answer(first.request))
    assert following is not None
    assert (following.sentence, following.request.source) == (0, [2])
    assert job.receive(second, answer(second.request)) is None
    assert not job.done
    assert job.receive(following, answer(following.request)) is None
    assert job.result == "a[1, 2] b[1]"


def test_requests_are_made_on_demand() -> None:
    made = 0

    def sentence() -> Steps[str]:
        nonlocal made
        made += 1
        return (yield from asking("x", 1))

    job = Job((sentence() for _ in range(30)), len)
    assert made == 1
    assert len(job.take(10)) == 10
    assert made == 10
    assert len([*job.take(1000), *job.take(1)]) == 20
    assert made == 30


@pytest.mark.parametrize("searches", [0, 1])
def test_the_error_of_a_sentence_is_that_of_the_text(searches: int) -> None:
    def refusing() -> Steps[str]:
        yield from asking("x", searches)
        raise UserError("too long")

    job = Job([asking("a", 3), refusing(), asking("b", 1)], list)
    waiting = job.take(9)
    for ask in waiting:
        job.receive(ask, answer(ask.request))
    assert isinstance(job.error, UserError)
    assert (job.done, job.result, job.take(9)) == (True, None, [])

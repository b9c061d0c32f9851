"""Clients take turns, whatever each of them has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.serving.fair_queue import FEWEST, RECENT, FairQueue, QueueRate


def test_one_with_many_delays_one_with_few_by_one() -> None:
    queue = FairQueue[str]()
    for number in range(100):
        queue.put("greedy", 1, f"greedy {number}")
    queue.put("modest", 2, "modest 0")
    assert [queue.take() for _ in range(3)] == ["greedy 0", "modest 0", "greedy 1"]
    assert len(queue) == 98


def test_what_is_waiting_can_be_removed() -> None:
    queue = FairQueue[str]()
    for number in range(100):
        queue.put("proxy", 1, f"long {number}")
    queue.put("proxy", 2, "short")
    queue.take()
    assert queue.remove("other", 1) == 0
    assert queue.remove("proxy", 1) == 99
    assert (len(queue), queue.waiting("proxy"), queue.waiting("other")) == (1, 1, 0)
    assert (queue.take(), queue.remove("proxy", 2), len(queue)) == ("short", 0, 0)


def test_what_is_put_back_comes_first() -> None:
    queue = FairQueue[str]()
    for item in "ab":
        queue.put("me", 1, item)
    queue.put("me", 2, "c")
    taken = [queue.take(), queue.take()]
    for item in reversed(taken):
        queue.put_back("me", 1, item)
    assert [queue.take() for _ in range(3)] == ["a", "b", "c"]
    queue.put_back("me", 1, "a")
    assert (len(queue), queue.take()) == (1, "a")


def test_requests_of_one_client_come_one_after_the_other_and_clients_still_take_turns() -> None:
    queue = FairQueue[str]()
    for request in (1, 2):
        for number in range(3):
            queue.put("proxy", request, f"{request}.{number}")
    queue.put("other", 3, "other")
    assert [queue.take() for _ in range(6)] == ["1.0", "other", "1.1", "1.2", "2.0", "2.1"]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(1, 5)), max_size=12),
    st.integers(1, 5),
    st.integers(0, 9),
)
def test_what_is_ahead_is_known(waiting: list[tuple[str, int, int]], more: int, taken: int) -> None:
    """Up to whose turn it is: at most one more for each other client."""
    queue = FairQueue[str]()
    for client, request, size in waiting:
        for _ in range(size):
            queue.put(client, request, "")
    for _ in range(min(taken, len(queue))):
        queue.take()
    told = queue.ahead("a", more)
    for place in range(more):
        queue.put("a", 99, f"new {place}")
    last, number = f"new {more - 1}", 0
    while queue.take() != last:
        number += 1
    assert told - 2 <= number <= told


def test_nobody_waits() -> None:
    queue = FairQueue[int]()
    with pytest.raises(IndexError):
        queue.take()
    queue.put("a", 7, 1)
    assert [queue.remove("a", 7) for _ in range(2)] == [1, 0]
    assert len(queue) == 0
    with pytest.raises(IndexError):
        queue.take()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["put", "take", "remove"]))))
def test_every_item_comes_once_and_in_the_order_of_its_client(moves: list[tuple[str, str]]) -> None:
    queue = FairQueue[tuple[str, int]]()
    present: dict[str, list[tuple[str, int]]] = {"a": [], "b": [], "c": []}
    for number, (client, move) in enumerate(moves):
        if move == "put":
            queue.put(client, 0, (client, number))
            present[client].append((client, number))
        elif move == "take" and len(queue):
            taken = queue.take()
            assert present[taken[0]].pop(0) == taken
        elif move == "remove" and present[client]:
            assert queue.remove(client, 0) == len(present[client])
            present[client].clear()
        assert len(queue) == sum(map(len, present.values()))
        assert {each: queue.waiting(each) for each in present} == {each: len(of) for each, of in present.items()}


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 20), min_size=1))
def test_turns_are_shared_evenly(sizes: dict[str, int]) -> None:
    """Until a client has nothing left, none gets two more than it."""
    queue = FairQueue[str]()
    for client, size in sizes.items():
        for _ in range(size):
            queue.put(client, 0, client)
    got = dict.fromkeys(sizes, 0)
    for _ in range(min(sizes.values()) * len(sizes)):
        got[queue.take()] += 1
    assert max(got.values()) - min(got.values()) == 0


def test_the_pace_is_that_of_the_last_items_until_now() -> None:
    pace = QueueRate()
    for number in range(FEWEST):
        assert pace.seconds(number) == 0, "too few to tell"
        pace.taken(number)
    assert pace.seconds(FEWEST) == 1
    assert pace.seconds(10 * FEWEST) == 10, "nothing is taken any more"
    for number in range(RECENT):
        pace.taken(1000 + number / 2)
    assert pace.seconds(1000 + RECENT / 2) == 0.5


def test_an_idle_queue_has_no_pace() -> None:
    pace = QueueRate()
    for number in range(FEWEST):
        pace.taken(number)
    pace.nothing_waits()
    assert pace.seconds(10_000) == 0

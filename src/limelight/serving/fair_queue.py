"""A queue in which clients take turns, and the rate at which it becomes shorter."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

Item = TypeVar("Item")

RECENT = 64
"""Number of items from which the rate is estimated."""

FEWEST = 16
"""Minimum number of items for an estimate: a batch of several may be taken at the same time."""


class FairQueue(Generic[Item]):
    """Items of several clients, which take turns; a client's requests are taken in the order in which they came."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, OrderedDict[int, deque[Item]]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def waiting(self, client: str) -> int:
        """How many of this client wait."""
        return sum(map(len, self._of.get(client, {}).values()))

    def ahead(self, client: str, more: int) -> int:
        """How many items are taken before the last of so many new ones of this client."""
        mine = self.waiting(client) + more - 1
        others = (sum(map(len, requests.values())) for name, requests in self._of.items() if name != client)
        return mine + sum(min(waiting, mine + 1) for waiting in others)

    def put(self, client: str, request: int, item: Item) -> None:
        """Behind the request's other items."""
        self._of.setdefault(client, OrderedDict()).setdefault(request, deque()).append(item)
        self._size += 1

    def put_back(self, client: str, request: int, item: Item) -> None:
        """Before the request's other items, and before the client's other requests."""
        requests = self._of.setdefault(client, OrderedDict())
        requests.setdefault(request, deque()).appendleft(item)
        requests.move_to_end(request, last=False)
        self._size += 1

    def take(self) -> Item:
        """The first item of the request whose turn it is. Raises `IndexError` when there is none."""
        if not self._of:
            raise IndexError("the queue is empty")
        client, requests = next(iter(self._of.items()))
        request, items = next(iter(requests.items()))
        item = items.popleft()
        self._size -= 1
        self._of.move_to_end(client)
        if not items:  # nothing empty is kept
            self.remove(client, request)
        return item

    def remove(self, client: str, request: int) -> int:
        """Take what is left of a request out of the queue; returns how many items that were."""
        items = self._of[client].pop(request, None) if client in self._of else None
        if items is None:
            return 0
        self._size -= len(items)
        if not self._of[client]:
            del self._of[client]
        return len(items)


class QueueRate:
    """Estimates the rate at which items are taken from a queue while it is not empty."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=RECENT)

    def taken(self, now: float) -> None:
        """Record that an item was taken at the time `now`, in seconds."""
        self._times.append(now)

    def nothing_waits(self) -> None:
        """Discard the recorded times: the queue is empty."""
        self._times.clear()

    def seconds(self, now: float) -> float:
        """The mean time per item up to `now`, in seconds; 0 if fewer than `FEWEST` items were taken."""
        if len(self._times) < FEWEST:
            return 0.0
        return (now - self._times[0]) / len(self._times)

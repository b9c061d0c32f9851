"""A queue in which clients take turns: one with ten thousand sentences delays one with a single sentence by one."""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


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
        self._of.move_to_end(client)
        self._shrink(client, request)
        return item

    def remove(self, client: str, request: int, item: Item) -> bool:
        """Take an item out of the queue; returns whether it was there."""
        items = self._of[client].get(request) if client in self._of else None
        if items is None or item not in items:
            return False
        items.remove(item)
        self._shrink(client, request)
        return True

    def _shrink(self, client: str, request: int) -> None:
        """One item less; nothing empty is kept."""
        self._size -= 1
        requests = self._of[client]
        if not requests[request]:
            del requests[request]
        if not requests:
            del self._of[client]

"""A queue in which clients take turns: one with ten thousand sentences delays one with a single sentence by one."""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Items of several clients. Those of one client keep their order; the clients take turns."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, deque[Item]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def waiting(self, client: str) -> int:
        """How many of this client wait."""
        return len(self._of.get(client, ()))

    def put(self, client: str, item: Item) -> None:
        """Behind the client's other items."""
        self._of.setdefault(client, deque()).append(item)
        self._size += 1

    def take(self) -> Item:
        """The first item of the client whose turn it is. Raises `IndexError` when there is none."""
        if not self._of:
            raise IndexError("nobody waits")
        client, items = next(iter(self._of.items()))
        item = items.popleft()
        self._size -= 1
        if items:
            self._of.move_to_end(client)
        else:
            del self._of[client]
        return item

    def remove(self, client: str, item: Item) -> bool:
        """Take an item out of the queue; returns whether it was there."""
        items = self._of.get(client)
        if items is None or item not in items:
            return False
        items.remove(item)
        self._size -= 1
        if not items:
            del self._of[client]
        return True

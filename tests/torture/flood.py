"""Many clients in a process of their own, so that they take nothing from the service that they ask.

It reads what to do from its standard input and writes what became of it to its standard output, both as JSON. It needs
nothing but the standard library: `python tests/torture/flood.py`.
"""

import asyncio
import contextlib
import json
import random
import sys
import time
from collections import Counter
from typing import Any


class Flood:
    """The clients.

    Args:
        asked: `port`; `path`; `cases`, pairs of a request's body and its right answer; `seed`; `seconds`, how long they
            ask; `patience`, the seconds after which a request counts as hung, status 0; and `rate`, the requests a
            second, whether or not they are answered, or `clients`, each of which asks again when it is answered.
    """

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked, self.draw = asked, random.Random(asked["seed"])
        self.statuses: Counter[int] = Counter()
        self.right = 0
        self.seconds: list[float] = []
        self.refused: list[float] = []
        self.ended: list[float] = []
        """When each answer that was no refusal had come, after the start."""
        self.start = time.monotonic()
        self.late = 0.0
        """How far behind its time a request was sent, at most."""

    async def run(self) -> dict[str, Any]:
        """Ask; returns what became of it."""
        if self.asked.get("rate"):
            await self._at_a_rate(self.asked["rate"])
        else:
            await asyncio.gather(*(self._again() for _ in range(self.asked["clients"])))
        return {
            "statuses": dict(self.statuses), "right": self.right, "seconds": self.seconds, "refused": self.refused,
            "ended": self.ended, "took": time.monotonic() - self.start, "late": self.late,
            "clients": time.process_time(),
        }  # fmt: skip

    async def _at_a_rate(self, rate: float) -> None:
        tasks: set[asyncio.Task[None]] = set()
        for number in range(int(rate * self.asked["seconds"])):
            now = time.monotonic() - self.start
            await asyncio.sleep(max(0.0, number / rate - now))
            self.late = max(self.late, time.monotonic() - self.start - number / rate)
            task = asyncio.create_task(self._ask())
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def _again(self) -> None:
        while time.monotonic() < self.start + self.asked["seconds"]:
            await self._ask()

    async def _ask(self) -> None:
        body, right = self.draw.choice(self.asked["cases"])
        begun, status, head, value = time.monotonic(), 0, "", None
        with contextlib.suppress(TimeoutError, OSError):
            status, head, value = await asyncio.wait_for(self._exchange(json.dumps(body)), self.asked["patience"])
        seconds = time.monotonic() - begun
        self.statuses[status] += 1
        if status == 200:
            self.seconds.append(seconds)
            self.ended.append(time.monotonic() - self.start)
            self.right += value == right
        else:
            self.refused.append(seconds)
            self.right += status in (429, 503) and "\r\nretry-after: " in head.lower()

    async def _exchange(self, body: str) -> tuple[int, str, Any]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.asked["port"])
        try:
            head = f"POST {self.asked['path']} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body.encode())
            answer = await reader.read()
        finally:
            writer.close()
        if not answer:
            return 0, "", None
        of, _, content = answer.decode().partition("\r\n\r\n")
        return int(of.split(" ", 2)[1]), of, json.loads(content)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(Flood(json.load(sys.stdin)).run())))

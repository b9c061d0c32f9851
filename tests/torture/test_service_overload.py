"""S1: more requests than the service can do, for long. They are refused at once, and answers come in time."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from limelight.memory import rare_collections
from limelight.serving.limits import Limits
from tests.serving.helpers import TEXTS, Running, running, table, translator
from tests.torture.conftest import Measured
from tests.torture.processes import megabytes, told_by
from tests.torture.test_service import FOR_ALL, adds_up

SENTENCES = 6
"""Of a request."""
QUEUE = 48
QUEUE_SECONDS = 5.0
WARM = 5.0
"""Seconds until as much is answered as can be."""


class Answer(NamedTuple):
    """What became of a request."""

    status: int
    right: bool
    """Whether it is the right translation, or a refusal that says when to come back."""
    took: float
    ended: float
    """Seconds from the first request on."""


class Flood:
    """Clients in a process of their own, so that they take nothing from the service."""

    def __init__(self, port: int, seconds: float, rate: float, clients: int) -> None:
        self._port, self._seconds, self._rate, self._clients = port, seconds, rate, clients
        self._right = {text: [translator(table(1)).translate(text).text] * SENTENCES for text in TEXTS}
        self._answers: list[Answer] = []

    def send_all(self, tell: Callable[[Any], None]) -> None:
        asyncio.run(self._run())
        tell(self._answers)

    async def _run(self) -> None:
        """At a rate, whether or not requests are answered; or by clients that ask again when they are."""
        self._begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(self._clients):
                group.create_task(self._again())
            for number in range(int(self._rate * self._seconds)):
                await asyncio.sleep(max(0.0, number / self._rate - (time.monotonic() - self._begun)))
                group.create_task(self._ask())

    async def _again(self) -> None:
        while time.monotonic() < self._begun + self._seconds:
            await self._ask()

    async def _ask(self) -> None:
        text, begun = random.choice(TEXTS), time.monotonic()
        body = json.dumps({"q": [text] * SENTENCES, "source": "en", "target": "de"})
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        answer = (await asyncio.wait_for(reader.read(), FOR_ALL)).decode()
        writer.close()
        status, now = int(answer.split(" ", 2)[1]), time.monotonic()
        right = "\r\nretry-after: " in answer.lower()
        if status == 200:
            right = json.loads(answer.partition("\r\n\r\n")[2])["translatedText"] == self._right[text]
        self._answers.append(Answer(status, right, now - begun, now - self._begun))


@rare_collections()
def load(service: Running, seconds: float, *, rate: float = 0, clients: int = 0) -> list[Answer]:
    return told_by(Flood(service.port, seconds, rate, clients).send_all)


def within(answers: list[Answer], share: float) -> float:
    """The seconds within which such a share was answered."""
    return sorted(answer.took for answer in answers)[int(share * len(answers))] if answers else 0.0


def goodput(answers: list[Answer], seconds: float) -> float:
    """Requests that were answered, a second, without the beginning and the end."""
    return sum(WARM <= each.ended < seconds for each in answers if each.status == 200) / (seconds - WARM)


@pytest.mark.usefixtures("in_full_only")
def test_three_and_ten_times_what_it_can_do(measured: Measured) -> None:
    """The load that it can do is measured first; three times as much for ten minutes, then ten times for one. The steps
    take time that is no computation, so that they are as fast beside the handling of requests."""
    model = table(1)
    with running({"one": translator(model)}, limits=Limits(queue=2 * QUEUE, queue_seconds=QUEUE_SECONDS)) as service:
        model.pause = 0.05
        alone = within(load(service, 5.0, clients=1), 0.5)
        peak = goodput(load(service, 30.0, clients=16), 30.0)
        before = megabytes()
        for times, seconds in ((3, 600.0), (10, 60.0)):
            answers = load(service, seconds, rate=times * peak)
            taken = [answer for answer in answers if answer.status == 200]
            refused = [answer for answer in answers if answer.status != 200]
            grown, good, p99 = megabytes() - before, goodput(answers, seconds), within(taken, 0.99)
            note = (
                f"answered {len(taken):,}, refused {len(refused):,}; goodput {good / peak:.0%} of the peak of "
                f"{peak:.1f}/s, p99 {p99:.2f} s, of refusals {within(refused, 0.99):.2f} s, alone {alone:.2f} s, "
                f"{grown:+.1f} MB"
            )
            assert adds_up(service)
            assert Counter(answer.status for answer in answers).keys() <= {200, 429, 503}
            assert grown < 32, note
            assert p99 <= QUEUE_SECONDS + 2 * alone, note
            assert good >= 0.95 * peak, note
            held = sum(answer.right for answer in answers)
            what = f"{times}x overload: answered rightly, or refused"
            measured("S1", what, held=held, of=len(answers), note=note)

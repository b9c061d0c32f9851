"""The service with more requests, slower clients or smaller pieces than it can take; checks S1 and S9.

Controls break a mechanism: its check has to fail.
"""

import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from limelight.memory import rare_collections
from limelight.serving.limits import Limits
from tests.serving.helpers import TEXTS, Running, at_work, running, table, translator, wait_until
from tests.torture.conftest import Measured
from tests.torture.test_flat import resident_megabytes
from tests.torture.test_service import FOR_ALL
from tests.torture.test_serving import adds_up

ALONE = {text: translator(table(1)).translate(text).text for text in TEXTS}
SENTENCES = 6
"""Of a request."""
QUEUE = 48
QUEUE_SECONDS = 5.0
WARM = 5.0
"""Seconds until as much is answered as can be."""
FLOOD = str(Path(__file__).with_name("flood.py"))


# ---- S1: overload


@dataclass
class Load:
    """What became of the requests of many clients."""

    statuses: Counter[int] = field(default_factory=Counter)
    right: int = 0
    """Answered rightly, or refused with `Retry-After`."""
    seconds: list[float] = field(default_factory=list)
    """How long the answers took that were no refusals."""
    refused: list[float] = field(default_factory=list)
    """How long the others took."""
    ended: list[float] = field(default_factory=list)
    """When each of these answers had come, after the start."""
    waiting: int = 0
    """The most sentences that waited."""
    took: float = 0.0
    asked: float = 0.0
    """Seconds in which requests were sent."""
    late: float = 0.0
    """How many seconds behind its time a request was sent, at most."""
    clients: float = 0.0
    """CPU seconds of the clients."""
    own: float = 0.0
    """CPU seconds of the service."""

    @property
    def sent(self) -> int:
        """Requests."""
        return self.statuses.total()

    @property
    def goodput(self) -> float:
        """Requests that were answered, a second, without the beginning and the end."""
        return sum(WARM <= ended < self.asked for ended in self.ended) / (self.asked - WARM)


def within(seconds: list[float], share: float) -> float:
    """The seconds within which such a share was answered."""
    return sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]


@rare_collections()
def load(service: Running, seconds: float, **how: Any) -> Load:
    """Clients in a process of their own for so long: `clients=N` of them, or at `rate=N` requests a second; `flood.py`
    has further arguments."""
    pool = service.service.catalog.models[0].pool
    cases = [
        ({"q": [text] * SENTENCES, "source": "en", "target": "de"}, {"translatedText": [alone] * SENTENCES})
        for text, alone in ALONE.items()
    ]
    asked = {"port": service.port, "path": "/translate", "cases": cases, "seed": 1, "seconds": seconds,
             "patience": FOR_ALL, **how}  # fmt: skip
    waiting, own = 0, time.process_time()
    process = subprocess.Popen([sys.executable, FLOOD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asked))
    process.stdin.close()
    while not select.select([process.stdout], [], [], 0.02)[0]:
        waiting = max(waiting, pool.waiting)
    with process.stdout:
        told = json.loads(process.stdout.read())
    assert process.wait(FOR_ALL) == 0
    statuses = Counter({int(status): count for status, count in told.pop("statuses").items()})
    return Load(statuses, **told, waiting=waiting, asked=seconds, own=time.process_time() - own)


def test_overload_is_refused_and_nothing_is_lost(measured: Measured) -> None:
    model = table(1)
    with running({"one": translator(model)}, limits=Limits(queue=24)) as service:
        model.pause = 0.02
        found = load(service, 0.5, clients=90)
        assert set(found.statuses) == {200, 429}
        assert found.waiting <= 24
        assert adds_up(service)
    measured("S1", "requests under overload answered rightly, or refused", held=found.right, of=found.sent)


@pytest.mark.usefixtures("in_full_only")
def test_what_a_refusal_costs(measured: Measured) -> None:
    """The queue is full, and no sentence leaves it meanwhile."""
    model = table(1)
    limits = Limits(queue=10, queue_seconds=FOR_ALL, deadline=FOR_ALL)
    with running({"one": translator(model)}, limits=limits) as service:
        pool = service.service.catalog.models[0].pool
        model.gate.clear()
        page = {"q": "dab " * 300, "source": "en", "target": "de"}
        with at_work(7, lambda: service.post("/translate", page)):
            wait_until(lambda: pool.waiting == 5)
            found = load(service, 6.0, clients=16)
            model.gate.set()
    note = f"{1000 * found.own / found.sent:.2f} ms of CPU time each, {found.sent / found.took:,.0f} a second"
    measured("S1", "requests refused with Retry-After by a full queue", held=found.right, of=found.sent, note=note)
    assert set(found.statuses) == {429}


@pytest.mark.usefixtures("in_full_only")
def test_three_and_ten_times_what_it_can_do(measured: Measured) -> None:
    """The load that it can do is measured first; three times as much for ten minutes, then ten times for one. The steps
    take time that is no computation, so that they are as fast beside the handling of requests."""
    model = table(1)
    limits = Limits(queue=2 * QUEUE, queue_seconds=QUEUE_SECONDS)
    with running({"one": translator(model)}, limits=limits) as service:
        model.pause = 0.05
        alone = within(load(service, 5.0, clients=1).seconds, 0.5)
        peak = load(service, 30.0, clients=16)
        before = resident_megabytes()
        for times, seconds in ((3, 600.0), (10, 60.0)):
            found = load(service, seconds, rate=times * peak.goodput)
            grown = resident_megabytes() - before
            assert adds_up(service)
            note = (
                f"{found.sent / seconds / peak.goodput:.1f}x offered, answered {found.statuses[200]:,}, "
                f"refused {found.sent - found.statuses[200]:,}; "
                f"goodput {found.goodput / peak.goodput:.0%} of the peak of {peak.goodput:.1f}/s, "
                f"p99 {within(found.seconds, 0.99):.2f} s, of refusals {within(found.refused, 0.99):.2f} s, "
                f"alone {alone:.2f} s, {grown:+.1f} MB; "
                f"CPU of service {found.own / found.took:.0%}, of clients {found.clients / found.took:.0%}"
            )
            print(note)
            assert set(found.statuses) <= {200, 429, 503}, found.statuses
            assert found.waiting <= QUEUE
            assert grown < 32, note
            assert within(found.seconds, 0.99) <= QUEUE_SECONDS + 2 * alone, note
            assert found.goodput >= 0.95 * peak.goodput, note
            measured(
                "S1", f"{times}x overload: answered rightly, or refused", held=found.right, of=found.sent, note=note
            )


# ---- S9: slow clients


def slow_one(service: Running, place: int) -> socket.socket:
    """A client that has begun with a header, or with a body."""
    connection = socket.create_connection(("127.0.0.1", service.port))
    begun = b"Content-Length: 99\r\n\r\n{" if place % 2 else b"A"
    connection.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\n" + begun)
    return connection


@contextmanager
def dripping(service: Running, number: int, pause: float, *, again: bool) -> Iterator[list[socket.socket]]:
    """So many slow clients, each of which sends a byte after every pause; with `again` another one takes the place of
    each that is ended."""
    slow = [slow_one(service, place) for place in range(number)]
    ended = threading.Event()

    def drip() -> None:
        while not ended.wait(pause):
            for place, connection in enumerate(slow):
                try:
                    connection.send(b"a")
                except OSError:
                    if again:
                        connection.close()
                        slow[place] = slow_one(service, place)

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield slow
    finally:
        ended.set()
        thread.join()
        for connection in slow:
            connection.close()


def ended_in_time(slow: list[socket.socket]) -> int:
    count = 0
    for connection in slow:
        connection.settimeout(30)
        try:
            content = connection.recv(1000)
        except ConnectionResetError:
            content = b""
        except TimeoutError:
            content = b"nothing came"
        count += not content or b" 408 " in content
        connection.close()
    return count


def held_up(number: int, *, seconds: float, pause: float, requests: int) -> tuple[int, float, float, float]:
    """(slow clients that were ended, MB more, a normal request's p99 alone and beside so many slow ones)."""
    limits = Limits(header_seconds=seconds, body_seconds=seconds)
    with running({"one": translator(table(1))}, limits=limits) as service:
        alone, before = ask(service, requests), resident_megabytes()
        with dripping(service, number, pause, again=False) as slow:
            grown = resident_megabytes() - before
            held = ended_in_time(slow)
        with dripping(service, number, pause, again=True):
            beside = ask(service, requests)
            grown = max(grown, resident_megabytes() - before)
    return held, grown, alone, beside


def ask(service: Running, number: int) -> float:
    """The p99 of so many requests, all of which have to be answered."""
    seconds = []
    for place in range(number):
        begun = time.monotonic()
        assert service.post("/api/v1/translate", {"text": TEXTS[place % len(TEXTS)]}).status == 200
        seconds.append(time.monotonic() - begun)
    return sorted(seconds)[int(0.99 * number)]


@pytest.mark.timed
def test_slow_clients_are_ended_and_others_served(full: bool, measured: Measured) -> None:
    assert Limits().header_seconds <= 10
    number, requests = (500, 300) if full else (20, 4)
    seconds, pause = (Limits().header_seconds, 1.0) if full else (0.2, 0.05)
    held, grown, alone, beside = held_up(number, seconds=seconds, pause=pause, requests=requests)
    note = f"{grown:+.1f} MB; p99 of others {1000 * beside:.0f} ms, alone {1000 * alone:.0f} ms"
    print(note)
    assert grown < 16, note
    if full:
        assert beside <= 2 * alone, note
    measured("S9", "slow clients, a byte at a time, that were ended", held=held, of=number, note=note)


def in_chunks(service: Running, number: int) -> bytes:
    """What comes back for a body of so many chunks of a byte."""
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.settimeout(FOR_ALL)
        with suppress(OSError):  # it may be ended before all has been sent
            connection.sendall(head + b"1\r\na\r\n" * number + b"0\r\n\r\n")
        try:
            return connection.recv(1000)
        except OSError:
            return b""


def test_a_body_of_chunks_without_end_is_refused(full: bool, measured: Measured) -> None:
    number = 1_000_000 if full else Limits().body + 1
    with running({"one": translator(table(1))}) as service:
        assert b" 408 " not in in_chunks(service, 100)
        before = resident_megabytes()
        found = in_chunks(service, number)
        grown = resident_megabytes() - before
        assert service.post("/api/v1/translate", {"text": "dab"}).status == 200
        assert adds_up(service)
    refused = not found or b" 413 " in found.split(b"\r\n")[0]  # it is ended before all is read
    assert grown < 16, f"{grown:+.1f} MB"
    measured("S9", f"a body of {number:,} chunks of a byte refused", held=int(refused), of=1, note=f"{grown:+.1f} MB")

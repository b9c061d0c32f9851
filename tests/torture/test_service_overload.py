"""The service with more requests, slower clients or smaller pieces than it can take; checks S1 and S9.

Controls break a mechanism: its check has to fail.
"""

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from limelight.serving import server
from limelight.serving.limits import Limits
from limelight.serving.pool import Pool
from tests.serving.helpers import TEXTS, Running, running, table, translator
from tests.torture.conftest import Measured
from tests.torture.test_flat import resident_megabytes
from tests.torture.test_service import FOR_ALL
from tests.torture.test_serving import adds_up, at_once

ALONE = {text: translator(table(1)).translate(text).text for text in TEXTS}
SENTENCES = 6
"""Of a request."""
QUEUE = 48
QUEUE_SECONDS = 5.0


# ---- S1: overload


@dataclass
class Load:
    """What became of the requests of many clients."""

    right: int = 0
    """Answered rightly, or refused with `Retry-After`."""
    sent: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    """How long the answers took that were no refusals."""
    waiting: int = 0
    """The most sentences that waited."""
    took: float = 0.0

    @property
    def goodput(self) -> float:
        """Requests that were answered, a second."""
        return self.statuses[200] / self.took

    def late(self, share: float) -> float:
        """The seconds within which such a share was answered."""
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(share * len(self.seconds)))]


def load(service: Running, clients: int, seconds: float, *, rate: float = float("inf")) -> Load:
    """So many clients for so long, which together send `rate` requests a second, whether or not they are answered in
    time; each at once again where it is left out."""
    found, lock, start = Load(), threading.Lock(), time.monotonic()
    pool = service.service.catalog.models[0].pool

    def client(number: int) -> None:
        draw, turn = random.Random(number), 0
        while time.monotonic() < start + seconds:
            text, begun = draw.choice(TEXTS), time.monotonic()
            body = {"q": [text] * SENTENCES, "source": "en", "target": "de"}
            answer = service.send("POST", "/translate", body, seconds=FOR_ALL)
            ended = time.monotonic()
            with lock:
                found.sent += 1
                found.statuses[answer.status] += 1
                found.waiting = max(found.waiting, pool.waiting)
                if answer.status == 200:
                    found.seconds.append(ended - begun)
                    found.right += answer.value["translatedText"] == [ALONE[text]] * SENTENCES
                else:
                    found.right += answer.status in (429, 503) and int(answer.headers["retry-after"]) >= 1
            turn += 1
            time.sleep(max(0.0, start + turn * clients / rate - time.monotonic()))

    at_once(clients, client)
    found.took = time.monotonic() - start
    return found


def test_overload_is_refused_and_nothing_is_lost(measured: Measured) -> None:
    model = table(1)
    with running({"one": translator(model)}, limits=Limits(queue=24, client_queue=16)) as service:
        model.pause = 0.02
        found = load(service, 24, 0.5)
        assert set(found.statuses) == {200, 429}
        assert found.waiting <= 24
        assert adds_up(service)
    measured("S1", "requests under overload answered rightly, or refused", held=found.right, of=found.sent)


def test_control_a_queue_without_bound_is_seen(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    monkeypatch.setattr(Pool, "_require_room", lambda *_: None)
    model = table(1)
    with running({"one": translator(model)}, limits=Limits(queue=6, client_queue=6)) as service:
        model.pause = 0.02
        found = load(service, 24, 0.2)
    measured("S1", "control: a queue without bound is seen", held=int(found.waiting > 6), of=1)


@pytest.mark.usefixtures("in_full_only")
def test_three_and_ten_times_what_it_can_do(measured: Measured) -> None:
    """The load that it can do is measured first; three times as much for ten minutes, then ten times for one. The steps
    take time that is no computation, so that clients in the same process take none of it."""
    model = table(1)
    limits = Limits(queue=QUEUE, client_queue=2 * QUEUE, queue_seconds=QUEUE_SECONDS)
    with running({"one": translator(model)}, limits=limits) as service:
        model.pause = 0.05
        alone = load(service, 1, 5.0).late(0.5)
        peak = load(service, 16, 20.0)
        before = resident_megabytes()
        for times, seconds in ((3, 600.0), (10, 60.0)):
            found = load(service, 64, seconds, rate=times * peak.goodput)
            grown = resident_megabytes() - before
            assert adds_up(service)
            offered = found.sent / found.took / peak.goodput
            note = (
                f"{offered:.1f}x offered, answered {found.statuses[200]:,}, "
                f"refused {found.sent - found.statuses[200]:,}; "
                f"goodput {found.goodput / peak.goodput:.0%} of the peak of {peak.goodput:.1f}/s, "
                f"p99 {found.late(0.99):.2f} s, alone {alone:.2f} s, {grown:+.1f} MB"
            )
            print(note)
            assert set(found.statuses) <= {200, 429, 503}, found.statuses
            assert found.waiting <= QUEUE
            assert grown < 32, note
            assert found.late(0.99) <= QUEUE_SECONDS + 2 * alone, note
            assert found.goodput >= 0.95 * peak.goodput, note
            measured(
                "S1", f"{times}x overload: answered rightly, or refused", held=found.right, of=found.sent, note=note
            )


# ---- S9: slow clients


def slow_one(service: Running, place: int) -> socket.socket:
    """A client that has begun with a header, or with a body."""
    connection = socket.create_connection(("127.0.0.1", service.port))
    begun = b"Content-Length: 99\r\n\r\n{" if place % 2 else b"A"
    connection.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\n" + begun)
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


def test_control_slow_clients_that_stay_are_seen(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    monkeypatch.setattr(server.PatientProtocol, "_too_slow", lambda self: None)
    with running({"one": translator(table(1))}, limits=Limits(header_seconds=0.1)) as service:
        slow = slow_one(service, 0)
        slow.settimeout(0.5)
        with pytest.raises(TimeoutError):
            slow.recv(10)
        slow.close()
    measured("S9", "control: a slow client that stays is seen", held=1, of=1)


def in_chunks(service: Running, number: int) -> bytes:
    """What comes back for a body of so many chunks of a byte."""
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.settimeout(FOR_ALL)
        with suppress(OSError):  # it may be ended before all has been sent
            connection.sendall(head + b"1\r\na\r\n" * number + b"0\r\n\r\n")
        try:
            return connection.recv(1000)
        except OSError:
            return b""


def test_a_body_of_chunks_without_end_is_refused(full: bool, measured: Measured) -> None:
    number = 1_000_000 if full else server.MAX_CHUNKS + 1
    with running({"one": translator(table(1))}) as service:
        assert b" 408 " not in in_chunks(service, 100)
        before = resident_megabytes()
        found = in_chunks(service, number)
        grown = resident_megabytes() - before
        assert service.post("/api/v1/translate", {"text": "dab"}).status == 200
        assert adds_up(service)
    refused = not found or b" 400 " in found.split(b"\r\n")[0]  # it is ended before all is read
    assert grown < 16, f"{grown:+.1f} MB"
    measured("S9", f"a body of {number:,} chunks of a byte refused", held=int(refused), of=1, note=f"{grown:+.1f} MB")


def test_control_chunks_without_bound_are_seen(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    """Without the bound all of them are read, and what they hold is looked at."""
    number = 200
    monkeypatch.setattr(server, "MAX_CHUNKS", number)
    with running({"one": translator(table(1))}) as service:
        refused = in_chunks(service, number + 1)
        monkeypatch.setattr(server, "MAX_CHUNKS", 10**9)
        read = in_chunks(service, number + 1)
    ours = b"x-trace-id"  # of an answer of the service; the web server's has none
    held = int(ours not in refused and ours in read)
    measured("S9", "control: chunks without bound are seen", held=held, of=1)

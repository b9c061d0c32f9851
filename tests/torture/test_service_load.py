"""What the service promises about long work, reloads, deadlines, counts and bounds; S7, S8, S10, S11, X2 to X4.

Controls break a mechanism: its check has to fail.
"""

import asyncio
import ctypes
import gzip
import http.client
import json
import os
import random
import re
import statistics
import threading
import time
import zlib
from collections import Counter, defaultdict
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from limelight.serving.limits import Limits
from limelight.serving.links import Report, ReportCallback, Task
from limelight.serving.pool import NewLink, Pool
from limelight.serving.service import Service
from tests.serving.helpers import TEXTS, Running, loader, running, table, translator, wait_until
from tests.torture.conftest import Measured
from tests.torture.test_flat import resident_megabytes
from tests.torture.test_service import FOR_ALL, broken, clients
from tests.torture.test_service_overload import load
from tests.torture.test_serving import TELLTALE, adds_up, left_behind

ALONE = {number: {text: translator(table(number)).translate(text).text for text in TEXTS} for number in (1, 2)}
"""What two models say, each alone."""


class Peak:
    """The most memory, in MB, that this process had in a block above what it had before."""

    def __enter__(self) -> "Peak":
        with suppress(OSError, AttributeError):  # memory that other tests have freed would hide what is taken now
            ctypes.CDLL(None).malloc_trim(0)
        self._before, self.grown, self._ended = resident_megabytes(), 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.005):
            self.grown = max(self.grown, resident_megabytes() - self._before)


# ---- S7: for a long time


class Soaked(NamedTuple):
    """What became of requests."""

    right: int
    sent: int
    took: list[tuple[float, float]]
    """When each translation was answered, and how many seconds it had taken."""

    @property
    def drift(self) -> float:
        """The p99 of the last third of the time relative to that of the first third: of each, the median of the p99 of
        every ten seconds, so that a moment in which the machine did something else does not count."""
        start, end = self.took[0][0], self.took[-1][0]
        third = (end - start) / 3
        first, last = (self._p99(start, start + third), self._p99(end - third, end))
        return last / first

    def _p99(self, start: float, end: float) -> float:
        windows = defaultdict(list)
        for when, seconds in self.took:
            if start <= when < end:
                windows[int((when - start) / 10)].append(seconds)
        return statistics.median(sorted(each)[int(0.99 * len(each))] for each in windows.values())


def soaked(service: Running, *, requests: int, seconds: float) -> Soaked:
    """Four clients on connections that are kept, until there were so many requests and so long."""
    connections = [http.client.HTTPConnection("127.0.0.1", service.port, timeout=FOR_ALL) for _ in range(4)]
    right, sent, end = [0] * 4, [0] * 4, time.monotonic() + seconds
    took: list[tuple[float, float]] = []

    def ask(place: int) -> None:
        text, connection = random.choice(TEXTS), connections[place]
        kind = random.choice(["/translate", *["/languages", "/nothing"] * 4])
        body = json.dumps({"q": text, "source": "en", "target": "de"}) if kind == "/translate" else None
        begun = time.monotonic()
        connection.request("GET" if body is None else "POST", kind, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        status, content = answer.status, json.loads(answer.read())
        sent[place] += 1
        if body is not None:
            took.append((time.monotonic(), time.monotonic() - begun))
        right[place] += status == (404 if kind == "/nothing" else 200) and (
            body is None or content["translatedText"] == ALONE[1][text]
        )

    with clients(4, ask):
        wait_until(lambda: sum(sent) >= requests and time.monotonic() >= end, seconds + FOR_ALL)
    for connection in connections:
        connection.close()
    return Soaked(sum(right), sum(sent), took)


def grown_in_a_soak(*, full: bool) -> tuple[float, int, int, Soaked]:
    """(MB, files, threads) more than after the warming up, and what became of the requests."""
    with running({"one": translator(table(1))}) as service:
        soaked(service, requests=300, seconds=60 if full else 0)
        before = resident_megabytes(), len(os.listdir("/proc/self/fd")), threading.active_count()
        found = soaked(service, requests=500, seconds=240 if full else 0)
        wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before[1], FOR_ALL)
        after = resident_megabytes(), len(os.listdir("/proc/self/fd")), threading.active_count()
        assert adds_up(service)
    return after[0] - before[0], after[1] - before[1], after[2] - before[2], found


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory and open files are read from /proc")
@pytest.mark.timed
def test_memory_threads_and_files_stay_as_they_are(full: bool, measured: Measured) -> None:
    memory, files, threads, found = grown_in_a_soak(full=full)
    note = f"{found.sent:,} requests: {memory:+.1f} MB, {files:+d} files, {threads:+d} threads"
    assert found.right == found.sent, note
    if full:
        note += f"; p99 of the last third {found.drift - 1:+.0%}"
        assert found.drift < 1.1, note
    measured("S7", "less than 20 MB, no file and no thread more", held=int(memory < 20 and files <= 0 and threads <= 0),
             of=1, note=note)  # fmt: skip


# ---- S8: other models, under load


def reloaded(number: int) -> tuple[int, int, bool]:
    """(requests that were answered rightly, all, whether the last model answers) while two models take turns."""
    models = {each: translator(table(each)) for each in (1, 2)}
    seen: Counter[bool] = Counter()
    with running({"one": models[1]}) as service:
        model = service.service.catalog.models[0]

        def reload(start: NewLink) -> bool:
            """Whether it was loaded."""
            new = Pool(start, 1, service.service.limits, service.service.log)
            return asyncio.run_coroutine_threadsafe(model.reload(new), service.loop).result(FOR_ALL)

        def ask(place: int) -> None:
            text = random.choice(TEXTS)
            answer = service.send("POST", "/api/v1/translate", {"text": text}, seconds=FOR_ALL)
            right = (ALONE[1][text], ALONE[2][text])
            seen[answer.status == 200 and answer.value["translations"][0]["text"] in right] += 1

        with clients(6, ask):
            for turn in range(1, number + 1):
                before = sum(seen.values())
                assert reload(loader(models[1 + turn % 2]))
                assert not reload(broken)
                wait_until(lambda: sum(seen.values()) >= before + 12, FOR_ALL)  # noqa: B023
                assert model.pool.ready
                assert model.pools == [model.pool]
        answer = service.post("/api/v1/translate", {"text": "eggbeef"})
        last = answer.value["translations"][0]["text"] == ALONE[1 + number % 2]["eggbeef"]
        assert adds_up(service)
    return seen[True], sum(seen.values()), last


def test_a_reload_under_load_fails_nobody(full: bool, measured: Measured) -> None:
    right, sent, last = reloaded(50 if full else 3)
    assert last
    assert ALONE[1]["eggbeef"] != ALONE[2]["eggbeef"]
    measured("S8", "answers while models were replaced, also by such as cannot be loaded", held=right, of=sent)


# ---- S10: the deadline


DEADLINE = 0.3


class Elsewhere:
    """An engine that takes nothing from the process of the service, and comes to no end."""

    def __init__(self, heard: ReportCallback) -> None:
        self.given = self.canceled = 0
        heard(Report(0, "loaded", {"directions": [["en", "de"]], "decoding": {}}))

    def send(self, task: Task) -> None:
        self.given += task.kind == "translate"
        self.canceled += task.kind == "cancel"

    def close(self) -> None:
        pass

    kill = close

    def join(self, seconds: float) -> None:
        assert self.given == self.canceled


def late(number: int, *, elsewhere: bool = False) -> tuple[int, int, float]:
    """(requests that got 504, sentences that are still worked on, the seconds of the request that took longest) where
    nothing comes to an end. Each of the clients sends one, all at once. With `elsewhere` the time is that of the
    service alone; else the engine is a thread of its process."""
    model = table(4, endless=True)
    one = translator(model, max_length_extra=900)
    start = (lambda _: Elsewhere) if elsewhere else loader
    with running({"one": one}, limits=Limits(deadline=DEADLINE), start=start) as service:
        pool = service.service.catalog.models[0].pool
        model.pause = 0.05
        cases = [({"text": ["eggbeef"] * 20}, None)]
        statuses = load(service, DEADLINE / 2, clients=number, path="/api/v1/translate", cases=cases).statuses
        left = pool.waiting + pool.decoding
        assert adds_up(service)
        took = max(line["milliseconds"] for line in service.lines() if line["event"] == "request") / 1000
    return statuses[504], left, took


@pytest.mark.timed
def test_after_the_deadline_nothing_is_worked_on(full: bool, measured: Measured) -> None:
    """Most of these wait when their time is over: that counts."""
    number = 80 if full else 12
    held, left, took = late(number, elsewhere=full)
    assert left == 0
    note = f"the longest took {1000 * (took - DEADLINE):.0f} ms more than the deadline"
    if full:
        assert took <= DEADLINE + 0.1, note
    measured("S10", "requests that took too long: 504, and their work ended", held=held, of=number, note=note)


# ---- S11: what is counted


def wrong_sums(*, seconds: float) -> tuple[int, int]:
    """(how often the counts did not add up, how often they were read) under requests of every ending."""
    model = table(1)
    limits = Limits(characters=50, queue=40)
    with running({"one": translator(model)}, limits=limits) as service:
        model.pause = 0.001

        def ask(place: int) -> None:
            kind = random.randrange(4)
            if kind == 0:
                left_behind(service, 1)
            else:
                service.post("/api/v1/translate", {"text": [["dab"], ["a" * 60], ["face"] * 9, []][kind]})

        wrong = read = 0
        with clients(6, ask):
            end = time.monotonic() + seconds
            while time.monotonic() < end or read < 30:
                wrong += not sums_up(service.get("/metrics").value.decode())
                read += 1
            wait_until(lambda: min(service.counts()[each] for each in ("accepted", "canceled")) > 0, FOR_ALL)
            wait_until(lambda: service.post("/api/v1/translate", {"text": "a" * 60}).status == 413)
        wrong += not sums_up(service.get("/metrics").value.decode())
    return wrong, read + 1


def sums_up(metrics: str) -> bool:
    def total(name: str) -> float:
        return sum(map(float, re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", metrics, re.MULTILINE)))

    outcomes = total("limelight_requests_total") + total("limelight_requests_in_progress")
    return total("limelight_requests_received_total") == outcomes > 0


def test_the_counts_add_up_at_any_time(full: bool, measured: Measured) -> None:
    wrong, read = wrong_sums(seconds=30 if full else 0.5)
    measured("S11", "received = accepted + rejected + canceled + failed + in progress", held=read - wrong, of=read)


# ---- X2 to X4: large, compressed and nested


def test_what_is_too_long_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    """A text of a character too many never comes to the queue; one at the limit is translated."""
    queued: list[int] = []
    real = Pool.run

    async def counted(self: Pool, client: str, kind: str, texts: Any, *more: Any) -> Any:
        queued.append(len(texts))
        return await real(self, client, kind, texts, *more)

    monkeypatch.setattr(Pool, "run", counted)
    fitting = "dab. " * 20
    with running({"one": translator(table(1))}, limits=Limits(characters=100)) as service:
        found = [service.post("/api/v1/translate", {"text": text}).status for text in (fitting + "a", "a" * 1_000_000)]
        held = [status == 413 and not queued for status in found]
        held.append(service.post("/api/v1/translate", {"text": fitting}).status == 200 and bool(queued))
        monkeypatch.setattr(Service, "_check", lambda *_: 0)
        answer = service.post("/api/v1/translate", {"text": fitting + "a"})
        assert answer.status == 200, "control: the check is what refuses"
    measured("X2", "texts refused before any work, and one at the limit", held=sum(held), of=3)


def zeros(megabytes: int) -> bytes:
    """A gzip stream of so many: the same block again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    start = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
    packer.compress(bytes(1 << 20))
    packer.flush(zlib.Z_FULL_FLUSH)
    return start + (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)) * megabytes


def bombed(service: Running, megabytes: int) -> list[int]:
    """The statuses for bodies that are far larger than they come: announced, in chunks, and packed twice; 0 where the
    connection is ended while the client still sends chunks."""
    bomb = zeros(megabytes)
    head = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    statuses = [service.send("POST", "/translate", bomb, head, FOR_ALL).status]
    for content in (bomb[: 400 * 1024], gzip.compress(bomb[: 1 << 20])):
        chunks = iter([content[place : place + 65536] for place in range(0, len(content), 65536)])
        try:
            statuses.append(service.send("POST", "/translate", chunks, head, FOR_ALL).status)
        except ConnectionError:  # it is ended before all is read
            statuses.append(0)
    return statuses


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_what_inflates_without_end_is_refused(full: bool, measured: Measured) -> None:
    with running({"one": translator(table(1))}) as service:
        service.post("/translate", {"q": "dab", "source": "en", "target": "de"})
        bombed(service, 10)
        with Peak() as peak:
            statuses = bombed(service, 10_000 if full else 2000)
        assert service.get("/health").status == 200
    assert peak.grown < 32, f"{peak.grown:.0f} MB"
    held = sum(status in (415, 0) for status in statuses) if statuses[0] == 415 else 0
    measured("X3", "bodies of gigabytes in compressed ones refused", held=held, of=3, note=f"{peak.grown:+.0f} MB")


def traps_of_json() -> list[str]:
    """Depth, keys, numbers that are none or never end, halves of characters."""

    def nested(depth: int) -> str:
        return '{"text": ' + "[" * depth + "]" * depth + "}"

    keys = ", ".join(f'"{number}": 1' for number in range(40_000))
    return [
        nested(100_000), nested(3000), "[" * 100_000, '{"a":' * 100_000, f'{{"text": "a", {keys}}}',
        '{"text": NaN}', '{"text": "a", "length_penalty": -Infinity}', f'{{"text": "a", "beam_size": {"9" * 4000}}}',
        f'{{"text": "a", "beam_size": {"9" * 100_000}}}', '{"text": "a", "text": "b"}', '{"text": "\\ud800"}',
        '{"text": "a", "length_penalty": 1e999}', '{"text": "a"', '"text"', "\ufeff[]", '{"text": {"text": "a"}}',
        *ignored(keys).values(),
    ]  # fmt: skip


def ignored(keys: str) -> dict[str, str]:
    """Traps in a field of DeepL's that changes nothing: only the reader of JSON refuses them."""
    values = {
        "depth": "[" * 3000 + "]" * 3000, "keys": f"{{{keys}}}", "NaN": "NaN", "-Infinity": "[-Infinity]",
        "a long number": "9" * 5000, "a key twice": '{"a": 1, "a": 2}', "half a character": '"\\ud800"',
    }  # fmt: skip
    return {name: f'{{"text": ["a"], "target_lang": "DE", "context": {value}}}' for name, value in values.items()}


def refused_traps(traps: list[str]) -> tuple[list[str], float]:
    """(the traps that were not refused with 400 or 413 and without a fault, the slowest answer in seconds)."""
    slowest, bad = 0.0, []
    with running({"one": translator(table(1))}) as service:
        for trap in traps:
            begun = time.monotonic()
            path = "/v2/translate" if '"context"' in trap else "/api/v1/translate"
            answer = service.post(path, trap.encode(), **{"Content-Type": "application/json"})
            slowest = max(slowest, time.monotonic() - begun)
            if answer.status not in (400, 413) or TELLTALE.search(json.dumps(answer.value).encode()):
                bad.append(f"{trap[:40]}: {answer.status}")
        if any(line["event"] == "fault" for line in service.lines()):
            bad.append("fault")
    return bad, slowest


def test_traps_of_json_are_refused(full: bool, measured: Measured) -> None:
    traps = traps_of_json()
    bad, slowest = refused_traps(traps)
    assert not bad
    if full:
        assert slowest <= 0.1, f"{1000 * slowest:.0f} ms"
    note = f"the slowest within {1000 * slowest:.0f} ms"
    measured("X4", "traps of JSON refused", held=len(traps), of=len(traps), note=note)

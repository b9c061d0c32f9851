"""The promises of the service, each put to the test by a fault that is really injected; checks S2, S3 and X1.

Controls break a mechanism: its check has to fail.
"""

import gzip
import json
import os
import random
import re
import socket
import threading
import time
from collections.abc import Callable

import pytest

from limelight.pipelines.translator import Translator
from limelight.serving.limits import Limits
from tests.serving.helpers import PHRASES, Running, carrying, running, table, translator, wait_until
from tests.torture.conftest import Measured
from tests.torture.test_flat import resident_megabytes

PATHS = [
    "/v2/translate",
    "/v2/languages",
    "/v2/usage",
    "/v2/document",
    "/translate",
    "/languages",
    "/detect",
    "/health",
    "/frontend/settings",
    "/spec",
    "/v1/chat/completions",
    "/v1/models",
    "/api/v1/translate",
    "/api/v1/attention",
    "/api/v1/steps",
    "/api/v1/beam",
    "/api/v1/models",
    "/api/v1/health/ready",
    "/metrics",
    "/openapi.json",
    "/",
]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"]
TELLTALE = re.compile(rb"Traceback|File \"|site-packages|/src/limelight|torch|pydantic|starlette", re.IGNORECASE)


def at_once(number: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(each,)) for each in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def adds_up(service: Running) -> bool:
    """Whether every request that came is counted once."""
    wait_until(lambda: service.counts()["in_progress"] == 0)
    return sum(service.counts().values()) == service.received()


# ---- S2: nobody gets another's answer


DIRECTIONS = (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))
LINES = 100
"""Of a document."""


class Crowd:
    """Clients of four directions and three APIs, and beside them documents, clients that leave, and malformed
    requests."""

    def __init__(self, service: Running, models: dict[str, Translator]) -> None:
        self._service = service
        self.wrong: list[str] = []
        """Answers that were not those of their requests, and statuses that there must not be."""
        self._alone = {
            direction: {
                text: one.translate(text, source_lang=direction[0], target_lang=direction[1]).text for text in PHRASES
            }
            for direction, one in zip(DIRECTIONS, models.values(), strict=True)
        }

    def ask(self, draw: random.Random) -> None:
        """A translation; now and then a malformed request before it, or one whose client leaves."""
        (source, target), text = draw.choice(DIRECTIONS), draw.choice(PHRASES)
        if draw.random() < 0.1:
            answer = answered(self._service, malformed(draw))
            if re.match(rb"HTTP/1.1 5", answer) and not re.search(rb"^HTTP/1.1 503 .*\nretry-after: ", answer, re.S):
                self.wrong.append(repr(answer[:100]))
        if draw.random() < 0.1:
            leave(self._service, text, draw.random() < 0.5)
        path, body, text_of = draw.choice(
            [
                ("/v2/translate", {"text": [text], "source_lang": source, "target_lang": target},
                 lambda value: value["translations"][0]["text"]),
                ("/translate", {"q": text, "source": source, "target": target}, lambda value: value["translatedText"]),
                ("/api/v1/translate", {"text": text, "source_lang": source, "target_lang": target},
                 lambda value: value["translations"][0]["text"]),
            ]
        )  # fmt: skip
        answer = self._service.send("POST", path, body, seconds=120)
        if answer.status != 200 or text_of(answer.value) != self._alone[source, target][text]:
            self.wrong.append(f"{path} {source}-{target} {text}: {answer.status} {answer.value}")

    def send_document(self, draw: random.Random) -> None:
        """A text file whose lines are translated one by one."""
        (source, target), texts = draw.choice(DIRECTIONS), draw.choices(PHRASES, k=LINES)
        form = "".join(
            f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in (("source", source), ("target", target))
        )
        file = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        body = form + file + "\n".join(texts) + "\r\n--x--\r\n"
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = self._service.send("POST", "/translate_file", body, headers, seconds=120)
        if answer.status == 200:
            path = answer.value["translatedFileUrl"].removeprefix(self._service.url)
            answer = self._service.send("GET", path, seconds=120)
        expected = "\n".join(self._alone[source, target][text] for text in texts)
        if answer.status != 200 or answer.value.decode() != expected:
            self.wrong.append(f"document {source}-{target}: {answer.status} {answer.value}")


def leave(service: Running, text: str, stream: bool) -> None:
    """A request whose client has gone when its answer comes."""
    body = json.dumps({"text": text, "source_lang": "en", "target_lang": "de", "stream": stream})
    head = f"POST /api/v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n{body}".encode())


def crowded(requests: int, clients: int) -> tuple[list[str], float]:
    """What went wrong, and how many MB of memory the second half of the time took."""
    models = {f"{a}-{b}": carrying(a, b, seed) for seed, (a, b) in enumerate(DIRECTIONS)}
    limits = Limits(header_seconds=1.0, body_seconds=1.0)
    with running(models, limits=limits) as service:
        crowd = Crowd(service, models)

        def client(number: int) -> None:
            draw = random.Random(number)
            for _ in range(requests // clients // 2):
                crowd.ask(draw)
            if number % 32 == 0:
                crowd.send_document(draw)

        at_once(clients, client)
        before = resident_megabytes()
        at_once(clients, client)
        assert adds_up(service)
        grown = resident_megabytes() - before
        assert not [line for line in service.lines() if line["event"] == "fault"]
    return crowd.wrong, grown


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_no_answer_goes_to_another_client(full: bool, measured: Measured) -> None:
    requests, clients = (4096, 64) if full else (96, 16)
    wrong, grown = crowded(requests, clients)
    assert wrong == []
    note = f"{clients} clients, four directions, three APIs, beside documents, clients that leave and malformed ones; "
    note += f"{grown:+.1f} MB in the second half"
    held = int(grown < 20)
    measured("S2", f"{requests:,} mixed requests that got their own answer, and memory", held=held, of=1, note=note)


# ---- S3: clients that leave


def left_behind(service: Running, number: int) -> int:
    """How many sentences are still decoded after so many clients have left, each after its request was begun; every
    second one had asked for a stream."""
    pool = service.service.catalog.models[0].pool
    for place in range(number):
        body = json.dumps({"text": "eggbeef", "stream": place % 2 == 1}).encode()
        head = f"POST /api/v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        head += "Content-Type: application/json\r\n\r\n"
        before = service.received()
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(head.encode() + body)
            wait_until(lambda: service.received() > before)  # noqa: B023
    deadline = time.monotonic() + 5
    while (pool.decoding or pool.waiting) and time.monotonic() < deadline:
        time.sleep(0.01)
    return pool.decoding + pool.waiting


def test_who_leaves_costs_nothing(full: bool, measured: Measured) -> None:
    number = 1000 if full else 40
    model = table(4, endless=True)
    with running({"one": translator(model, max_length_extra=900)}) as service:
        model.pause = 0.001
        left_behind(service, 5)
        threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
        memory = resident_megabytes()
        behind = left_behind(service, number)
        wait_until(lambda: len(os.listdir("/proc/self/fd")) <= files + 2)
        assert threading.active_count() <= threads + 2
        grown = resident_megabytes() - memory
        assert grown < 20, f"{grown:+.1f} MB"
        assert service.counts()["accepted"] == 0
        assert adds_up(service)
    note = f"{grown:+.1f} MB"
    measured("S3", "clients that left and whose work ended", held=number - behind, of=number, note=note)


ENDLESS = (
    b"POST /api/v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 19\r\n\r\n"
    b'{"text": "eggbeef"}'
)
"""A request whose translation has no end of its own."""


def steps_after_leaving(number: int) -> list[int]:
    """How many steps are begun after each client has left. It leaves in the middle of one, which goes to its end."""
    model, found = table(4, endless=True), []
    with running({"one": translator(model, max_length_extra=900)}) as service:
        pool = service.service.catalog.models[0].pool
        for _ in range(number):
            before, canceled = model.steps, service.counts()["canceled"]
            with socket.create_connection(("127.0.0.1", service.port)) as connection:
                connection.sendall(ENDLESS)
                wait_until(lambda: model.steps > before + 2)  # noqa: B023
                model.gate.clear()
            wait_until(lambda: service.counts()["canceled"] > canceled and not pool.decoding)  # noqa: B023
            closed = model.steps
            model.gate.set()
            last = -1
            while model.steps > last:  # until it stands still
                last = model.steps
                time.sleep(0.02)
                if last - closed > 50:
                    break
            found.append(last - closed)
    return found


def test_who_leaves_stops_its_work_within_a_step(full: bool, measured: Measured) -> None:
    number = 100 if full else 5
    found = steps_after_leaving(number)
    held = sum(steps <= 1 for steps in found)  # the one that waited at the gate
    measured("S3", "clients after whose leaving no step was begun", held=held, of=number)


def seconds_of_work_after_leaving(number: int) -> list[float]:
    """For how long steps are still begun after each client has left, without a gate."""
    model, found = table(4, endless=True), []
    with running({"one": translator(model, max_length_extra=900)}) as service:
        pool = service.service.catalog.models[0].pool
        model.pause = 0.001
        for _ in range(number):
            before = model.steps
            with socket.create_connection(("127.0.0.1", service.port)) as connection:
                connection.sendall(ENDLESS)
                wait_until(lambda: model.steps > before + 2)  # noqa: B023
            left = time.monotonic()
            wait_until(lambda: not pool.decoding)
            last = -1
            while model.steps > last:  # until it stands still
                last = model.steps
                time.sleep(0.02)
            found.append(max(0.0, model.begun - left))
    return found


@pytest.mark.usefixtures("in_full_only")
def test_who_leaves_stops_its_work_in_time(measured: Measured) -> None:
    found = sorted(seconds_of_work_after_leaving(1000))
    note = f"p50 {1000 * found[500]:.0f} ms, the longest {1000 * found[-1]:.0f} ms"
    held = sum(seconds <= 0.2 for seconds in found)
    measured("S3", "clients that left and whose work ended within 200 ms", held=held, of=1000, note=note)


# ---- X1, X3, X4: malformed requests


def malformed(draw: random.Random) -> bytes:
    """A request that is wrong in one of many ways."""
    method, path = draw.choice(METHODS), draw.choice(PATHS)
    kind = draw.choice(
        ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/x", ""]
    )
    body = draw.choice(
        [
            b"", b"{", b"[" * 3000, b'{"text": ' + b"[" * 50_000, b'{"q": "\\ud800", "source": "en", "target": "de"}',
            b'{"text": NaN}', b'{"text": "a", "beam_size": 1e999}', b'{"text": "a", "beam_size": ' + b"9" * 5000 + b"}",
            b'{"text": ["\\u0000"], "target_lang": "DE"}',
            b"q=%00&source=en&target=de", b"\xff\xfe\x00", b"a=b&" * 3000,
            b'{"text": {"a": []}, "target_lang": {}}', b"--x\r\nContent-Disposition: x\r\n\r\n", b"--x--",
            b'{"model": "one", "messages": [{"role": "user", "content": null}]}', draw.randbytes(draw.randrange(200)),
            json.dumps({"text": "".join(map(chr, draw.choices(range(1, 0xD7FF), k=20))), "target_lang": "DE"}).encode(),
            gzip.compress(bytes(1_000_000)),
        ]
    )  # fmt: skip
    length = draw.choice([str(len(body)), str(len(body)), str(len(body)), "-1", "abc", "9" * 30])
    extra = draw.choice(
        [
            *("", "", "Content-Encoding: gzip\r\n", "Expect: 100-continue\r\n", "Transfer-Encoding: chunked\r\n"),
            *("Authorization: \x00\r\n", "Range: bytes=0-\r\n", "Upgrade: websocket\r\nConnection: upgrade\r\n"),
        ]
    )
    query = draw.choice(["", "", "?%ff", "?q=%ED%A0%80", "?a[]=1&&&", "?" + "a" * 5000])
    line = f"{method} {path}{query} HTTP/1.{draw.choice('01')}\r\nHost: localhost\r\nConnection: close\r\n"
    head = line + (f"Content-Type: {kind}\r\n" if kind else "") + extra + f"Content-Length: {length}\r\n\r\n"
    whole = bytearray(head.encode("latin-1") + body)
    for _ in range(draw.choice([0, 0, 0, 1, 5])):
        whole[draw.randrange(len(whole))] = draw.randrange(256)
    return bytes(whole)


def answered(service: Running, request: bytes) -> bytes:
    """All that comes back; a request that is waiting for more is given up."""
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.settimeout(5)
        found = b""
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                found += part
        except OSError:
            pass
        return found


def test_malformed_requests_get_4xx_and_not_a_word_too_much(full: bool, seed: int, measured: Measured) -> None:
    number, draw, bad, slowest = 10_000 if full else 300, random.Random(seed), [], 0.0
    with running({"one": translator(table(1))}, limits=Limits(header_seconds=1.0, body_seconds=1.0)) as service:
        for _ in range(number):
            request = malformed(draw)
            begun = time.monotonic()
            answer = answered(service, request)
            slowest = max(slowest, time.monotonic() - begun)
            if re.match(rb"HTTP/1.1 5(?!03)", answer) or TELLTALE.search(answer.replace(b"docs", b"")):
                bad.append((request[:300], answer[:300]))
        assert service.post("/api/v1/translate", {"text": "dab"}).status == 200
        assert not [line for line in service.lines() if line["event"] == "fault"], bad
        assert adds_up(service)
    assert not bad, bad[0]
    if full:
        assert slowest <= 1.0, f"{slowest:.2f} s"
    note = f"the slowest within {1000 * slowest:.0f} ms"
    measured("X1", "malformed requests without an answer of 5xx", held=number - len(bad), of=number, note=note)


async def unchecked(body: bytes, headers: object) -> tuple[dict, dict]:
    return json.loads(body), {}

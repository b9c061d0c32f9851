"""The service under a crowd that does everything at once, and with engines that are killed.

What is asked of one request at a time is in `tests/serving`.
"""

import asyncio
import json
import os
import random
import re
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from limelight.errors import UserError
from limelight.pipelines.load import load_translator
from limelight.serving.engine import Engine
from limelight.serving.links import Link, Loading
from limelight.serving.openapi import APIS
from limelight.serving.pool import Pool
from tests.forked import PROCESSES
from tests.interop.helpers import ENGLISH, make_stored, make_tokenizers, transformer
from tests.serving.helpers import PHRASES, Answered, Running, ThreadLink, at_work, carrying, loader, running, wait_until
from tests.torture.conftest import Measured
from tests.torture.processes import megabytes

FOR_ALL = 120.0
"""Seconds that anything may take on a machine that is busy with other things."""
JSON = "Content-Type: application/json\r\n"
TELLTALE = re.compile(rb"Traceback|File \"|site-packages|/src/limelight|torch|pydantic|starlette", re.IGNORECASE)


@contextmanager
def clients(number: int, work: Callable[[int], None]) -> Iterator[None]:
    """So many threads that do their work again and again until the end of the block."""
    ended = threading.Event()

    def again(place: int) -> None:
        while not ended.is_set():
            work(place)

    threads = [threading.Thread(target=again, args=(place,)) for place in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join(FOR_ALL)


def answered(port: int, request: bytes) -> bytes:
    """All that comes back for these bytes, after which the client sends no more."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=FOR_ALL) as connection, suppress(OSError):
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(65536):
            found += part
    return found


# ---- a crowd

DIRECTIONS = (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))
PATHS = sorted({route.path for api in APIS for route in api.routes})
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"]


def malformed(draw: random.Random) -> bytes:
    """A request that is wrong in one of many ways."""
    method, path = draw.choice(METHODS), draw.choice(PATHS)
    kind = draw.choice(
        ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/x", ""]
    )
    keys = ", ".join(f'"{number}": 1' for number in range(40_000)).encode()
    body = draw.choice(
        [
            b"", b"{", b"[" * 3000, b'{"text": ' + b"[" * 50_000, b'{"q": "\\ud800", "source": "en", "target": "de"}',
            b'{"text": NaN}', b'{"text": "a", "beam_size": 1e999}', b'{"text": "a", "beam_size": ' + b"9" * 5000 + b"}",
            b'{"text": ["\\u0000"], "target_lang": "DE"}', b'{"text": "a", ' + keys + b"}", b'{"text": "a", "text": 1}',
            b'{"text": ["a"], "target_lang": "DE", "context": ' + b"[" * 3000 + b"]" * 3000 + b"}",
            b"q=%00&source=en&target=de", b"\xff\xfe\x00", b"a=b&" * 3000, b'"text"', b"\xef\xbb\xbf[]",
            b'{"text": {"a": []}, "target_lang": {}}', b"--x\r\nContent-Disposition: x\r\n\r\n", b"--x--",
            b'{"model": "one", "messages": [{"role": "user", "content": null}]}', draw.randbytes(draw.randrange(200)),
            json.dumps({"text": "".join(map(chr, draw.choices(range(1, 0xD7FF), k=20))), "target_lang": "DE"}).encode(),
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


class Crowd:
    """Clients of four directions and three APIs with all their habits, and what they got that must not be."""

    def __init__(self, service: Running, models: list[dict[str, Any]]) -> None:
        self._service = service
        self.wrong: list[str] = []
        self.seen: Counter[str] = Counter()
        self._right = {
            (*direction, text): {
                dict_of[name].translate(text, source_lang=direction[0], target_lang=direction[1]).text
                for dict_of in models
            }
            for name, direction in zip(models[0], DIRECTIONS, strict=True)
            for text in PHRASES
        }
        """What one of the models that take turns says."""

    def act(self, draw: random.Random) -> None:
        """A request of any kind."""
        habits = {self.translate: 20, self.fail: 8, self.leave: 3, self.exceed: 1}
        (habit,) = draw.choices(list(habits), list(habits.values()))
        self.seen[habit.__name__] += 1
        habit(draw)

    def translate(self, draw: random.Random) -> None:
        (source, target), text = draw.choice(DIRECTIONS), draw.choice(PHRASES)
        path, body, text_of = draw.choice(
            [
                ("/v2/translate", {"text": [text], "source_lang": source, "target_lang": target},
                 lambda value: value["translations"][0]["text"]),
                ("/translate", {"q": text, "source": source, "target": target}, lambda value: value["translatedText"]),
                ("/api/v1/translate", {"text": text, "source_lang": source, "target_lang": target},
                 lambda value: value["translations"][0]["text"]),
            ]
        )  # fmt: skip
        answer = self._service.send("POST", path, body, seconds=FOR_ALL)
        if answer.status != 200 or text_of(answer.value) not in self._right[source, target, text]:
            self.wrong.append(f"{path} {source}-{target} {text}: {answer}")

    def fail(self, draw: random.Random) -> None:
        """A malformed request gets no 5xx but one that says when to come back, and not a word too much."""
        request = malformed(draw)
        answer = answered(self._service.port, request)
        wrong = re.match(rb"HTTP/1.1 5(?!03.*\nretry-after: )", answer, re.S)
        if wrong or TELLTALE.search(answer.replace(b"docs", b"")):
            self.wrong.append(f"{request[:300]!r}: {answer[:300]!r}")

    def leave(self, draw: random.Random) -> None:
        """A client that has gone when its answer comes, or its stream."""
        text, stream = draw.choice(PHRASES), draw.random() < 0.5
        body = json.dumps({"text": text, "source_lang": "en", "target_lang": "de", "stream": stream})
        head = f"POST /api/v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        with socket.create_connection(("127.0.0.1", self._service.port)) as connection:
            connection.sendall(f"{head}{JSON}\r\n{body}".encode())

    def exceed(self, draw: random.Random) -> None:
        text = "a" * (self._service.service.limits.characters + 1)
        answer = self._service.post("/translate", {"q": text, "source": "en", "target": "de"})
        if answer.status != 413:
            self.wrong.append(f"too long: {answer}")


def broken(heard: Any) -> ThreadLink:
    """An engine that cannot be loaded."""

    def make(send: Any) -> Engine:
        raise UserError("this folder is damaged")

    return ThreadLink(make, heard)


def reload(service: Running, number: int, start: Any) -> bool:
    """Whether a model could be replaced."""
    model, one = service.service.catalog.models[number], service.service
    new = Pool(start, 1, one.limits, one.log)
    return asyncio.run_coroutine_threadsafe(model.reload(new), service.loop).result(FOR_ALL)


def held_by_the_process() -> tuple[int, int]:
    """Open files and threads."""
    return len(os.listdir("/proc/self/fd")), threading.active_count()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_a_crowd_with_every_habit(full: bool, seed: int, measured: Measured) -> None:
    """Everybody gets the own answer, no fault, memory and files stay as they are; while
    models are replaced, also by some that cannot be loaded."""
    requests, threads = (20_000, 64) if full else (400, 12)
    models = [{f"{a}-{b}": carrying(a, b, number + 4 * turn) for number, (a, b) in enumerate(DIRECTIONS)}
              for turn in range(2)]  # fmt: skip
    reloads, held = 0, list[tuple[float, tuple[int, int]]]()
    with running(models[0]) as service:
        crowd = Crowd(service, models)
        draws = [random.Random(f"{seed} {place}") for place in range(threads)]
        for half in range(2):
            with clients(threads, lambda place: crowd.act(draws[place])):
                while sum(crowd.seen.values()) < (half + 1) * requests // 2:
                    number = reloads % len(DIRECTIONS)
                    link = loader(list(models[(reloads // 4 + 1) % 2].values())[number])
                    assert reload(service, number, link)
                    assert not reload(service, number, broken)
                    assert service.service.ready
                    reloads += 1
            wait_until(lambda: service.counts()["in_progress"] == 0)
            pools = [model.pool for model in service.service.catalog.models]
            wait_until(lambda: not any(pool.waiting + pool.decoding for pool in pools))  # noqa: B023
            held.append((megabytes(), held_by_the_process()))
        wait_until(lambda: held_by_the_process() <= held[0][1] or not full)
        assert not [line for line in service.lines() if line["event"] == "fault"]
    assert crowd.wrong == []
    assert crowd.seen.keys() == {"translate", "fail", "leave", "exceed"}
    total, grown = crowd.seen.total(), held[1][0] - held[0][0]
    assert not full or grown < 20, f"{grown:+.1f} MB"
    note = f"{dict(crowd.seen)} of {threads} clients, {reloads} reloads; {grown:+.1f} MB in the second half"
    measured("S2", "mixed requests that got their own answer", held=total, of=total, note=note)


# ---- an engine that is killed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small model of random weights, which never fails and knows no language."""
    path = tmp_path_factory.mktemp("served") / "model"
    config = transformer(encoder_layers=1, decoder_layers=1, positions="rotary")  # for which nothing is compiled
    make_stored(path, config, make_tokenizers(joint=True))
    return str(path)


@pytest.fixture(scope="module")
def expected(folder: str) -> dict[str, str]:
    """What it says alone."""
    alone = load_translator(folder, precision="fp32")
    return {text: alone.translate(text).text for text in ENGLISH}


def test_a_killed_engine_is_replaced_and_others_do_not_notice(
    full: bool, folder: str, expected: dict[str, str], measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two processes, with requests on both: those of the dead one go to the other."""
    monkeypatch.setattr("limelight.child.PROCESSES", PROCESSES)
    number, held = 50 if full else 1, 0
    link = partial(Link, Loading(folder, precision="fp32"))
    with running({"one": folder}, start=lambda _: link, engines=2) as service:
        pool = service.service.catalog.models[0].pool
        for _ in range(number):
            victim, answers = pool._engines[0], list[Answered]()
            pid = victim.link.pid if victim.link else None
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)  # so that it has not answered before it is killed

            def ask(answers: list[Answered] = answers) -> None:
                answers.append(service.send("POST", "/api/v1/translate", {"text": ENGLISH[0]}, seconds=FOR_ALL))

            with at_work(8, ask):
                wait_until(lambda: len(victim.requests) >= 2, FOR_ALL)  # noqa: B023
                wait_until(lambda: len(answers) + len(victim.requests) >= 8, FOR_ALL)  # noqa: B023
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: pool.ready and victim not in pool._engines, FOR_ALL)  # noqa: B023
            texts = [answer.value["translations"][0]["text"] for answer in answers if answer.status == 200]
            held += texts == [expected[ENGLISH[0]]] * 8
        wait_until(lambda: service.counts()["in_progress"] == 0)
    measured("S5", "engines killed in mid-batch: replaced, all requests answered by another", held=held, of=number)

"""The promises of the service about its own end, its engines and its counts; checks S4 to S8, S10 and S11.

Controls break a mechanism: its check has to fail.
"""

import asyncio
import json
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from limelight.errors import UserError
from limelight.pipelines.load import load_translator
from limelight.serving import server
from limelight.serving.engine import Engine
from limelight.serving.links import Link, Loading
from limelight.serving.logs import Log
from limelight.serving.pool import NewLink
from limelight.serving.run import Plan, run_service
from tests.forked import PROCESSES
from tests.interop.helpers import ENGLISH, make_stored, make_tokenizers, transformer
from tests.serving.helpers import (
    Running,
    ThreadLink,
    at_work,
    engine_of,
    loader,
    running,
    table,
    translator,
    wait_until,
)
from tests.torture.conftest import Measured
from tests.torture.test_serving import adds_up

FOR_ALL = 120.0
"""Seconds that anything may take on a machine that is busy with other things."""


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


# ---- S4: the end


class Ended(NamedTuple):
    """How a service ended that was told to under load."""

    code: int | None
    answered: int
    """Requests with an answer that is right."""
    lost: int
    """Those that the service had taken and did not answer, or that got something else."""
    unready: bool
    """Whether no request was told afterwards that it is ready."""
    free: bool
    """Whether its port can be had again."""
    seconds: float
    """From the signal to its end."""
    children: int
    """Processes of engines that are left."""


def ended_under_load(folder: str, expected: dict[str, str], log: Path) -> Ended:
    """A service in a process of its own, SIGTERM after a few answers while eight clients ask."""
    process = PROCESSES.Process(target=serve_alone, args=(folder, log))
    process.start()
    try:
        return watched(process, log, expected)
    finally:
        process.kill()  # also after a failure: the run of the tests would wait for it


def watched(process: Any, log: Path, expected: dict[str, str]) -> Ended:
    """What `ended_under_load` returns, of a service that was started."""
    wait_until(lambda: bool(logged(log, "engine_ready")), FOR_ALL)
    (listening,) = logged(log, "listening")
    port, seen = listening["port"], Counter[str]()

    def ask(place: int) -> None:
        text = random.choice(ENGLISH)
        body = json.dumps({"text": text}).encode()
        try:
            status, answer = exchange(port, "POST /api/v1/translate", body)
        except OSError:
            seen["no connection"] += 1
            time.sleep(0.01)
            return
        right = status == 200 and json.loads(answer)["translations"][0]["text"] == expected[text]
        seen["right" if right else str(status)] += 1

    with clients(8, ask):
        wait_until(lambda: seen["right"] >= 8, FOR_ALL)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGTERM)
        told = time.monotonic()
        wait_until(lambda: bool(logged(log, "draining")) or not process.is_alive(), FOR_ALL)
        status = 503
        with suppress(OSError):
            status, _ = exchange(port, "GET /api/v1/health/ready")
        process.join(FOR_ALL)
        seconds = time.monotonic() - told
    code, free = process.exitcode, True
    children = sum(is_there(line["pid"]) for line in logged(log, "engine_ready") if line["pid"] is not None)
    process.kill()
    try:
        server.listen("127.0.0.1", port).close()
    except Exception:
        free = False
    given = Counter(str(line["status"]) for line in logged(log, "request") if "/translate" in line["path"])
    lost = sum(count for status, count in given.items() if status not in ("200", "503"))
    lost += sum(line["unanswered"] for line in logged(log, "drained")) + abs(given["200"] - seen["right"])
    return Ended(code, seen["right"], int(lost), status in (0, 503), free, seconds, children)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def serve_alone(folder: str, log: Path) -> None:
    """What `limelight serve` runs, with steps that take a while: there is always something on its way."""
    torch.set_num_threads(1)
    with log.open("w", encoding="utf-8") as stream:
        loading = {"one": Loading(folder, precision="fp32")}
        plan = Plan(loading, port=0, drain_seconds=FOR_ALL)
        asyncio.run(run_service(plan, Log(stream)))


async def at_once(service: Any, web: Any, **_: Any) -> None:
    web.force_exit = web.should_exit = True


def logged(path: Path, event: str) -> list[dict[str, Any]]:
    """The whole lines of a log that tell of this."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [line for line in (json.loads(each) for each in lines if each.endswith("\n")) if line["event"] == event]


def exchange(port: int, line: str, body: bytes = b"") -> tuple[int, bytes]:
    """Status and body of an answer; 0 where there is none. Raises `OSError` where there is no connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=FOR_ALL) as connection:
        head = f"{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head_of, _, content = answer.partition(b"\r\n\r\n")
    return (int(head_of.split(b" ")[1]) if head_of else 0), content


def test_told_to_end_it_answers_what_it_has_taken(
    full: bool, folder: str, expected: dict[str, str], measured: Measured, tmp_path: Path
) -> None:
    # In full, the engines of every tenth have processes of their own, and each ends in time.
    number = 100 if full else 1
    found = [ended_under_load(folder, expected, tmp_path / f"{place}.log") for place in range(number)]
    held = sum(each.code == 0 and each.lost == 0 and each.unready and each.free and not each.children for each in found)
    longest = max(each.seconds for each in found)
    note = f"{sum(each.answered for each in found):,} answers; the longest end took {longest:.1f} s"
    if full:
        assert longest <= Plan({}).drain_seconds, note
    measured("S4", "SIGTERM under load: all answered, exit code 0, the port free", held=held, of=number, note=note)


# ---- S5: an engine that is killed


def of_folder(folder: str) -> NewLink:
    return partial(Link, Loading(folder, precision="fp32"))


def test_a_killed_engine_is_replaced_and_others_do_not_notice(
    full: bool, folder: str, expected: dict[str, str], measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two processes, with requests on both: those of the dead one go to the other."""
    monkeypatch.setattr("limelight.child.PROCESSES", PROCESSES)
    number, held = 50 if full else 1, 0
    told, back = [], []
    """Seconds after the kill: of the last answer, and of the moment when all engines are there again."""
    with running({"one": folder}, start=of_folder, engines=2) as service:
        pool = service.service.catalog.models[0].pool
        for _ in range(number):
            victim = pool._engines[0]
            pid = victim.link.pid if victim.link else None
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)  # so that it has not answered before it is killed
            answers: list[tuple[int, str]] = []
            with at_work(8, asking(service, answers)):
                wait_until(lambda: len(victim.requests) >= 2, FOR_ALL)  # noqa: B023
                wait_until(lambda: len(answers) + len(victim.requests) >= 8, FOR_ALL)  # noqa: B023
                os.kill(pid, signal.SIGKILL)
                killed = time.monotonic()
            told.append(time.monotonic() - killed)
            wait_until(lambda: pool.ready and victim not in pool._engines, FOR_ALL)  # noqa: B023
            back.append(time.monotonic() - killed)
            held += Counter(answers) == {(200, expected[ENGLISH[0]]): 8}
        assert adds_up(service)
    note = f"the last answer after {max(told):.2f} s; replaced after {max(back):.1f} s"
    if full:
        assert max(told) <= 2, note
        assert max(back) <= 10, note
    measured(
        "S5", "engines killed in mid-batch: replaced, all requests answered by another", held=held, of=number, note=note
    )


def asking(service: Running, answers: list[tuple[int, str]]) -> Callable[[], None]:
    """What sends a request and notes its answer: status, and text or code."""

    def ask() -> None:
        answer = service.send("POST", "/api/v1/translate", {"text": ENGLISH[0]}, seconds=FOR_ALL)
        good = answer.status == 200
        answers.append(
            (answer.status, answer.value["translations"][0]["text"] if good else answer.value["error"]["code"])
        )

    return ask


# ---- S6: readiness


def test_ready_is_said_only_when_all_is_there(measured: Measured) -> None:
    """Alive while it loads, while an engine is missing and where none can be loaded; ready then at no time."""
    gate, model, told = threading.Event(), translator(table(1)), []

    def after_the_gate(one: Any) -> NewLink:
        def make(send: Any) -> Engine:
            gate.wait(FOR_ALL)
            return engine_of(one, send)

        return partial(ThreadLink, make)

    def look(service: Running) -> None:
        told.append((service.get("/api/v1/health/live").status, service.get("/api/v1/health/ready").status))

    with running({"one": model}, start=after_the_gate, ready=False) as service:
        look(service)
        gate.set()
        wait_until(lambda: service.service.ready, FOR_ALL)
        look(service)
        engine = service.service.catalog.models[0].pool._engines[0]
        service.service.catalog.models[0].pool._new_link = broken
        assert engine.link is not None
        engine.link.close()
        wait_until(lambda: not service.service.ready, FOR_ALL)
        look(service)
    with running({"one": model, "bad": None}, start=lambda one: loader(one) if one else broken, ready=False) as service:
        wait_until(lambda: service.service.catalog.models[0].pool.ready, FOR_ALL)
        wait_until(lambda: bool(service.service.catalog.models[1].pool.trouble), FOR_ALL)
        look(service)
        assert service.post("/api/v1/translate", {"text": "dab"}).status == 200, "the other model is up"
    expected = [(200, 503), (200, 200), (200, 503), (200, 503)]
    held = sum(found == right for found, right in zip(told, expected, strict=True))
    measured("S6", "alive while loading, without an engine and with a bad model, and not ready", held=held, of=4)


def broken(heard: Any) -> ThreadLink:
    """An engine that cannot be loaded."""

    def make(send: Any) -> Engine:
        raise UserError("this folder is damaged")

    return ThreadLink(make, heard)

"""The service under load: requests a second and latencies for 1 to 128 clients, beside simpler services of one model.

    make bench-serve MODEL=folder
    python -m benchmarks.serving --model folder --target de --seconds 10 --clients 1 8 32 128
    python -m benchmarks.serving --model folder --beside

Services, each in processes of its own: `limelight` (`limelight serve`); `one at a time` (the same model, a text after
another); `ctranslate2` (the exported model behind the smallest application, with its own choice of `compute_type`). A
service that cannot be had is reported. Requests have three sizes: a sentence, a paragraph of four, a page of sixteen.
Answers are compared with what the model says alone, and CTranslate2's, whose numbers are its own, with what it said
first. `--beside` measures how much longer sentences take beside pages.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from queue import SimpleQueue
from statistics import median, quantiles
from typing import Any, NamedTuple

from benchmarks.common import report, table

ROOT = Path(__file__).parents[1]
NAMES = ("limelight", "one at a time", "ctranslate2")
SHORT = [
    "A dog runs across the yard.",
    "Two children play in the snow.",
    "The old man reads a newspaper.",
    "She opens the window and looks out.",
    "We waited an hour for the train.",
    "My brother lives in a small town.",
    "He forgot his umbrella at home.",
    "The shop closes at six today.",
]
LONG = " ".join(f"{sentence} {SHORT[(place * 3 + 1) % len(SHORT)]}" for place, sentence in enumerate(SHORT))

LOADS = {
    "sentence": SHORT,
    "paragraph": [" ".join(SHORT[place : place + 4]) for place in range(5)],
    "page": [LONG],
}
"""The texts of requests, by their size."""


class Load(NamedTuple):
    """What was measured with so many clients."""

    load: str
    service: str
    clients: int
    per_second: float
    p50: float
    p99: float
    requests: int
    wrong: int


class Client:
    """One connection that is kept, as those of real clients are."""

    def __init__(self, port: int, target: str) -> None:
        self._port, self._target = port, target

    async def __aenter__(self) -> "Client":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def translate(self, text: str) -> str:
        body = json.dumps({"q": text, "source": "en", "target": self._target}).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        head += "Content-Type: application/json\r\n\r\n"
        self._writer.write(head.encode() + body)
        status = await self._reader.readline()
        length = 0
        while (line := await self._reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        answer = json.loads(await self._reader.readexactly(length))
        if b" 200 " not in status:
            raise RuntimeError(f"{status.decode().strip()}: {answer}")
        return str(answer["translatedText"])


async def measure(
    name: str, port: int, target: str, expected: dict[str, str], seconds: float, load: str, *, clients: int
) -> Load:
    """So many clients, each sending its next text when it has its answer."""
    texts, latencies, wrong = LOADS[load], list[float](), 0
    end = time.perf_counter() + seconds

    async def work(number: int) -> None:
        nonlocal wrong
        async with Client(port, target) as client:
            while time.perf_counter() < end:
                number += 1
                text = texts[number % len(texts)]
                begin = time.perf_counter()
                wrong += await client.translate(text) != expected[text]
                latencies.append(time.perf_counter() - begin)

    begin = time.perf_counter()
    await asyncio.gather(*(work(number) for number in range(clients)))
    spent = time.perf_counter() - begin
    p99 = quantiles(latencies, n=100)[98] if len(latencies) > 1 else latencies[0]
    return Load(load, name, clients, len(latencies) / spent, median(latencies), p99, len(latencies), wrong)


def beside_pages(model: str, target: str) -> str:
    """p99 of sentences of one client and of eight, alone and beside two pages, in CPU time of an engine. So other work
    of the machine changes nothing."""
    import torch

    from limelight.pipelines.load import load_translator
    from limelight.serving.engine import TranslationEngine
    from limelight.serving.links import Report, Task

    torch.set_num_threads(1)
    translator, now = load_translator(model), time.thread_time

    def p99_of(clients: int, pages: int, count: int = 300) -> float:
        inbox, begun, spent = SimpleQueue[Task | None](), dict[int, float](), list[float]()

        def submit(number: int) -> None:
            is_page = number % (clients + pages) >= clients
            begun[number] = now()
            text = LONG if is_page else SHORT[number % len(SHORT)]
            inbox.put(Task(number, "translate", [text], {"source_lang": "en", "target_lang": target}))

        def heard(report: Report) -> None:
            if report.id % (clients + pages) < clients:
                spent.append(now() - begun[report.id])
            if len(spent) == count:
                inbox.put(None)
            submit(report.id + clients + pages)

        for number in range(clients + pages):
            submit(number)
        TranslationEngine(translator, heard).run(inbox)
        return 1000 * quantiles(spent, n=100)[98]

    p99_of(1, 1)  # loads what is used first
    rows = [(clients, p99_of(clients, 0), p99_of(clients, 2)) for clients in (1, 8)]
    head = ["clients with sentences", "p99 alone, ms", "p99 beside pages, ms", "ratio"]
    return table(head, [[clients, *map(round, both), both[1] / both[0]] for clients, *both in rows])


# ---- the services


@contextmanager
def started(command: list[str], port: int) -> Iterator[int]:
    """A service in a process of its own, once it answers. Raises `RuntimeError` where another one has the port."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise RuntimeError(f"port {port} is in use: another service would be measured; end it first")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/health/ready", timeout=5).close()
                    break
                except OSError:
                    if process.poll() is not None:
                        raise RuntimeError(f"it ended with code {process.returncode}") from None
                    time.sleep(0.2)
            yield port
        finally:
            process.terminate()
            process.wait(30)


def command_of(name: str, model: str, target: str, port: int, engines: int) -> list[str]:
    if name == "limelight":
        served = ["serve", "--model", model, "--port", str(port), "--engines", str(engines), "--quiet"]
        return [sys.executable, "-m", "limelight", *served]
    return [sys.executable, "-m", "benchmarks.serving", "--app", name, "--model", model, "--target", target,
            "--port", str(port), "--engines", str(engines)]  # fmt: skip


def simple_app(name: str, model: str, target: str, engines: int) -> Any:
    """The smallest application around a model: a text after another, or CTranslate2's own batching of one request."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    translate = one_at_a_time(model, target) if name == "one at a time" else with_ctranslate2(model, target, engines)

    async def answer(request: Request) -> JSONResponse:
        asked = await request.json()
        return JSONResponse({"translatedText": await run_in_threadpool(translate, asked["q"])})

    async def ready(request: Request) -> JSONResponse:
        return JSONResponse({})

    return Starlette(routes=[Route("/translate", answer, methods=["POST"]), Route("/api/v1/health/ready", ready)])


def one_at_a_time(model: str, target: str) -> Any:
    import torch

    from limelight.pipelines.load import load_translator

    torch.set_num_threads(1)
    translator, lock = load_translator(model), threading.Lock()

    def translate(text: str) -> str:
        with lock:
            return translator.translate(text, source_lang="en", target_lang=target).text

    return translate


def with_ctranslate2(model: str, target: str, workers: int) -> Any:
    import ctranslate2

    from limelight.interop.ctranslate2 import export_ctranslate2
    from limelight.pipelines.load import load_translator
    from limelight.storage.model import load_model
    from limelight.text.sentences import split_sentences

    folder = Path(tempfile.mkdtemp()) / "ct2"
    export_ctranslate2(load_model(model), folder)
    ours = load_translator(model)
    source, pieces_of = ours.tokenizers.source, ours.tokenizers.target
    theirs = ctranslate2.Translator(str(folder), inter_threads=workers, intra_threads=1, compute_type="auto")
    beam = ours.config.beam_size
    ids = {piece: number for number, piece in enumerate(pieces_of.pieces(range(pieces_of.size)))}

    def translate(text: str) -> str:
        apart = split_sentences(text, "en")
        prepared = ours.prepare(list(apart.texts), source_lang="en", target_lang=target)
        rows = [source.pieces(each.request.source[:-1]) for each in prepared if each.request is not None]
        found = theirs.translate_batch(rows, beam_size=beam)
        return apart.join([pieces_of.decode([ids[piece] for piece in each.hypotheses[0]]) for each in found])

    return translate


# ---- the whole


def expected_of(name: str, model: str, target: str, port: int) -> dict[str, str]:
    """What each text becomes: said by the model alone, or for CTranslate2 by the service before there is any load."""
    texts = [text for of_size in LOADS.values() for text in of_size]
    if name != "ctranslate2":
        translate = one_at_a_time(model, target)
        return {text: translate(text) for text in texts}

    async def ask() -> dict[str, str]:
        async with Client(port, target) as client:
            return {text: await client.translate(text) for text in texts}

    return asyncio.run(ask())


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    rows, missing = list[Load](), dict[str, str]()
    load_average = os.getloadavg()[0]  # of others, before there is any of ours
    for number, name in enumerate(options.services):
        port = options.port + number
        command = command_of(name, options.model, options.target, port, options.engines)
        try:
            with started(command, port):
                expected = expected_of(name, options.model, options.target, port)
                ask = partial(measure, name, port, options.target, expected, options.seconds)
                for load, clients in product(options.loads, options.clients):
                    rows.append(asyncio.run(ask(load, clients=clients)))
                    print(cells(rows[-1]), flush=True)
        except Exception as error:
            missing[name] = f"{type(error).__name__}: {error}"
            print(f"{name}: missing ({missing[name]})", flush=True)
    return {
        "load_average": load_average,
        "engines": options.engines,
        "rows": [row._asdict() for row in rows],
        "missing": missing,
    }


def cells(load: Load) -> list[object]:
    times = (round(1000 * load.p50), round(1000 * load.p99))
    return [load.load, load.service, load.clients, load.per_second, *times, load.requests, load.wrong]


def table_of(found: dict[str, Any]) -> str:
    head = ["request", "service", "clients", "requests a second", "p50, ms", "p99, ms", "requests", "wrong"]
    lines = [table(head, [cells(Load(**row)) for row in found["rows"]]), ""]
    return "\n".join([*lines, *(f"{name}: missing. {reason}" for name, reason in found["missing"].items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="de")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--services", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=list(LOADS))
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--beside", action="store_true", help="only sentences beside pages")
    parser.add_argument("--port", type=int, default=8470)
    parser.add_argument("--app", choices=NAMES[1:3], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.beside:
        print(beside_pages(options.model, options.target))
        return
    if options.app:
        import uvicorn

        app = simple_app(options.app, options.model, options.target, options.engines)
        uvicorn.run(app, port=options.port, log_level="warning")
        return
    found = measure_all(options)
    report("serving", f"serving --model {Path(options.model).name}", table_of(found), **found)


if __name__ == "__main__":
    main()

"""A service on a real port, around models that are nothing but tables."""

import asyncio
import functools
import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
import uvicorn
from pydantic_core import from_json, to_json

from limelight.child import Inbox
from limelight.config import DecodingConfig, Direction, TransformerConfig
from limelight.errors import RunError, UserError
from limelight.models.families import build_model
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translator import Translator
from limelight.serving.app import build_app
from limelight.serving.catalog import Catalog, Model
from limelight.serving.engine import Engine, TranslationEngine
from limelight.serving.keys import Keys
from limelight.serving.limits import Limits
from limelight.serving.links import SILENT, Loading, Report, ReportCallback, Task
from limelight.serving.logs import Log
from limelight.serving.openapi import APIS
from limelight.serving.origin import Origins
from limelight.serving.pool import NewLink, Pool
from limelight.serving.server import end_engines, listen, web_server
from limelight.serving.service import Service
from limelight.serving.stored import Glossaries, Memories
from limelight.serving.worker import description, load_engine
from limelight.tokens import Tokenizer, Tokenizers, train_tokenizer
from tests.decoding.fakes import TableModel, characters

ROOT = Path(__file__).parents[2]
# uvicorn looks ten times a second whether it shall end, and waits as long for its connections: most of the time of a
# service that is tried with a few requests.
uvicorn.server.asyncio = SimpleNamespace(  # type: ignore[attr-defined]
    **{**vars(asyncio), "sleep": lambda seconds: asyncio.sleep(min(seconds, 0.01))}
)
TEXTS = ["dab", "a", "cabbage", "face", "bad", "eggbeef", "c", "hi", "beadeh", "fee"]


class Gated(TableModel):
    """A table whose steps are counted, and wait while the gate is closed."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__(logits)
        self.gate = threading.Event()
        self.gate.set()
        self.steps = 0
        self.begun = 0.0
        """When the last step began."""
        self.pause = 0.0

    def step_some(self, ids, state, active):
        assert self.gate.wait(600)
        time.sleep(self.pause)
        self.steps += 1
        self.begun = time.monotonic()
        return super().step_some(ids, state, active)


def table(seed: int, *, endless: bool = False) -> Gated:
    """A random table; the same for the same seed. An endless one hardly ever ends a translation."""
    generator = torch.Generator().manual_seed(seed)
    logits = 1.5 * torch.randn(12, 1009, 11, dtype=torch.float64, generator=generator)
    if endless:
        logits[:, :, 0] = -30.0
    return Gated(logits)


def translator(model: TableModel, source: str = "en", target: str = "de", **config: Any) -> Translator:
    config = {"beam_size": 2, **config}
    return Translator(model, characters(), DecodingConfig(**config), directions=[Direction(source, target)])


PHRASES = ["the lamp hums here now", "press the lamp and it hums", "a name is here", "the dog runs now", "it is a lamp"]


@functools.cache
def words() -> Tokenizer:
    """A vocabulary that has placeholders."""
    return train_tokenizer(
        PHRASES * 9, kind="bpe", vocabulary_size=None, languages=("de", "en"), byte_fallback=True, seed=1, sentences=45
    )


def carrying(source: str = "en", target: str = "de", seed: int = 5) -> Translator:
    """A random model with attention whose vocabulary has placeholders: it says nonsense, and always the same."""
    both = Tokenizers(words(), words())
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build_model(config, both).eval()  # shared by services, one of which may end later than another begins
    decoding = DecodingConfig(beam_size=2, max_length_factor=1, max_length_extra=4)
    return Translator(model, both, decoding, directions=[Direction(source, target)])


def loader(one: Translator | Loading) -> NewLink:
    """A pool's engine around this translator, or the model of this folder, in a thread."""
    make = functools.partial(*((load_engine, one) if isinstance(one, Loading) else (engine_of, one)))
    return lambda heard: ThreadLink(make, heard)


def engine_of(one: Translator, send: ReportCallback) -> Engine:
    """An engine that has reported that it is there."""
    send(Report(0, "loaded", description(one)))
    return TranslationEngine(one, send, Snapshots("none"))


class ThreadLink:
    """An engine in a thread of this process, which `make` makes there. It cannot be ended by force."""

    pid = None

    def __init__(self, make: Callable[[ReportCallback], Engine], heard: ReportCallback) -> None:
        self._inbox = Inbox()
        self._heard, self._left = heard, False
        self._thread = threading.Thread(target=self._run, args=(make,), daemon=True)
        self._thread.start()

    def send(self, task: Task | None) -> None:
        self._inbox.put(({"task": from_json(to_json(task))}, b""))

    def kill(self) -> None:
        self._report(Report(0, "closed", SILENT))
        self._left = True
        self._inbox.put(({"task": None}, b""))

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _report(self, report: Report) -> None:
        if not self._left:
            self._heard(Report(*from_json(to_json(report, inf_nan_mode="null"))))

    def _run(self, make: Callable[[ReportCallback], Engine]) -> None:
        reason = ""
        try:
            make(self._report).run(self._inbox)
        except Exception as error:
            reason = str(error) if isinstance(error, UserError | RunError) else f"{type(error).__name__}: {error}"
        self._report(Report(0, "closed", reason))


class Answered(NamedTuple):
    status: int
    value: Any
    headers: dict[str, str]


class Running:
    """A service that answers, and a client of it."""

    def __init__(self, service: Service, port: int, loop: asyncio.AbstractEventLoop, log: StringIO) -> None:
        self.service, self.port, self.loop, self.log = service, port, loop, log
        self.url = f"http://127.0.0.1:{port}"

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, seconds: float = 600
    ) -> Answered:
        """A request; a dictionary is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        headers = dict(headers or {})
        if isinstance(body, dict | list):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
            plain = response.getheader("content-type", "").startswith("application/json")
            return Answered(response.status, json.loads(content) if plain else content, dict(response.getheaders()))
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str) -> Answered:
        return self.send("POST", path, body, headers)

    def get(self, path: str, **headers: str) -> Answered:
        return self.send("GET", path, None, headers)

    def counts(self) -> dict[str, float]:
        """Requests by outcome, and how many are on their way."""
        found = dict.fromkeys(("accepted", "rejected", "canceled", "failed"), 0.0)
        for metric in self.service.metrics.registry.collect():
            for sample in metric.samples:
                if sample.name == "limelight_requests_total":
                    status = int(sample.labels["status"])
                    refused = 400 <= status < 500 or status == 503
                    name = (
                        "canceled"
                        if status == 499
                        else "rejected"
                        if refused
                        else "failed"
                        if status >= 500
                        else "accepted"
                    )
                    found[name] += sample.value
        return {**found, "in_progress": self.service.metrics.unanswered}

    def lines(self) -> list[dict[str, Any]]:
        """What was logged."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def wait_until(holds: Callable[[], bool], seconds: float = 600.0) -> None:
    """Wait for what is sure to come; that it does is the assertion."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it has not come"
        time.sleep(0.005)


@contextmanager
def at_work(number: int, send: Callable[[], object]) -> Iterator[None]:
    """So many requests at a time, all answered by the end of the block."""
    threads = [threading.Thread(target=send) for _ in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join(600)


@contextmanager
def running(
    models: Mapping[str, Any],
    *,
    limits: Limits | None = None,
    keys: Keys | None = None,
    cors: Sequence[str] = (),
    engines: int = 1,
    start: Callable[[Any], NewLink] = loader,
    ready: bool = True,
    proxies: str = "",
) -> Iterator[Running]:
    """The service of these models, each with so many engines; `start` says how an engine of one is started. Begins when
    all are there, or with `ready=False` at once."""
    limits, text = limits or Limits(), StringIO()
    started: list[Running] = []
    ended = threading.Event()

    async def main() -> None:
        log = Log(text)
        catalog = Catalog([Model(name, Pool(start(one), engines, limits, log)) for name, one in models.items()])
        for model in catalog.models:
            model.pool.start()
        known, origins = keys or Keys([]), Origins(pages=cors)
        service = Service(catalog, limits, log, known, keys is not None, origins, Glossaries(), Memories(limits))
        listening = listen("127.0.0.1", 0)
        server = web_server(service, build_app(service, APIS), proxies=proxies)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            await asyncio.sleep(0.005)
        started.append(Running(service, listening.getsockname()[1], asyncio.get_running_loop(), text))
        while not ended.is_set():
            await asyncio.sleep(0.01)
        server.should_exit = server.force_exit = True
        await serving
        await asyncio.to_thread(end_engines, service)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    patch = pytest.MonkeyPatch()
    patch.setenv("PYTHONPATH", str(ROOT / "src"), prepend=os.pathsep)  # of the processes that read documents
    thread.start()
    try:
        wait_until(lambda: bool(started) or not thread.is_alive())
        pools = [model.pool for model in started[0].service.catalog.models]
        wait_until(lambda: not ready or started[0].service.ready or any(pool.trouble for pool in pools))
        assert not ready or started[0].service.ready, f"an engine has ended:\n{text.getvalue()}"
        yield started[0]
    finally:
        ended.set()
        thread.join(600)
        patch.undo()

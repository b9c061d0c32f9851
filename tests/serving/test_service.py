"""What is refused before any work."""

import asyncio
import json
import os
import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from limelight.config.directions import Direction
from limelight.serving import service as services
from limelight.serving.catalog import Catalog
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.limits import Limits
from limelight.serving.logs import Log
from limelight.serving.pool import WINDOW
from limelight.serving.refusal import Refusal
from limelight.text.glossary import Glossary, Term
from tests.serving.helpers import at_work, carrying, running, table, translator, wait_until


def test_others_are_answered_while_terms_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms of many sentences are looked up in a thread, some at a time, and not at all for too many."""
    looked_up, possible = list[str](), Glossary.possible

    def slow(self: Glossary, text: str) -> list[Term]:
        looked_up.append(text)
        ends = time.perf_counter() + 0.01
        while time.perf_counter() < ends:
            pass
        return possible(self, text)

    monkeypatch.setattr(Glossary, "possible", slow)
    terms = [{"source": "lamp", "target": "Leuchte"}]
    with running({"one": carrying()}, limits=Limits(client_queue=400)) as service:
        many = {"text": "a.\n" * 401, "source_lang": "en", "terms": terms}
        assert service.post("/api/v1/translate", many).status == 413
        assert looked_up == []
        some, answered = {**many, "text": "a.\n" * 200}, 0
        with at_work(1, partial(service.post, "/api/v1/translate", some)):
            wait_until(lambda: len(looked_up) > 10)
            while len(looked_up) < 190:
                assert service.get("/api/v1/health/live").status == 200
                answered += 1
    assert answered > 1, "between the first look-up and the last"


def test_the_event_loop_splits_the_texts_of_one_request_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two requests it turns to other things, such as answers and deadlines."""
    turns, seen, real = [0], list[int](), services.segmented

    async def split(requests: int) -> None:
        loop = asyncio.get_running_loop()

        def turn() -> None:
            turns[0] += 1
            loop.call_soon(turn)

        turn()
        service = services.Service(Catalog([]), Limits())
        way: Any = SimpleNamespace(
            direction=Direction("en", "de"), model=SimpleNamespace(pool=SimpleNamespace(info={"protects": True}))
        )
        ask = services.Ask(["A dab. {x} is a dab."] * 3, "de")
        found = await asyncio.gather(*(service._apart(ask, [way] * 3) for _ in range(requests)))
        assert [[len(parts.texts) for parts in each] for each in found] == [[2] * 3] * requests

    def segmented(*given: Any, **more: Any) -> Any:
        seen.append(turns[0])
        return real(*given, **more)

    monkeypatch.setattr(services, "segmented", segmented)
    asyncio.run(split(5))
    assert len(set(seen)) == 5
    assert seen == sorted(3 * list(set(seen)))


def test_a_queue_without_room_refuses_before_texts_are_split_and_before_a_key_pays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, split = table(1), []
    keys = Keys([Key("one", digest("secret"), "", 1000)])
    limits = Limits(queue=12, client_queue=12)
    with running({"one": translator(model)}, limits=limits, keys=keys) as service:
        pool = service.service.catalog.models[0].pool
        model.gate.clear()
        send = partial(service.post, "/api/v1/translate", {"text": ["dab"] * 8}, authorization="Bearer secret")
        with at_work(WINDOW // 8 + 1, send):
            wait_until(lambda: pool.waiting == 8)
            real = services.segmented
            monkeypatch.setattr(
                services, "segmented", lambda *given, **more: (split.append(given), real(*given, **more))[1]
            )
            for _ in range(3):
                texts = {"text": ["a" * 140] * 5}  # there is room for four
                answer = service.post("/api/v1/translate", texts, authorization="Bearer secret")
                assert (answer.status, answer.value["error"]["code"]) == (503, "overloaded")
            assert service.post("/api/v1/translate", {"text": []}, authorization="Bearer secret").status == 200
            assert split == []
            model.gate.set()
        answer = service.post("/api/v1/translate", {"text": "a" * 700}, authorization="Bearer secret")
        assert (answer.status, len(split)) == (200, 1)


def test_a_request_has_its_cpu_time_and_no_more() -> None:
    """Another one beside it is answered."""
    model = table(3, endless=True)
    with running({"one": translator(model)}, limits=Limits(seconds=0.2)) as service:
        asked = {"text": "dab. " * 300, "beam_size": 8, "n_best": 8}
        answer = service.post("/api/v1/translate", asked)
        assert (answer.status, answer.value["error"]["code"]) == (413, "too_expensive")
        assert "0.2" in answer.value["error"]["message"]
        assert "--max-seconds" in answer.value["error"]["message"]
        pool = service.service.catalog.models[0].pool
        wait_until(lambda: pool.decoding == pool.waiting == 0)


def test_a_burst_of_a_key_waits_until_it_may_translate_more() -> None:
    now, found = [0.0], list[int]()
    keys = Keys([Key("one", digest("secret"), "", 10)], clock=lambda: now[0])
    with running({"one": translator(table(1))}, keys=keys) as service:

        def send(text: str) -> None:
            found.append(service.post("/api/v1/translate", {"text": text}, authorization="Bearer secret").status)

        send("dabdabdabd")
        send("face")
        assert found == [200, 429], "a minute is too long"
        now[0] = 58.0
        with at_work(1, lambda: send("face")):
            wait_until(lambda: service.service._bursts["one"].size == 1)
            now[0] = 100.0
        assert found == [200, 429, 200]


def test_a_request_without_room_costs_a_key_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys([Key("one", digest("secret"), "", 10)])
    with running({"one": translator(table(1))}, keys=keys) as service:
        pool = service.service.catalog.models[0].pool
        with monkeypatch.context() as patch:

            async def full(*_: object) -> list[object]:
                raise Refusal(503, "overloaded", "there is no room", retry_after=1)

            patch.setattr(pool, "run", full)
            for _ in range(3):
                answer = service.post("/api/v1/translate", {"text": "dabdabdabd"}, authorization="Bearer secret")
                assert answer.status == 503
        answer = service.post("/api/v1/translate", {"text": "dabdabdabd"}, authorization="Bearer secret")
        assert answer.status == 200


def test_only_a_client_without_a_key_is_refused_for_a_long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for keys in (Keys([Key("one", digest("secret"), "", None)]), None):
        with running({"one": translator(table(1))}, limits=Limits(queue_seconds=1.0), keys=keys) as service:
            pool = service.service.catalog.models[0].pool
            monkeypatch.setattr(pool, "_seconds_per_item", lambda lane: 5.0)
            monkeypatch.setattr(pool._queues["short"], "ahead", lambda client, more: 2)
            answer = service.post("/api/v1/translate", {"text": "dab"}, authorization="Bearer secret")
            assert answer.status == (503 if keys is None else 200)


def test_a_log_that_nobody_reads_stops_nothing_and_says_how_much_it_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.serving.logs.MAX_LINES", 100)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "w") as stream:
        log = Log(stream)
        for number in range(3000):
            log("request", number=number, more="x" * 100)
        os.set_blocking(reading, False)
        text = b""
        while (some := reader.read()) or log._waiting or log._lost:
            text += some or b""
            log._write(stream)
    lines = [json.loads(line) for line in text.splitlines()]
    numbers = [line["number"] for line in lines if line["event"] == "request"]
    (lost,) = [line["count"] for line in lines if line["event"] == "lines_lost"]
    assert numbers == list(range(3000 - lost))

"""What is refused before any work."""

import json
import os

import pytest

from limelight.serving.keys import Key, Keys, digest
from limelight.serving.logs import Log
from limelight.serving.refusal import Refusal
from tests.serving.helpers import running, table, translator


def test_a_request_without_room_costs_a_key_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys([Key("one", digest("secret"), "", 10)])
    with running({"one": translator(table(1))}, keys=keys) as service:
        pool = service.service.catalog.models[0].pool
        with monkeypatch.context() as patch:

            async def full(*_: object, **__: object) -> list[object]:
                raise Refusal(503, "overloaded", "there is no room", retry_after=1)

            patch.setattr(pool, "run", full)
            for _ in range(3):
                answer = service.post("/api/v1/translate", {"text": "dabdabdabd"}, authorization="Bearer secret")
                assert answer.status == 503
        answer = service.post("/api/v1/translate", {"text": "dabdabdabd"}, authorization="Bearer secret")
        assert answer.status == 200


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

"""Models that load, engines that hang and models that are gone: requests wait for what comes, and for nothing else."""

import json
import threading
import warnings
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_core import to_json

from limelight.child import Inbox
from limelight.errors import UserError
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translator import Translator
from limelight.serving import worker
from limelight.serving.engine import Engine, TranslationEngine
from limelight.serving.limits import Limits
from limelight.serving.links import Link, Loading, Report, ReportCallback, Task
from limelight.serving.pool import NewLink
from tests.serving.helpers import Answered, ThreadLink, engine_of, loader, running, table, translator, wait_until

LISTS = ["/languages", "/v2/languages?type=target", "/v1/models", "/v2/glossary-language-pairs"]


def behind(gate: threading.Event) -> Callable[[Translator], NewLink]:
    """Engines that load when the gate is open."""

    def start(one: Translator) -> NewLink:
        def make(send: ReportCallback) -> Engine:
            assert gate.wait(600)
            return engine_of(one, send)

        return lambda heard: ThreadLink(make, heard)

    return start


def broken(heard: ReportCallback) -> ThreadLink:
    def make(send: ReportCallback) -> Engine:
        raise UserError("there is no such model")

    return ThreadLink(make, heard)


def test_while_a_model_loads_requests_are_refused_and_lists_are_not_empty() -> None:
    gate = threading.Event()
    bodies = {
        "/translate": {"q": "dab", "source": "en", "target": "de"},
        "/v2/translate": {"text": ["dab"], "target_lang": "DE"},
        "/v1/chat/completions": {"model": "en-de", "messages": [{"role": "user", "content": "dab"}]},
    }
    with running({"one": translator(table(1))}, start=behind(gate), ready=False) as service:

        def answers() -> list[Answered]:
            return [*map(service.get, LISTS), *(service.post(*each) for each in bodies.items())]

        assert {(answer.status, answer.headers.get("retry-after")) for answer in answers()} == {(503, "5")}
        assert {"event": "loading", "engines": 1}.items() <= service.lines()[0].items()
        gate.set()
        wait_until(lambda: service.service.ready)
        assert {answer.status for answer in answers()} == {200}


def test_a_model_that_cannot_be_loaded_keeps_nobody_waiting() -> None:
    models = {"one": translator(table(1)), "bad": None}
    with running(models, start=lambda one: loader(one) if one else broken, ready=False) as service:
        pools = [model.pool for model in service.service.catalog.models]
        wait_until(lambda: pools[0].ready and bool(pools[1].trouble))
        assert service.post("/api/v1/translate", {"text": "dab", "model": "bad"}).status == 503
        assert service.get("/languages").value[0]["code"] == "en"
        assert service.post("/api/v1/translate", {"text": "dab", "target_lang": "de"}).status == 200


def test_an_engine_that_hangs_in_a_step_is_replaced_and_its_sentence_answered() -> None:
    hanging, good = table(1), table(1)
    hanging.gate.clear()
    waiting = [translator(hanging), translator(good)]

    def start(_: Any) -> NewLink:
        return lambda heard: ThreadLink(partial(engine_of, waiting.pop(0)), heard)

    expected = translator(table(1)).translate("dab").text
    with running({"one": None}, start=start, limits=Limits(silence=2.0)) as service:
        answer = service.post("/translate", {"q": "dab", "source": "en", "target": "de"})
        assert (answer.status, answer.value["translatedText"]) == (200, expected)
        assert "engine_silent" in [line["event"] for line in service.lines()]
        hanging.gate.set()
        wait_until(lambda: service.service.ready)


class Writing(TranslationEngine):
    """A model that does not translate."""

    def take(self, task: Task) -> None:
        if task.kind in ("detect", "translate"):
            self.send(Report(task.id, "refused", f"this model does not {task.kind}"))
        else:
            super().take(task)


def other(kind: type[TranslationEngine], one: Translator, use: str = "translate") -> NewLink:
    def make(send: ReportCallback) -> Engine:
        worker = kind(one, send, Snapshots("none"))
        directions = [list(each) for each in one.directions] if use == "translate" else []
        send(Report(0, "loaded", {"use": use, "directions": directions, "decoding": {}}))
        return worker

    return lambda heard: ThreadLink(make, heard)


def test_languages_are_detected_by_translators_that_are_there() -> None:
    """A language model beside them, and one that is gone, are not asked."""
    starts = {
        "one": loader(translator(table(1))),
        "write": other(Writing, translator(table(2)), "generate"),
        "gone": loader(translator(table(3), "fr", "de")),
    }
    with running(starts, start=lambda start: start) as service:
        gone = service.service.catalog.models[2].pool
        gone._new_link = broken  # type: ignore[assignment]
        for link in [engine.link for engine in gone._engines if engine.link]:
            link.send(None)
        wait_until(lambda: bool(gone.trouble))
        assert [each["language"] for each in service.post("/detect", {"q": "dab"}).value] == ["en"]
        answer = service.post("/translate", {"q": "dab", "source": "auto", "target": "de"})
        assert (answer.status, answer.value["detectedLanguage"]["language"]) == (200, "en")


def test_a_task_that_cannot_be_sent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = SimpleNamespace(process=SimpleNamespace(pid=1), send=to_json, receive=threading.Event().wait)
    monkeypatch.setattr("limelight.serving.links.Channel", lambda *_: channel)
    reports = list[Report]()
    link = Link(Loading("folder"), reports.append)
    link.send(Task(7, "translate", ["\ud800"]))
    wait_until(lambda: [(report.id, report.kind) for report in reports] == [(7, "failed")])


@pytest.mark.filterwarnings("default::UserWarning")
def test_what_is_said_of_a_model_or_a_memory_while_it_loads_is_in_the_log_whatever_its_folder_is_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Warnings of later are without their words, which may quote a text."""

    def load(*given: Any) -> Engine:
        warnings.warn("m.tmx:3: no language; left out of the memory", stacklevel=1)
        raise UserError("run\udcff: no model")

    for name in ("hold_memory_for_work", "log_warnings", "compile_aside"):
        monkeypatch.setattr(worker, name, lambda *given: None)
    monkeypatch.setattr(worker, "load_engine", load)
    monkeypatch.setattr("sys.setswitchinterval", lambda seconds: None)
    sent = list[bytes]()
    worker.work(Inbox(), lambda header: sent.append(to_json(header)), Loading("run"))
    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["event"], line["message"]) == ("warning", "m.tmx:3: no language; left out of the memory")
    assert b"run?: no model" in sent[0]

"""What takes long does not hold up what is short, however long one step of it takes. Nothing here measures time."""

import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue

import pytest
import torch

from limelight.serving.tasks import Report, Task
from limelight.serving.worker import Worker
from limelight.serving.workers import BRIEF, Workers
from tests.decoding.fakes import TableModel
from tests.serving.helpers import table, translator

PATIENCE = 60


class Held(TableModel):
    """A table whose steps for long sources do not end until they are let go."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__(logits)
        self.begun, self.let_go = threading.Event(), threading.Event()

    def encode(self, source, valid, **rest):
        if source.shape[1] > 20:
            self.begun.set()
            assert self.let_go.wait(PATIENCE)
        return super().encode(source, valid, **rest)


class Engine:
    """An engine in a thread, as the service has it."""

    def __init__(self, kind: type[Workers] | type[Worker], model: TableModel) -> None:
        self.inbox: SimpleQueue[Task | None] = SimpleQueue()
        self.reports: SimpleQueue[Report] = SimpleQueue()
        one = translator(model)
        both = kind is Workers
        worker = Workers(lambda send: Worker(one, send), self.reports.put) if both else Worker(one, self.reports.put)
        self.error: list[BaseException] = []
        self.thread = threading.Thread(target=self._run, args=[worker], daemon=True)
        self.thread.start()

    def _run(self, worker: Workers | Worker) -> None:
        try:
            worker.run(self.inbox)
        except BaseException as error:
            self.error.append(error)

    def heard(self, seconds: float = PATIENCE) -> Report:
        return self.reports.get(timeout=seconds)

    def close(self) -> None:
        self.inbox.put(None)
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


LONG = Task(1, "translate", "cabbage " * 4, long=True)
SHORT = Task(2, "translate", "dab")


@pytest.fixture
def model() -> Iterator[Held]:
    held = Held(table(3).logits)
    yield held
    held.let_go.set()


def test_a_short_sentence_is_translated_within_one_step_of_a_long_one(model: Held) -> None:
    engine = Engine(Workers, model)
    engine.inbox.put(LONG)
    assert model.begun.wait(PATIENCE)
    engine.inbox.put(SHORT)
    assert (first := engine.heard()).id == SHORT.id
    assert first.kind == "done"
    model.let_go.set()
    second = engine.heard()
    assert (second.id, second.kind) == (LONG.id, "done")
    engine.close()


def test_control_a_single_worker_holds_it_up(model: Held) -> None:
    engine = Engine(Worker, model)
    engine.inbox.put(LONG)
    assert model.begun.wait(PATIENCE)
    engine.inbox.put(SHORT)
    with pytest.raises(Empty):
        engine.heard(0.3)
    model.let_go.set()
    engine.close()


def test_an_explanation_does_not_hold_up_a_sentence(monkeypatch: pytest.MonkeyPatch, model: Held) -> None:
    def explained(*_: object) -> dict[str, str]:
        model.begun.set()
        assert model.let_go.wait(PATIENCE)
        return {"explained": "it"}

    monkeypatch.setattr("limelight.serving.worker.ANSWERS", {"explain_steps": explained})
    assert "explain_steps" not in BRIEF
    engine = Engine(Workers, model)
    engine.inbox.put(Task(1, "explain_steps", "dab"))
    assert model.begun.wait(PATIENCE)
    engine.inbox.put(SHORT)
    assert engine.heard().id == SHORT.id
    model.let_go.set()
    assert engine.heard() == Report(1, "done", {"explained": "it"})
    engine.close()


def test_an_engine_answers_a_ping_when_both_threads_have_heard_it(model: Held) -> None:
    """So one whose long step does not end is seen to be silent, though it answers short requests."""
    engine = Engine(Workers, model)
    engine.inbox.put(LONG)
    assert model.begun.wait(PATIENCE)
    engine.inbox.put(Task(0, "ping"))
    for number in range(2, 6):
        engine.inbox.put(Task(number, "translate", "dab"))
    assert [engine.heard().id for _ in range(4)] == [2, 3, 4, 5]
    model.let_go.set()
    assert {engine.heard().kind, engine.heard().kind} == {"done", "pong"}
    engine.close()


def test_a_long_request_is_canceled_in_its_thread(model: Held) -> None:
    engine = Engine(Workers, model)
    engine.inbox.put(LONG)
    assert model.begun.wait(PATIENCE)
    engine.inbox.put(Task(LONG.id, "cancel"))
    engine.inbox.put(SHORT)
    assert engine.heard().id == SHORT.id, "the cancellation has been passed on"
    model.let_go.set()
    engine.inbox.put(Task(0, "ping"))
    assert engine.heard().kind == "pong", "no report of what was canceled"
    engine.close()


def test_an_error_of_either_thread_ends_the_engine(monkeypatch: pytest.MonkeyPatch, model: Held) -> None:
    for task in (LONG, SHORT):
        engine = Engine(Workers, model)
        with monkeypatch.context() as changed:
            changed.setattr(Worker, "_take", lambda *_: 1 / 0)
            engine.inbox.put(task)
            engine.thread.join(PATIENCE)
        assert not engine.thread.is_alive()
        assert [type(error) for error in engine.error] == [ZeroDivisionError]

"""An engine's owner: every answer is the one that the text would have got alone."""

import random
from collections.abc import Sequence
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import pytest
import torch

from limelight.decoding.sampling import Sampling
from limelight.pipelines.translator import Translator
from limelight.serving.tasks import Report, Task, decode_report, decode_task, encode
from limelight.serving.worker import Worker, plain, whole_words
from limelight.text.detection import learn_detector
from tests.serving.helpers import TEXTS, carrying, spell, table, translator

SETTINGS: list[dict[str, Any]] = [
    {},
    {"beam_size": 1},
    {"beam_size": 4, "n_best": 3},
    {"beam_size": 3, "length_penalty": 0.0},
    {"sampling": {"temperature": 1.3, "seed": 7}},
    {"sampling": {"top_k": 3, "seed": 8}, "n_best": 2},
    {"prefix": "ca", "beam_size": 2},
]


def alone(one: Translator, text: str, options: dict[str, Any]) -> dict[str, Any]:
    """What the translator says by itself."""
    options = dict(options)
    sampling = options.pop("sampling", None)
    return plain(one.translate(text, sampling=None if sampling is None else Sampling(**sampling), **options))


def worked(worker: Worker, reports: list[Report], tasks: Sequence[Task | None]) -> None:
    inbox: SimpleQueue[Task | None] = SimpleQueue()
    for task in tasks:
        inbox.put(task)

    def send(report: Report) -> None:
        reports.append(report)
        if sum(each.kind != "partial" for each in reports) == sum(each is not None for each in tasks):
            inbox.put(None)

    worker._send = send
    worker.run(inbox)


def test_every_answer_is_the_one_it_would_have_got_alone(seed: int) -> None:
    one = translator(table(seed))
    draw = random.Random(seed)
    tasks = [Task(number, "translate", draw.choice(TEXTS), draw.choice(SETTINGS)) for number in range(80)]
    reports: list[Report] = []
    worked(Worker(one, reports.append), reports, tasks)
    found = {report.id: report for report in reports}
    assert {report.kind for report in reports} == {"done"}
    for task in tasks:
        assert found[task.id].value == alone(one, task.text, task.options)
    assert len({found[task.id].value["text"] for task in tasks}) > 5, "they differ, so a mistake would be seen"


def test_loops_are_used_once_they_are_compiled(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By all workers of a translator. In place of loops, an equal table: the model in another form."""
    pending = [True]
    monkeypatch.setattr("limelight.pipelines.codec.is_pending", lambda: pending[0])
    one, loops = translator(table(seed)), table(seed)
    first, second = Worker(one, lambda report: None), Worker(one, lambda report: None)
    assert one.awaits_loops
    worked(first, [], [Task(1, "translate", "dab")])
    steps = one.model.steps
    assert steps
    pending[0] = False
    monkeypatch.setattr(one, "_precision", "int8")
    monkeypatch.setattr("limelight.pipelines.codec.prepare_each", lambda model, precision: loops)
    for worker in (first, second):
        before, reports = loops.steps, list[Report]()
        worked(worker, reports, [Task(2, "translate", "dab"), Task(3, "translate", "face")])
        assert [report.kind for report in reports] == ["done", "done"]
        assert loops.steps > before
    assert one.model.steps == steps
    assert not one.awaits_loops


def test_what_is_wrong_with_one_is_told_to_it_alone(seed: int) -> None:
    one = translator(table(seed))
    tasks = [
        Task(1, "translate", "dab"),
        Task(2, "translate", "dab", {"beam_size": 2, "n_best": 3}),
        Task(3, "translate", "dab", {"sampling": {"temperature": -1.0}}),
        Task(4, "nonsense", "dab"),
        Task(5, "translate", "  "),
        Task(6, "translate", "dab", {"no_such_option": 1}),
        Task(7, "translate", "dab", {"target_lang": "xx"}),
    ]
    reports: list[Report] = []
    worked(Worker(one, reports.append), reports, tasks)
    found = {report.id: report for report in reports}
    kinds = {number: report.kind for number, report in found.items()}
    assert kinds == {1: "done", 2: "refused", 3: "refused", 4: "refused", 5: "done", 6: "failed", 7: "refused"}
    assert found[1].value == alone(one, "dab", {})
    assert found[5].value["text"] == ""
    assert "n_best" in found[2].value
    assert "dab" not in found[6].value


def test_numbers_that_go_wrong_fail_alone() -> None:
    model = table(5)
    model.logits[5] = torch.nan  # the kind of texts that begin with d
    one = translator(model)
    reports: list[Report] = []
    worked(Worker(one, reports.append), reports, [Task(1, "translate", "dab"), Task(2, "translate", "face")])
    assert {report.id: report.kind for report in reports} == {1: "failed", 2: "done"}


def test_a_canceled_task_is_worked_on_no_more() -> None:
    """Its slot is free at the next step: the step after the cancellation reads no row of it."""
    model = table(3, endless=True)
    reports: list[Report] = []
    worker = Worker(translator(model, beam_size=1), reports.append)
    worker._take(Task(1, "translate", "eggbeef"))
    worker._take(Task(2, "translate", "eggbeef"))
    with torch.inference_mode():
        worker._step()
        worker._step()
        rows = model.lived[-1]
        worker._take(Task(1, "cancel"))
        worker._step()
        assert (rows, model.lived[-1]) == (2, 1)
        worker._take(Task(2, "cancel"))
        worker._take(Task(3, "cancel"))  # one that there is not
        assert not worker._scheduler.busy
    assert reports == []


def test_text_is_shown_as_it_comes() -> None:
    one = translator(table(11, endless=True), beam_size=1)
    reports: list[Report] = []
    worked(Worker(one, reports.append), reports, [Task(1, "translate", "dab", {"guards": False}, stream=True)])
    *shown, last = reports
    assert last.kind == "done"
    assert len(shown) > 5
    texts = [text for text, _ in (report.value for report in shown)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert last.value["text"].startswith(texts[-1])


def test_what_is_settled_stays_while_a_beam_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    spell(monkeypatch)
    seen = 0
    for seed in range(10):
        one = translator(table(seed))
        reports: list[Report] = []
        task = Task(1, "translate", "dab", {"beam_size": 3, "guards": False}, stream=True)
        worked(Worker(one, reports.append), reports, [task])
        *shown, last = [report.value for report in reports]
        settled = list(dict.fromkeys(each for _, each in shown if each))
        seen += len(settled)
        assert all(last["text"].startswith(each) for each in settled)
        assert last["text"] == alone(one, task.text, task.options)["text"]
    assert seen > 1, "some of it is settled before the end"


def test_control_the_best_hypothesis_of_a_beam_does_not_stay() -> None:
    changed = False
    for seed in range(20):
        reports: list[Report] = []
        asked = {"beam_size": 4, "guards": False}
        task = Task(1, "translate", "dab", asked, stream=True)
        worked(Worker(translator(table(seed)), reports.append), reports, [task])
        *shown, last = [report.value for report in reports]
        changed |= not all(last["text"].startswith(text) for text, _ in shown)
    assert changed


def test_words_that_may_grow_are_held_back() -> None:
    assert whole_words("Ein Hun") == "Ein"
    assert whole_words("Ein Hund ") == "Ein Hund"
    assert whole_words("Ein Hund.") == "Ein"
    assert whole_words("Ein") == ""
    assert whole_words("犬が走") == "犬が走"
    assert whole_words("") == ""


def test_what_guards_search_again_is_not_settled() -> None:
    """A source in capitals always is: nothing of it is settled before its end."""
    reports: list[Report] = []
    task = Task(1, "translate", "PRESS THE LAMP AND IT HUMS", stream=True)
    worked(Worker(carrying(), reports.append), reports, [task])
    assert len(reports) > 2
    assert {settled for _, settled in (report.value for report in reports[:-1])} == {""}


def test_languages_are_detected() -> None:
    detector = learn_detector({"de": ["das ist der Hund und die Katze"] * 60, "en": ["this is the dog and a cat"] * 60})
    reports: list[Report] = []
    worked(Worker(translator(table(1)), reports.append, detector), reports, [Task(1, "detect", "the dog is a cat")])
    (report,) = reports
    assert next(iter(report.value)) == "en"
    assert abs(sum(report.value.values()) - 1) < 1e-6


def test_messages_are_lines() -> None:
    task = Task(3, "translate", "a\nb \u2028 ü", {"beam_size": 2, "sampling": {"seed": 1}}, stream=True)
    report = Report(3, "done", {"text": "x\ny", "score": -1.5, "tokens": ["a"]})
    for line in (encode(task), encode(report)):
        assert line.count(b"\n") == 1
        assert line.isascii()
    assert decode_task(encode(task)) == task
    assert decode_report(encode(report)) == report


def test_a_text_whose_language_nobody_named_is_examined() -> None:
    one, reports = translator(table(1)), list[Report]()
    options = {"source_lang": "en", "target_lang": "de"}
    german, spanish = "Ich weiß nicht, wo meine Bücher sind.", "¿Dónde está la estación?"
    tasks = [
        Task(1, "translate", german, {**options, "detected": True}),
        Task(2, "translate", spanish, {**options, "detected": True}),
        Task(3, "translate", german, options),
        Task(4, "protected", german, {**options, "detected": True}),
    ]
    worked(Worker(one, reports.append), reports, tasks[:3])
    found = {report.id: report.value for report in reports}
    assert (found[1]["text"], found[1]["warnings"]) == (german, ["already in target language"])
    assert "source language: es" in found[2]["warnings"]
    assert found[3]["text"] != german
    reports.clear()
    worked(Worker(carrying(), reports.append), reports, tasks[3:])
    assert (reports[0].value["text"], reports[0].value["warnings"]) == (german, ["already in target language"])

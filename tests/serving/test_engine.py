"""An engine: every answer is the one that the text would have got alone."""

import random
import re
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from limelight.child import Inbox
from limelight.decoding.sampling import Sampling
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translator import Translator
from limelight.serving.engine import Engine, TranslationEngine, TranslationLane
from limelight.serving.links import PING, Report, Task
from limelight.text.detection import learn_detector
from tests.serving.helpers import TEXTS, carrying, table, translator

SETTINGS: list[dict[str, Any]] = [
    {},
    {"beam_size": 1},
    {"beam_size": 4, "n_best": 3},
    {"beam_size": 3, "length_penalty": 0.0},
    {"sampling": {"temperature": 1.3, "seed": 7}},
    {"sampling": {"top_k": 3, "seed": 8}, "n_best": 2},
    {"prefix": "ca", "beam_size": 2},
]


def sent(value: Any) -> Any:
    """A value as the service receives it."""
    return from_json(to_json(value, inf_nan_mode="null"))


def alone(one: Translator, text: str, options: dict[str, Any]) -> dict[str, Any]:
    """What the translator says by itself."""
    options = dict(options)
    sampling = options.pop("sampling", None)
    found = one.translate(text, sampling=None if sampling is None else Sampling(**sampling), **options)
    return sent(found)


def worked(one: Translator, tasks: Sequence[Task], **more: Any) -> list[Report]:
    """The reports of an engine that has these tasks."""
    reports: list[Report] = []
    inbox = Inbox()
    expected = sum(task.kind != "cancel" for task in tasks) - sum(task.kind == "cancel" for task in tasks)
    for task in tasks:
        inbox.put(({"task": task}, b""))

    def send(report: Report) -> None:
        reports.append(Report(*sent(report)))
        if sum(each.kind not in ("partial", "sentences") for each in reports) == expected:
            inbox.put(({"task": None}, b""))

    TranslationEngine(one, send, Snapshots("none"), **more).run(inbox)
    for report in reversed(reports):
        if report.kind == "sentences":
            [done] = [each for each in reports if (each.id, each.kind) == (report.id, "done")]
            done.value[report.value[0]]["sentences"][:0] = report.value[1]
    return [report for report in reports if report.kind != "sentences"]


def test_every_answer_is_the_one_it_would_have_got_alone(seed: int) -> None:
    one = translator(table(seed))
    draw = random.Random(seed)
    tasks = [Task(number, "translate", [draw.choice(TEXTS)], draw.choice(SETTINGS)) for number in range(80)]
    reports = worked(one, tasks)
    assert {report.kind for report in reports} == {"done"}
    found = {report.id: report.value for report in reports}
    for task in tasks:
        [answer] = found[task.id]
        expected = alone(one, task.texts[0], dict(task.options))
        assert answer["sentences"] == [expected]
        assert [answer["text"], *answer["alternatives"]] == [
            each["text"] for each in (expected, *expected["alternatives"])
        ]


def test_texts_are_divided_joined_and_ranked_as_the_library_does(seed: int) -> None:
    one = carrying(seed=seed % 100)
    texts = ["The lamp hums. Press {key} now.\n\nA dog runs.", "", "  \n", "The dog runs."] * 10
    options = {"n_best": 2, "beam_size": 2}
    [report] = worked(one, [Task(1, "translate", texts, options)])
    for answer, expected in zip(report.value, one.translate(texts, **options), strict=True):
        assert answer["text"] == (expected.text if expected.source.strip() else expected.source)
        assert answer["alternatives"] == [each.text for each in expected.alternatives]
        assert answer["warnings"] == list(expected.warnings)
    assert [each["source"] for each in report.value[0]["sentences"]] == [
        "The lamp hums.",
        "Press {key} now.",
        "A dog runs.",
    ]
    assert [answer["sentences"] for answer in report.value[1:3]] == [[], []]


def test_a_short_request_does_not_wait_for_a_long_one(seed: int) -> None:
    """Beside a text of hundreds of sentences it is done long before it."""
    one = translator(table(seed))
    tasks = [Task(1, "translate", [" ".join(["A dab. A cabbage."] * 100)]), Task(2, "translate", ["dab"])]
    assert [report.id for report in worked(one, tasks)] == [2, 1]
    tasks = [Task(1, "translate", ["dab"] * 300), Task(2, "translate", ["dab"])]
    assert [report.id for report in worked(one, tasks)] == [2, 1]


def test_a_fault_in_the_thread_of_long_tasks_ends_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then it answers pings for both."""
    reports, inbox = list[Report](), Inbox()

    def heard(report: Report) -> None:
        reports.append(report)
        inbox.put(({"task": Task(1, "translate", ["dab"] * 300)}, b""))

    def step(self: TranslationLane) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(TranslationLane, "step", step)
    inbox.put(({"task": Task(0, PING)}, b""))
    with pytest.raises(ZeroDivisionError):
        TranslationEngine(translator(table(1)), heard, Snapshots("none")).run(inbox)
    assert [report.kind for report in reports] == ["pong"]


def test_a_fault_in_what_a_stream_shows_ends_it_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def show(self: TranslationLane, request: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(TranslationLane, "_show", show)
    tasks = [Task(1, "translate", ["dab"], stream=True), Task(2, "translate", ["dab"])]
    kinds = {report.id: report.kind for report in reversed(worked(translator(table(seed)), tasks))}
    assert kinds == {1: "failed", 2: "done"}


def test_a_canceled_explanation_that_waits_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, gate = list[str](), threading.Event()

    def answer(kind: str, one: Translator, text: str, options: Any) -> str:
        begun.append(text)
        return text if gate.wait(60) else ""

    monkeypatch.setattr("limelight.serving.engine.answer", answer)
    monkeypatch.setattr(TranslationLane, "done", lambda *given: gate.set() or Engine.done(*given))
    tasks = [Task(number, "explain", [f"text {number}"]) for number in (1, 2, 3)]
    worked(translator(table(1)), [*tasks, Task(2, "cancel"), Task(4, "detect", ["dab"])])
    assert begun == ["text 1", "text 3"]


def test_loops_are_used_once_they_are_compiled(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of loops, an equal table: the model in another form."""
    pending = [True]
    monkeypatch.setattr("limelight.pipelines.codec.is_pending", lambda: pending[0])
    one, loops = translator(table(seed)), table(seed)
    assert one.awaits_loops
    worked(one, [Task(1, "translate", ["dab"])])
    steps = one.model.steps
    assert steps
    pending[0] = False
    monkeypatch.setattr(one, "_precision", "int8")
    monkeypatch.setattr("limelight.pipelines.codec.prepare_each", lambda model, precision: loops)
    reports = worked(one, [Task(2, "translate", ["dab"]), Task(3, "translate", ["face"])])
    assert [report.kind for report in reports] == ["done", "done"]
    assert loops.steps > 0
    assert one.model.steps == steps
    assert not one.awaits_loops


def test_what_is_wrong_with_one_is_told_to_it_alone(seed: int) -> None:
    one = translator(table(seed))
    wrong = [
        Task(1, "translate", ["a"], {"beam_size": 10_000}),
        Task(2, "translate", ["a"], {"target_lang": "xx"}),
        Task(3, "sing", ["a"]),
        Task(4, "translate", ["a"], {"surprise": 1}),
        Task(5, "translate", ["<b>a"], {"tags": ["xml", [], [], [], True]}),
        Task(6, "explain", [" "], {"source_lang": "en", "target_lang": "de"}),
    ]
    good = [Task(10 + number, "translate", [text]) for number, text in enumerate(TEXTS)]
    found = {report.id: report for report in worked(one, [*wrong, *good])}
    assert [found[task.id].kind for task in wrong] == ["refused"] * 3 + ["failed", "refused", "refused"]
    assert "surprise" not in found[4].value
    for task in good:
        assert found[task.id].value[0]["sentences"] == [alone(one, task.texts[0], {})]


def test_a_canceled_task_is_worked_on_no_more() -> None:
    model = table(1, endless=True)
    one = translator(model)
    worked(one, [Task(1, "translate", ["dab"])])
    alone_steps, model.steps = model.steps, 0
    tasks = [Task(1, "translate", ["dab"] * 64), Task(2, "translate", ["dab"]), Task(1, "cancel")]
    assert [report.id for report in worked(one, tasks)] == [2]
    assert model.steps <= alone_steps + 2


def test_a_long_text_is_not_shown_too_often(seed: int) -> None:
    """All stages together have a few times its characters."""
    one = translator(table(seed))
    *shown, last = worked(one, [Task(1, "translate", [" ".join(["A dab. A cabbage."] * 60)], {}, stream=True)])
    [answer] = last.value
    assert shown[-1].value == [0, answer["text"]]
    assert sum(len(report.value[1]) for report in shown) <= 12 * len(answer["text"])


def test_languages_are_detected() -> None:
    detector = learn_detector({"en": ["the dog runs"] * 9, "de": ["der Hund läuft"] * 9})
    one = translator(table(1))
    one.detector = detector
    [report] = worked(one, [Task(1, "detect", ["the dog", "der Hund"])])
    assert [next(iter(each)) for each in report.value] == ["en", "de"]
    [report] = worked(translator(table(1)), [Task(1, "detect", ["the dog"])])
    assert report.value == [{"en": 1.0}]


def test_what_a_stream_shows_has_spans_and_no_marks() -> None:
    one = carrying()
    one.knows_placeholders = True
    asked = {"source_lang": "en", "target_lang": "de"}
    *shown, last = worked(one, [Task(1, "translate", ["the lamp {x} hums %s"], asked, stream=True)])
    assert {"{x}", "%s"} <= set(re.findall(r"\{x\}|%s", last.value[0]["text"]))
    assert shown
    assert not any("\U000f0000" <= sign <= "\U000f001f" for each in shown for sign in each.value[1])

"""An engine is ready when it is warm."""

from pathlib import Path
from typing import Any

import pytest

from limelight.pipelines.translator import Translator
from limelight.serving import load
from limelight.serving.load import FORMS, Loading, load_worker, warm_up
from limelight.serving.tasks import Report
from limelight.serving.worker import Worker
from tests.cli.conftest import corpus, trained  # noqa: F401
from tests.serving.helpers import carrying, table, translator


def test_each_form_is_translated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[Report] = []
    init = Worker.__init__

    def heard(self: Worker, one: Translator, send: Any, *more: Any) -> None:
        init(self, one, lambda report: (reports.append(report), send(report)), *more)

    monkeypatch.setattr(Worker, "__init__", heard)
    warm_up(carrying())
    assert [report.kind for report in reports] == ["done"] * len(FORMS)


def test_what_the_model_cannot_do_does_not_keep_it_from_serving() -> None:
    model = table(1)
    model.logits[:] = float("nan")
    warm_up(translator(model))


def test_it_is_warm_before_it_says_that_it_is_loaded(
    trained: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(load, "warm_up", lambda pipeline: seen.append("warm"))
    load_worker(Loading(str(trained)), lambda report: seen.append(report.kind))
    assert seen == ["warm", "loaded"]

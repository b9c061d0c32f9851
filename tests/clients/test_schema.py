"""Requests that schemathesis makes from our OpenAPI document, such as fit it and such as do not: none gets 5xx (X1)."""

import re
from collections import Counter

import hypothesis
import pytest

from limelight.serving.openapi import openapi_document
from tests.serving.helpers import Running, carrying, running

schemathesis = pytest.importorskip("schemathesis")

# Hypothesis warns of random numbers that are drawn meanwhile: by the service, in its threads.
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")

EXAMPLES = 8
"""Of each operation, of each kind."""

TELLTALE = re.compile(r"Traceback|File \"|site-packages|/src/limelight", re.IGNORECASE)


FORM = "application/x-www-form-urlencoded"


def tried(service: Running) -> tuple[Counter[str], list[str]]:
    """How many requests there were of each media type, and those that got what nobody should get."""
    number, bad = Counter[str](), []
    schema = schemathesis.openapi.from_dict(openapi_document())

    def ask(case: "schemathesis.Case") -> None:
        number[case.media_type or ""] += 1
        answer = case.call(base_url=service.url, timeout=600)
        if (answer.status_code >= 500 and answer.status_code != 503) or TELLTALE.search(answer.text):
            bad.append(f"{case.method} {case.formatted_path} {case.body!r}: {answer.status_code} {answer.text[:200]}")

    quick = hypothesis.settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=False, print_blob=False,
        phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    for found in schema.get_all_operations():
        for mode in schemathesis.GenerationMode:
            case = found.ok().as_strategy(generation_mode=mode)
            try:
                quick(hypothesis.given(case)(ask))()
            except hypothesis.errors.Unsatisfiable:  # an operation without fields has nothing that does not fit
                continue
    return number, bad


def test_requests_made_from_the_document_get_no_5xx() -> None:
    with running({"one": carrying()}) as service:
        number, bad = tried(service)
        assert not [line for line in service.lines() if line["event"] == "fault"]
    assert bad == []
    assert number.total() > 100
    assert number[FORM] > 20

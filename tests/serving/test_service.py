"""What is refused before any work."""

from functools import partial

import pytest

from limelight.serving import service as services
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.limits import Limits
from limelight.serving.pool import WINDOW
from tests.serving.helpers import at_work, running, table, translator, wait_until


def test_a_full_queue_refuses_before_texts_are_split_and_before_a_key_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    model, split = table(1), []
    keys = Keys([Key("one", digest("secret"), "", 1000)])
    limits = Limits(queue=8, client_queue=8)
    with running({"one": translator(model)}, limits=limits, keys=keys) as service:
        pool = service.service.catalog.models[0].pool
        model.gate.clear()
        send = partial(service.post, "/api/v1/translate", {"text": ["dab"] * 8}, authorization="Bearer secret")
        with at_work(WINDOW // 8 + 1, send):
            wait_until(lambda: pool.waiting == 8)
            real = services.segmented
            monkeypatch.setattr(services, "segmented", lambda *given: (split.append(given), real(*given))[1])
            for _ in range(3):
                answer = service.post("/api/v1/translate", {"text": "a" * 700}, authorization="Bearer secret")
                assert (answer.status, answer.value["error"]["code"]) == (503, "overloaded")
            assert service.post("/api/v1/translate", {"text": []}, authorization="Bearer secret").status == 200
            assert split == []
            model.gate.set()
        answer = service.post("/api/v1/translate", {"text": "a" * 700}, authorization="Bearer secret")
        assert (answer.status, len(split)) == (200, 1)

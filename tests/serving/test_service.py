"""What is refused before any work."""

import pytest

from limelight.serving.keys import Key, Keys, digest
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

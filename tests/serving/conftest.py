"""What the tests of this folder send and get is what the OpenAPI document describes: every answer, and every request
that has an answer other than an error."""

from typing import Any

import pytest

from tests.serving.described import require_described, require_request_described
from tests.serving.helpers import Answered, Running


@pytest.fixture(autouse=True)
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Running.send

    def checked(
        self: Running, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, *more: Any
    ) -> Answered:
        answer = send(self, method, path, body, headers, *more)
        require_described(method, path, answer)
        if answer.status < 300:
            require_request_described(method, path, body, (headers or {}).get("Content-Type", ""))
        return answer

    monkeypatch.setattr(Running, "send", checked)

"""Every answer that the tests of this folder get is one that the OpenAPI document describes."""

from typing import Any

import pytest

from tests.serving.described import require_described
from tests.serving.helpers import Answered, Running


@pytest.fixture(autouse=True)
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Running.send

    def checked(
        self: Running, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, *more: Any
    ) -> Answered:
        answer = send(self, method, path, body, headers, *more)
        require_described(method, path, answer)
        return answer

    monkeypatch.setattr(Running, "send", checked)

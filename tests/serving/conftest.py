"""Every answer that a test of this folder gets is one that the OpenAPI document describes."""

from typing import Any

import pytest

from tests.serving.described import require_described
from tests.serving.helpers import Answered, Running


@pytest.fixture(autouse=True)
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Running.send

    def checked(self: Running, method: str, path: str, *arguments: Any, **options: Any) -> Answered:
        answer = send(self, method, path, *arguments, **options)
        require_described(method, path, answer)
        return answer

    monkeypatch.setattr(Running, "send", checked)

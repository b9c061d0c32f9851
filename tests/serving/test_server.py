"""The connections of the web server."""

import socket
from typing import Any

import pytest

from limelight.serving.server import PatientProtocol
from tests.serving import helpers
from tests.serving.helpers import running, table, translator


def without_delay(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """TCP_NODELAY of the connection that a request came on."""
    seen: list[int] = []
    made = PatientProtocol.connection_made

    def connection_made(self: PatientProtocol, transport: Any) -> None:
        made(self, transport)
        seen.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(PatientProtocol, "connection_made", connection_made)
    with running({"one": translator(table(1))}) as service:
        assert service.get("/health").status == 200
    return seen


def test_answers_do_not_wait_for_an_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(without_delay(monkeypatch))


def test_control_a_socket_that_names_no_protocol_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def listen(host: str, port: int) -> socket.socket:
        listening = socket.socket(socket.AF_INET)
        listening.bind((host, port))
        return listening

    monkeypatch.setattr(helpers, "listen", listen)
    assert not any(without_delay(monkeypatch))

"""The connections of the web server."""

import asyncio
import http.client
import socket
import time
from contextlib import ExitStack, suppress
from http.client import HTTPResponse
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from limelight.serving.keys import Keys
from limelight.serving.limits import Limits
from limelight.serving.server import TimedProtocol
from tests.serving.helpers import running, table, translator, wait_until


def test_answers_do_not_wait_for_an_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    """TCP_NODELAY of the connection that a request came on."""
    seen: list[int] = []
    made = TimedProtocol.connection_made

    def connection_made(self: TimedProtocol, transport: Any) -> None:
        made(self, transport)
        seen.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(TimedProtocol, "connection_made", connection_made)
    with running({"one": translator(table(1))}) as service:
        assert service.get("/health").status == 200
    assert seen
    assert all(seen)


def is_closed(connection: socket.socket, seconds: float) -> bool:
    """Whether the service ends a connection; its answer is thrown away."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


NOT_READ = [
    ("POST /api/v1/translate", 5),  # 401: no key
    ("POST /nothing", 5),  # 404
    ("PUT /translate", 5),  # 405
    ("POST /api/v1/translate", 1_000_000),  # 413, were it read
    ("GET /languages", 5),  # 200, and no body is read
]


def test_a_connection_whose_body_is_not_read_ends() -> None:
    """One more byte of it does not stop the time. They wait together."""
    limits, opened = Limits(header_seconds=2.0), []
    with running({"one": translator(table(1))}, limits=limits, keys=Keys([])) as service, ExitStack() as stack:
        for asked, size in NOT_READ:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", service.port)))
            connection.sendall(f"{asked} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 "), asked
            connection.sendall(b"a")
            opened.append((connection, asked))
        for connection, asked in opened:
            assert is_closed(connection, 600), asked


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_reads_the_refusal_of_a_large_body_and_the_connection_is_kept(chunked: bool) -> None:
    """It sends all of it before it reads; the rest is discarded."""
    with running({"one": translator(table(1))}) as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=600)
        for _ in range(2):
            body = iter([bytes(100_000)] * 80) if chunked else bytes(8_000_000)
            connection.request("POST", "/api/v1/translate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            assert (answer.status, b"--max-body" in answer.read()) == (413, True)
        connection.close()


def test_a_body_that_turns_out_invalid_is_no_fault_of_the_service() -> None:
    """A body in chunks, of which the first is none: the server refuses what the application has begun to answer."""
    head = b"GET /?%ff HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    with running({"one": translator(table(1))}) as service:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", service.port)) as connection:
                connection.sendall(head + b"[" * 50_000)
                connection.shutdown(socket.SHUT_WR)
                assert connection.recv(65536).startswith(b"HTTP/1.1 400")
        wait_until(lambda: service.get("/api/v1/health/ready").status == 200)
        assert [line for line in service.lines() if line["event"] == "fault"] == []


def test_a_client_that_does_not_read_is_disconnected() -> None:
    limits = Limits(write_seconds=0.5)
    with running({"one": translator(table(1))}, limits=limits) as service, ExitStack() as opened:
        connection = opened.enter_context(socket.socket())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        connection.connect(("127.0.0.1", service.port))
        connection.settimeout(2)
        with suppress(OSError):  # it sends until nothing more is taken, or the connection has ended
            for _ in range(2000):
                connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        wait_until(lambda: service.service.connections() == 0, 20)


def test_requests_of_a_client_that_does_not_read_gain_it_no_time() -> None:
    async def nothing(scope: object, receive: object, send: object) -> None: ...

    async def sent() -> tuple[Any, Any]:
        protocol = TimedProtocol(uvicorn.Config(nothing), ServerState(), {}, asyncio.get_running_loop())
        protocol.connection_made(Mock(is_closing=lambda: False, get_extra_info=lambda _: None))
        protocol.pause_writing()
        timer = protocol._timer
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        after = protocol._timer
        protocol.resume_writing()
        await asyncio.gather(*protocol.tasks)
        return timer, after

    before, after = asyncio.run(sent())
    assert before is after is not None


def test_too_many_connections_are_refused_in_the_words_of_the_api() -> None:
    """They are counted, and probes are answered."""
    limits = Limits(connections=3)
    with running({"one": translator(table(1))}, limits=limits) as service, ExitStack() as connections:
        body = {"q": "dab", "source": "en", "target": "de"}
        assert service.post("/translate", body).status == 200
        for _ in range(3):
            connections.enter_context(socket.create_connection(("127.0.0.1", service.port)))
        answer = service.post("/translate", body)
        assert answer.status == 503
        assert "and at most 3 are accepted" in answer.value["error"]
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.headers["connection"] == "close"
        assert service.get("/api/v1/health/live").status == 200
        assert (service.counts()["rejected"], service.counts()["accepted"]) == (1, 1)


def test_a_body_with_two_lengths_is_refused_and_the_connection_ends() -> None:
    """A proxy in front may go by the other one (RFC 9112, section 6.1)."""
    head = b"POST /detect HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    body = b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET /health HTTP/1.1\r\n\r\n"
    with running({"one": translator(table(1))}) as service:
        with socket.create_connection(("127.0.0.1", service.port), timeout=600) as connection:
            connection.sendall(head + body)
            answer = b""
            with suppress(ConnectionResetError):  # it ends with bytes that were not read
                while more := connection.recv(1000):
                    answer += more
        assert b" 400 " in answer.split(b"\r\n")[0]
        assert answer.count(b"HTTP/1.1") == 1


BODY = b'{"q": "dab", "source": "en", "target": "de"}'


def post(more: bytes = b"") -> bytes:
    """A request, with more headers."""
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    return head % len(BODY) + more + b"\r\n" + BODY


def status_on(connection: socket.socket) -> int:
    """That of the next answer, which is read to its end."""
    answer = HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


@pytest.mark.parametrize("first", [b"", post(b"Connection: Upgrade\r\nUpgrade: h2c\r\n")])  # as Java's client
def test_a_client_that_sends_only_empty_lines_is_disconnected(first: bytes) -> None:
    limits = Limits(header_seconds=2.0)
    with (
        running({"one": translator(table(1))}, limits=limits) as service,
        socket.create_connection(("127.0.0.1", service.port), timeout=600) as connection,
    ):
        connection.sendall(first)
        assert not first or status_on(connection) == 200
        with suppress(ConnectionError):
            for _ in range(3000):
                connection.sendall(b"\r\n")
                time.sleep(0.01)
            pytest.fail("it was not disconnected")

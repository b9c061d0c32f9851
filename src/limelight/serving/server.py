"""The web server around the application: slow connections, signals, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from limelight.errors import RunError
from limelight.files import cause
from limelight.serving.logs import ForeignLog
from limelight.serving.service import Service

HEADER_BYTES = 16 * 1024
"""Maximum bytes of the address and the headers of a request."""
MAX_CHUNKS = 16_384
"""Maximum number of chunks of a body. A chunk costs as much time as a small request, however few bytes it has."""
KEEP_ALIVE_SECONDS = 15
BACKLOG = 1024
"""Connections that wait to be accepted."""
ACCEPTED_AT_A_TIME = 16
"""Connections that are accepted before what else there is to do has its turn: many that come at once would keep answers
from clients, and sentences from engines."""
_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)((?:[/?].*)?)", re.IGNORECASE)
"""A target with the host, as clients send it that take the service for a proxy."""
_EMPTY_LINES = re.compile(rb"(?:\r?\n)*")
CLOSING_SECONDS = 2.0
"""How long connections may take to end when all is answered."""


class CountingConnection(h11.Connection):
    """Reads HTTP, and refuses a body that comes in more than `MAX_CHUNKS` parts, and one with two lengths. h11 bounds
    the headers only while they are incomplete; here they have their bound also if they arrive in one piece. Empty lines
    before a request are ignored; they have the bound of headers."""

    _parts = 0
    _ignored = 0
    """Bytes of empty lines since the last request."""

    def next_event(self) -> Any:
        """The next event. Raises `h11.RemoteProtocolError` if the body has too many parts or two lengths, or the
        headers or the empty lines before them too many bytes."""
        if self.their_state in (h11.IDLE, h11.DONE, h11.MUST_CLOSE) and self._ignore_empty_lines():
            return h11.NEED_DATA
        event = super().next_event()
        if isinstance(event, h11.Data):
            self._parts += 1
            if self._parts > MAX_CHUNKS:
                raise h11.RemoteProtocolError("the body has too many chunks")
        elif isinstance(event, h11.Request):
            self._parts = self._ignored = 0
            if len(event.target) + sum(len(name) + len(value) for name, value in event.headers) > HEADER_BYTES:
                raise h11.RemoteProtocolError("the headers have too many bytes")
            if {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
                # A proxy in front may go by the other one, and take the rest of a body for the next request of
                # somebody else (RFC 9112, section 6.1).
                raise h11.RemoteProtocolError("the body has two lengths")
            return in_origin_form(event)
        return event

    def _ignore_empty_lines(self) -> bool:
        """Remove empty lines that have arrived after a request, as RFC 9112, section 2.2 asks for. Returns whether half
        of one is left. Those that arrive while a request is answered are removed at once: for what is left to read,
        uvicorn stops reading, and would not see that the client leaves."""
        begun, _ = self.trailing_data
        if begun[:1] not in (b"\r", b"\n"):
            return False
        found = _EMPTY_LINES.match(begun)
        size = found.end() if found else 0
        self._receive_buffer.maybe_extract_at_most(size)
        self._ignored += size
        if self._ignored > HEADER_BYTES:
            raise h11.RemoteProtocolError("there are too many empty lines")
        return begun[size:] == b"\r"


def in_origin_form(request: h11.Request) -> h11.Request:
    """`GET http://host/path` as `GET /path`, which an application expects. The host is that of the target, whatever
    the header says (RFC 9112, section 3.2.2)."""
    found = _ABSOLUTE.fullmatch(request.target)
    if found is None:
        return request
    host, place = found.groups()
    target = place if place.startswith(b"/") else b"/" + place
    headers = [(b"host", host), *((name, value) for name, value in request.headers if name != b"host")]
    return h11.Request(method=request.method, target=target, headers=headers, http_version=request.http_version)


class PatientProtocol(H11Protocol):
    """HTTP whose headers have to arrive within `header_seconds`, however many bytes come one by one, and so has the
    rest of a body that was refused. A client that reads nothing for `write_seconds` is disconnected."""

    header_seconds = 8.0
    write_seconds = 30.0
    _waiting_for_headers: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def __init__(self, config: uvicorn.Config, *arguments: Any, **options: Any) -> None:
        super().__init__(config, *arguments, **options)
        self.conn = CountingConnection(h11.SERVER, HEADER_BYTES)

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP. If the response has already begun, close the connection. A request whose body turns out
        to be invalid has no other answer: for the application its client has left."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade is optional, so the request is answered without; the log does not advise to install packages."""

    def connection_made(self, transport: Any) -> None:
        """The time for the headers of the first request begins."""
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        """A request has begun, or goes on."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE and not self._is_answered_early:
            self._stop_waiting()
        elif self._waiting_for_headers is None:
            self._expect_headers()

    def on_response_complete(self) -> None:
        """The rest of a body that nobody has read has its time; a connection that closes has to be emptied."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._close_in_time()
        elif self._is_answered_early and self._waiting_for_headers is None:
            self._expect_headers()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._close_in_time()

    def pause_writing(self) -> None:
        """The client does not read what is sent."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is waited for."""
        self._stop_waiting()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    @property
    def _is_answered_early(self) -> bool:
        """Whether the answer was sent before the end of the body of the request."""
        return self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY

    def _expect_headers(self) -> None:
        self._waiting_for_headers = self.loop.call_later(self.header_seconds, self._too_slow)

    def _close_in_time(self) -> None:
        """What is left to be sent has so long."""
        self.loop.call_later(self.write_seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting_for_headers is not None:
            self._waiting_for_headers.cancel()
            self._waiting_for_headers = None

    def _too_slow(self) -> None:
        self._waiting_for_headers = None
        if not self.transport.is_closing():
            self.transport.close()
        self._close_in_time()


class QuietServer(uvicorn.Server):
    """A server that leaves signals to its owner."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen. `backlog` is also the number of connections accepted at a time, and only that should be small."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(BACKLOG)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, before anything is loaded. Raises `RunError` where the address is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where the protocol is named. With it, every request after the first of a
    # connection waits 40 ms for a delayed acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        reason = cause(error).lower()
        raise RunError(f"cannot listen on {host}:{port}: {reason}; choose another --port or --host") from None
    listening.set_inheritable(False)
    return listening


def web_server(service: Service, app: Any, *, proxies: str = "") -> QuietServer:
    """The web server, which is not running yet; `proxies` are those of `serve`."""
    logging.getLogger("uvicorn.error").handlers = [ForeignLog(service.log, "server")]
    logging.getLogger("uvicorn.error").propagate = False
    limits = service.limits
    seconds = {"header_seconds": limits.header_seconds, "write_seconds": limits.write_seconds}
    protocol = type("Protocol", (PatientProtocol,), seconds)
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
        backlog=ACCEPTED_AT_A_TIME,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(CLOSING_SECONDS),
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    server = QuietServer(config)
    connections = server.server_state.connections  # and not the server, which would keep the application with it
    service.connections = lambda: len(connections)
    return server


async def serve(
    service: Service,
    app: Any,
    listening: socket.socket,
    *,
    drain_seconds: float,
    drain_delay: float = 0.0,
    reload: Callable[[], None] | None = None,
    proxies: str = "",
    begun: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until SIGTERM or SIGINT; then finish what has been accepted, for at most `drain_seconds`.

    Args:
        drain_delay: for so many seconds after the signal requests are still accepted, while the readiness says no:
            what a load balancer needs to notice.
        reload: is called at SIGHUP.
        proxies: addresses whose `X-Forwarded-For` is believed, with commas between; none where it is empty.
        begun: is called when a signal would drain: before, it ends the process.
    """
    server = web_server(service, app, proxies=proxies)
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()

    def stop() -> None:
        if asked.is_set():  # a second signal: at once
            server.force_exit = server.should_exit = True
        asked.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    if reload is not None:
        loop.add_signal_handler(signal.SIGHUP, reload)
    begun()
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(asked.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    await drain(service, server, seconds=drain_seconds, delay=drain_delay)
    await serving


async def drain(service: Service, server: uvicorn.Server, *, seconds: float, delay: float) -> None:
    """Readiness says no at once; new requests are refused after `delay`; the end comes when no request is on its way,
    and no document is left that a client has to fetch, or after `seconds`; then the status of the others is
    `error`."""
    service.leaving = True
    service.log("draining", in_progress=service.metrics.value("limelight_requests_in_progress"))
    await _until(lambda: server.should_exit, delay)
    service.draining = True

    def left() -> float:
        return service.metrics.value("limelight_requests_in_progress") + service.uploads.unfetched

    await _until(lambda: server.should_exit or not left(), seconds)
    unanswered = service.metrics.value("limelight_requests_in_progress")
    service.log("drained", unanswered=unanswered, documents=service.uploads.unfetched)
    service.uploads.close()
    server.should_exit = True


async def _until(holds: Callable[[], bool], seconds: float) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not holds() and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.02)


def end_engines(service: Service, seconds: float = 5.0) -> None:
    """Wait until all engines have ended, by force after so many seconds."""
    links = [link for model in service.catalog.models for pool in model.pools for link in pool.close()]
    for link in links:
        link.join(seconds)

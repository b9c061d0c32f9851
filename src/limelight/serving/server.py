"""The web server around the application: slow connections, signals, and an end that loses nothing."""

import asyncio
import logging
import os
import re
import signal
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from limelight.errors import RunError
from limelight.files import cause
from limelight.serving.app import build_app
from limelight.serving.catalog import Catalog, Model
from limelight.serving.keys import Keys
from limelight.serving.limits import Limits
from limelight.serving.links import Link, Loading
from limelight.serving.logs import ForeignLog, Log
from limelight.serving.openapi import APIS
from limelight.serving.origin import Origins
from limelight.serving.pool import Pool
from limelight.serving.service import Service
from limelight.serving.stored import Glossaries, Memories

MAX_HEAD = 20 * 1000
"""Maximum bytes of the address and the headers of a request, complete or not."""
UPGRADE = re.compile(rb"\r\nupgrade:[^\r\n]*(?=\r\n)", re.IGNORECASE)
"""The offer of another protocol, as of HTTP/2 by Java's client. With it the parser does not read the body."""
KEEP_ALIVE_SECONDS = 15
CLOSING_SECONDS = 2
"""Time of the connections to end when all is answered."""


class TimedProtocol(HttpToolsProtocol):
    """HTTP whose headers have to arrive within `header_seconds`, also byte by byte, and so has the rest of a body that
    was refused: it is discarded meanwhile, so that its sender gets to read the answer. A client that reads nothing for
    `write_seconds` is disconnected."""

    limits = Limits()
    _timer: asyncio.TimerHandle | None = None
    """Ends the connection if the client does not go on."""
    _head: int | None = 0
    """Bytes since the last request; None in a body, which has bounds of its own."""

    def connection_made(self, transport: Any) -> None:
        """The time for the first request begins."""
        super().connection_made(transport)
        self._wait(self.limits.header_seconds)

    def data_received(self, data: bytes) -> None:
        """A request has begun, or goes on."""
        if self._head is not None:
            self._head += len(data)
            head, end, body = data.partition(b"\r\n\r\n")
            data = UPGRADE.sub(b"", head + end) + body
        if self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._wait(self.limits.header_seconds)
        super().data_received(data)
        if self._timer is not None and (self._head or 0) > MAX_HEAD:
            self.send_400_response("The headers are too large.")

    def on_headers_complete(self) -> None:
        """The application reads the body, within a time of its own. Headers that are too large are invalid."""
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD:
            raise ValueError("the headers are too large")
        if not self.flow.write_paused:  # or the timer belongs to a client that sends requests and reads nothing
            self._stop()
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body has been sent, whether or not it is read."""
        self._head = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The rest of a body that nobody reads, or what is left to send, has its time."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait(self.limits.write_seconds)

    def pause_writing(self) -> None:
        """The client does not read what is sent."""
        super().pause_writing()
        self._wait(self.limits.write_seconds)

    def resume_writing(self) -> None:
        """The client has read."""
        self._stop()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more is waited for."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self, seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, before anything is loaded. Raises `RunError` if the address is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only if the protocol is named. With it, every request after the first of a
    # connection waits 40 ms for a delayed acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name != "nt":  # there services could share a port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        reason = cause(error).lower()
        raise RunError(f"cannot listen on {host}:{port}: {reason}; choose another --port or --host") from None
    return listening


def web_server(service: Service, app: Any, *, proxies: str = "") -> uvicorn.Server:
    """The web server, which is not running yet; `proxies` as in `serve`."""
    logging.getLogger("uvicorn.error").handlers = [ForeignLog(service.log, "server")]
    logging.getLogger("uvicorn.error").propagate = False
    config = uvicorn.Config(
        app,
        http=type("Protocol", (TimedProtocol,), {"limits": service.limits}),
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    server = uvicorn.Server(config)
    connections = server.server_state.connections  # and not the server, which would keep the application with it
    service.connections = lambda: len(connections)
    return server


async def run_service(
    models: Mapping[str, Loading],
    limits: Limits,
    log: Log,
    *,
    host: str,
    port: int,
    engines: int,
    keys: Path | None,
    glossaries: Path | None,
    memories: Path | None,
    origins: Origins,
    proxies: str,
    drain_seconds: float,
) -> None:
    """Answer requests until SIGTERM or SIGINT; then finish what has been accepted, for at most `drain_seconds`. A
    second signal ends the process at once, and SIGHUP loads the models again. Raises `UserError` for a file of keys
    that is missing or none, `RunError` for an address that is taken.

    Args:
        models: by their names.
        engines: their number for each model.
        glossaries: a folder for the glossaries of clients; if None, they end with the service.
        memories: likewise for their translation memories.
    """
    known = Keys(keys or (), log=log)
    kept_glossaries, kept_memories = Glossaries(glossaries), Memories(limits, memories)
    listening, loop = listen(host, port), asyncio.get_running_loop()

    def pool_of(name: str) -> Pool:
        return Pool(partial(Link, models[name]), engines, limits, partial(log, model=name))

    catalog = Catalog([Model(name, pool_of(name), loading.folder) for name, loading in models.items()])
    for model in catalog.models:
        model.pool.start()
    guarded = keys is not None
    service = Service(catalog, limits, log, known, guarded, origins, kept_glossaries, kept_memories)
    server = web_server(service, build_app(service, APIS), proxies=proxies)
    tasks = set[asyncio.Task[None]]()

    def stop() -> None:
        if service.draining:
            server.force_exit = server.should_exit = True
        else:
            tasks.add(asyncio.create_task(drain(service, server, drain_seconds)))

    async def load_again(model: Model) -> None:
        if not await model.reload(new := pool_of(model.name)):
            log("reload_failed", model=model.name, reason=new.trouble or "one of its engines has ended")

    def reload() -> None:
        log("reload")
        tasks.update(asyncio.create_task(load_again(model)) for model in catalog.models)

    # uvicorn calls it at SIGTERM and SIGINT.
    server.handle_exit = lambda *_: loop.call_soon_threadsafe(stop)  # type: ignore[assignment, method-assign]
    if hasattr(signal, "SIGHUP"):  # Windows has none
        loop.add_signal_handler(signal.SIGHUP, reload)
    host, port = listening.getsockname()[:2]
    log("listening", host=host, port=port, keys=guarded, models=list(models))
    try:
        await server.serve(sockets=[listening])
    finally:
        for task in tasks:
            task.cancel()
        end_engines(service)


async def drain(service: Service, server: uvicorn.Server, seconds: float) -> None:
    """Nothing more is taken; the end comes when no request is on its way, and no document is left that a client has to
    fetch, or after `seconds`; then the status of the others is `error`."""
    loop = asyncio.get_running_loop()
    deadline, service.draining = loop.time() + seconds, True

    def left() -> tuple[float, int]:
        return service.metrics.unanswered, service.uploads.unfetched

    service.log("draining", in_progress=left()[0])
    while any(left()) and not server.should_exit and loop.time() < deadline:
        await asyncio.sleep(0.02)
    service.log("drained", unanswered=left()[0], documents=left()[1])
    service.uploads.close()
    server.should_exit = True


def end_engines(service: Service) -> None:
    """Wait until all engines have ended, by force after five seconds each."""
    links = [link for model in service.catalog.models for link in model.pool.close()]
    for link in links:
        link.join(5.0)

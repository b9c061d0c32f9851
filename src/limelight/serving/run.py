"""Run a service with the options of the command line until it is stopped."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from limelight.errors import UserError
from limelight.serving.app import build_app
from limelight.serving.catalog import Catalog, Model
from limelight.serving.keys import Keys, read_keys, watch_keys
from limelight.serving.limits import Limits
from limelight.serving.links import Link, Loading
from limelight.serving.logs import Log
from limelight.serving.pool import Pool
from limelight.serving.routes import APIS
from limelight.serving.server import end_engines, listen, serve
from limelight.serving.service import Service
from limelight.serving.stored import Glossaries, Memories


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be served, and how."""

    models: Mapping[str, Loading]
    """By their names."""
    limits: Limits = field(default_factory=Limits)
    host: str = "127.0.0.1"
    port: int = 8000
    engines: int = 1
    """Number of engines of each model."""
    keys: Path | None = None
    glossaries: Path | None = None
    """A folder for those of clients; they are in memory alone where it is None."""
    memories: Path | None = None
    """Likewise for their translation memories, which end with the service where it is None."""
    hosts: tuple[str, ...] = ()
    """Names under which it is reached, beside addresses and `localhost`."""
    cors: tuple[str, ...] = ()
    proxies: str = ""
    drain_seconds: float = 30.0
    drain_delay: float = 0.0
    quiet: bool = False


def _listens(log: Log, **fields: Any) -> None:
    """Say that requests are answered: in the log, and to systemd, which waits for it."""
    log("listening", **fields)
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.connect("\0" + address[1:] if address.startswith("@") else address)
        systemd.sendall(b"READY=1")


async def run_service(plan: Plan, log: Log | None = None) -> None:
    """Serve until a signal comes. Raises `UserError` for a file of keys that is missing or none, `RunError` for an
    address that is taken."""
    log = log or Log(quiet=plan.quiet)
    keys = None if plan.keys is None else Keys(read_keys(plan.keys, required=True))
    glossaries, memories = Glossaries(plan.glossaries), Memories(plan.limits, plan.memories)
    listening = listen(plan.host, plan.port)

    def pool_of(name: str) -> Pool:
        return Pool(partial(Link, plan.models[name]), plan.engines, plan.limits, partial(log, model=name))

    catalog = Catalog([Model(name, pool_of(name)) for name in plan.models])
    for model in catalog.models:
        model.pool.start()
    service = Service(catalog, plan.limits, keys=keys, log=log, glossaries=glossaries, memories=memories)
    service.origins = service.origins._replace(hosts=(*plan.hosts, plan.host))

    reloading: set[asyncio.Task[None]] = set()

    async def load_again(model: Model) -> None:
        if not await model.reload(new := pool_of(model.name)):
            log("reload_failed", model=model.name, reason=new.trouble)

    def reload() -> None:
        log("reload")
        for model in catalog.models:
            reloading.add(task := asyncio.create_task(load_again(model)))
            task.add_done_callback(reloading.discard)
        if keys is not None and plan.keys is not None:
            try:
                keys.replace(read_keys(plan.keys, required=True))
            except UserError as error:
                log("reload_failed", reason=str(error))

    app = build_app(service, APIS, plan.cors)
    host, port = listening.getsockname()[:2]
    listens = partial(
        _listens,
        log,
        host=host,
        port=port,
        keys=keys is not None,
        models=list(plan.models),
        glossaries="in memory" if plan.glossaries is None else "in the folder",
    )
    watching = None
    if keys is not None and plan.keys is not None:
        watching = asyncio.create_task(watch_keys(plan.keys, keys, log))
    try:
        await serve(
            service,
            app,
            listening,
            drain_seconds=plan.drain_seconds,
            drain_delay=plan.drain_delay,
            reload=reload,
            proxies=plan.proxies,
            begun=listens,
        )
    finally:
        if watching is not None:
            watching.cancel()
        end_engines(service)

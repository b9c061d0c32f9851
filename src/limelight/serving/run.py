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
    """A folder for those of clients; if None, they end with the service."""
    memories: Path | None = None
    """Likewise for their translation memories."""
    hosts: tuple[str, ...] = ()
    """Names under which it is reached, beside addresses and `localhost`."""
    cors: tuple[str, ...] = ()
    proxies: str = ""
    drain_seconds: float = 30.0
    drain_delay: float = 0.0
    quiet: bool = False


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
    tasks = set[asyncio.Task[None]]()
    if keys is not None and plan.keys is not None:
        tasks.add(asyncio.create_task(watch_keys(plan.keys, keys, log)))

    async def load_again(model: Model) -> None:
        if not await model.reload(new := pool_of(model.name)):
            log("reload_failed", model=model.name, reason=new.trouble)

    def reload() -> None:
        log("reload")
        tasks.update(asyncio.create_task(load_again(model)) for model in catalog.models)

    def begun() -> None:
        host, port = listening.getsockname()[:2]
        log("listening", host=host, port=port, keys=keys is not None, models=list(plan.models))
        _notify_systemd()

    try:
        await serve(
            service,
            build_app(service, APIS, plan.cors),
            listening,
            drain_seconds=plan.drain_seconds,
            drain_delay=plan.drain_delay,
            reload=reload,
            proxies=plan.proxies,
            begun=begun,
        )
    finally:
        for task in tasks:
            task.cancel()
        end_engines(service)


def _notify_systemd() -> None:
    """Tell systemd, if it waits for that, that requests are answered."""
    if address := os.environ.get("NOTIFY_SOCKET", ""):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.connect("\0" + address[1:] if address.startswith("@") else address)
            systemd.sendall(b"READY=1")

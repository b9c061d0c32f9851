"""Run a service with the options of the command line until it is stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from limelight.errors import UserError
from limelight.serving.app import build_app
from limelight.serving.catalog import Model
from limelight.serving.glossaries import Glossaries
from limelight.serving.keys import Keys, read_keys
from limelight.serving.limits import Limits
from limelight.serving.links import process_link, thread_link
from limelight.serving.load import Loading
from limelight.serving.logs import Log
from limelight.serving.pool import Pool
from limelight.serving.routes import ROUTES, dialect_of
from limelight.serving.server import end_engines, listen, serve
from limelight.serving.service import Service, served


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be served, and how."""

    models: Mapping[str, Loading]
    """By their names."""
    limits: Limits = field(default_factory=Limits)
    host: str = "127.0.0.1"
    port: int = 8000
    engines: int = 1
    """Of each model."""
    in_process: bool = False
    """Whether the engines are threads of this process."""
    keys: Path | None = None
    glossaries: Path | None = None
    """A folder for those of clients; they are in memory alone where it is None."""
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
    glossaries = Glossaries(plan.glossaries)
    listening = listen(plan.host, plan.port)
    start = thread_link if plan.in_process else process_link
    pools = {
        name: Pool(partial(start, loading), plan.engines, plan.limits, partial(log, model=name))
        for name, loading in plan.models.items()
    }
    catalog = served([Model(name, pool) for name, pool in pools.items()])
    service = Service(catalog, plan.limits, keys=keys, log=log, glossaries=glossaries)

    def reload() -> None:
        log("reload")
        for name, loading in plan.models.items():
            pools[name].reload(partial(start, loading))
        if keys is not None and plan.keys is not None:
            try:
                keys.replace(read_keys(plan.keys, required=True))
            except UserError as error:
                log("reload_failed", reason=str(error))

    app = build_app(service, ROUTES, dialect_of, plan.cors)
    host, port = listening.getsockname()[:2]
    listens = partial(
        log,
        "listening",
        host=host,
        port=port,
        keys=keys is not None,
        models=list(plan.models),
        glossaries="in memory" if plan.glossaries is None else "in the folder",
    )
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
        end_engines(service)

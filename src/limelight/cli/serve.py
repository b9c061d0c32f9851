"""`limelight serve` and `limelight keys`."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from limelight.cli import options
from limelight.cli.arguments import argument, number, option
from limelight.cli.models import find_models
from limelight.cli.outcome import command, note
from limelight.errors import UserError
from limelight.memory import rare_collections
from limelight.serving.limits import Limits
from limelight.signals import ignore_hangup
from limelight.storage.layout import DEFAULT, bundled_models

EXAMPLES = """
  limelight serve --model runs/en-de
  limelight serve --model news=runs/en-de --model runs/en-fr --engines 4
  limelight serve --model runs/en-de --host 0.0.0.0 --keys keys.json
  limelight serve --model runs/en-de --cors https://example.org
"""
GREETING = (
    "limelight: http://{host}:{port}/ has a page to try, /openapi.json the paths; the models are ready when the log "
    "says engine_ready (a minute or two at the first start on a machine); Ctrl-C ends it"
)
ORIGIN = re.compile(r"\*|[a-z][a-z0-9+.-]*://[^/\s]+")
ACCESS, ENDING = "Access", "Ending"


class ServedModel(NamedTuple):
    """A model and the name it is served under."""

    name: str
    folder: str


@command("serve", EXAMPLES, "Give fewer --engines, or --precision int8")
def serve(
    *,
    model: Annotated[
        list[str] | None,
        option(
            "--model",
            "Run or model folder, and the name it is served under; several are separate models.",
            "[NAME=]RUN",
        ),
    ] = None,
    host: Annotated[str, option("--host", "Address to listen on; 0.0.0.0 is all.", "ADDRESS")] = "127.0.0.1",
    port: Annotated[int, option("--port", "Port to listen on.", "N", number(int, 0, 65535))] = 8000,
    engines: Annotated[
        int, option("--engines", "Processes that translate, for each model.", "N", number(int, 1, 256))
    ] = 1,
    threads: Annotated[int, option("--threads", "CPU threads of each engine.", "N", number(int, 1))] = 1,
    precision: options.Precision = None,
    shortlist: options.Shortlisted = False,
    no_pivot: options.NoPivot = False,
    device: options.Device = None,
    keys: Annotated[
        Path | None, option("--keys", "Require a key of this file (see limelight keys).", "FILE", panel=ACCESS)
    ] = None,
    no_keys: Annotated[
        bool, option("--no-keys", "Serve without keys, also at addresses other than loopback.", panel=ACCESS)
    ] = False,
    glossaries: Annotated[
        Path | None, option("--glossaries", "Folder for the glossaries of clients. Default: kept in memory.", "FOLDER")
    ] = None,
    memory: Annotated[
        Path | None,
        option(
            "--memory",
            "Translation memory (TMX): its segments are reused for the same source. Read again when it changes.",
            "FILE",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    memory_folder: Annotated[
        Path | None,
        option("--memories", "Folder for the translation memories of clients. Default: a temporary one.", "FOLDER"),
    ] = None,
    cors: Annotated[
        list[str] | None, option("--cors", "Origin whose pages may call the service; * is all.", "ORIGIN", panel=ACCESS)
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        option(
            "--allowed-host",
            "Name under which a service without keys is reached; * is any. Addresses and localhost always are.",
            "NAME",
            panel=ACCESS,
        ),
    ] = None,
    trust_proxy: Annotated[
        str,
        option(
            "--trust-proxy",
            "Trusted proxies for X-Forwarded-For: addresses, separated by commas.",
            "ADDRESSES",
            panel=ACCESS,
        ),
    ] = "",
    limits: Limits,
    drain_seconds: Annotated[
        float,
        option(
            "--drain-seconds",
            "Time to finish accepted requests after SIGTERM.",
            "SECONDS",
            number(float, 0),
            panel=ENDING,
        ),
    ] = 30.0,
    drain_delay: Annotated[
        float,
        option(
            "--drain-delay",
            "Time during which requests are still accepted after SIGTERM, for load balancers.",
            "SECONDS",
            number(float, 0),
            panel=ENDING,
        ),
    ] = 0.0,
    quiet: Annotated[bool, option("--quiet -q", "Log no line for each request.")] = False,
) -> None:
    """Answer translation requests over HTTP: the APIs of DeepL, LibreTranslate and OpenAI (chat), and one of its own.

    Without --model it serves the model that comes with limelight. A page to try it is at http://127.0.0.1:8000/.
    """
    ignore_hangup()  # a reload that is asked for before there is anything to reload
    models = _named(model)
    require_access(host, keys, no_keys=no_keys)
    require_origins(cors or ())
    if sys.stdout.isatty() and port:  # standard error is the log, of which each line is JSON
        typer.echo(GREETING.format(host=host, port=port))
    try:
        from limelight.serving.links import Loading
        from limelight.serving.logs import Log, log_warnings
        from limelight.serving.run import Plan, run_service
    except ImportError as error:
        raise UserError(f"serving needs more packages ({error.name}): pip install 'limelight[serve]'") from None
    computing: dict[str, Any] = {"device": device, "precision": precision, "threads": threads, "shortlist": shortlist}
    computing |= {"pivot": not no_pivot, "memory": str(memory or "")}
    plan = Plan(
        {each.name: Loading(each.folder, name=each.name, **computing) for each in models},
        limits,
        host=host,
        port=port,
        engines=engines,
        keys=keys,
        glossaries=glossaries,
        memories=memory_folder,
        hosts=tuple(allowed_host or ()),
        cors=tuple(cors or ()),
        proxies=trust_proxy,
        drain_seconds=drain_seconds,
        drain_delay=drain_delay,
        quiet=quiet,
    )
    log = Log(quiet=quiet)
    log_warnings(log)
    with rare_collections():
        asyncio.run(run_service(plan, log))


def _named(words: list[str] | None) -> list[ServedModel]:
    """The models of `--model`, validated. Raises `UserError` for an invalid model, and for two with the same name."""
    if not words and DEFAULT in bundled_models():  # the log names it
        return [ServedModel(DEFAULT, DEFAULT)]
    words = words or []
    models = [named_model(word) for word in words]
    find_models([each.folder for each in models])
    for place, each in enumerate(models):
        if each.name in [other.name for other in models[:place]]:
            raise UserError(f"two models are called {each.name}: give another name with --model NAME={each.folder}")
    return models


def named_model(word: str) -> ServedModel:
    """Parse `NAME=RUN`, or a folder, whose own name is used. An existing folder takes precedence."""
    name, equals, folder = word.partition("=")
    if equals and name and folder and not Path(word).exists():
        return ServedModel(name, folder)
    return ServedModel(Path(word).resolve().name if Path(word).exists() else word, word)


def require_access(host: str, keys: Path | None, *, no_keys: bool) -> None:
    """Raise `UserError` for a service that is reachable from other machines without keys, unless `no_keys` is set."""
    if keys is not None and no_keys:
        raise UserError("--keys and --no-keys exclude each other")
    if keys is not None:
        from limelight.serving.keys import read_keys

        read_keys(keys, required=True)  # before anything is loaded
    if keys is None and not no_keys and not is_loopback(host):
        raise UserError(
            f"--host {host} is reachable from other machines: give --keys FILE (see `limelight keys`), or --no-keys to "
            "serve without keys"
        )


def require_origins(origins: Sequence[str]) -> None:
    """Raises `UserError` for one that no browser would ever send."""
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise UserError(f"--cors {origin}: an origin is a scheme and a host, as https://example.org, or * for all")


def is_loopback(host: str) -> bool:
    """Whether an address is reachable only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


KEYS_EXAMPLES = """
  limelight keys add alice --keys keys.json
  limelight keys add app --keys keys.json --characters-per-minute 100000
  limelight keys list --keys keys.json
  limelight keys revoke alice --keys keys.json
"""


@command("keys", KEYS_EXAMPLES, "There is not enough memory even for a few keys")
def keys(
    *,
    action: Annotated[str, argument("add, list or revoke.", "add|list|revoke")],
    name: Annotated[str, argument("Name of the key.", "[NAME]")] = "",
    file: Annotated[Path, option("--keys", "File of keys; created if it does not exist.", "FILE")] = Path("keys.json"),
    per_minute: Annotated[
        int | None, option("--characters-per-minute", "Rate limit of the key.", "N", number(int, 1))
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Create, list and revoke the keys of a service."""
    from limelight.serving.keys import add_key, read_keys, revoke_key

    if action not in ("add", "list", "revoke"):
        raise UserError(f"unknown action {action!r}: give add, list or revoke")
    if (action == "list") == bool(name):
        raise UserError(
            "list takes no name" if name else f"{action} which key? Give its name: limelight keys {action} NAME"
        )
    if action == "add":
        secret = add_key(file, name, per_minute)
        typer.echo(json.dumps({"name": name, "key": secret}) if as_json else secret)
        told = "it is shown this once. A running service reads the file again within seconds"
        note(f"the key of {name}; {told}")
    elif action == "revoke":
        revoke_key(file, name)
        note(f"{name} is revoked. A running service reads the file again within seconds")
    for key in read_keys(file) if action == "list" else ():
        limit = "" if key.characters_per_minute is None else f"  {key.characters_per_minute} characters a minute"
        fields = {"name": key.name, "created": key.created, "characters_per_minute": key.characters_per_minute}
        typer.echo(json.dumps(fields) if as_json else f"{key.name}  {key.created}{limit}")

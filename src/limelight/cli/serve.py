"""`limelight serve` and `limelight keys`."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from limelight.cli import options
from limelight.cli.arguments import argument, flag, option, refuse
from limelight.cli.models import find_models
from limelight.cli.outcome import command, note
from limelight.cli.output import show
from limelight.errors import UserError, shown
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
ORIGIN = re.compile(r"\*|[a-z][a-z0-9+.-]*://[^/\sA-Z]+")
ACCESS, ENDING = "Access", "Ending"


@command("serve", EXAMPLES)
def serve(
    *,
    model: options.Words = option(
        "Run or model folder, and the name it is served under; several are separate models.", "[NAME=]RUN"
    ),
    host: str = option("Address to listen on; 0.0.0.0 is all.", "ADDRESS", "127.0.0.1"),
    port: int = option("Port to listen on.", "N", 8000, min=0, max=65535),
    engines: int = option("Processes that translate, for each model.", "N", 1, min=1, max=256),
    threads: int = option("CPU threads of each engine.", "N", 1, min=1),
    precision: options.Precision = options.PRECISION,
    shortlist: bool = options.SHORTLIST,
    no_pivot: bool = options.NO_PIVOT,
    device: str | None = options.DEVICE,
    keys: Path | None = option("Require a key of this file (see limelight keys).", "FILE", panel=ACCESS),
    no_keys: bool = flag("Serve without keys, also at addresses other than loopback.", panel=ACCESS),
    glossaries: Path | None = option("Folder for the glossaries of clients. Default: a temporary one.", "FOLDER"),
    memory: Path | None = option(
        "Translation memory (TMX): the translation of a sentence that it has is taken from it.",
        "FILE",
        exists=True,
        dir_okay=False,
    ),
    memory_folder: Path | None = option(
        "Folder for the translation memories of clients. Default: a temporary one.", "FOLDER", None, "--memories"
    ),
    cors: options.Words = option("Origin whose pages may call the service; * is all.", "ORIGIN", panel=ACCESS),
    allowed_host: options.Words = option(
        "Host name that requests may name where there are no keys; * is any. IP addresses and localhost always may.",
        "NAME",
        panel=ACCESS,
    ),
    trust_proxy: str = option(
        "Trusted proxies for X-Forwarded-For: addresses, separated by commas.", "ADDRESSES", "", panel=ACCESS
    ),
    limits: Limits,
    drain_seconds: float = option(
        "Time to finish accepted requests after SIGTERM.", "SECONDS", 30.0, panel=ENDING, min=0
    ),
    quiet: bool = flag("Log no line for each request.", "--quiet -q"),
) -> None:
    """Answer translation requests over HTTP: the APIs of DeepL, LibreTranslate and OpenAI (chat), and one of its own.

    Without --model it serves the model that comes with limelight. A page to try it is at http://127.0.0.1:8000/.
    """
    ignore_hangup()  # a reload that is asked for before there is anything to reload
    if glossaries is not None and glossaries == memory_folder:
        raise UserError(f"--glossaries and --memories are both {glossaries}: give two folders")
    models = named_models(model)
    require_access(host, keys, no_keys=no_keys)
    require_origins(cors or ())
    try:
        from limelight.serving.links import Loading
        from limelight.serving.logs import Log, log_warnings
        from limelight.serving.origin import Origins
        from limelight.serving.server import run_service
    except ImportError as error:
        raise UserError(f"serving needs more packages ({error.name}): pip install 'limelight[serve]'") from None
    if sys.stdout is not None and sys.stdout.isatty() and port:  # standard error is the log, each line JSON
        show(GREETING.format(host=f"[{host}]" if ":" in host else host, port=port))
    loadings = {
        name: Loading(
            folder, device, precision, threads, shortlist, pivot=not no_pivot, memory=str(memory or ""), name=name
        )
        for name, folder in models.items()
    }
    log = Log(quiet=quiet)
    log_warnings(log)
    service = run_service(
        loadings,
        limits,
        log,
        host=host,
        port=port,
        engines=engines,
        keys=keys,
        glossaries=glossaries,
        memories=memory_folder,
        origins=Origins((*(allowed_host or ()), host), cors or ()),
        proxies=trust_proxy,
        drain_seconds=drain_seconds,
    )
    with rare_collections():
        asyncio.run(service)


def named_models(words: list[str] | None) -> dict[str, str]:
    """The folders of `--model` by name: of `NAME=RUN`, or of the folder itself. An existing folder takes precedence.

    Raises `UserError` for an invalid model, for a name that answers cannot have, and for two with the same name.
    """
    models: dict[str, str] = {}
    for word in words or ([DEFAULT] if DEFAULT in bundled_models() else []):
        name, _, folder = word.partition("=")
        if Path(word).exists() or not (name and folder):
            name, folder = Path(word).resolve().name if Path(word).exists() else word, word
        if not name.isprintable():
            raise UserError(
                f"{shown(name)!r} is no name in Unicode: give another one with --model NAME={shown(folder)}"
            )
        if name in models:
            raise UserError(f"two models are called {name}: give another name with --model NAME={folder}")
        models[name] = folder
    find_models(list(models.values()))
    return models


def require_access(host: str, keys: Path | None, *, no_keys: bool) -> None:
    """Raise `UserError` for a service that is reachable from other machines without keys, unless `no_keys` is set."""
    if keys is not None and no_keys:
        raise UserError("--keys and --no-keys exclude each other")
    if keys is not None:
        from limelight.serving.keys import read_keys

        read_keys(keys)  # before anything is loaded
    elif not no_keys and not is_loopback(host):
        raise UserError(
            f"--host {host} is reachable from other machines: give --keys FILE (see `limelight keys`), or --no-keys to "
            "serve without keys"
        )


def require_origins(origins: Sequence[str]) -> None:
    """Raises `UserError` for one that no browser would ever send."""
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise UserError(
                f"--cors {origin}: an origin is a scheme and a host in lower case, as https://example.org, or * for all"
            )


def is_loopback(host: str) -> bool:
    """Whether an address is reachable only from this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


KEYS_EXAMPLES = """
  limelight keys add alice --keys keys.json
  limelight keys add app --keys keys.json --characters-per-minute 100000
  limelight keys list --keys keys.json
  limelight keys revoke alice --keys keys.json
"""


@command("keys", KEYS_EXAMPLES)
def keys(
    *,
    action: Literal["add", "list", "revoke"] = argument("add, list or revoke.", "add|list|revoke", ...),
    name: str = argument("Name of the key.", "[NAME]", ""),
    file: Path = option("File of keys; created if it does not exist.", "FILE", Path("keys.json"), "--keys"),
    per_minute: int | None = option(
        "Rate limit of a new key. Default: none.", "N", None, "--characters-per-minute", min=1
    ),
) -> None:
    """Create, list and revoke the keys of a service."""
    from limelight.serving.keys import add_key, read_keys, revoke_key

    if (action == "list") == bool(name):
        raise UserError(
            "list takes no name" if name else f"{action} which key? Give its name: limelight keys {action} NAME"
        )
    if action != "add":
        refuse({"--characters-per-minute": per_minute}, "this is for `add`: revoke the key, and make another one")
    if action == "add":
        secret = add_key(file, name, per_minute)
        show(secret)
        note(f"the key of {name}; it is shown this once. A running service reads the file again within seconds")
    elif action == "revoke":
        revoke_key(file, name)
        note(f"{name} is revoked. A running service reads the file again within seconds")
    else:
        for key in read_keys(file):
            limit = "" if key.characters_per_minute is None else f"  {key.characters_per_minute} characters a minute"
            show(f"{key.name}  {key.created}{limit}")

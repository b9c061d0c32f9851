"""The options of `serve` and `keys`."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from limelight.cli.arguments import Group, argument, decimal, option, whole_number
from limelight.serving.limits import Limits

LIMITS, ACCESS, ENDING = "Limits", "Access", "Ending"

ServedModels = Annotated[
    list[str] | None,
    option(
        "--model", "Run or model folder, and the name it is served under; several are separate models.", "[NAME=]RUN"
    ),
]
Host = Annotated[str, option("--host", "Address to listen on; 0.0.0.0 is all.", "ADDRESS")]
Port = Annotated[int, option("--port", "Port to listen on.", "N", whole_number(0, 65535))]
Engines = Annotated[int, option("--engines", "Processes that translate, for each model.", "N", whole_number(1, 256))]
EngineThreads = Annotated[int, option("--threads", "CPU threads of each engine.", "N", whole_number(1))]
KeyFile = Annotated[
    Path | None, option("--keys", "Require a key of this file (see limelight keys).", "FILE", panel=ACCESS)
]
GlossaryFolder = Annotated[
    Path | None, option("--glossaries", "Folder for the glossaries of clients. Default: kept in memory.", "FOLDER")
]
MemoryFile = Annotated[
    Path | None,
    option(
        "--memory",
        "Translation memory (TMX): its segments are reused for the same source. Read again when it changes.",
        "FILE",
        exists=True,
        dir_okay=False,
    ),
]
MemoryFolder = Annotated[
    Path | None,
    option("--memories", "Folder for the translation memories of clients. Default: a temporary one.", "FOLDER"),
]
NoKeys = Annotated[
    bool, option("--no-keys", "Serve without keys, also at addresses other than loopback.", panel=ACCESS)
]
Cors = Annotated[
    list[str] | None, option("--cors", "Origin whose pages may call the service; * is all.", "ORIGIN", panel=ACCESS)
]
AllowedHosts = Annotated[
    list[str] | None,
    option(
        "--allowed-host",
        "Name under which a service without keys is reached; * is any. Addresses and localhost always are.",
        "NAME",
        panel=ACCESS,
    ),
]
Proxies = Annotated[
    str,
    option(
        "--trust-proxy",
        "Trusted proxies for X-Forwarded-For: addresses, separated by commas.",
        "ADDRESSES",
        panel=ACCESS,
    ),
]


LIMIT_FIELDS = {each.name: each for each in fields(Limits) if "option" in each.metadata}


def _limit(name: str) -> Any:
    bound, kind = LIMIT_FIELDS[name].metadata["option"], LIMIT_FIELDS[name].type
    parser = whole_number(bound.at_least) if kind is int else decimal(at_least=bound.at_least)
    return Annotated[kind, option(bound.flag, bound.help, "N" if kind is int else "SECONDS", parser, panel=LIMITS)]


Bounds = Annotated[
    dict[str, Any],
    Group({name: _limit(name) for name in LIMIT_FIELDS}, {name: each.default for name, each in LIMIT_FIELDS.items()}),
]
"""By the names of `Limits`."""
DrainSeconds = Annotated[
    float,
    option(
        "--drain-seconds",
        "Time to finish accepted requests after SIGTERM.",
        "SECONDS",
        decimal(at_least=0.0),
        panel=ENDING,
    ),
]
DrainDelay = Annotated[
    float,
    option(
        "--drain-delay",
        "Time during which requests are still accepted after SIGTERM, for load balancers.",
        "SECONDS",
        decimal(at_least=0.0),
        panel=ENDING,
    ),
]
QuietLog = Annotated[bool, option("--quiet -q", "Log no line for each request.")]

# --- keys ---

Action = Annotated[str, argument("add, list or revoke.", "add|list|revoke")]
KeyName = Annotated[str, argument("Name of the key.", "[NAME]")]
KeysFile = Annotated[Path, option("--keys", "File of keys; created if it does not exist.", "FILE")]
PerMinute = Annotated[int | None, option("--characters-per-minute", "Rate limit of the key.", "N", whole_number(1))]

"""The options of `serve` and `keys`."""

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from limelight.cli.arguments import Group, decimal, whole_number
from limelight.serving.limits import Limits

LIMITS, ACCESS, ENDING = "Limits", "Access", "Ending"

ServedModels = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="Run or model folder, and the name it is served under; several are separate models.",
        metavar="[NAME=]RUN",
    ),
]
Host = Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 is all.", metavar="ADDRESS")]
Port = Annotated[int, typer.Option("--port", help="Port to listen on.", parser=whole_number(0, 65535), metavar="N")]
Engines = Annotated[
    int,
    typer.Option(
        "--engines", help="Processes that translate, for each model.", parser=whole_number(1, 256), metavar="N"
    ),
]
EngineThreads = Annotated[
    int, typer.Option("--threads", help="CPU threads of each engine.", parser=whole_number(1), metavar="N")
]
InProcess = Annotated[
    bool,
    typer.Option(
        "--in-process", help="Translate in threads of this process: starts faster, uses one core.", metavar=""
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--keys", help="Require a key of this file (see limelight keys).", metavar="FILE", rich_help_panel=ACCESS
    ),
]
GlossaryFolder = Annotated[
    Path | None,
    typer.Option(
        "--glossaries", help="Folder for the glossaries of clients. Default: kept in memory.", metavar="FOLDER"
    ),
]
MemoryFile = Annotated[
    Path | None,
    typer.Option(
        "--memory",
        help="Translation memory (TMX): its segments are reused for the same source. Read again when it changes.",
        metavar="FILE",
        exists=True,
        dir_okay=False,
    ),
]
MemoryFolder = Annotated[
    Path | None,
    typer.Option(
        "--memories",
        help="Folder for the translation memories of clients. Default: a temporary one.",
        metavar="FOLDER",
    ),
]
NoKeys = Annotated[
    bool,
    typer.Option(
        "--no-keys",
        help="Serve without keys, also at addresses other than loopback.",
        metavar="",
        rich_help_panel=ACCESS,
    ),
]
Cors = Annotated[
    list[str] | None,
    typer.Option(
        "--cors", help="Origin whose pages may call the service; * is all.", metavar="ORIGIN", rich_help_panel=ACCESS
    ),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        help="Name under which a service without keys is reached; * is any. Addresses and localhost always are.",
        metavar="NAME",
        rich_help_panel=ACCESS,
    ),
]
Proxies = Annotated[
    str,
    typer.Option(
        "--trust-proxy",
        help="Trusted proxies for X-Forwarded-For: addresses, separated by commas.",
        metavar="ADDRESSES",
        rich_help_panel=ACCESS,
    ),
]


LIMIT_FIELDS = {each.name: each for each in fields(Limits) if "option" in each.metadata}


def _limit(name: str) -> Any:
    option, kind = LIMIT_FIELDS[name].metadata["option"], LIMIT_FIELDS[name].type
    parser = whole_number(option.at_least) if kind is int else decimal(at_least=option.at_least)
    metavar = "N" if kind is int else "SECONDS"
    return Annotated[
        kind, typer.Option(option.flag, help=option.help, parser=parser, metavar=metavar, rich_help_panel=LIMITS)
    ]


Bounds = Annotated[
    dict[str, Any],
    Group({name: _limit(name) for name in LIMIT_FIELDS}, {name: each.default for name, each in LIMIT_FIELDS.items()}),
]
"""By the names of `Limits`."""
DrainSeconds = Annotated[
    float,
    typer.Option(
        "--drain-seconds",
        help="Time to finish accepted requests after SIGTERM.",
        parser=decimal(at_least=0.0),
        metavar="SECONDS",
        rich_help_panel=ENDING,
    ),
]
DrainDelay = Annotated[
    float,
    typer.Option(
        "--drain-delay",
        help="Time during which requests are still accepted after SIGTERM, for load balancers.",
        parser=decimal(at_least=0.0),
        metavar="SECONDS",
        rich_help_panel=ENDING,
    ),
]
QuietLog = Annotated[bool, typer.Option("--quiet", "-q", help="Log no line for each request.", metavar="")]

# --- keys ---

Action = Annotated[str, typer.Argument(help="add, list or revoke.", metavar="add|list|revoke")]
KeyName = Annotated[str, typer.Argument(help="Name of the key.", metavar="[NAME]")]
KeysFile = Annotated[Path, typer.Option("--keys", help="File of keys; created if it does not exist.", metavar="FILE")]
PerMinute = Annotated[
    int | None,
    typer.Option("--characters-per-minute", help="Rate limit of the key.", parser=whole_number(1), metavar="N"),
]

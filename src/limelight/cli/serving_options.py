"""The options of `serve` and `keys`."""

from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import decimal, whole_number

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


def _bound(name: str, help: str, at_least: int = 1) -> typer.models.OptionInfo:
    """An option for a limit; the default is that of `serving.limits.Limits`."""
    option: typer.models.OptionInfo = typer.Option(
        name, help=help, parser=whole_number(at_least), metavar="N", rich_help_panel=LIMITS
    )
    return option


MaxCharacters = Annotated[int, _bound("--max-characters", "Maximum characters of a request.")]
MaxTexts = Annotated[int, _bound("--max-texts", "Maximum texts of a request.")]
MaxBeam = Annotated[int, _bound("--max-beam", "Maximum beam size of a request.")]
MaxNBest = Annotated[int, _bound("--max-n-best", "Maximum number of translations of a sentence.")]
MaxBody = Annotated[int, _bound("--max-body", "Maximum bytes of a body, after decompression.", 1024)]
MaxUpload = Annotated[int, _bound("--max-upload", "Maximum bytes of an uploaded document.", 1024)]
MaxDocuments = Annotated[int, _bound("--max-documents", "Maximum documents at a time; half of it for one client.", 2)]
MaxSegments = Annotated[int, _bound("--max-segments", "Maximum segments of an uploaded document.")]
MaxBodyMemory = Annotated[int, _bound("--max-body-memory", "Maximum bytes of all bodies that arrive.", 1 << 20)]
MaxQueue = Annotated[int, _bound("--max-queue", "Maximum number of waiting sentences; half of it for one client.", 2)]
MaxConnections = Annotated[int, _bound("--max-connections", "Maximum number of connections.", 8)]
QueueSeconds = Annotated[
    float,
    typer.Option(
        "--queue-seconds",
        help="Maximum time of a request in the queue.",
        parser=decimal(at_least=0.01),
        metavar="SECONDS",
        rich_help_panel=LIMITS,
    ),
]
Deadline = Annotated[
    float,
    typer.Option(
        "--deadline",
        help="Maximum time of a request in total.",
        parser=decimal(at_least=0.01),
        metavar="SECONDS",
        rich_help_panel=LIMITS,
    ),
]
MaxSeconds = Annotated[
    float,
    typer.Option(
        "--max-seconds",
        help="Maximum CPU time of an engine for a request.",
        parser=decimal(at_least=0.01),
        metavar="SECONDS",
        rich_help_panel=LIMITS,
    ),
]
SilenceSeconds = Annotated[
    float,
    typer.Option(
        "--silence-seconds",
        help="Time after which an engine that does not report is replaced.",
        parser=decimal(at_least=1.0),
        metavar="SECONDS",
        rich_help_panel=LIMITS,
    ),
]
WriteSeconds = Annotated[
    float,
    typer.Option(
        "--write-seconds",
        help="Maximum time that a client reads nothing of its answer.",
        parser=decimal(at_least=0.01),
        metavar="SECONDS",
        rich_help_panel=LIMITS,
    ),
]
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

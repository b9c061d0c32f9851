"""Workers without a model: words backwards, and texts that end or hang their worker, or are refused."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from limelight.corpus.pool import processes
from limelight.corpus.translate import CorpusJob, Report, translate_corpus
from limelight.corpus.worker import Done, Outcome, Translate, WorkerSettings
from limelight.errors import UserError
from tests.forked import PROCESSES

DIE, HANG, REFUSE = "it dies", "it hangs", "it refuses"
CHUNK = 7


def said(text: str) -> str:
    return text[::-1].upper()


def open_fake(settings: str, number: int = 0) -> Translate:
    if json.loads(settings)["folders"] == ["missing"]:
        raise UserError("missing: there is no such model")

    def translate(texts: Sequence[str], first: int) -> list[Outcome]:
        if DIE in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        if HANG in texts:
            time.sleep(600)

        def outcome(number: int, text: str) -> Outcome:
            if REFUSE in text:
                return f"text {number}: it is too long"
            return Done([said(text)], ["loop"] if "loop" in text else [])

        return [outcome(number, text) for number, text in enumerate(texts, start=first)]

    return translate


def job_of(inputs: Path | str, output: Path, workers: int = 2, timeout: float = 120.0) -> CorpusJob:
    return CorpusJob((str(inputs),), output, {"model": "a"}, workers=workers, timeout=timeout, chunk=CHUNK)


def run(job: CorpusJob, model: str = "fake") -> Report:
    """The job, with processes that do what is faked here."""
    return translate_corpus(job, processes(WorkerSettings([model], {}), shares=False, opener=open_fake))


def write_shards(folder: Path, shards: int = 3, lines: int = 40) -> Path:
    for number in range(shards):
        path = folder / f"{number % 2}" / f"part-{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"line {line} of {number}\n" for line in range(lines)), encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, str]:
    """All files of results by name; of the report all but how long it took."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "report.json"
    }


def drive(given: Path, output: Path, step: int) -> int | None:
    """The exit code of a process that runs the job, and is killed before its n-th change in the folder."""
    return killed_before(step, output, run, job_of(given, output))


def killed_before(step: int, place: Path, work: Callable[..., object], *arguments: object) -> int | None:
    """The exit code of a process that does the work, and is killed before its n-th change of files whose paths begin
    with the place."""
    process = PROCESSES.Process(target=_killed_before, args=(step, str(place), work, arguments))
    process.start()
    process.join()
    return process.exitcode


def _killed_before(step: int, place: str, work: Callable[..., object], arguments: tuple) -> None:
    seen = 0

    def count(event: str, arguments: tuple) -> None:
        nonlocal seen
        if event not in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
            return
        writes = event != "open" or bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if writes and str(arguments[0]).startswith(place):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    work(*arguments)

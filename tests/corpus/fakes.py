"""Workers without a model: words backwards, and texts that end or hang their worker, or are refused."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from limelight.corpus import pool
from limelight.corpus.pool import Processes
from limelight.corpus.results import Results
from limelight.corpus.shards import Form
from limelight.corpus.translate import CorpusJob, Report, translate_corpus
from limelight.corpus.worker import Done, Outcome, Translate, WorkerSettings, main
from limelight.errors import UserError

ROOT = Path(__file__).parents[2]
PROGRAM = "tests.corpus.fakes"
DIE, HANG, REFUSE = "it dies", "it hangs", "it refuses"
CHUNK = 7


def said(text: str) -> str:
    return text[::-1].upper()


def open_fake(settings: WorkerSettings, number: int = 0) -> Translate:
    if settings.folders == ["missing"]:
        raise UserError("missing: there is no such model")

    def translate(texts: Sequence[str], first: int) -> list[Outcome]:
        if DIE in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        if HANG in texts:
            time.sleep(600)

        def outcome(place: int, text: str) -> Outcome:
            if REFUSE in text:
                return f"text {place}: it is too long"
            return Done([said(text)], ["loop"] if "loop" in text else [], 0.1 if "unsure" in text else 0.9)

        return [outcome(place, text) for place, text in enumerate(texts, start=first)]

    return translate


def settings(*folders: str) -> WorkerSettings:
    return WorkerSettings(list(folders), {})


def job_of(inputs: Path, output: Path, form: Form | None = None, workers: int = 2, timeout: float = 120.0) -> CorpusJob:
    return CorpusJob((str(inputs),), output, {"model": "a"}, form or Form(), workers, timeout=timeout, chunk=CHUNK)


def run(job: CorpusJob, **options: object) -> Report:
    """The job, with processes that do what is faked here."""
    pool.PROGRAM = PROGRAM
    os.environ["PYTHONPATH"] = str(ROOT)
    return translate_corpus(job, Processes(settings(), forks=True), **options)  # type: ignore[arg-type]


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


def die_before(step: int, output: Path) -> None:
    """Let this process be killed just before its n-th change in the folder."""
    seen = 0

    def count(event: str, arguments: tuple) -> None:
        nonlocal seen
        if event not in ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir"):
            return
        writes = event != "open" or bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if writes and str(arguments[0]).startswith(str(output)):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def drive_job(inputs: Path, output: Path, step: int, spoil: str) -> None:
    """A job that is killed at a step; 0 for none. In a process of its own."""
    if spoil == "keep":  # what was not committed stays
        os.truncate = lambda *_: None
    if spoil == "forget":  # where it was is not known
        begin = Results.begin
        Results.begin = lambda self: begin(self) * 0  # type: ignore[method-assign]
    if step:
        die_before(step, output)
    run(job_of(inputs, output))


if __name__ == "__main__":
    main(open_fake)

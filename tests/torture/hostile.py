"""`limelight translate`, or `classify`, on folders of strangers, in a process that may crash, hang or grow without harm
to tests."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import torch

from limelight.cli.app import run
from limelight.config import EncoderOnlyConfig, ModelConfig, RecurrentConfig, RunConfig, TransformerConfig
from limelight.models.families import build_model
from limelight.storage.model import save_model
from limelight.tokens import Tokenizers, train_tokenizer
from tests.forked import PROCESSES

SECONDS, MEGABYTES = 20.0, 500.0
"""What a refusal may take, of the processor and of memory."""

WEIGHTS, CONFIG, METADATA = "model.safetensors", "config.yaml", "tokenizer/joint/tokenizer.yaml"
LABELS = "labels.json"
PIECES = {"bpe": "tokenizer/joint/spm.model", "unigram": "tokenizer/joint/spm.model"}
MODELS: dict[str, ModelConfig] = {
    "bpe": TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12),
    "unigram": RecurrentConfig(embedding=7, hidden=8, score_size=5, tie="three-way"),
}
CLASSIFIER = "classifier"
"""The kind of a good folder that chooses among labels; those of translators have the kind of their tokens."""
CHOICES = ("blue", "green", "red")

TEXTS = [
    "the red cat sleeps here",
    "a green house stands there",
    "die rote Katze schläft hier",
    "ein grünes Haus steht",
]

PATIENCE = 120
"""Seconds of waiting after which a process is taken to hang."""

RUNS_CODE = {"pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect"}
"""What Python's audit tells of when a stranger's objects are made, or a program or connection is begun."""


Change = Callable[[Path], None]
"""Makes a good folder a hostile one."""


class Outcome(NamedTuple):
    """How a command ended."""

    code: int | None
    """None: it did not end in time; negative: the signal that ended its process."""
    errors: str
    """All of standard error."""
    seconds: float = 0.0
    """Of the processor, from the command line to its end: no start of a process, and no waiting for others."""
    megabytes: float = 0.0
    """By which the largest memory of the process grew."""
    ran: tuple[str, ...] = ()
    """Of `RUNS_CODE`, what was seen."""


class Watched:
    """A process that uses one folder after another; another takes its place when it has ended or hangs."""

    def __init__(self, text: Path, good: Path) -> None:
        """The first folder that each process translates with is `good`: what Python imports is then in no figure."""
        self._text, self._good = text, good
        self._asking: Connection | None = None

    def use(self, folder: Path, kind: str) -> Outcome:
        """How `limelight translate --model FOLDER` ends, or what is done with that kind of folder instead."""
        if self._asking is None:
            self._begin()
        return self._ask(folder, ["classify"] if kind == CLASSIFIER else ["translate", "--beam", "2"])

    def end(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._process.kill()
            self._process.join()
            self._asking = None

    def _begin(self) -> None:
        self._asking, answering = PROCESSES.Pipe()
        self._process = PROCESSES.Process(target=_answer, args=(self._text, answering))
        self._process.start()
        answering.close()
        assert self._ask(self._good, ["translate"]).code == 0, "the good folder does not translate"

    def _ask(self, folder: Path, command: list[str]) -> Outcome:
        assert self._asking is not None
        try:
            self._asking.send([*command, "--model", str(folder)])
            if self._asking.poll(PATIENCE):
                return self._asking.recv()
            outcome = Outcome(None, "it hangs")
        except (EOFError, ConnectionError):
            self._process.join()
            outcome = Outcome(self._process.exitcode, "its process has ended")
        self.end()
        return outcome


def _answer(text: Path, answering: Connection) -> None:
    torch.set_num_threads(1)
    ran: list[str] = []
    sys.addaudithook(lambda event, _: ran.append(event) if event in RUNS_CODE else None)
    with tempfile.TemporaryFile() as errors, suppress(EOFError):
        os.dup2(errors.fileno(), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        while words := answering.recv():
            ran.clear()
            errors.seek(0)
            errors.truncate()
            with suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5")  # the largest memory is counted anew from here
            before, began = _memory("VmRSS"), time.process_time()
            try:
                code = run([*words, str(text)])
            except BaseException as error:  # what is raised here would be shown with a traceback
                code = -1
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            seconds, grown = time.process_time() - began, _memory("VmHWM") - before
            errors.seek(0)
            said = errors.read().decode("utf-8", errors="replace")
            answering.send(Outcome(code, said, seconds, grown, tuple(ran)))


def _memory(name: str) -> float:
    """What the kernel counts for this process, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


class Folders:
    """Good folders, and copies of them with one change each."""

    def __init__(self, root: Path) -> None:
        self.root, self.canary, self.text = root, root / "canary", root / "text"
        self.text.write_text("the red cat\na green house sleeps\n", encoding="utf-8")
        for kind, model in MODELS.items():
            tokenizer = train_tokenizer(
                TEXTS, kind=kind, vocabulary_size=None, languages=["en"], byte_fallback=False, seed=1, sentences=4
            )
            both, config = Tokenizers(tokenizer, tokenizer), RunConfig(model=model)
            torch.manual_seed(1)
            save_model(self.good(kind), build_model(model, both), both, config, notes={}, card="card")
        chooser = EncoderOnlyConfig(layers=1, d_model=8, heads=2, d_ff=12)
        classifier = build_model(chooser, both, CHOICES)
        save_model(self.good(CLASSIFIER), classifier, both, RunConfig(model=chooser), notes={}, card="card")
        self._count, self.watched = 0, Watched(self.text, self.good())

    def good(self, kind: str = "bpe") -> Path:
        return self.root / "good" / kind

    def changed(self, change: Change, kind: str = "bpe") -> Path:
        self._count += 1
        folder = self.root / f"folder-{self._count}"
        shutil.copytree(self.good(kind), folder)
        change(folder)
        return folder

    def tried(self, change: Change, kind: str = "bpe") -> tuple[Path, Outcome]:
        """A changed folder, removed by now, and how using it ended."""
        folder = self.changed(change, kind)
        try:
            return folder, self.watched.use(folder, kind)
        finally:
            shutil.rmtree(folder)


def faults(folder: Path, outcome: Outcome, *, may_translate: bool) -> Iterator[str]:
    """What is wrong with the way a folder was met; nothing where it is refused or, if that may be, harmless."""
    if outcome.code not in ((0, 1, 2) if may_translate else (1, 2)):
        yield f"ended with {outcome.code}"
    if outcome.code != 0 and not outcome.errors.startswith("limelight: "):
        yield "no message"
    if outcome.code != 0 and str(folder) not in outcome.errors:
        yield "no path"
    if "Traceback" in outcome.errors or len(outcome.errors) > 3000 or "\x1b" in outcome.errors:
        yield "no message for a person"
    if outcome.code != 0 and outcome.seconds > SECONDS:
        yield f"{outcome.seconds:.1f} s"
    if outcome.megabytes > MEGABYTES:
        yield f"{outcome.megabytes:.0f} MB"
    if outcome.ran:
        yield f"ran: {outcome.ran}"


def counted(names: Iterable[str], tried: Sequence[tuple[Path, Outcome]], *, may_translate: bool) -> tuple[int, str]:
    """How many were met as they should be, and a note of the largest figures; whatever else is printed."""
    held = 0
    for name, (folder, outcome) in zip(names, tried, strict=True):
        found = list(faults(folder, outcome, may_translate=may_translate))
        held += not found
        if found:
            print(f"{name}: {', '.join(found)}: {outcome.errors[:600]}")
    outcomes = [outcome for _, outcome in tried]
    longest, largest = (max(getattr(each, what) for each in outcomes) for what in ("seconds", "megabytes"))
    translated = sum(outcome.code == 0 for outcome in outcomes)
    return held, f"{translated} translate; at most {longest:.1f} s, {largest:.0f} MB more"

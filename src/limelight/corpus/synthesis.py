"""Synthetic training text, distilled or back-translated: a `Job` has text, an output and options; filters leave out bad
inputs and translations.

The output of a chunk depends only on its inputs and its number, so the corpus has the same bytes however often it was
interrupted.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from limelight.config import Direction
from limelight.corpus.results import Output, join
from limelight.decoding.engine import BATCH_TOKENS
from limelight.decoding.request import SearchOptions, search_settings
from limelight.errors import RunError, UserError, counted
from limelight.evaluation.summary import versions
from limelight.files import sha256
from limelight.formats import read_lines, read_pairs
from limelight.formats.opening import require_lasting, text_suffix
from limelight.models.interface import longest_sequence
from limelight.pipelines.options import SEARCH_ONLY, TextOptions
from limelight.pipelines.translator import Translation, Translator
from limelight.text.checks import find_loop
from limelight.text.clean import differ_in_length
from limelight.text.pair import BadLine, one_line
from limelight.tokens import normalize

CHUNK = 1000
"""Inputs of a part, which are lost when the process is killed. They are batched by length, so fewer would be slower."""
REASONS = {
    "blank": "the input is blank",
    "duplicate": "the input was seen before",
    "too_long": "the input is too long",
    "empty": "the translation is empty",
    "unfinished": "the translation has no end: it met its length limit",
    "loop": "the translation repeats the same words",
    "length_ratio": "the sides differ too much in length",
    "copy": "the translation is the input",
}
"""Why an input has no pair in the new corpus, in the order of the checks."""


class Part(NamedTuple):
    """Files that are read together."""

    files: tuple[str, ...]
    """A file of plain text, or the files of a corpus (see `read_pairs`)."""
    side: Literal["", "source", "target"] = ""
    """The side of a corpus that is translated. Empty for plain text."""
    languages: tuple[str, str] = ("", "")
    """Languages of both sides of a corpus, for a file that has more (see `read_pairs`)."""


@dataclass(frozen=True, slots=True)
class Job:
    """A corpus to write.

    The text is in the source language of the model's direction, whichever side of the new corpus the model writes.
    """

    parts: tuple[Part, ...]
    output: Path
    """A `.tsv` file, compressed according to its last suffix."""
    writes: Literal["source", "target"]
    """The side that the model writes: the target in distillation, the source in back-translation."""
    direction: Direction | None = None
    """None for a model of one direction."""
    options: SearchOptions = field(default_factory=SearchOptions)
    """Options of every search. `sampling` needs a seed, from which the seed of each chunk is derived."""
    max_characters: int = 2000
    """Maximum characters of an input."""
    max_length_ratio: float = 6.0
    """Maximum ratio of characters of both sides."""
    skip_bad_lines: bool = False
    """Whether unreadable lines are skipped and counted; otherwise the first one is an error."""
    batch_tokens: int = BATCH_TOKENS
    chunk: int = CHUNK

    def inputs(self, on_bad_line: Callable[[BadLine], None] = lambda line: None) -> Iterator[str]:
        """The inputs in the order of their files. Raises `UserError` for a bad line, unless bad lines are skipped."""
        skip = on_bad_line if self.skip_bad_lines else None
        for part in self.parts:
            if part.side:
                pairs = read_pairs(part.files, *part.languages, on_bad_line=skip)
                texts: Iterator[str] = (getattr(pair, part.side) for pair in pairs)
            else:
                texts = chain.from_iterable(read_lines(file, skip) for file in part.files)
            yield from map(one_line, texts)


class Survey(NamedTuple):
    """What the text of a job has."""

    total: int
    """Number of inputs."""
    unreadable: int
    files: dict[str, str]
    """The SHA-256 of each file."""


def survey_job(job: Job) -> Survey:
    """Read the text of a job once, before a model is loaded.

    Raises `UserError` for text that cannot be read, with file and line, for a pipe, as the text is read several times,
    and for an output with an unsupported suffix.
    """
    if text_suffix(job.output) != ".tsv":
        raise UserError(
            f"{job.output}: a corpus is written as .tsv, .tsv.gz, .tsv.xz or .tsv.zst; change the name of -o"
        )
    files = dict.fromkeys(file for part in job.parts for file in part.files)
    require_lasting(files)
    bad: list[BadLine] = []
    total = sum(1 for _ in job.inputs(bad.append))
    return Survey(total, len(bad), {file: sha256(Path(file)) for file in files})


def fault(source: str, translation: str, *, finished: bool, max_length_ratio: float) -> str:
    """The first of `REASONS` that applies to a translation; empty if it is good."""
    if not translation:
        return "empty"
    if not finished:
        return "unfinished"
    if find_loop(source, translation):
        return "loop"
    if differ_in_length(source, translation, max_length_ratio):
        return "length_ratio"
    return "copy" if translation == normalize(source) else ""


@dataclass(slots=True)
class Tally:
    """Counts of the work so far."""

    inputs: int = 0
    pairs: int = 0
    left_out: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))


def report_table(values: Mapping[str, Any]) -> str:
    """The report as lines of plain text."""
    lines = [f"{values['output']}: {counted(values['pairs'], 'pair')} from {counted(values['inputs'], 'input')}"]
    left_out = [(values["left_out"][reason], words) for reason, words in REASONS.items()]
    left_out.append((values["unreadable"], "the line cannot be read"))
    lines += [f"  left out {count:,}: {words}" for count, words in left_out if count]
    return "\n".join(lines)


Show = Callable[[Tally, int], None]
"""Called with the counts so far and the total number of inputs, at the beginning and after each chunk."""


def synthesize(
    job: Job, surveyed: Survey, translator: Translator, *, made_with: Mapping[str, Any], show: Show
) -> dict[str, Any]:
    """Write the corpus of a job, or the rest of it. Returns its report, which is also written next to it.

    Args:
        surveyed: the result of `survey_job`.
        made_with: further values that the corpus depends on (the SHA-256 of the models), as plain values for JSON.

    A finished job is not repeated. Memory is bounded by a chunk, and about 70 bytes for each different input.

    Raises `UserError` for an existing or partial corpus that was made with other settings; `RunError` if the work
    fails.
    """
    output = Output(job.output, job.output, {**made_with, **_settings(job, translator), "text": surveyed.files})
    if former := output.former():
        return former
    with output.open() as parts:
        tally = Tally(**parts.read(len(parts) - 1)["tally"]) if len(parts) else Tally()
        fault_of_input, inputs = _input_filter(job, translator), job.inputs()
        for text in islice(inputs, tally.inputs):  # of earlier parts: a later one may be their duplicate
            fault_of_input(text)
        show(tally, surveyed.total)
        while inputs_of_part := list(islice(inputs, job.chunk)):
            faults = list(map(fault_of_input, inputs_of_part))
            wanted = [text for text, reason in zip(inputs_of_part, faults, strict=True) if not reason]
            lines, ratio = list[str](), job.max_length_ratio
            for text, translated in zip(wanted, _translate(job, translator, wanted, len(parts)), strict=True):
                translation = one_line(translated.text)
                if reason := fault(text, translation, finished=translated.finished, max_length_ratio=ratio):
                    faults.append(reason)
                else:
                    pair = (text, translation) if job.writes == "target" else (translation, text)
                    lines.append("\t".join(pair) + "\n")
            for reason in filter(None, faults):
                tally.left_out[reason] += 1
            tally.inputs += len(inputs_of_part)
            tally.pairs += len(lines)
            parts.append({"lines": "".join(lines), "tally": asdict(tally)})
            show(tally, surveyed.total)
        if tally.inputs != surveyed.total:
            raise RunError(
                f"the text changed while it was read: it had {surveyed.total:,} lines, then {tally.inputs:,}"
            )
        about = {"output": job.output.name, "unreadable": surveyed.unreadable, "versions": versions()}
        suffix = job.output.suffix.lower()
        return output.finish(parts, asdict(tally) | about, lambda path: join(parts, "lines", path, suffix))


def _settings(job: Job, translator: Translator) -> dict[str, Any]:
    """Everything that the corpus depends on except model and text, as plain values."""
    return {
        "writes": job.writes,
        "parts": [[*part.files, part.side, *part.languages] for part in job.parts],
        "direction": str(job.direction or ""),
        "search": search_settings(translator.config, job.options).to_dict(),
        "device": translator.device.type,
        "batch_tokens": job.batch_tokens,
        "limits": [job.max_characters, job.max_length_ratio, job.skip_bad_lines],
        "chunk": job.chunk,
    }


def _input_filter(job: Job, translator: Translator) -> Callable[[str], str]:
    """A function that returns the first of `REASONS` for which an input is not translated, and is called with all
    inputs in their order."""
    seen: set[int] = set()
    """Hashes of 64 bits: for n texts the probability of any false match is about n^2 / 2^65."""
    source, longest = translator.towards(job.direction).source, longest_sequence(translator.searched)

    def fault_of_input(text: str) -> str:
        count = len(seen)
        seen.add(hash(text))
        if not text:
            return "blank"
        if len(seen) == count:
            return "duplicate"
        if len(text) > job.max_characters or (longest is not None and len(source.encode(text)) >= longest):
            return "too_long"
        return ""

    return fault_of_input


def _translate(job: Job, translator: Translator, texts: list[str], chunk: int) -> list[Translation]:
    """The translations of a chunk, by its number."""
    source_lang, target_lang = job.direction or ("", "")
    options: TextOptions = {"source_lang": source_lang, "target_lang": target_lang, **SEARCH_ONLY, **job.options}
    if sampling := options.get("sampling"):
        if sampling.seed is None:
            raise UserError("sampling needs a seed here: without one a corpus could not be resumed")
        seed = blake2b(f"{sampling.seed} {chunk}".encode(), digest_size=7).digest()
        options["sampling"] = replace(sampling, seed=int.from_bytes(seed, "little"))
    return translator.translate(texts, batch_tokens=job.batch_tokens, **options) if texts else []

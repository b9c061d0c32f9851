"""Write a synthetic corpus in chunks. After an interruption, the same call resumes after the last chunk.

The output of a chunk depends only on its inputs, its number and the texts before it, so the corpus has the same bytes
however often it was interrupted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from limelight.corpus.synthesis.filters import REASONS, Choose, Seen, best, fault, most_similar, tokenization_for
from limelight.corpus.synthesis.job import Input, Job, Survey, one_column, read_inputs, survey
from limelight.decoding.settings import search_settings
from limelight.differences import describe_differences, differences
from limelight.errors import RunError, UserError
from limelight.evaluation.summary import versions
from limelight.files import sha256, write_whole
from limelight.models.interface import longest_sequence
from limelight.pipelines.options import SEARCH_ONLY, TextOptions
from limelight.pipelines.translator import Translation, Translator
from limelight.resumable import ResumableFile, places_of, resumable
from limelight.text.open_text import compress, text_suffix

FORMAT = 1
SUFFIX = ".json"


@dataclass(slots=True)
class Tally:
    """Counts of the work so far; part of the state of a partial corpus."""

    inputs: int = 0
    chunks: int = 0
    translated: int = 0
    """Number of texts that were translated."""
    pairs: int = 0
    tokens: int = 0
    """Target tokens of the best translations, end tokens not counted."""
    seconds: float = 0.0
    left_out: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second of translation, selection and writing."""
        return self.tokens / self.seconds if self.seconds else 0.0


def report_values(
    output: Path, content: Path, tally: Tally, *, unreadable: int, made_of: Mapping[str, Any]
) -> dict[str, Any]:
    """The report on the corpus `output`, whose bytes are in `content`, as plain values."""
    counts = asdict(tally)
    del counts["chunks"]
    return {
        "format": FORMAT,
        "output": output.name,
        "sha256": sha256(content),
        **counts,
        "unreadable": unreadable,
        "seconds": round(tally.seconds, 3),
        "tokens_per_second": round(tally.tokens_per_second, 1),
        "made_of": dict(made_of),
        "versions": versions(),
    }


def report_path(output: Path) -> Path:
    """The path of the report on a corpus."""
    place = output.resolve() if output.is_symlink() else output
    return place.with_name(place.name + SUFFIX)


def read_report(output: Path) -> dict[str, Any]:
    """The report on a finished corpus; empty if there is none, or it cannot be read."""
    try:
        values = json.loads(report_path(output).read_text(encoding="utf-8"))
        known = values["format"] == FORMAT and isinstance(values["made_of"], dict)
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return values if known and output.is_file() else {}


def report_table(values: Mapping[str, Any]) -> str:
    """The report as lines of plain text."""
    lines = [f"{values['output']}: {values['pairs']:,} pairs from {values['inputs']:,} inputs"]
    for reason, words in REASONS.items():
        if values["left_out"][reason]:
            lines.append(f"  left out {values['left_out'][reason]:,}: {words}")
    if values["unreadable"]:
        lines.append(f"  skipped {values['unreadable']:,}: the line cannot be read")
    speed = f"{values['tokens']:,} tokens in {values['seconds']:.1f} s, {values['tokens_per_second']:,.0f} tokens/s"
    lines.append(f"  {values['translated']:,} texts translated: {speed}")
    return "\n".join(lines)


Show = Callable[[Tally, int], None]
"""Called with the counts so far and the total number of inputs, at the beginning and after each chunk."""


def survey_job(job: Job) -> Survey:
    """Read the text of a job once, before a model is loaded.

    Raises `UserError` for text that cannot be read, with file and line, and for an output with an unsupported suffix.
    """
    if text_suffix(job.output) != ".tsv":
        raise UserError(
            f"{job.output}: a corpus is written as .tsv, .tsv.gz, .tsv.xz or .tsv.zst; change the name of -o"
        )
    return survey(job.parts, skip=job.limits.skip_bad_lines)


def synthesize(
    job: Job, surveyed: Survey, translator: Translator, *, made_with: Mapping[str, Any], show: Show
) -> dict[str, Any]:
    """Write the corpus of a job, or the rest of it. Returns its report, which is also written next to it.

    Args:
        surveyed: the result of `survey_job`.
        made_with: further values that the corpus depends on (the SHA-256 of the models), as plain values for JSON.

    A finished job is not repeated. Memory is bounded by a chunk, and 8 bytes for each distinct input.

    Raises `UserError` for an existing or partial corpus that was made with other settings; `RunError` if the work
    fails.
    """
    if job.output.is_symlink():  # keep the link and write its target
        job = replace(job, output=job.output.resolve())
    work = _Work(job, translator)
    made_of = json.loads(json.dumps({**made_with, **work.made_of(), "text": surveyed.files}))
    former = read_report(job.output)
    if former:
        if changed := describe_differences(differences(former["made_of"], made_of)):
            raise UserError(
                f"{job.output}: it exists already, with other settings: {changed}. Give -o another name, or remove it"
            )
        for left in places_of(job.output):  # left by a process that was killed after the rename
            left.unlink(missing_ok=True)
        return former
    with resumable(job.output, made_of) as file:
        work.write(file, surveyed, show)
        values = report_values(job.output, file.partial, work.tally, unreadable=surveyed.unreadable, made_of=made_of)
        write_whole(report_path(job.output), json.dumps(values, ensure_ascii=False, indent=2) + "\n")
        file.finish()
    return values


class _Work:
    """A job in progress."""

    def __init__(self, job: Job, translator: Translator) -> None:
        self.job, self.translator = job, translator
        self.tally = Tally()
        self._seen = Seen()
        self._longest = longest_sequence(translator.model)
        self._source = translator.towards(job.direction).source
        target = job.direction.target if job.direction else ""
        self._tokenize = tokenization_for(target, self._inputs()) if job.choose_by == "bleu" else ""
        self._choose: Choose = most_similar(job.choose_by, self._tokenize or "13a") if job.choose_by else best

    def made_of(self) -> dict[str, Any]:
        """Everything that the corpus depends on except model and text, as plain values."""
        job = self.job
        return {
            "writes": job.writes,
            "sides": [part.side for part in job.parts],
            "direction": str(job.direction or ""),
            "search": search_settings(self.translator.config, job.options).to_dict(),
            "device": self.translator.device.type,
            "batch_tokens": job.batch_tokens,
            "choose_by": " ".join(filter(None, [job.choose_by, self._tokenize])),
            "limits": asdict(job.limits),
            "chunk": job.chunk,
        }

    def write(self, file: ResumableFile, surveyed: Survey, show: Show) -> None:
        """Write all chunks that the file does not contain yet."""
        inputs = self._inputs()
        if file.state:
            self.tally = Tally(**file.state)
            before = islice(inputs, self.tally.inputs)
            while chunk := list(islice(before, self.job.chunk)):
                self._seen.add([self._key(each) for each in chunk if each.text])
        show(self.tally, surveyed.inputs)
        suffix = self.job.output.suffix.lower()
        while chunk := list(islice(inputs, self.job.chunk)):
            began = time.perf_counter()
            lines = "".join(f"{source}\t{target}\n" for source, target in self._pairs(chunk))
            self.tally.seconds += time.perf_counter() - began
            file.commit(compress(lines.encode(), suffix) if lines else b"", asdict(self.tally))
            show(self.tally, surveyed.inputs)
        if self.tally.inputs != surveyed.inputs:
            raise RunError(
                f"the text changed while it was read: it had {surveyed.inputs:,} lines, then {self.tally.inputs:,}"
            )
        if not file.size:
            file.commit(compress(b"", suffix), asdict(self.tally))  # an empty file would not be a valid archive

    def _inputs(self) -> Iterator[Input]:
        return read_inputs(self.job.parts, (lambda _: None) if self.job.limits.skip_bad_lines else None)

    def _key(self, each: Input) -> str:
        """Inputs with the same key make the same pair."""
        return f"{each.text}\t{one_column(each.reference)}" if self.job.choose_by else each.text

    def _pairs(self, chunk: Sequence[Input]) -> list[tuple[str, str]]:
        """Source and target of the good pairs of a chunk; updates the counts."""
        wanted = self._wanted(chunk)
        translations = self._translate(list(dict.fromkeys(each.text for each in wanted)))
        self.tally.inputs += len(chunk)
        self.tally.chunks += 1
        pairs = []
        for each in wanted:
            chosen = self._choose(translations[each.text], each.reference)
            text = one_column(chosen.text)
            reason = fault(each.text, text, finished=chosen.finished, max_length_ratio=self.job.limits.max_length_ratio)
            if reason:
                self.tally.left_out[reason] += 1
            else:
                pairs.append((each.text, text) if self.job.writes == "target" else (text, each.text))
        self.tally.pairs += len(pairs)
        return pairs

    def _wanted(self, chunk: Sequence[Input]) -> list[Input]:
        """The inputs of a chunk that will be translated; counts the others."""
        full = [each for each in chunk if each.text]
        new = [each for each, is_new in zip(full, self._seen.add(list(map(self._key, full))), strict=True) if is_new]
        fitting = [each for each in new if self._fits(each.text)]
        left_out = self.tally.left_out
        left_out["blank"] += len(chunk) - len(full)
        left_out["duplicate"] += len(full) - len(new)
        left_out["too_long"] += len(new) - len(fitting)
        return fitting

    def _fits(self, text: str) -> bool:
        """Whether a text is short enough for the job and for the model's learned positions."""
        if len(text) > self.job.limits.max_characters:
            return False
        return self._longest is None or len(self._source.encode(text)) < self._longest

    def _translate(self, texts: list[str]) -> dict[str, Translation]:
        if not texts:
            return {}
        source_lang, target_lang = self.job.direction or ("", "")
        options: TextOptions = {
            "source_lang": source_lang,
            "target_lang": target_lang,
            **SEARCH_ONLY,
            **self.job.options,
        }
        if sampling := options.get("sampling"):
            options["sampling"] = replace(sampling, seed=_seed_of(sampling.seed, self.tally.chunks))
        translations = self.translator.translate(texts, batch_tokens=self.job.batch_tokens, **options)
        self.tally.translated += len(translations)
        self.tally.tokens += sum(len(each.tokens) for each in translations)
        return dict(zip(texts, translations, strict=True))


def _seed_of(seed: int | None, chunk: int) -> int:
    """A seed for each chunk, independent of other chunks and of other seeds."""
    if seed is None:
        raise UserError("sampling needs a seed here: without one a corpus could not be resumed")
    return int.from_bytes(blake2b(f"{seed} {chunk}".encode(), digest_size=7).digest(), "little")

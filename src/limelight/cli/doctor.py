"""`limelight doctor` and `limelight clean`: training text examined, and without what would harm."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli import options
from limelight.cli.arguments import SEVERAL, argument, flag, option, refuse
from limelight.cli.corpora import corpora, files_in
from limelight.cli.models import Machine
from limelight.cli.outcome import command, note
from limelight.cli.output import Write, lines_to, show
from limelight.errors import RunError, UserError

if TYPE_CHECKING:
    from limelight.text.pair import Pair, PairLines

DOCTOR = """
  limelight doctor train.en train.de --test test.en test.de
  limelight doctor memory.tmx --source en --target de
  limelight doctor runs/en-de
  limelight doctor
  limelight doctor --compile
"""


@command("doctor", DOCTOR)
def doctor(
    *,
    files: options.Words = argument(
        "Sentence pairs as for `limelight train`, or a run folder. Default: this machine.", "FILE...|RUN"
    ),
    source: str = options.SOURCE,
    target: str = options.TARGET,
    test: options.Words = option("Test text that must not be in the training text.", SEVERAL),
    compile_loops: bool = flag("Compile the inner loops for this machine now, if they are not yet.", "--compile"),
    machine: Machine,
) -> None:
    """Say what is wrong with training text, with a trained run, or what this machine can do."""
    about_text = {"--test": test, "--source": source, "--target": target}
    if compile_loops:
        refuse({"FILE": files, **about_text}, "--compile is for this machine: give no text")
        machine.begin()
        from limelight.decoding.ahead import compile_now

        return show(compile_now())
    if files and len(files) == 1 and Path(files[0]).is_dir():
        refuse(about_text, f"this is for files, and {files[0]} is a folder")
        device = machine.begin()
        from limelight.training.examine import examine_run

        for line in examine_run(Path(files[0]), device):
            show(line)
    elif files:
        text, tests = corpora(files, source, target, "FILE"), corpora(test or [], source, target, "--test")
        from limelight.config import known_languages
        from limelight.preparation.examine import examine

        lines, has_faults = examine(text, tests)
        for line in lines:
            show(line)
        if has_faults:
            languages = known_languages(text[0])
            named = f" --source {languages[0]} --target {languages[1]}" if all(languages) else ""
            show(f"this command leaves them out: limelight clean {shlex.join(files)}{named} -o clean.tsv")
    else:
        refuse(about_text, "name the training text, too: FILE...")
        machine.begin()
        import torch

        from limelight.capabilities import describe

        show(describe())
        show(f"threads: {torch.get_num_threads()}")


CLEAN = """
  limelight clean memory.tmx --source en --target de -o clean.tmx
  limelight clean train.en train.de -o clean.en -o clean.de
  limelight clean pairs.tsv --source en --target fr -o clean.tsv
"""


@command("clean", CLEAN)
def clean(
    *,
    files: list[str] = argument(
        "Sentence pairs: files with both sides (.tsv, .jsonl, .tmx, ...), or two files line by line.", "FILE...", ...
    ),
    output: list[Path] = option(
        "The clean pairs: a .tsv, .jsonl or .tmx file, or two text files.", "FILE", ..., "--output -o"
    ),
    source: str = options.SOURCE,
    target: str = options.TARGET,
) -> None:
    """Write sentence pairs without those that would harm training, and list what was removed and why.

    Reasons: empty, too_long, length_ratio, identical, duplicate, near_duplicate, encoding, language, misaligned.
    """
    _require_output(output)
    corpora_given = corpora(files, source, target, "FILE")
    from limelight.preparation.examine import stretches_of, usable_pairs
    from limelight.text.clean import CleanReport, LeftOutList, SkipReport
    from limelight.text.pair import PairLines

    first = output[0]
    listings = [first.parent / f"{first.stem}-{name}" for name in ("skipped.txt", "left-out.tsv")]
    if {path.resolve() for path in listings} & {Path(file).resolve() for file in files_in(files)}:
        raise UserError(f"-o {output[0]}: the list of what is left out would replace the input; give -o another name")
    with ExitStack() as stack:
        writes = [stack.enter_context(lines_to(path, files_in(files))) for path in output]
        with (
            SkipReport(listings[0], note) as skipped,
            LeftOutList(listings[1]) as left_out,
        ):
            checked = [(corpus, stretches_of(corpus, skipped.add)) for corpus in corpora_given]
            found = [*dict.fromkeys(check.languages for _, check in checked if all(check.languages))]
            if len(found) > 1 and output[0].suffix.lower() == ".tmx":
                listed = ", ".join(map("-".join, found))
                raise UserError(
                    f"-o {output[0]}: the text is in {listed}, and a TMX file has one direction: clean each alone, or "
                    "give --source and --target"
                )
            languages = found[0] if found else ("", "")
            report = CleanReport(on_left_out=left_out.add)
            pairs = usable_pairs(checked, report)
            lines = PairLines(output[0], source or languages[0], target or languages[1]) if len(output) == 1 else None
            _write_pairs(pairs, writes, lines)
        for line in report.summary().splitlines():
            note(line)
        for faults in (left_out, skipped):
            if faults.total:
                note(faults.summary())
        if not report.kept:
            why = ", for the reasons above" if report.total else ": there are none"
            raise RunError(f"no pair is left{why}; {' and '.join(map(str, output))}: not written")


def _require_output(output: list[Path]) -> None:
    """Raise `UserError` for outputs of another format or number."""
    from limelight.formats.opening import BOTH_SIDES
    from limelight.text.pair import require_written

    if len(output) > 2:
        raise UserError(f"-o: {len(output)} files: give one file for both sides, or two text files")
    if len(output) == 1:
        require_written(output[0])
    elif output[0].resolve() == output[1].resolve():
        raise UserError(f"-o {output[0]}: is given for both sides; name a file for each")
    for path in output:
        if len(output) == 2 and path.suffix in BOTH_SIDES:
            raise UserError(f"-o {path}: a {path.suffix} file holds both sides: give it alone")


def _write_pairs(pairs: Iterator[Pair], writes: list[Write], lines: PairLines | None) -> None:
    """Write the pairs to one file, or, without `lines`, each side to its own; nothing if there are none."""
    from limelight.text.pair import one_line

    if lines is not None:
        for line in lines.whole(lines.pair(pair.source, pair.target) for pair in pairs):
            writes[0](line)
        return
    for pair in pairs:
        for write, text in zip(writes, (pair.source, pair.target), strict=True):
            write(one_line(text))

"""`limelight clean`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli import options
from limelight.cli.arguments import argument, option
from limelight.cli.corpora import corpora
from limelight.cli.outcome import command, note
from limelight.cli.output import Write, lines_to
from limelight.errors import RunError, UserError, counted

if TYPE_CHECKING:
    from limelight.text.pair import Pair, PairLines

EXAMPLES = """
  limelight clean memory.tmx --source en --target de -o clean.tmx
  limelight clean train.en train.de -o clean.en -o clean.de
  limelight clean pairs.tsv --source en --target fr -o clean.tsv
"""


@command("clean", EXAMPLES)
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

    Reasons: empty, too_long, length_ratio, identical, duplicate, near_duplicate, encoding, swapped, language,
    misaligned.
    """
    _require(files, output)
    given = corpora(files, source, target, "FILE")
    from limelight.preparation.examine import stretches_of, usable_pairs
    from limelight.text.clean import CleanReport, LeftOutList, SkipReport
    from limelight.text.pair import PairLines

    base = output[0].with_suffix("")
    with ExitStack() as stack:
        writes = [stack.enter_context(lines_to(path)) for path in output]
        with (
            SkipReport(base.with_name(f"{base.name}-skipped.txt"), note) as skipped,
            LeftOutList(base.with_name(f"{base.name}-left-out.tsv")) as left_out,
        ):
            checked = [(corpus, stretches_of(corpus, skipped.add)) for corpus in given]
            languages = next((each.languages for _, each in checked if all(each.languages)), ("", ""))
            report = CleanReport(on_left_out=left_out.add)
            pairs = usable_pairs(checked, report)
            lines = PairLines(output[0], source or languages[0], target or languages[1]) if len(output) == 1 else None
            count, coded = _write(pairs, writes, lines)
        for line in report.summary().splitlines():
            note(line)
        for each in (left_out, skipped):
            if each.total:
                note(each.summary())
        if coded:
            note(f"{counted(coded, 'pair')} had tags or other codes inside, which the output does not have")
        if not count:
            raise RunError(f"no pair is left, for the reasons above; {' and '.join(map(str, output))}: not written")


def _require(files: list[str], output: list[Path]) -> None:
    """Raise `UserError` for an output of another format, or in the place of an input."""
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
        for file in files:
            if path.exists() and Path(file).exists() and path.samefile(file):
                raise UserError(f"-o {path}: would replace the text that is cleaned; give another name")


def _write(pairs: Iterator[Pair], writes: list[Write], lines: PairLines | None) -> tuple[int, int]:
    """Write the pairs to one file, or, without `lines`, each side to its own; nothing if there are none. Returns their
    number, and that of pairs with inline codes."""
    from limelight.text.marking import without_marks
    from limelight.text.pair import one_line

    count = coded = 0
    for pair in pairs:
        for line in lines.head() if lines and not count else ():
            writes[0](line)
        source, target = pair.source, pair.target
        if pair.marked:
            source, target = without_marks(source), without_marks(target)
        count, coded = count + 1, coded + pair.marked
        rows = [lines.pair(source, target)] if lines else [one_line(source), one_line(target)]
        for write, row in zip(writes, rows, strict=True):
            write(row)
    for line in lines.tail() if lines and count else ():
        writes[0](line)
    return count, coded

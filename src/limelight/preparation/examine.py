"""Faults of parallel text, for people who will train on it: `limelight doctor FILES` reports them, `limelight clean`
removes them.

Training only warns of them: a few do little harm, and most of a file being wrong stops it (`sides.py`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from itertools import islice
from typing import NamedTuple
from unicodedata import category

from limelight.config import Corpus, DataConfig, known_languages, sides_of
from limelight.errors import counted, shown
from limelight.formats.opening import require_lasting
from limelight.preparation.doubts import IDENTICAL, doubts
from limelight.preparation.hold_out import find_overlap
from limelight.preparation.read import pairs_of, silently
from limelight.preparation.sides import check_sides, draw_sample
from limelight.text.clean import REASONS, CleanReport, clean, encoding_damage
from limelight.text.judge import CLEAR, FEW_WORDS, foreign_language, scripts_in
from limelight.text.languages import scripts_of
from limelight.text.pair import BadLine, Pair, fold

WINDOW = 100_000
"""Pairs whose stretches are checked together: they bound the memory."""
SAMPLE = 1000
"""Pairs that tell the script of a language that is not known."""
EXAMPLES = 2
FEW, ENOUGH = 2_000, 20_000
"""Pairs below which a model of its own is poor, and from which it is not."""


class Stretches(NamedTuple):
    """Faults of stretches of a text."""

    misaligned: set[int]
    """Numbers, from 0, of the pairs whose sides do not belong together."""
    lines: list[str]
    """The findings and how well the sides belong together, for display."""
    languages: tuple[str, str]
    """Declared or detected; empty if unknown."""
    total: int
    """Pairs that were read."""


def stretches_of(corpus: Corpus, on_bad_line: Callable[[BadLine], None]) -> Stretches:
    """What is wrong with stretches of a corpus, `WINDOW` pairs at a time; lines that cannot be read, and segments that
    are not used, go to `on_bad_line`."""
    require_lasting(corpus.files)
    pairs = pairs_of(corpus, on_bad_line, on_bad_line)
    misaligned, lines, measured, total = set[int](), list[str](), "", 0
    languages = known_languages(corpus)
    while window := list(islice(pairs, WINDOW)):
        check = check_sides(draw_sample(window, WINDOW), str(corpus), *languages)
        for rows in check.misaligned:
            misaligned.update(total + row for row in rows)
        lines += check.findings
        measured, languages = measured or check.measured, check.languages
        total += len(window)
    return Stretches(misaligned, lines + [measured] * bool(measured), languages, total)


def usable_pairs(checked: Sequence[tuple[Corpus, Stretches]], report: CleanReport) -> Iterator[Pair]:
    """The pairs of all corpora that are worth training on, by the settings of training."""
    settings, seen = DataConfig(), set[int]()
    for corpus, stretches in checked:
        sample = ((pair.source, pair.target) for pair in islice(pairs_of(corpus, silently), SAMPLE))
        scripts = [
            scripts_of(code) or dict(scripts_in("".join(texts)).most_common(1 if code else 0)).keys()
            for code, texts in zip(stretches.languages, zip(*sample, strict=True), strict=False)
        ]
        yield from clean(
            pairs_of(corpus, silently),
            report,
            max_characters=settings.max_characters,
            max_length_ratio=settings.max_length_ratio,
            drop_duplicates=True,
            drop_identical=True,
            fault=partial(_fault, stretches, scripts, seen, report, report.total + 1),
        )


def _fault(
    stretches: Stretches, scripts: Sequence[Set[str]], seen: set[int], report: CleanReport, first: int, pair: Pair
) -> str:
    """The first of `REASONS` of `text/clean.py` that applies; `scripts` are those of each side, `seen` are hashes of
    former pairs, and `first` is the total of the report at the first pair of the corpus."""
    sides = (pair.source, pair.target)
    if any(map(encoding_damage, sides)):
        return "encoding"
    named = zip(sides, stretches.languages, strict=True)
    if any(code and foreign_language(text, [code])[1] >= CLEAR for text, code in named):
        return "language"
    for text, own in zip(sides, scripts, strict=True):
        if own and len(text.split()) > FEW_WORDS and (found := scripts_in(text)) and own.isdisjoint(found):
            return "language"  # not translated
    if report.total - first in stretches.misaligned:
        return "misaligned"
    count = len(seen)
    # The letters, with their vowel signs and accents, and the digits, in lowercase.
    seen.add(hash("\0".join("".join(each for each in fold(side) if category(each)[0] in "LMN") for side in sides)))
    return "" if len(seen) > count else "near_duplicate"


def examine(corpora: Sequence[Corpus], tests: Sequence[Corpus]) -> tuple[list[str], bool]:
    """Examine training text, and whether it has pairs of the test text: lines for display, and whether there are faults
    to be removed. Raises `UserError` for text that cannot be read at all."""
    lines, bad, checked = list[str](), Counter[str](), list[tuple[Corpus, Stretches]]()
    first: dict[str, BadLine] = {}
    examples: dict[str, list[Pair]] = {words: [] for words in REASONS.values()}

    def skip(line: BadLine) -> None:
        bad[line.kind] += 1
        first.setdefault(line.kind, line)

    def keep(pair: Pair, words: str) -> None:
        if len(examples[words]) < EXAMPLES:
            examples[words].append(pair)

    for corpus in corpora:
        lines += doubts(corpus.files, *sides_of(corpus))
        stretches = stretches_of(corpus, skip)
        checked.append((corpus, stretches))
        spoken = " to ".join(language or "an unknown language" for language in stretches.languages)
        lines.append(f"{corpus}: {counted(stretches.total, 'pair')}, {spoken}")
        lines += stretches.lines
    for kind, line in first.items():
        lines.append(f"skipped {counted(bad[kind], 'line')}: {kind} (first: {line.file}:{line.line})")
    report = CleanReport(on_left_out=keep)
    held = [pair for corpus in tests for pair in pairs_of(corpus, silently)]
    leaked = find_overlap((pair.source for pair in usable_pairs(checked, report)), held)
    faults = {reason: count for reason, count in report.dropped.items() if count}
    for reason, count in faults.items():
        lines.append(f"{counted(count, 'pair')}: {REASONS[reason]}")
        lines += map(_example, examples[REASONS[reason]])
    if report.dropped["identical"] == report.total > 0:
        lines.append(IDENTICAL)
    if tests:
        advice = ": scores on them say nothing about new text; remove them from one of the two" * bool(leaked)
        lines.append(f"{len(leaked):,} of {len(held):,} test pairs have a source of the training text{advice}")
        lines += map(_example, leaked[:EXAMPLES])
    share = 100 * report.kept / max(report.total, 1)
    lines.append(f"usable: {report.kept:,} of {report.total:,} pairs ({share:.0f} %)")
    if report.kept < FEW:
        lines[-1] += (
            "; too few for a model of its own: begin with an existing model (`limelight train --from MODEL`), or make "
            "more pairs from documents (`limelight pair`)"
        )
    elif report.kept < ENOUGH:
        lines[-1] += "; enough to adapt an existing model (`--from MODEL`), few for a model of its own"
    return lines, bool(faults)


def _example(pair: Pair) -> str:
    return "    " + f"{pair.place}: {shown(pair.source, 60)} | {shown(pair.target, 60)}"

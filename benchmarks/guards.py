"""What guards and carrying change: sentence chrF and BLEU of held-out text with both and without.

    python -m benchmarks.guards --data DATA
    python -m benchmarks.guards --data DATA --model RUN --name captions
    python -m benchmarks.guards --data DATA --most 500      (quick)
    python -m benchmarks.guards --data DATA --only tatoeba --only multi30k
    python -m benchmarks.guards --data DATA --references      (false alarms: without a model)

A change counts as better or worse from half a point of chrF of its text on, and belongs to each guard that found a
fault in the first translation. With `--references`, the faults of references are counted: nearly all of these are false
alarms. With `--dev`, everything is measured on the development parts, or parts of the training text, that decisions are
made on.
"""

import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import sacrebleu
import typer

from benchmarks.common import RESULTS, report, run, table
from limelight.config import Direction
from limelight.formats import read_pairs
from limelight.pipelines import guards
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.storage.layout import DEFAULT

CHANGED = 0.5
"""Points of chrF from which on a change is better or worse."""
TECHNICAL = ("libreoffice-help", "home-assistant", "python-docs")
TRAIN_SAMPLE = 1000
"""Pairs of the training text of a technical corpus, in place of a development part."""
ROUNDS = 5
"""Measurements of time, of which the median is taken."""
TIMED = 300
"""Captions that are timed."""

UNSEEN = ("placeholder lost", "unknown script")
"""Faults that no reference can have, or that are found with a model."""


class Corpus(NamedTuple):
    """Pairs of a direction."""

    name: str
    direction: Direction
    pairs: list[tuple[str, str]]


class Change(NamedTuple):
    """A translation that guards changed."""

    corpus: str
    faults: tuple[str, ...]
    source: str
    reference: str
    before: str
    after: str
    gain: float
    """Of chrF."""


def main(
    data: Annotated[Path, typer.Option(help="Folder with tatoeba/, multi30k/ and the technical corpora.")],
    model: Annotated[str, typer.Option(help="A model; a bundled one by default.")] = DEFAULT,
    name: Annotated[str, typer.Option(help="The name of the model in the result.")] = "bundled",
    dev: Annotated[bool, typer.Option("--dev", help="Use development text.")] = False,
    most: Annotated[
        int | None, typer.Option(help="Pairs of each corpus, drawn at random; all by default.", min=1)
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Corpora by their names; all by default.")] = None,
    beam: Annotated[int | None, typer.Option(help="Size of the beam; that of the model by default.", min=1)] = None,
    show: Annotated[int, typer.Option(help="Print this number of changes.", min=0)] = 0,
    references: Annotated[bool, typer.Option("--references", help="Only count faults of references.")] = False,
    results: Annotated[Path, typer.Option(help="Folder for guards-NAME.json.")] = RESULTS,
) -> None:
    """Measure, print, write down."""
    if references:
        both_ways = [Direction(*each) for other in ("de", "fr") for each in (("en", other), (other, "en"))]
        rows = [_of_references(each, show) for each in _corpora(data, both_ways, dev=dev)]
        report(
            f"guards-references{'-dev' * dev}",
            "guards --data DATA --references",
            _shown(rows),
            folder=results,
            rows=rows,
        )
        return
    translator = load_translator(model)
    translator.threads = 1
    there = [each for each in _corpora(data, translator.directions, dev=dev) if each.pairs]
    corpora = [_cut(each, most) for each in there if not only or each.name.split()[0] in only]
    found = _translated(translator, corpora, beam)
    faulty = Counter(fault for _, _, each in found for names in each for fault in names)
    changes = [change for corpus, both, each in found for change in _changes(corpus, both, each)]
    for change in random.Random(1).sample(changes, min(show, len(changes))):
        print(*change, sep="\n  ")
    asked = f"--name {name}{' --dev' * dev}{f' --most {most}' * bool(most)}{f' --beam {beam}' * bool(beam)}"
    asked += "".join(f" --only {each}" for each in only or ())
    captions = [each for each in corpora if each.name.startswith("multi30k")]
    figures = {
        "guards": by_guard(faulty, changes),
        "corpora": [_scores(corpus, both) for corpus, both, _ in found],
        "seconds": _seconds(translator, captions[0]) if captions else [],
    }
    shown = "\n\n".join(_shown(rows) for rows in figures.values() if rows)
    report(f"guards-{name}{'-dev' * dev}", f"guards --data DATA {asked}", shown, folder=results, **figures)


def _shown(rows: Sequence[dict[str, Any]]) -> str:
    return table(list(rows[0]), [list(row.values()) for row in rows])


def by_guard(faulty: Counter[str], changes: Sequence[Change]) -> list[dict[str, Any]]:
    """For each guard: texts with its fault, changed, better and worse ones, and the mean change of chrF."""
    rows = []
    for fault in [*guards.SEVERITY, "all"]:
        gains = [change.gain for change in changes if fault in (*change.faults, "all")]
        rows.append(
            {
                "guard": fault,
                "faulty": faulty[fault] if fault != "all" else sum(faulty.values()),
                "changed": len(gains),
                "better": sum(gain > CHANGED for gain in gains),
                "worse": sum(gain < -CHANGED for gain in gains),
                "mean chrF change": round(statistics.fmean(gains), 2) if gains else 0.0,
            }
        )
    return rows


def _corpora(data: Path, directions: Sequence[Direction], *, dev: bool) -> Iterator[Corpus]:
    """The corpora that exist in the directions of a model; all but the captions have English on one side."""
    part, caption_parts = ("dev", ["val"]) if dev else ("test", ["test_2016_flickr", "test_2017_flickr"])
    for direction in directions:
        files = {
            f"multi30k {each}": [data / "multi30k" / f"{each}.{side}.gz" for side in direction]
            for each in caption_parts
        }
        for other in {*direction} - {"en"} if "en" in direction else ():
            files["tatoeba"] = [data / "tatoeba" / f"en-{other}.{part}.tsv.gz"]
            for each in TECHNICAL:
                files[each] = [data / each / f"en-{other}.{'train' if dev else 'test'}.tsv.gz"]
        for name, paths in files.items():
            if all(path.exists() for path in paths):
                pairs = [(pair.source, pair.target) for pair in read_pairs(paths)]
                if len(paths) == 1 and direction.target == "en":
                    pairs = [(other, english) for english, other in pairs]
                if dev and name in TECHNICAL:
                    pairs = random.Random(name).sample(pairs, min(TRAIN_SAMPLE, len(pairs)))
                yield Corpus(name, direction, pairs)


def _of_references(corpus: Corpus, show: int = 0) -> dict[str, Any]:
    """How many references of a corpus have each fault that is found without a model, and the processor time of it."""
    counts, begin = Counter[str](), time.process_time()
    faults = [guards.faults(*pair, corpus.direction) for pair in corpus.pairs]
    microseconds = round((time.process_time() - begin) / len(faults) * 1e6)
    for (source, reference), found in zip(corpus.pairs, faults, strict=True):
        counts.update(found)
        for name in found:
            if counts[name] <= show:
                print(name, source, reference, sep="\n  ")
    named = {name: counts[name] for name in guards.SEVERITY if name not in UNSEEN}
    what = {"corpus": corpus.name, "direction": "-".join(corpus.direction), "pairs": len(faults)}
    return {**what, "CPU microseconds a pair": microseconds, **named}


def _cut(corpus: Corpus, most: int | None) -> Corpus:
    """A corpus with at most so many of its pairs."""
    if most is None or len(corpus.pairs) <= most:
        return corpus
    return corpus._replace(pairs=random.Random(corpus.name).sample(corpus.pairs, most))


def _translated(
    translator: Translator, corpora: Sequence[Corpus], beam: int | None
) -> list[tuple[Corpus, tuple[list[str], list[str]], list[tuple[str, ...]]]]:
    """For each corpus the translations without guards and carrying and with both, and the faults of the former."""
    found = []
    for corpus in corpora:
        sources = [source for source, _ in corpus.pairs]
        options: dict[str, Any] = {"source_lang": corpus.direction.source, "target_lang": corpus.direction.target}
        options |= {"beam_size": beam} if beam else {}
        before = translator.translate(sources, guards=False, protect=False, **options)
        after = translator.translate(sources, guards=True, **options)
        faults = [
            tuple({*guards.faults(source, plain.text, corpus.direction), *guarded.warnings})
            for source, plain, guarded in zip(sources, before, after, strict=True)
        ]
        found.append((corpus, ([each.text for each in before], [each.text for each in after]), faults))
        print(corpus.name, "-".join(corpus.direction), len(sources), flush=True)
    return found


def _changes(corpus: Corpus, both: tuple[list[str], list[str]], faults: list[tuple[str, ...]]) -> Iterator[Change]:
    for place, ((source, reference), before, after) in enumerate(zip(corpus.pairs, *both, strict=True)):
        if before != after:
            gain = _chrf(after, reference) - _chrf(before, reference)
            name = f"{corpus.name} {'-'.join(corpus.direction)}"
            yield Change(name, faults[place], source, reference, before, after, gain)


def _chrf(output: str, reference: str) -> float:
    return sacrebleu.sentence_chrf(output, [reference]).score


def _scores(corpus: Corpus, both: tuple[list[str], list[str]]) -> dict[str, Any]:
    references = [[reference for _, reference in corpus.pairs]]
    row: dict[str, Any] = {"corpus": corpus.name, "direction": "-".join(corpus.direction), "pairs": len(corpus.pairs)}
    for metric, score in (("BLEU", sacrebleu.corpus_bleu), ("chrF", sacrebleu.corpus_chrf)):
        for name, texts in zip(("without", "with"), both, strict=True):
            row[f"{metric} {name}"] = f"{score(texts, references).score:.2f}"
    return row


def _seconds(translator: Translator, corpus: Corpus) -> list[dict[str, Any]]:
    """Seconds of a processor for captions in one call, without guards and with them, in turn."""
    texts = [source for source, _ in corpus.pairs][:TIMED]
    source, target = corpus.direction
    rows = []
    for beam in (1, translator.config.beam_size):
        times: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(ROUNDS):
            for on in times:
                begin = time.process_time()
                translator.translate(texts, source_lang=source, target_lang=target, beam_size=beam, guards=on)
                times[on].append(time.process_time() - begin)
        off, on = (statistics.median(times[each]) for each in (False, True))
        rows.append({"beam": beam, "texts": len(texts), "without": off, "with": on, "ratio": on / off})
    return rows


if __name__ == "__main__":
    run(main)

"""What attention of a model explains: weights and contributions of heads against erasure, shares of the source, layers.

    python -m benchmarks.influence

The sentences are those of `benchmarks/alignments` (32 of ours, English to German and French, short and plain), each
with the model's own translation. The time of all measures is that of the 12 longest of them, and of 12 texts of two
sentences each: the least of some rounds, with as many threads as the process has.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import typer

from benchmarks.alignment import GOLD, read_alignments
from benchmarks.machine import describe_machine
from benchmarks.output import table, write_result
from limelight.config import Direction
from limelight.evaluation.metrics import corpus_chrf
from limelight.inspection import attention_map
from limelight.inspection.erasure import Rows, rank_correlation
from limelight.inspection.measures import Measures, measure
from limelight.inspection.word_alignment import TokenizedPair, best_sources, between_words
from limelight.inspection.words import merge_rows_and_columns
from limelight.pipelines.explain import words_of
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.storage.layout import bundled_models
from limelight.tokens import Tokenizers

Array = npt.NDArray[np.floating]

THIRDS = ("first third", "second third", "last third")


TIMED = 12
"""Sentences of which the measures are timed."""
ROUNDS = 5


class Given(NamedTuple):
    """A sentence and its translation."""

    direction: Direction
    text: str
    rows: Rows
    """The end and the tag are no words."""
    tokenizers: Tokenizers


class Sentence(NamedTuple):
    """What is measured of one sentence, in words; the end and the tag are no words."""

    lost: Array
    """(target words, source words): log-probability that is lost without a source word."""
    weights: Array
    """(layers, heads, target words, source words)"""
    contributions: Array
    ends: tuple[float, float]
    """The mean weight of the source's end, and its mean share of the contributions."""
    shares: Array
    """The share of the source in each target token."""
    read: list[str]
    """The translation after each layer."""


def main(
    model: Annotated[str, typer.Option(help="Run or model folder, or the name of a bundled model.")] = "",
) -> None:
    """Print the tables and write them down."""
    translator = load_translator(model or next(iter(bundled_models().values())))
    texts = list(sentences())
    given = [translated(translator, *each) for each in texts]
    measured = measure(translator.model, [each.rows for each in given], max_lengths=[_limit(each) for each in given])
    found = [in_words(translator, *each) for each in zip(given, measured, strict=True)]
    result = summary(found)
    longest = sorted(texts, key=lambda each: -len(each[1].split()))
    timed = [*longest[:TIMED], *((one[0], f"{one[1]} {other[1]}") for one, other in _pairs_of(texts)[:TIMED])]
    result["times"] = times(translator, [translated(translator, *each) for each in timed])
    print(table(("", "weights", "contributions"), result["correlations"]))
    print(table(("source's end, cross-attention", "share"), result["ends"]))
    print(table(("share of the source", "mean"), result["shares"]))
    print(table(("encoder layers", "chrF to the translation after all"), result["layers"]))
    titles = (f"all measures of {TIMED} texts", "seconds", "CPU seconds", "one by one: seconds", "CPU seconds")
    print(table(titles, result["times"]))
    write_result("influence", {"benchmark": "influence", "machine": describe_machine(), "found": result})


def sentences() -> Iterator[tuple[Direction, str]]:
    """The source sentences, as people write them."""
    for path in sorted(GOLD.glob("*.txt")):
        for words, _ in read_alignments(path)[0]:
            text = " ".join(words).replace(" .", ".").replace(" ?", "?").replace(" !", "!").replace(" ,", ",")
            yield Direction(*path.stem.split("-")), text


def _pairs_of(texts: Sequence[tuple[Direction, str]]) -> list[tuple[tuple[Direction, str], tuple[Direction, str]]]:
    """Two sentences each, of one direction."""
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return [(one, other) for one, other in pairs if one[0] == other[0]]


def translated(translator: Translator, direction: Direction, text: str) -> Given:
    """A sentence with the model's own translation."""
    said = translator.translate(text, source_lang=direction.source, target_lang=direction.target, guards=False)
    tokenizers = translator.towards(direction)
    source = tokenizers.source.encode(text)
    words = words_of(tokenizers.source, source)
    rows = Rows(source, tokenizers.target.encode(said.text), words, tokenizers.source.word_of(source)[-1] + 1)
    return Given(direction, text, rows, tokenizers)


def _limit(given: Given) -> int:
    return 2 * len(given.rows.source) + 10


def in_words(translator: Translator, given: Given, measured: Measures) -> Sentence:
    """The measures of one sentence."""
    rows, sides = given.rows, given.tokenizers
    seen = attention_map(translator.model, sides, given.text, rows.target, source_ids=rows.source)
    cross = measured.contributions["cross"].heads
    merged = merge_rows_and_columns(cross, seen.target_words, seen.source_words)
    lost = np.zeros((seen.target_words[-1], rows.size))
    for token, word in enumerate(seen.target_words[:-1]):
        lost[word] += measured.erasures[:, token]
    kept = sorted({word for each in rows.words_of for word in each})
    shares = cross / cross.sum(axis=-1, keepdims=True)
    return Sentence(
        lost[:, kept],
        seen.merge_words().cross[:, :, :-1][..., kept],
        merged[:, :, :-1][..., kept],
        (float(seen.cross[..., :-1, -1].mean()), float(shares[..., :-1, -1].mean())),
        measured.token_contributions.source.sum(axis=1),
        [sides.target.decode(each.ids) for each in measured.encoder_lens],
    )


def times(translator: Translator, given: Sequence[Given]) -> list[tuple[str, ...]]:
    """Words of a text, seconds and CPU seconds for all measures of `TIMED` texts with their alignments, and the CPU
    seconds where each text is measured alone."""
    rows = []
    for some in (given[:TIMED], given[TIMED:]):
        together = least(lambda some=some: all_measures(translator, some))
        alone = least(lambda some=some: [all_measures(translator, [each]) for each in some])
        words = np.mean([len(each.text.split()) for each in some])
        rows.append(
            (f"{words:.1f} words", f"{together[0]:.2f}", f"{together[1]:.2f}", f"{alone[0]:.2f}", f"{alone[1]:.2f}")
        )
    return rows


def all_measures(translator: Translator, given: Sequence[Given]) -> list[tuple[Measures, list[int]]]:
    """Everything that the page shows of a sentence beside its search."""
    limits = [len(each.rows.target) + 5 for each in given]  # as `pipelines/explain.py`
    found = measure(translator.model, [each.rows for each in given], max_lengths=limits)
    aligned = []
    for (_, _, rows, _), each in zip(given, found, strict=True):
        own = [[token] for token in range(len(rows.target))]
        pair = TokenizedPair(rows.source, rows.target, rows.words_of, own, (rows.size, len(rows.target)))
        links = best_sources(between_words(each.cross.astype(np.float64), pair), translator.alignment_heads)
        aligned.append((each, links))
    return aligned


def least(work: Callable[[], object]) -> tuple[float, float]:
    """The least seconds and CPU seconds of some rounds."""
    spent = []
    for _ in range(ROUNDS):
        begun = time.perf_counter(), time.process_time()
        work()
        spent.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    return min(each[0] for each in spent), min(each[1] for each in spent)


def summary(found: list[Sentence]) -> dict[str, list[tuple[str, ...]]]:
    """The rows of the tables."""
    taus: dict[str, list[list[float]]] = defaultdict(lambda: [[], []])
    for each in found:
        for place, values in enumerate((each.weights, each.contributions)):
            named = {"mean of all heads": values.mean(axis=(0, 1))}
            for layer, head in np.ndindex(*values.shape[:2]):
                named[f"layer {layer}, head {head}"] = values[layer, head]
            for name, one in named.items():
                if (tau := rank_correlation(one, each.lost)) is not None:
                    taus[name][place].append(tau)
    thirds: dict[str, list[float]] = defaultdict(list)
    for each in found:
        for name, part in zip(THIRDS, np.array_split(each.shares[:-1], 3), strict=True):
            thirds[name] += part.tolist()
    last = [each.read[-1] for each in found]
    depths = range(len(found[0].read))
    return {
        "correlations": [(name, *(f"{np.mean(each):.2f}" for each in both)) for name, both in taus.items()],
        "ends": [
            ("weight", f"{np.mean([each.ends[0] for each in found]):.2f}"),
            ("contribution", f"{np.mean([each.ends[1] for each in found]):.2f}"),
        ],
        "shares": [(name, f"{np.mean(values):.2f}") for name, values in thirds.items()],
        "layers": [(str(k), f"{corpus_chrf([each.read[k] for each in found], last).score:.1f}") for k in depths],
    }


if __name__ == "__main__":
    typer.run(main)

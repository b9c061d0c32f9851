"""Decoding with a shortlist and without, in turn, in one process and one thread.

    limelight shortlist --model RUN --train DATA/train.en.gz DATA/train.de.gz
    python -m benchmarks.shortlist --data DATA --small runs/small --base runs/base

Tokens a second of processor time, medians over the rounds, ends counted; sentences in batches, and one at a time. BLEU
is that of the first kind, over as many sentences as are translated.
"""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from limelight.evaluation.metrics import corpus_bleu
from limelight.formats import read_pairs
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translation, Translator
from limelight.text.pair import Pair

SENTENCES, ALONE = 1000, 50
BEAM = 4


def main(
    data: Annotated[Path, typer.Option(help="Folder with the files of Multi30k.")],
    small: Annotated[Path | None, typer.Option(help="Run folder of a small model, with its shortlist.")] = None,
    base: Annotated[Path | None, typer.Option(help="The same of a model of the paper's base size.")] = None,
    precision: Annotated[str, typer.Option(help="What to multiply in.")] = "int8",
    sentences: Annotated[int, typer.Option(help="Of the test set, in batches.", min=1)] = SENTENCES,
    rounds: Annotated[int, typer.Option(help="Measurements of each kind, in turn.", min=1)] = 5,
    results: Annotated[Path, typer.Option(help="Folder for shortlist.json.")] = RESULTS,
) -> None:
    """Measure, print, write down."""
    torch.set_num_threads(1)
    files = [data / f"test_2016_flickr.{language}.gz" for language in ("en", "de")]
    pairs = list(read_pairs(files))[:sentences]
    runs = {name: run for name, run in (("small", small), ("base", base)) if run is not None}
    if not runs:
        raise typer.BadParameter("name a run: --small RUN, --base RUN, or both")
    found = {name: measure(run, pairs, precision, rounds) for name, run in runs.items()}
    result = {
        "benchmark": "decoding with a shortlist",
        "command": "python -m benchmarks.shortlist --data DATA --small RUN --base RUN",
        "machine": describe_machine(),
        "precision": precision,
        "beam": BEAM,
        **found,
        "table": shown(found),
    }
    write_result("shortlist", result, folder=results)
    print(result["table"])


def measure(run: Path, pairs: Sequence[Pair], precision: str, rounds: int) -> dict[str, Any]:
    """Both ways, in turn: tokens a second and BLEU of each, and the median of the ratios in a round."""
    ways = {
        name: load_translator(run, torch.device("cpu"), precision=precision, shortlist=name == "shortlist")
        for name in ("whole", "shortlist")
    }
    sources = [pair.source for pair in pairs]
    rates: dict[str, list[float]] = {f"{kind}, {name}": [] for kind in ("batches", "alone") for name in ways}
    bleu = {}
    for _ in range(rounds):
        for name, translator in ways.items():
            found, rate = translated(translator, [sources])
            rates[f"batches, {name}"].append(rate)
            bleu[name] = corpus_bleu([each.text for each in found], [pair.target for pair in pairs]).score
            rates[f"alone, {name}"].append(translated(translator, [[source] for source in sources[:ALONE]])[1])
    return {
        "pieces": ways["whole"].tokenizers.target.padding,
        "sentences": len(pairs),
        "tokens per second": {name: round(statistics.median(each)) for name, each in rates.items()},
        "rounds": {name: [round(rate) for rate in each] for name, each in rates.items()},
        "ratio": {kind: ratio(rates[f"{kind}, shortlist"], rates[f"{kind}, whole"]) for kind in ("batches", "alone")},
        "BLEU": {name: round(score, 2) for name, score in bleu.items()},
    }


def translated(translator: Translator, groups: Sequence[Sequence[str]]) -> tuple[list[Translation], float]:
    """The translations, and target tokens a second of processor time."""
    begun = time.process_time()
    found = [
        each for group in groups for each in translator.translate(list(group), beam_size=BEAM, lines=True, guards=False)
    ]
    seconds = time.process_time() - begun
    return found, sum(len(each.tokens) + 1 for each in found) / seconds


def ratio(some: Sequence[float], others: Sequence[float]) -> float:
    """The median of the ratios in a round."""
    return round(statistics.median(one / other for one, other in zip(some, others, strict=True)), 3)


def shown(found: dict[str, dict[str, Any]]) -> str:
    """A row for each model and kind."""
    return table(
        ["model", "pieces", "kind", "tokens/s, whole", "shortlist", "ratio", "BLEU, whole", "shortlist"],
        [
            [name, each["pieces"], kind, each["tokens per second"][f"{kind}, whole"],
             each["tokens per second"][f"{kind}, shortlist"], each["ratio"][kind], each["BLEU"]["whole"],
             each["BLEU"]["shortlist"]]
            for name, each in found.items()
            for kind in ("batches", "alone")
        ],
    )  # fmt: skip


if __name__ == "__main__":
    typer.run(main)

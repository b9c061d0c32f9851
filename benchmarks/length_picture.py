"""BLEU by source length, a line for each model: the story of the field in one picture.

    python -m benchmarks.length_picture seq2seq bahdanau luong transformer --out docs/pictures/bleu-by-length.svg

Reads what `benchmarks.multi30k` wrote, `benchmarks/results/multi30k-NAME.json` for each NAME.
"""

import json
from pathlib import Path
from typing import Annotated

import typer
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.multi30k import RESULTS

FEWEST = 20  # sentences: BLEU of fewer is noise
LABELS = {
    "seq2seq": "recurrent, one fixed vector",
    "bahdanau": "Bahdanau: additive attention",
    "luong": "Luong: multiplicative attention",
}


def main(
    names: Annotated[list[str], typer.Argument(help="Results to draw, in the order of the legend.")],
    out: Annotated[Path, typer.Option(help="A .svg or .png file.")],
    title: Annotated[str, typer.Option(help="Title of the picture.")] = "Multi30k en-de, test 2016 and 2017 together",
) -> None:
    """Draw the lines."""
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name in names:
        result = json.loads((RESULTS / f"multi30k-{name}.json").read_text(encoding="utf-8"))
        buckets = [bucket for bucket in result["by_length"] if bucket["sentences"] >= FEWEST]
        places = range(len(buckets))
        label = f"{LABELS.get(result['recipe'], 'Transformer')} ({result['updates']:,} updates)"
        axes.plot(places, [bucket["bleu"] for bucket in buckets], marker="o", label=label)
        axes.set_xticks(places, [f"{bucket['words']}\n({bucket['sentences']})" for bucket in buckets])
    axes.set_xlabel("source words (sentences)")
    axes.set_ylabel("BLEU (sacreBLEU 13a, cased)")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend()
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, metadata={"Date": None} if out.suffix == ".svg" else None)


if __name__ == "__main__":
    typer.run(main)

"""Training speed beside Marian: the same sizes and sentences, in turn, in one run.

    pip install pymarian==1.12.42
    python -m benchmarks.marian train.en.gz train.de.gz --size small

Marian is no part of the tests' environment (600 MB, most of it for GPUs). It computes in fp32 on a CPU, one worker to a
core, and cuts its own batches, of about as many words as ours have. Its speed is read from its own log, without the
first updates; ours is that of `benchmarks.training_peers`, in the same round.
"""

import importlib.util
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import torch
import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from benchmarks.training_peers import SIZES, TOKENS, Size, real_batches

UPDATE = re.compile(r"Up\. \d+ .*\* ([\d,]+) @ .* : Time ([\d.]+)s")
WARM_UP = 2
MARIAN = "import json, pymarian, sys; pymarian.Trainer(**json.load(open(sys.argv[1]))).train()"


def main(
    source: Annotated[Path, typer.Argument(help="One side of the training text.")],
    target: Annotated[Path, typer.Argument(help="The other side.")],
    size: Annotated[str, typer.Option(help=f"One of {', '.join(SIZES)}.")] = "small",
    rounds: Annotated[int, typer.Option(help="Processes of each kind, in turn.", min=1)] = 5,
    results: Annotated[Path, typer.Option(help="Folder for marian-SIZE.json.")] = RESULTS,
) -> None:
    """Measure, print, write down."""
    if importlib.util.find_spec("pymarian") is None:
        print("pymarian is not installed (600 MB): pip install pymarian==1.12.42 portalocker requests", file=sys.stderr)
        raise typer.Exit(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        batches = real_batches(source, target)[: SIZES[size].updates + WARM_UP]
        (folder / "batches.json").write_text(json.dumps(batches), encoding="utf-8")
        _write_corpus(batches, SIZES[size], folder)
        words = ["-m", "benchmarks.training_peers", str(source), str(target), "--size", size, "--alone", "limelight"]
        found = []
        for _ in range(rounds):
            ours = json.loads(_run([*words, "--batches", str(folder / "batches.json")]))["tokens_per_second"]
            theirs = words_per_second(_run(["-c", MARIAN, str(folder / "settings.json")]))
            print(f"limelight {ours:,.0f}, marian {theirs:,.0f} target tokens/s", file=sys.stderr)
            found.append((ours, theirs))
    speeds = [round(statistics.median(each[way] for each in found), 1) for way in (0, 1)]
    faster = round(statistics.median(ours / theirs for ours, theirs in found), 2)
    rows = [("limelight", speeds[0], None), ("marian, fp32", speeds[1], faster)]
    printed = table(["training", "target tokens/s", "limelight is faster by"], rows)
    result = {
        "benchmark": f"training beside Marian, {size}",
        "command": f"python -m benchmarks.marian SOURCE TARGET --size {size} --rounds {rounds}",
        "machine": describe_machine(),
        "size": SIZES[size]._asdict(),
        "tokens_per_second": {"limelight": speeds[0], "marian": speeds[1]},
        "limelight is faster by": faster,
        "table": printed,
    }
    write_result(f"marian-{size}", result, folder=results)
    print(printed)


def words_per_second(log: str) -> float:
    """Target words per second, from the lines of its log: an update each, the first ones left out."""
    updates = [(float(words.replace(",", "")), float(took)) for words, took in UPDATE.findall(log)][WARM_UP:]
    return sum(words for words, _ in updates) / sum(took for _, took in updates)


def _write_corpus(batches: list[tuple[list[list[int]], list[list[int]]]], size: Size, folder: Path) -> None:
    """The ids as words of text, a vocabulary that numbers them so, and settings that build the same model."""
    for side, name in enumerate(("source", "target")):
        rows = (row for batch in batches for row in batch[side])
        text = "".join(" ".join(f"w{number}" for number in row) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="utf-8")
    known = ["</s>", "<unk>", *(f"w{number}" for number in range(2, size.vocabulary))]
    listed = "".join(f'"{word}": {number}\n' for number, word in enumerate(known))
    (folder / "words.yml").write_text(listed, encoding="utf-8")
    threads = torch.get_num_threads()
    settings = {
        "type": "transformer", "model": str(folder / "model.npz"), "vocabs": [str(folder / "words.yml")] * 2,
        "train-sets": [str(folder / "source"), str(folder / "target")], "dim-vocabs": [size.vocabulary] * 2,
        "enc-depth": size.layers, "dec-depth": size.layers, "dim-emb": size.d_model, "transformer-heads": size.heads,
        "transformer-dim-ffn": size.d_ff, "transformer-ffn-activation": "relu", "tied-embeddings-all": True,
        "transformer-dropout": 0.1, "label-smoothing": 0.1, "cost-type": "ce-sum", "clip-norm": 1.0,
        "cpu-threads": threads, "mini-batch": 1000, "mini-batch-words": TOKENS // threads, "workspace": 2000,
        "maxi-batch": 1000, "after": "1e", "disp-freq": "1u", "overwrite": True, "learn-rate": 1e-4, "max-length": 300,
    }  # fmt: skip
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def _run(words: list[str]) -> str:
    """What the process prints on either stream, or on standard output alone where that is JSON."""
    done = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    return done.stdout if words[0] == "-m" else done.stdout + done.stderr


if __name__ == "__main__":
    typer.run(main)

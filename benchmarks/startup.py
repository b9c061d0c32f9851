"""Start-up: from a cold start of the command to its help, and to the first translation, beside the peers.

    python -m benchmarks.startup --model RUN

Every figure is the wall-clock time of a process from its start to its end, the median over rounds in which all ways
take turns. The peers translate the same sentence with the same weights, which `limelight export` wrote for them: each
imports what its own documentation imports, loads the model, translates once, greedily, and leaves. A model that cannot
be exported, or a peer that is not installed, leaves a reason in place of a figure.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result

SENTENCE = "A dog runs on the grass."
AIMS = {"limelight --help": 0.3, "limelight: first translation": 3.0}

CTRANSLATE2 = """
import sys, ctranslate2, sentencepiece
source, target = (sentencepiece.SentencePieceProcessor(f"{sys.argv[1]}/{side}.spm") for side in ("source", "target"))
translator = ctranslate2.Translator(sys.argv[1], device="cpu")
found = translator.translate_batch([source.encode(sys.argv[2], out_type=str)], beam_size=1, max_decoding_length=100)
print(target.decode(found[0].hypotheses[0]))
"""
TRANSFORMERS = """
import sys
from transformers import MarianMTModel, MarianTokenizer
tokenizer = MarianTokenizer.from_pretrained(sys.argv[1])
model = MarianMTModel.from_pretrained(sys.argv[1])
found = model.generate(**tokenizer([sys.argv[2]], return_tensors="pt"), num_beams=1, max_new_tokens=100)
print(tokenizer.decode(found[0], skip_special_tokens=True))
"""
Ways = dict[str, list[str]]


def main(
    model: Annotated[Path, typer.Option(help="Run or model folder of a small model.")],
    rounds: Annotated[int, typer.Option(help="Cold starts of each, in turn.", min=1)] = 5,
    results: Annotated[Path, typer.Option(help="Folder for startup.json.")] = RESULTS,
) -> None:
    """Measure, print, write down."""
    with tempfile.TemporaryDirectory() as folder:
        peers, missing = _peers(model, Path(folder))
        ways = _own(model) | peers
        for way in list(peers):
            try:
                run(ways[way])
            except subprocess.CalledProcessError as error:
                missing[way] = _last_line(error.stderr)
                del ways[way]
        for words in ways.values():  # once, so that every file has been read
            run(words)
        found = [{way: timed(words) for way, words in ways.items()} for _ in range(rounds)]
    seconds = {way: round(statistics.median(each[way] for each in found), 3) for way in ways}
    first = seconds["limelight: first translation"]
    rows = [
        (way, took, AIMS.get(way), took / first if way in peers else None)
        for way, took in seconds.items()
    ]  # fmt: skip
    printed = table(["cold start", "seconds", "aim at most", "times limelight's"], rows)
    result: dict[str, Any] = {
        "benchmark": "start-up",
        "command": f"python -m benchmarks.startup --model RUN --rounds {rounds}",
        "unit": "seconds of a process, medians",
        "machine": describe_machine(),
        "seconds": seconds,
        "missing": missing,
        "table": printed,
    }
    write_result("startup", result, folder=results)
    print(printed)
    for way, reason in missing.items():
        print(f"{way}: {reason}")


def _own(model: Path) -> Ways:
    command = [sys.executable, "-m", "limelight"]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "limelight --help": [*command, "--help"],
        "import torch": [sys.executable, "-c", "import torch"],
        "limelight: first translation": [*command, "translate", "--model", str(model), "--beam", "1"],
    }


def _peers(model: Path, folder: Path) -> tuple[Ways, dict[str, str]]:
    """The same weights in the peers' own folders; where one cannot have them, the reason."""
    scripts = {"ctranslate2": CTRANSLATE2, "huggingface": TRANSFORMERS}
    names = {"ctranslate2": "ctranslate2: first translation", "huggingface": "transformers: first translation"}
    ways: Ways = {}
    missing: dict[str, str] = {}
    for kind, script in scripts.items():
        out = str(folder / kind)
        export = [sys.executable, "-m", "limelight", "export", "--model", str(model), "--to", kind, "-o", out]
        try:
            run(export)
        except subprocess.CalledProcessError as error:
            missing[names[kind]] = _last_line(error.stderr)
        else:
            ways[names[kind]] = [sys.executable, "-c", script, out, SENTENCE]
    return ways, missing


def run(words: list[str]) -> str:
    """What the command prints; it gets the sentence on its standard input."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        words, input=SENTENCE + "\n", env=environment, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return done.stdout


def timed(words: list[str]) -> float:
    """Seconds from the start of the process to its end."""
    begin = time.perf_counter()
    run(words)
    return time.perf_counter() - begin


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it failed without a word"])[-1]


if __name__ == "__main__":
    typer.run(main)

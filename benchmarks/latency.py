"""One short sentence: its latency, warm and cold, and cold starts beside the peers.

    python -m benchmarks.latency
    python -m benchmarks.latency startup --model RUN
    python -m benchmarks.latency loading --model RUN

Warm is a loaded translator, asked for one sentence at a time; `CPU` is the time that the process computed. Cold is the
wall-clock time of a process: with compiled loops on disk, with an empty cache of numba, and without numba. The peers of
`startup` translate with the same weights, exported for them: import, load, translate once, greedily, and end. `loading`
has the CPU time and the memory of `limelight.load` in a process that has loaded and used the bundled model before, so
that neither has the imports in it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import torch
import typer

from benchmarks.common import Figures, apart, in_turn, medians, report, run, table
from benchmarks.memory import resident

SENTENCE = "My sister drinks a cup of tea every evening."
WARM = {"greedy": 1, "beam 5": 5}
LIMELIGHT = (sys.executable, "-m", "limelight")
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
PEERS = {"ctranslate2": ("ctranslate2", CTRANSLATE2), "huggingface": ("transformers", TRANSFORMERS)}


def main(
    calls: Annotated[int, typer.Option(help="Warm translations of each kind.", min=1)] = 40,
    rounds: Annotated[int, typer.Option(help="Cold starts of each kind, in turn.", min=1)] = 5,
    threads: Annotated[int, typer.Option(help="CPU threads.", min=1)] = 2,
) -> None:
    """One sentence, warm and cold."""
    torch.set_num_threads(threads)
    warm = measure_warm(calls, threads)
    words = [*LIMELIGHT, "translate", "--from", "en", "--to", "de", "--text", SENTENCE]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "numba.py").write_text("raise ImportError\n")
        path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        starts: dict[str, Callable[[], dict[str, str]]] = {
            "numba's cache filled": dict,
            "numba's cache empty": lambda: {"NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=folder)},
            "without numba": lambda: {"PYTHONPATH": path},
        }
        start(words)  # so that every file has been read
        cold = medians(in_turn(starts, lambda way: start(words, starts[way]()), rounds))
    rows = [(f"warm, {name}, ms", figures["wall"], figures["CPU"]) for name, figures in warm.items()]
    rows += [(f"cold, {name}, s", figures["seconds"], None) for name, figures in cold.items()]
    command = f"latency --calls {calls} --rounds {rounds} --threads {threads}"
    report("latency", command, table(["one short sentence", "median", "CPU"], rows), warm=warm, cold=cold)


def startup(
    model: Annotated[Path, typer.Option(help="Run or model folder of a small model.")],
    rounds: Annotated[int, typer.Option(help="Cold starts of each, in turn.", min=1)] = 5,
) -> None:
    """Cold starts to the first translation, beside the peers."""
    ways: dict[str, list[str]] = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "limelight --help": [*LIMELIGHT, "--help"],
        "import torch": [sys.executable, "-c", "import torch"],
        "limelight": [*LIMELIGHT, "translate", "--model", str(model), "--beam", "1", "--text", SENTENCE],
    }
    missing = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, (name, script) in PEERS.items():
            out = str(Path(folder) / kind)
            words = [sys.executable, "-c", script, out, SENTENCE]
            try:
                start([*LIMELIGHT, "export", "--model", str(model), "--to", kind, "-o", out])
                start(words)
                ways[name] = words
            except subprocess.CalledProcessError as error:
                missing[name] = (error.stderr.strip().splitlines() or ["it failed without a word"])[-1]
        found = medians(in_turn(ways, lambda way: start(ways[way]), rounds + 1)[1:])
    first = found["limelight"]["seconds"]
    rows = [(way, figures["seconds"], figures["seconds"] / first) for way, figures in found.items()]
    rows += [(name, None, reason) for name, reason in missing.items()]
    shown = table(["cold start", "seconds", "times limelight's"], rows)
    report("startup", f"latency startup --model RUN --rounds {rounds}", shown, seconds=found)


def loading(
    model: Annotated[str, typer.Option(help="Run or model folder.")],
    precision: Annotated[str, typer.Option(help="Precision of the search.")] = "int8",
    rounds: Annotated[int, typer.Option(help="Processes, whose median is reported.", min=1)] = 5,
    alone: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """CPU time, with one thread, and memory of loading a model."""
    if alone:
        import limelight

        torch.set_num_threads(1)
        limelight.load(precision=precision).translate(SENTENCE, source_lang="en", target_lang="de")
        began, before = time.process_time(), resident("VmRSS")
        limelight.load(model, precision=precision)
        print(json.dumps({"seconds": time.process_time() - began, "MiB": (resident("VmRSS") - before) / 1024}))
        return
    words = ["loading", "--model", model, "--precision", precision, "--alone"]
    found = medians(in_turn({precision: None}, lambda _: apart("benchmarks.latency", *words), rounds))
    shown = table(["precision", "CPU seconds", "MiB"], [(name, *figures.values()) for name, figures in found.items()])
    report("loading", f"latency loading --model RUN --precision {precision}", shown, loading=found)


def measure_warm(calls: int, threads: int) -> dict[str, Figures]:
    """Milliseconds of a call, by the clock of the wall and of the processor."""
    from limelight.pipelines.load import load_translator
    from limelight.storage.layout import DEFAULT

    translator = load_translator(DEFAULT, threads=threads)
    found = {}
    for name, beam in WARM.items():
        times = []
        for _ in range(calls + 3):
            wall, cpu = time.perf_counter(), time.process_time()
            translator.translate(SENTENCE, source_lang="en", target_lang="de", beam_size=beam)
            times.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu)))
        walls, cpus = zip(*times[3:], strict=True)
        found[name] = {"wall": round(statistics.median(walls), 2), "CPU": round(statistics.median(cpus), 2)}
    return found


def start(words: list[str], environment: dict[str, str] | None = None) -> Figures:
    """Seconds of a process from its start to its end."""
    begin = time.perf_counter()
    everything = {**os.environ, "HF_HUB_OFFLINE": "1", **(environment or {})}
    subprocess.run(words, env=everything, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return {"seconds": time.perf_counter() - begin}


if __name__ == "__main__":
    run(main, startup=startup, loading=loading)

"""Decoding beside CTranslate2 and transformers: the same trained weights, the same sentences, in turn, in one run.

    python -m benchmarks.decoding --data DATA --small runs/bench/small --base runs/bench/base

The bundled model is always measured. `small` and `base` are runs with normalization after each sub-layer, as
transformers' Marian model has it; what the peers translate with is made of them by `limelight export`. Each way runs
in a process of its own, round after round, on real sentences with their real lengths: all of them in batches, and
some one at a time. Times are those of translating, tokens and text included, loading not, by the wall clock and by
the clock of the processor, which other work on the machine changes less. Figures are medians over the rounds, ratios
medians of the ratios in a round.

`make bench-portable` measures the same with AVX2 alone, ours and the peers'.
"""

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import torch
import typer

from benchmarks.common import RESULTS, Figures, apart, in_turn, medians, multi30k, product_rate, report, run, table
from limelight.capabilities import describe, has
from limelight.formats import read_pairs
from limelight.storage.layout import DEFAULT, bundled_models

LIMIT = 128
"""Most tokens of a translation, for every way."""

Translate = Callable[[Sequence[str], int], list[str]]
"""Sentences and a beam to texts."""


class Size(NamedTuple):
    """How much is translated in a round."""

    sentences: int
    alone: int
    """So many of them one at a time as well."""
    slow: int
    """So many of them by transformers, in batches."""


SIZES = {"bundled": Size(500, 50, 0), "small": Size(1000, 50, 100), "base": Size(200, 12, 32)}


def main(
    data: Annotated[Path, typer.Option(help="Folder with the files of Multi30k.")],
    small: Annotated[Path | None, typer.Option(help="Run folder of a small model.")] = None,
    base: Annotated[Path | None, typer.Option(help="Run folder of a model of the paper's base size.")] = None,
    rounds: Annotated[int, typer.Option(help="Processes of each kind, in turn.", min=1)] = 5,
    only: Annotated[list[str] | None, typer.Option(help="Only ways that begin so.")] = None,
    results: Annotated[Path, typer.Option(help="Folder for the result.")] = RESULTS,
    name: Annotated[str, typer.Option(help="Name of the result.")] = "decoding",
    alone: Annotated[str, typer.Option(hidden=True)] = "",
    folder: Annotated[Path | None, typer.Option(hidden=True)] = None,
    size: Annotated[list[str] | None, typer.Option(help="Only models of these sizes: bundled, small, base.")] = None,
) -> None:
    """Measure, print, write down; `--alone` is one process of the measurement."""
    if unknown := set(size or ()) - set(SIZES):
        raise typer.BadParameter(f"there is no size {', '.join(sorted(unknown))}; there are {', '.join(SIZES)}")
    sizes = [each for each in SIZES if not size or each in size]
    if alone and folder:
        print(json.dumps(measure(WAYS[alone](folder), alone, SIZES[sizes[0]], data)))
        return
    given = {"bundled": bundled_models()[DEFAULT], "small": small, "base": base}
    ways = [way for way in WAYS if not only or way.startswith(tuple(only))]
    found = {each: compare(each, given[each], data, rounds, ways) for each in sizes if given[each]}
    dtype = torch.bfloat16 if has("bf16") else torch.float32  # emulated bf16 takes minutes
    report(
        name, f"decoding --data DATA --small RUN --base RUN --rounds {rounds}",
        "\n\n".join(shown(size, each) for size, each in found.items()), folder=results,
        capabilities=describe(), products={f"{dtype} GFLOP/s": round(product_rate(dtype) / 1e9)}, **found,
    )  # fmt: skip


def compare(size: str, model: Path, data: Path, rounds: int, ways: Sequence[str]) -> dict[str, Any]:
    """All ways on one model, in turn; those that cannot run it are left out."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "run").symlink_to(model.resolve())
        for kind, peer in {"ctranslate2": "ctranslate2", "huggingface": "transformers"}.items():
            if not any(way.startswith(peer) for way in ways) or (size, kind) == ("bundled", "huggingface"):
                continue
            words = ["limelight", "export", "--model", str(model), "--to", kind, "-o", str(folder / kind)]
            subprocess.run([sys.executable, "-m", *words], check=True, stdout=subprocess.DEVNULL)
        missing = {
            "shortlist": not (model / "best" / "shortlist.safetensors").exists(),
            "transformers": not (folder / "huggingface").exists(),
        }
        ways = [way for way in ways if not any(word in way and lacks for word, lacks in missing.items())]
        words = ["benchmarks.decoding", "--data", str(data), "--folder", str(folder), "--size", size, "--alone"]
        found = in_turn(ways, partial(apart, *words), rounds)
    return {"ways": medians(found), "ratios": ratios(found, ways)}


def measure(translate: Translate, way: str, size: Size, data: Path) -> Figures:
    """Sentences per second in batches, milliseconds a sentence alone, by both clocks. Tokens are not counted: what
    removes repetition would seem slower, because it writes fewer of them."""
    from limelight.evaluation import corpus_bleu

    pairs = list(read_pairs(multi30k(data, "test_2016_flickr")[0].files))
    pairs = pairs[: size.slow if way.startswith("transformers") else size.sentences]
    sources = [pair.source for pair in pairs]
    figures: Figures = {}
    gc.collect()
    gc.freeze()  # as commands do once a model is loaded
    for name, beam in (("greedy", 1), ("beam 4", 4)):
        translate(sources[:40], beam)
        found, seconds, computed = timed(translate, sources, beam)
        figures[f"batches, {name}: sentences/s"] = len(sources) / seconds
        figures[f"batches, {name}: sentences/CPU s"] = len(sources) / computed
        figures[f"{name}: BLEU"] = corpus_bleu(found, [pair.target for pair in pairs]).score
        times = [timed(translate, [source], beam)[1:] for source in sources[: size.alone]]
        walls, processors = zip(*times, strict=True)
        figures[f"alone, {name}: ms"] = 1000 * median(walls)
        figures[f"alone, {name}: CPU ms"] = 1000 * median(processors)
    return figures


def timed(translate: Translate, sources: Sequence[str], beam: int) -> tuple[list[str], float, float]:
    """The translations, the seconds that passed, and the seconds that all threads of the process computed."""
    wall, computed = time.perf_counter(), time.process_time()
    found = translate(sources, beam)
    return found, time.perf_counter() - wall, time.process_time() - computed


# --- the ways ---


def limelight(precision: str, *, shortlist: bool = False, guards: bool = False) -> Callable[[Path], Translate]:
    def load(folder: Path) -> Translate:
        from limelight.memory import hold_memory_for_work
        from limelight.pipelines.load import load_translator

        hold_memory_for_work()
        translator = load_translator(
            folder / "run", precision=precision, shortlist=shortlist, threads=torch.get_num_threads()
        )
        translator.config = translator.config.model_copy(update={"max_length_factor": 1e-6, "max_length_extra": LIMIT})

        languages = {"source_lang": "en", "target_lang": "de"} if translator.directions else {}

        def translate(sources: Sequence[str], beam: int) -> list[str]:
            found = translator.translate(sources, beam_size=beam, lines=True, guards=guards, **languages)
            return [each.text for each in found]

        return translate

    return load


def ctranslate2(precision: str, workers: int, threads: int) -> Callable[[Path], Translate]:
    def load(folder: Path) -> Translate:
        import ctranslate2
        import sentencepiece

        from limelight.config import has_tags, load_config
        from limelight.storage.layout import CONFIG, find_model

        source, target = (
            sentencepiece.SentencePieceProcessor(model_file=str(folder / "ctranslate2" / f"{side}.spm"))
            for side in ("source", "target")
        )
        tag = ["<2de>"] if has_tags(load_config(find_model(folder / "run") / CONFIG).data) else []
        translator = ctranslate2.Translator(
            str(folder / "ctranslate2"), compute_type=precision, inter_threads=workers, intra_threads=threads
        )

        def translate(sources: Sequence[str], beam: int) -> list[str]:
            pieces = [[*tag, *source.encode(text, out_type=str), "</s>"] for text in sources]
            found = translator.translate_batch(
                pieces, beam_size=beam, max_batch_size=32, max_decoding_length=LIMIT, max_input_length=0
            )
            return [target.decode(each.hypotheses[0]) for each in found]

        return translate

    return load


def transformers(folder: Path) -> Translate:
    import transformers as library

    from limelight.batching.batch import pad_rows
    from limelight.storage.model import load_model

    library.logging.set_verbosity_error()
    model = library.MarianMTModel.from_pretrained(folder / "huggingface").eval()
    tokenizers = load_model(folder / "run").tokenizers

    def translate(sources: Sequence[str], beam: int) -> list[str]:
        found: list[str] = []
        ids = [[*tokenizers.source.encode(text), 0] for text in sources]
        order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        for first in range(0, len(order), 32):
            source, valid = pad_rows([ids[row] for row in order[first : first + 32]], tokenizers.source.padding)
            with torch.inference_mode():
                rows = model.generate(
                    source, attention_mask=valid.long(), num_beams=beam, do_sample=False, max_length=LIMIT
                )
            cut = [[piece for piece in row[1:] if piece != tokenizers.target.padding] for row in rows.tolist()]
            found += [tokenizers.target.decode([piece for piece in row if piece]) for row in cut]
        return [found[place] for place in sorted(range(len(order)), key=lambda place: order[place])]

    return translate


WAYS: dict[str, Callable[[Path], Translate]] = {
    "limelight int8, guards": limelight("int8", guards=True),
    "limelight int8": limelight("int8"),
    "limelight int8, shortlist": limelight("int8", shortlist=True),
    "limelight bf16": limelight("bf16"),
    "limelight fp32": limelight("fp32"),
    "ctranslate2 int8, 2 workers": ctranslate2("int8", 2, 1),
    "ctranslate2 int8, 2 threads": ctranslate2("int8", 1, 2),
    "ctranslate2 int8, 1 thread": ctranslate2("int8", 1, 1),
    "ctranslate2 float32, 2 workers": ctranslate2("float32", 2, 1),
    "transformers fp32": transformers,
}


# --- what comes of it ---


def ratios(found: list[dict[str, Figures]], ways: Sequence[str]) -> dict[str, dict[str, float]]:
    """How many times as fast our ways are as the best setting of each peer, for each figure but BLEU."""
    peers = {name: [way for way in ways if way.startswith(name)] for name in ("ctranslate2", "transformers")}
    return {
        f"{ours} against {peer}": {
            key: round(median(_faster(each, ours, settings, key) for each in found), 2)
            for key in found[0][ours] if not key.endswith("BLEU")
        }
        for ours in ways if ours.startswith("limelight int8")
        for peer, settings in peers.items() if settings
    }  # fmt: skip


def _faster(figures: dict[str, Figures], ours: str, peers: Sequence[str], key: str) -> float:
    theirs = [figures[peer][key] for peer in peers]
    return min(theirs) / figures[ours][key] if key.endswith("ms") else figures[ours][key] / max(theirs)


def shown(name: str, found: dict[str, Any]) -> str:
    """A table of the ways, and one of the ratios."""
    keys = list(next(iter(found["ways"].values())))
    speeds = table([name, *keys], [[way, *(figures[key] for key in keys)] for way, figures in found["ways"].items()])
    faster = [key for key in keys if not key.endswith("BLEU")]
    rows = [[pair, *(figures[key] for key in faster)] for pair, figures in found["ratios"].items()]
    return speeds + "\n\n" + table(["times as fast", *(key.rpartition(":")[0] for key in faster)], rows)


if __name__ == "__main__":
    run(main)

"""Train a recipe on Multi30k en->de and measure it: BLEU on both Flickr test sets, by length, and the way there.

    python -m benchmarks.multi30k --data DATA --recipe small --minutes 45 --out runs/multi30k/small

DATA holds the files of Multi30k as `train.en.gz`, `train.de.gz`, `val.*`, `test_2016_flickr.*`, `test_2017_flickr.*`.
A run that is there already is gone on with, or only measured where it has nothing left to do. The figures are printed
and written to `benchmarks/results/multi30k-NAME.json`.
"""

import json
import statistics
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from benchmarks.machine import describe_machine
from limelight.config import Corpus, RunConfig, override
from limelight.evaluation import corpus_bleu, evaluate, score_by_length
from limelight.formats import read_pairs
from limelight.memory import hold_memory_for_work
from limelight.models.families import count_parameters
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.recipes import find_recipe
from limelight.storage.model import load_model
from limelight.training.checkpoints.checkpoint import CHECKPOINTS, Progress, stored_progress
from limelight.training.run import train

RESULTS = Path(__file__).parent / "results"
TESTS = ("test_2016_flickr", "test_2017_flickr")


def main(
    data: Annotated[Path, typer.Option(help="Folder with the files of Multi30k.")],
    out: Annotated[Path, typer.Option(help="Run folder.")],
    recipe: Annotated[str, typer.Option(help="Any recipe of limelight.")] = "small",
    minutes: Annotated[float, typer.Option(help="Minutes of training in all.")] = 45,
    steps: Annotated[int, typer.Option(help="Updates in all, instead of minutes.")] = 0,
    measure_only: Annotated[bool, typer.Option(help="Measure the model that is there; do not train it on.")] = False,
    name: Annotated[str, typer.Option(help="Name of the result file; the recipe's when not given.")] = "",
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting, section.key=value.")] = None,
) -> None:
    """Train, measure, print, write down."""
    bound = f"training.max_steps={steps}" if steps else f"training.max_minutes={minutes:g}"
    hold_memory_for_work()
    if not measure_only:
        train(override(_with_data(find_recipe(recipe), data), [bound, *(set_ or [])]), out)
    result = {
        "benchmark": "multi30k en->de",
        "commands": _commands(out, recipe, f"--steps {steps}" if steps else f"--minutes {minutes:g}", set_ or []),
        "recipe": recipe,
        **_model(out),
        "machine": describe_machine(),
        **_quality(load_translator(out, threads=torch.get_num_threads()), data),
        "training_tokens_per_second": _speed(out / "log.jsonl"),
        "curve": _curve(out / "log.jsonl"),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"multi30k-{name or recipe}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    _print(result)


def _commands(run: Path, recipe: str, bound: str, settings: list[str]) -> list[str]:
    """Every call that a run was made with, in order: one that was taken up with other settings needs them all."""
    command = " ".join(
        [f"python -m benchmarks.multi30k --data DATA --recipe {recipe} {bound} --out RUN"]
        + [f"--set {setting}" for setting in settings]
    )
    record = run / "commands.txt"
    known = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    if command not in known:
        known.append(command)
        record.write_text("\n".join(known) + "\n", encoding="utf-8")
    return known


def _with_data(config: RunConfig, data: Path) -> RunConfig:
    def corpus(part: str) -> tuple[Corpus, ...]:
        return (Corpus(files=(str(data / f"{part}.en.gz"), str(data / f"{part}.de.gz")), source="en", target="de"),)

    found = config.data.model_copy(update={"train": corpus("train"), "valid": corpus("val")})
    return config.model_copy(update={"data": found})


def _model(run: Path) -> dict[str, Any]:
    stored = load_model(run)
    progress = (stored_progress(run / CHECKPOINTS) or [Progress(step=int(stored.notes["step"]))])[-1]
    return {
        "parameters": count_parameters(stored.model),
        "vocabulary": stored.tokenizers.target.size,
        "weights": stored.notes,
        "seed": stored.config.training.seed,
        "updates": progress.step,
        "target_pieces": progress.pieces,
        "minutes": round(progress.seconds / 60, 1),
        "threads_in_training": stored.config.training.threads or torch.get_num_threads(),
    }


def _quality(translator: Translator, data: Path) -> dict[str, Any]:
    """Scores of each test set; scores by source length over both together, as long sentences are few."""
    quality: dict[str, Any] = {}
    sources, translations, references = [], [], []
    for test in TESTS:
        pairs = list(read_pairs([data / f"{test}.en.gz", data / f"{test}.de.gz"]))
        found = evaluate(translator, pairs)
        quality[test] = found.to_dict() | {
            "provenance": None,
            "bleu_tokenized_lowercase": _record_variant(found, pairs),
        }
        sources += [pair.source for pair in pairs]
        references += [pair.target for pair in pairs]
        translations += found.translations
    buckets = score_by_length(sources, translations, references)
    quality["by_length"] = [
        {"words": bucket.label, "sentences": bucket.sentences, "bleu": bucket.bleu} for bucket in buckets
    ]
    quality["beam_size"] = translator.config.beam_size
    quality["length_penalty"] = translator.config.length_penalty
    return quality


def _record_variant(found: Any, pairs: list[Any]) -> dict[str, Any]:
    """Lower-cased and tokenized, as Wu et al. 2021 report 41.02; theirs are Moses' tokens, these sacreBLEU's `intl`."""
    metric = corpus_bleu(found.translations, [pair.target for pair in pairs], lowercase=True, tokenize="intl")
    return {"score": round(metric.score, 4), "signature": metric.signature}


def _events(log: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["event"] == kind]


def _speed(log: Path) -> dict[str, float]:
    """Target tokens per second over the run: how far apart these lie says how quiet the machine was."""
    speeds = [line["target_tokens_per_second"] for line in _events(log, "training")]
    return {"lowest": min(speeds), "median": statistics.median(speeds), "highest": max(speeds)}


def _curve(log: Path) -> list[dict[str, Any]]:
    """Validation along the way: minutes, loss and greedy BLEU of the single model as it stood."""
    return [
        {"minutes": round(line["seconds"] / 60, 2), "step": line["step"], "loss": line["loss"], "bleu": line["bleu"]}
        for line in _events(log, "validation")
    ]


def _print(result: dict[str, Any]) -> None:
    print(f"{result['recipe']}: {result['parameters']:,} parameters, {result['minutes']:g} minutes")
    for test in TESTS:
        scores = result[test]
        variant = scores["bleu_tokenized_lowercase"]
        print(f"{test}: BLEU {scores['bleu']:.2f} ({scores['bleu_signature']}), chrF {scores['chrf']:.2f}")
        print(f"{'':{len(test)}}  lower-cased {scores['bleu_lowercase']:.2f}, tokenized {variant['score']:.2f}")
    for bucket in result["by_length"]:
        print(f"  {bucket['words']:>6} source words, {bucket['sentences']:4} sentences: BLEU {bucket['bleu'] or 0:.2f}")


if __name__ == "__main__":
    typer.run(main)

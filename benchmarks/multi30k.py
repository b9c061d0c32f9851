"""Train a recipe on Multi30k en->de and measure it: BLEU on both Flickr test sets, by length, and the way there.

    python -m benchmarks.multi30k --data DATA --recipe small --minutes 45 --out runs/multi30k/small

DATA holds the files of Multi30k as `train.en.gz`, `train.de.gz`, `val.*`, `test_2016_flickr.*`, `test_2017_flickr.*`.
An existing run is resumed, or only measured if it has nothing left to do.
"""

import json
import statistics
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from sacrebleu import corpus_bleu

from benchmarks.common import multi30k, report, run, table
from limelight.config import override
from limelight.evaluation import evaluate, score_by_length
from limelight.formats import read_pairs
from limelight.memory import hold_memory_for_work
from limelight.models.families import count_parameters
from limelight.pipelines.load import load_translator
from limelight.recipes import find_recipe
from limelight.training.run import train

TESTS = ("test_2016_flickr", "test_2017_flickr")


def main(
    data: Annotated[Path, typer.Option(help="Folder with the files of Multi30k.")],
    out: Annotated[Path, typer.Option(help="Run folder.")],
    recipe: Annotated[str, typer.Option(help="Any recipe of limelight.")] = "small",
    minutes: Annotated[float, typer.Option(help="Minutes of training in all.")] = 45,
    steps: Annotated[int, typer.Option(help="Updates in all, instead of minutes.")] = 0,
    name: Annotated[str, typer.Option(help="Name of the result file; the recipe's when not given.")] = "",
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting, section.key=value.")] = None,
) -> None:
    """Train, measure, print, write down."""
    config = find_recipe(recipe)
    texts = {"train": multi30k(data, "train"), "valid": multi30k(data, "val")}
    config = config.model_copy(update={"data": config.data.model_copy(update=texts)})
    bound = f"training.max_steps={steps}" if steps else f"training.max_minutes={minutes:g}"
    hold_memory_for_work()
    progress = train(override(config, [bound, *(set_ or [])]), out)
    translator = load_translator(out, threads=torch.get_num_threads())
    scores: dict[str, Any] = {}
    sources, translations, references = [], [], []
    for test in TESTS:
        pairs = list(read_pairs(multi30k(data, test)[0].files))
        found = evaluate(translator, pairs)
        sources += [pair.source for pair in pairs]
        references += [pair.target for pair in pairs]
        translations += found.translations
        # lower-cased and tokenized, as Wu et al. 2021 report 41.02; theirs are Moses' tokens, these sacreBLEU's `intl`
        nearest = corpus_bleu(found.translations, [references[-len(pairs) :]], lowercase=True, tokenize="intl")
        lowercase = corpus_bleu(found.translations, [references[-len(pairs) :]], lowercase=True).score
        scores[test] = {
            **found.to_dict(),
            **{"provenance": None, "bleu_lowercase": lowercase, "bleu_tokenized_lowercase": nearest.score},
        }
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    speeds = [line["target_tokens_per_second"] for line in lines if line["event"] == "training"]
    keys = ("seconds", "step", "loss", "bleu")
    rows = [
        (test, figures["bleu"], figures["bleu_lowercase"], figures["bleu_tokenized_lowercase"], figures["chrf"])
        for test, figures in scores.items()
    ]
    report(
        f"multi30k-{name or recipe}",
        f"multi30k --data DATA --recipe {recipe} {bound} --out RUN {' '.join(f'--set {each}' for each in set_ or ())}",
        table(["test", "BLEU", "lower-cased", "tokenized, lower-cased", "chrF"], rows),
        parameters=count_parameters(translator.model),
        vocabulary=translator.tokenizers.target.size,
        updates=progress.step,
        target_tokens=progress.pieces,
        minutes=round(progress.seconds / 60, 1),
        beam_size=translator.config.beam_size,
        length_penalty=translator.config.length_penalty,
        by_length=[
            {"words": each.words, "sentences": each.sentences, "bleu": each.bleu}
            for each in score_by_length(sources, translations, references)
        ],
        training_tokens_per_second={"lowest": min(speeds), "median": statistics.median(speeds), "highest": max(speeds)},
        curve=[{key: line[key] for key in keys} for line in lines if line["event"] == "validation"],
        **scores,
    )


if __name__ == "__main__":
    run(main)

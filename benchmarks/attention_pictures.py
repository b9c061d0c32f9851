"""What each kind of attention does with the same sentence: the pictures of docs/attention.md.

    python -m benchmarks.attention_pictures --out docs/pictures

Trains three small models (Bahdanau's, Luong's and a Transformer) on generated text, English to Lumi
(`examples/phrase_grammar.py`), 600 updates each: some four minutes on one core. Each is given the same sentence and its
translation, which it has not seen in training. Runs stay in --runs; one that is there is not trained again.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from examples.phrase_grammar import write_corpus
from limelight.config import Corpus, RunConfig, override
from limelight.errors import UserError
from limelight.inspection import save, save_grid
from limelight.pipelines.load import load_translator
from limelight.recipes import find_recipe
from limelight.storage.layout import find_model
from limelight.training.run import train

PAIRS, UPDATES, SEED = 20_000, 600, 1
SOURCE = "The old dog does not see the small cats near a house today."
TARGET = "Unat kasat apu lo kano velo lan miran pitan hodi nu videto."

CELLS = ("model.embedding=128", "model.hidden=128", "model.dropout=0.1", "tokens.sampling=0")
SETTINGS: dict[str, tuple[str, ...]] = {"bahdanau": CELLS, "luong": CELLS, "demo": ()}
"""Recipes, and what is changed in them for so small a language."""
NAMES = {
    "bahdanau": "GRU with additive attention (Bahdanau et al. 2015)",
    "luong": "LSTM with multiplicative attention and input feeding (Luong et al. 2015)",
    "demo": "Transformer of 2 + 2 layers, 4 heads (Vaswani et al. 2017)",
}


def main(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")],
    runs: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs/attention-pictures"),
    updates: Annotated[int, typer.Option(help="Updates of each model.", min=1)] = UPDATES,
) -> None:
    """Train what is not there yet, then draw."""
    corpus = runs / "corpus"
    if not corpus.exists():
        write_corpus(corpus, PAIRS, SEED)
    for recipe in SETTINGS:
        if not _is_there(runs / recipe):
            train(config_of(recipe, corpus, updates), runs / recipe)
    out.mkdir(parents=True, exist_ok=True)
    draw(runs, out)


def config_of(recipe: str, corpus: Path, updates: int) -> RunConfig:
    """A recipe's model, and for all the training of `demo`: what differs in the pictures is the attention."""
    config = override(find_recipe(recipe), SETTINGS[recipe])
    sides = {
        name: (Corpus(files=(str(corpus / f"{name}.tsv"),), source="en", target="lumi"),) for name in ("train", "valid")
    }
    training = {
        "max_minutes": None, "max_steps": updates, "validate_every": updates, "checkpoint_every": updates,
        "bleu_sentences": 0,
    }  # fmt: skip
    return config.model_copy(
        update={
            "data": config.data.model_copy(update=sides),
            "training": find_recipe("demo").training.model_copy(update=training),
        }
    )


def draw(runs: Path, out: Path) -> None:
    """The alignment of each model, and every head of the Transformer, light enough to print."""
    for recipe, name in NAMES.items():
        seen = load_translator(runs / recipe).attention(SOURCE, target=TARGET).merge_words()
        picture = "transformer" if recipe == "demo" else recipe
        save(replace(seen, model=name), out / f"attention-{picture}.svg", theme="light")
        if recipe == "demo":
            save_grid(replace(seen, model=name), out / "attention-heads.svg", theme="light")


def _is_there(run: Path) -> bool:
    try:
        find_model(run)
    except UserError:
        return False
    return True


if __name__ == "__main__":
    typer.run(main)

"""Attention of trained models: alignment error rates against alignments by hand, and the pictures of the page.

    python -m benchmarks.attention --text DATA/tatoeba
    python -m benchmarks.attention pictures --out docs/pictures

The hand alignments (`benchmarks/alignments`, 32 sentences of ours) are short and plain; figures on longer text are
higher. The text is what IBM Model 1 learns from; without it there is no such row.

`pictures` trains three small models (Bahdanau's, Luong's and a Transformer) on generated text, English to Lumi
(`examples/phrase_grammar.py`), 600 updates each: some four minutes on one core. All get the same sentence and its
translation, which were not in their training. Existing runs are used again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from benchmarks.common import report, run, table
from examples.phrase_grammar import write_corpus
from limelight.config import Corpus, Direction, RunConfig, override
from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.inspection import save
from limelight.pipelines.align import AttentionAligner, Links, WordPair
from limelight.pipelines.load import load_translator
from limelight.preparation.word_alignment import WordAligner, Words
from limelight.recipes import find_recipe
from limelight.storage.layout import bundled_models, find_model
from limelight.storage.tables import AlignmentHead
from limelight.text.words import words_and_signs
from limelight.training.run import train

GOLD = Path(__file__).parent / "alignments"
MAX_LEARNED = 100_000

Link = tuple[int, int]


class GoldAlignment(NamedTuple):
    """Manual links: `sure` ones, and `possible` ones, which include the sure ones."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def read_gold(line: str) -> GoldAlignment:
    """Parse links such as `0-0 1-2 3p4`: `-` is sure and `p` possible; words count from 0.

    Raises `UserError` for anything else.
    """
    sure, possible = set[Link](), set[Link]()
    for word in line.split():
        for mark, links in (("-", sure), ("p", possible)):
            source, separator, target = word.partition(mark)
            if separator and source.isdecimal() and target.isdecimal():
                links.add((int(source), int(target)))
                break
        else:
            raise UserError(f"{word!r} is not a link; links are like 0-1 (sure) or 0p1 (possible)")
    return GoldAlignment(frozenset(sure), frozenset(sure | possible))


def alignment_error_rate(links: Iterable[Iterable[Link]], gold: Iterable[GoldAlignment]) -> float:
    """1 - (|A & S| + |A & P|) / (|A| + |S|) over a corpus (Och and Ney 2003, equation 24); 0 is perfect.

    Raises `ValueError` for unequal numbers of sentences, and if there is no link at all.
    """
    right = count = 0
    for predicted, (sure, possible) in zip(map(set, links), gold, strict=True):
        right += len(predicted & sure) + len(predicted & possible)
        count += len(predicted) + len(sure)
    if not count:
        raise ValueError("there are no links")
    return 1 - right / count


def main(
    model: Annotated[str, typer.Option(help="Run or model folder, or the name of a bundled model.")] = "",
    text: Annotated[Path | None, typer.Option(help="Folder with en-de.train.tsv.gz and en-fr.train.tsv.gz.")] = None,
) -> None:
    """Print the table and write it down."""
    translator = load_translator(model or next(iter(bundled_models().values())))
    found = {}
    for path in sorted(GOLD.glob("*.txt")):
        pairs, gold = read_alignments(path)
        direction = Direction(*path.stem.split("-"))
        rates = _rates(translator.aligner, pairs, gold, direction)
        if text is not None:
            links = _by_words(pairs, text / f"{path.stem}.train.tsv.gz")
            rates["IBM Model 1, both directions"] = alignment_error_rate(links, gold)
        found[path.stem] = rates
    names = list(dict.fromkeys(name for each in found.values() for name in each))
    rows = [(name, *(f"{each[name]:.3f}" for each in found.values())) for name in names]
    heads = [asdict(each) for each in translator.alignment_heads]
    report(
        "alignment", "attention --text DATA", table(("alignment error rate", *found), rows), heads=heads, rates=found
    )


def read_alignments(path: Path) -> tuple[list[WordPair], list[GoldAlignment]]:
    """The pairs and hand alignments of a file with lines `source ||| target ||| links`."""
    pairs, gold = list[WordPair](), []
    for line in path.read_text(encoding="utf-8").splitlines():
        source, target, links = line.split("|||")
        pairs.append((source.split(), target.split()))
        gold.append(read_gold(links))
    return pairs, gold


def _rates(
    aligner: AttentionAligner, pairs: Sequence[WordPair], gold: Sequence[GoldAlignment], direction: Direction
) -> dict[str, float]:
    """The rates of all heads, of the best single head, and of the chosen heads."""

    def rate(heads: Sequence[AlignmentHead], *, symmetrize: bool) -> float:
        own = AttentionAligner(aligner.model, aligner.towards, aligner.directions, heads)
        return alignment_error_rate(own.align(pairs, direction, symmetrize=symmetrize), gold)

    single = [[each] for each in aligner.heads]
    return {
        "mean of all heads, when predicted": rate([], symmetrize=False),
        "mean of all heads, both directions": rate([], symmetrize=True),
        **{
            f"layer {head.layer} head {head.head}, {'reading' if head.reads else 'predicting'}": rate(
                [head], symmetrize=False
            )
            for [head] in single
        },
        "chosen heads": rate(aligner.heads, symmetrize=False),
        "chosen heads, both directions (`limelight align`)": rate(aligner.heads, symmetrize=True),
    }


def _by_words(pairs: Sequence[WordPair], text: Path) -> list[Links]:
    """The links of IBM Model 1 in both directions, learned from the text and the pairs."""
    learned = [Words(list(source), list(target)) for source, target in pairs]
    for number, pair in enumerate(read_pairs([text])):
        if number == MAX_LEARNED:
            break
        learned.append(Words(words_and_signs(pair.source), words_and_signs(pair.target)))
    found = WordAligner(learned).align(learned[: len(pairs)])
    return [[(link.source, link.target) for link in links] for links in found]


# --- pictures ---

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


def pictures(
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
            save(replace(seen, model=name), out / "attention-heads.svg", grid=True, theme="light")


def _is_there(run: Path) -> bool:
    try:
        find_model(run)
    except UserError:
        return False
    return True


if __name__ == "__main__":
    run(main, pictures=pictures)

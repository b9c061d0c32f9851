"""Word alignments from attention against alignments by hand: the alignment error rate of heads, directions and IBM-1.

    python -m benchmarks.alignment --text DATA/tatoeba

The hand alignments (`benchmarks/alignments`, 32 sentences of ours) are short and plain; figures on longer text are
higher. The text is what IBM Model 1 learns from; without it there is no such row.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import table, write_result
from limelight.config import Direction
from limelight.evaluation.metrics import GoldAlignment, alignment_error_rate, read_gold
from limelight.formats import read_pairs
from limelight.inspection.word_alignment import AlignmentHead
from limelight.pipelines.align import AttentionAligner, Links, WordPair
from limelight.pipelines.load import load_translator
from limelight.preparation.word_alignment import Words, learn_aligner
from limelight.storage.layout import bundled_models
from limelight.text.words import words_and_signs

GOLD = Path(__file__).parent / "alignments"
MAX_LEARNED = 100_000


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
    print(table(("alignment error rate", *found), rows))
    heads = [each._asdict() for each in translator.alignment_heads]
    write_result("alignment", {"benchmark": "alignment", "machine": describe_machine(), "heads": heads, "rates": found})


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

    single = [[AlignmentHead(each.layer, each.head, each.reads)] for each in aligner.heads]
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
    learned = [Words(list(source), list(target)).lowercased() for source, target in pairs]
    for number, pair in enumerate(read_pairs([text])):
        if number == MAX_LEARNED:
            break
        learned.append(Words(words_and_signs(pair.source), words_and_signs(pair.target)).lowercased())
    found = learn_aligner(learned).align(learned[: len(pairs)])
    return [[(link.source, link.target) for link in links] for links in found]


if __name__ == "__main__":
    typer.run(main)

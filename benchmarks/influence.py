"""What attention of a model explains: weights and contributions of heads against erasure, shares of the source, layers.

    python -m benchmarks.influence

The sentences are those of `benchmarks/alignments` (32 of ours, English to German and French, short and plain), each
with the model's own translation.
"""

from collections import defaultdict
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import typer

from benchmarks.alignment import GOLD, read_alignments
from benchmarks.machine import describe_machine
from benchmarks.output import table, write_result
from limelight.config import Direction
from limelight.evaluation.metrics import corpus_chrf
from limelight.inspection import attention_map
from limelight.inspection.contributions import attention_parts, followed, of_parts
from limelight.inspection.erasure import Rows, erasures, rank_correlation
from limelight.inspection.layers import encoder_lens
from limelight.inspection.words import merge_rows_and_columns
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.storage.layout import bundled_models
from limelight.tokens import Tokenizers

Array = npt.NDArray[np.floating]

THIRDS = ("first third", "second third", "last third")


class Sentence(NamedTuple):
    """What is measured of one sentence, in words; the end and the tag are no words."""

    lost: Array
    """(target words, source words): log-probability that is lost without a source word."""
    weights: Array
    """(layers, heads, target words, source words)"""
    contributions: Array
    ends: tuple[float, float]
    """The mean weight of the source's end, and its mean share of the contributions."""
    shares: Array
    """The share of the source in each target token."""
    read: list[str]
    """The translation after each layer."""


def main(
    model: Annotated[str, typer.Option(help="Run or model folder, or the name of a bundled model.")] = "",
) -> None:
    """Print the tables and write them down."""
    translator = load_translator(model or next(iter(bundled_models().values())))
    found = []
    for path in sorted(GOLD.glob("*.txt")):
        source_lang, target_lang = path.stem.split("-")
        for words, _ in read_alignments(path)[0]:
            text = " ".join(words).replace(" .", ".").replace(" ?", "?").replace(" !", "!").replace(" ,", ",")
            said = translator.translate(text, source_lang=source_lang, target_lang=target_lang, guards=False)
            tokenizers = translator.towards(Direction(source_lang, target_lang))
            found.append(measure(translator, tokenizers, text, said.text))
    result = summary(found)
    print(table(("", "weights", "contributions"), result["correlations"]))
    print(table(("source's end, cross-attention", "share"), result["ends"]))
    print(table(("share of the source", "mean"), result["shares"]))
    print(table(("encoder layers", "chrF to the translation after all"), result["layers"]))
    write_result("influence", {"benchmark": "influence", "machine": describe_machine(), "found": result})


def measure(translator: Translator, tokenizers: Tokenizers, text: str, target: str) -> Sentence:
    """One sentence and its translation."""
    model, source, ids = translator.model, tokenizers.source.encode(text), tokenizers.target.encode(target)
    seen = attention_map(model, tokenizers, text, ids)
    words = [
        [] if piece.startswith("<2") else [word]
        for piece, word in zip(seen.source_pieces, seen.source_words, strict=True)
    ]
    count = seen.source_words[-1]
    drops = erasures(model, Rows(source, ids, words[:-1], count))
    parts = attention_parts(model, source, ids)
    cross = of_parts(parts)["cross"].heads
    merged = merge_rows_and_columns(cross, seen.target_words, seen.source_words)
    lost = np.zeros((seen.target_words[-1], count))
    for token, word in enumerate(seen.target_words[:-1]):
        lost[word] += drops[:, token]
    kept = sorted({word for each in words[:-1] for word in each})
    shares = cross / cross.sum(axis=-1, keepdims=True)
    return Sentence(
        lost[:, kept],
        seen.merge_words().cross[:, :, :-1][..., kept],
        merged[:, :, :-1][..., kept],
        (float(seen.cross[..., :-1, -1].mean()), float(shares[..., :-1, -1].mean())),
        followed(parts).source.sum(axis=1),
        [tokenizers.target.decode(each.ids) for each in encoder_lens(model, source, max_length=2 * len(source) + 10)],
    )


def summary(found: list[Sentence]) -> dict[str, list[tuple[str, ...]]]:
    """The rows of the tables."""
    taus: dict[str, list[list[float]]] = defaultdict(lambda: [[], []])
    for each in found:
        for place, values in enumerate((each.weights, each.contributions)):
            named = {"mean of all heads": values.mean(axis=(0, 1))}
            for layer, head in np.ndindex(*values.shape[:2]):
                named[f"layer {layer}, head {head}"] = values[layer, head]
            for name, one in named.items():
                if (tau := rank_correlation(one, each.lost)) is not None:
                    taus[name][place].append(tau)
    thirds: dict[str, list[float]] = defaultdict(list)
    for each in found:
        for name, part in zip(THIRDS, np.array_split(each.shares[:-1], 3), strict=True):
            thirds[name] += part.tolist()
    last = [each.read[-1] for each in found]
    depths = range(len(found[0].read))
    return {
        "correlations": [(name, *(f"{np.mean(each):.2f}" for each in both)) for name, both in taus.items()],
        "ends": [
            ("weight", f"{np.mean([each.ends[0] for each in found]):.2f}"),
            ("contribution", f"{np.mean([each.ends[1] for each in found]):.2f}"),
        ],
        "shares": [(name, f"{np.mean(values):.2f}") for name, values in thirds.items()],
        "layers": [(str(k), f"{corpus_chrf([each.read[k] for each in found], last).score:.1f}") for k in depths],
    }


if __name__ == "__main__":
    typer.run(main)

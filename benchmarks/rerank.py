"""Length penalties and reranking, on one list of hypotheses for each sentence of the development parts.

    python -m benchmarks.rerank --data DATA

A beam without pruning gives the lists. Each is ranked anew, by other length penalties, and by the mean
log-probability of a hypothesis plus lambda times the mean log-probability of the source, given the hypothesis, in the
reverse direction of the same model. What is best here is chosen on development text alone.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import sacrebleu
import torch
import typer

from benchmarks.box_text import read_part
from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from benchmarks.robustness import DIRECTIONS
from limelight.config import Direction
from limelight.decoding.request import LengthPenalty
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.storage.layout import DEFAULT

ALPHAS, OFFSETS = (0.0, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6), (0.0, 5.0)
LAMBDAS = (0.1, 0.2, 0.3, 0.5, 1.0)
BATCH = 64


class Found(NamedTuple):
    """A hypothesis."""

    text: str
    forward: float
    """Its log-probability."""
    tokens: int
    """With the end."""
    backward: float
    """Mean log-probability of a token of the source, given the hypothesis."""


Lists = Sequence[tuple[str, Sequence[Found]]]
"""Reference and hypotheses of each sentence."""


def main(
    data: Annotated[Path, typer.Option(help="Folder with the text.")],
    model: Annotated[str, typer.Option(help="A model of all four directions.")] = DEFAULT,
    sentences: Annotated[int, typer.Option(help="Of each direction, evenly spread.", min=1)] = 500,
    beam: Annotated[int, typer.Option(help="Hypotheses of each.", min=1)] = 8,
    results: Annotated[Path, typer.Option(help="Folder for rerank.json.")] = RESULTS,
) -> None:
    """Search, rank anew, print, write down."""
    translator = load_translator(model)
    lists = {each: _lists(translator, data, each, sentences, beam) for each in DIRECTIONS}
    rows: list[tuple[Any, ...]] = []
    for offset in OFFSETS:
        for alpha in ALPHAS:
            rows.append(_row(f"alpha {alpha:g}, k {offset:g}", lists, by_length(alpha, offset)))
    rows += [_row(f"mean, lambda {weight:g}", lists, by_both(weight)) for weight in LAMBDAS]
    printed = table(("ranked by", *("-".join(each) for each in DIRECTIONS), "mean"), rows)
    result = {
        "benchmark": "length penalties and reranking",
        "command": f"python -m benchmarks.rerank --data DATA --sentences {sentences} --beam {beam}",
        "machine": describe_machine(),
        "bleu": {name: values for name, *values in rows},
        "table": printed,
    }
    write_result("rerank", result, folder=results)
    print(printed)


def by_length(alpha: float, offset: float) -> Callable[[Found], float]:
    """The score of a search with this length penalty."""
    penalty = LengthPenalty(alpha, offset)
    return lambda found: found.forward / penalty.at(float(found.tokens))


def by_both(weight: float) -> Callable[[Found], float]:
    """Mean log-probability forward, and so many times that backward."""
    return lambda found: found.forward / found.tokens + weight * found.backward


def bleu(lists: Lists, score: Callable[[Found], float]) -> float:
    """Of the best of each list; of equal ones the first."""
    chosen = [max(found, key=score).text for _, found in lists]
    return float(sacrebleu.corpus_bleu(chosen, [[reference for reference, _ in lists]]).score)


def _row(name: str, lists: dict[tuple[str, str], Lists], score: Callable[[Found], float]) -> tuple[Any, ...]:
    scores = [bleu(each, score) for each in lists.values()]
    return name, *(round(each, 2) for each in (*scores, sum(scores) / len(scores)))


def _lists(translator: Translator, data: Path, direction: tuple[str, str], count: int, beam: int) -> Lists:
    pairs = read_part(data, "tatoeba", "dev", direction)
    pairs = [pairs[row] for row in np.linspace(0, len(pairs) - 1, min(count, len(pairs))).astype(int)]
    found = translator.translate(
        [pair.source for pair in pairs],
        source_lang=direction[0],
        target_lang=direction[1],
        guards=False,
        lines=True,
        beam_size=beam,
        n_best=beam,
    )
    flat = [(pair.source, each) for pair, one in zip(pairs, found, strict=True) for each in (one, *one.alternatives)]
    scores = iter(backward(translator, [(each.text, source) for source, each in flat], Direction(*direction[::-1])))
    lists = []
    for pair, one in zip(pairs, found, strict=True):
        each = [
            Found(other.text, other.log_probability, len(other.tokens) + 1, next(scores))
            for other in (one, *one.alternatives)
        ]
        lists.append((pair.target, each))
    return lists


@torch.inference_mode()
def backward(translator: Translator, pairs: Sequence[tuple[str, str]], direction: Direction) -> list[float]:
    """The mean log-probability of each target's tokens and end, given its source, in this direction."""
    tokenizers, model = translator.towards(direction), translator.model
    sources = tokenizers.source.encode_batch([source for source, _ in pairs])
    targets = tokenizers.target.encode_batch([target for _, target in pairs])
    means = [0.0] * len(pairs)
    order = sorted(range(len(pairs)), key=lambda place: len(sources[place]) + len(targets[place]))
    for first in range(0, len(order), BATCH):
        some = order[first : first + BATCH]
        batch = model.batch([sources[place] for place in some], [targets[place] for place in some])
        scores = model.project(model(batch)).log_softmax(dim=-1)
        gained = scores.gather(-1, batch.target_out.clamp(max=scores.shape[-1] - 1)[..., None])[..., 0]
        sums = (gained * batch.target_valid).sum(dim=1) / batch.target_valid.sum(dim=1)
        for place, mean in zip(some, sums.tolist(), strict=True):
            means[place] = mean
    return means


if __name__ == "__main__":
    typer.run(main)

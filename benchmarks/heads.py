"""Models with fewer heads in each attention: size, BLEU, and CPU time of greedy search.

    limelight heads --model tatoeba-en-de-fr --test en-de=DATA/tatoeba/en-de.test.tsv.gz \\
        en-fr=DATA/tatoeba/en-fr.test.tsv.gz --sentences 150 -o heads
    python -m benchmarks.heads --scores heads/heads.json --text DATA/tatoeba

The heads that are kept are those whose removal costs most by the first command. Nothing is trained further.
"""

import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import table, write_result
from limelight.evaluation.metrics import corpus_bleu
from limelight.formats import read_pairs
from limelight.interop import export_limelight, least_needed, prune_model
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.storage.layout import WEIGHTS, bundled_models
from limelight.storage.model import load_model
from limelight.text.pair import Pair

EVERY = 5
"""One in so many pairs of the test set is translated."""
ROUNDS = 5


def main(
    scores: Annotated[Path, typer.Option(help="heads.json of `limelight heads` for the model.")],
    text: Annotated[Path, typer.Option(help="Folder with en-de.test.tsv.gz.")],
    model: Annotated[str, typer.Option(help="Run or model folder, or the name of a bundled model.")] = "",
) -> None:
    """Print the table and write it down."""
    pairs = list(read_pairs([text / "en-de.test.tsv.gz"]))[::EVERY]
    stored = load_model(model or next(iter(bundled_models().values())))
    most = stored.config.model.heads  # type: ignore[attr-defined]  # of a Transformer
    with tempfile.TemporaryDirectory() as place:
        folders = {}
        for keep in range(most, 1, -1):
            smaller, places = prune_model(stored, least_needed(scores, stored, keep))
            folders[keep] = Path(place, str(keep))
            export_limelight(smaller, folders[keep], form="int8", places=places)
        found = compared({keep: load_translator(folder) for keep, folder in folders.items()}, pairs)
        sizes = {keep: folder.joinpath(WEIGHTS).stat().st_size for keep, folder in folders.items()}
    rows = [
        (str(keep), f"{sizes[keep] / 1e6:.1f}", f"{bleu:.1f}", f"{1e6 * seconds:.0f}")
        for keep, (bleu, seconds) in found.items()
    ]
    print(table(("heads of each attention", "MB", "BLEU", "CPU microseconds per token"), rows))
    write_result("heads", {"benchmark": "heads", "machine": describe_machine(), "pairs": len(pairs), "rows": rows})


def compared(translators: dict[int, Translator], pairs: list[Pair]) -> dict[int, tuple[float, float]]:
    """BLEU with the model's own search, and the CPU seconds for each token of a greedy search: the least of some
    rounds, in which the models take turns."""
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    found = {}
    for keep, each in translators.items():
        said = each.translate(sources, source_lang="en", target_lang="de", guards=False)
        found[keep] = corpus_bleu([one.text for one in said], references).score
    best = dict.fromkeys(translators, float("inf"))
    for _ in range(ROUNDS):
        for keep, each in translators.items():
            started = time.process_time()
            said = each.translate(sources, source_lang="en", target_lang="de", guards=False, beam_size=1)
            spent = time.process_time() - started
            best[keep] = min(best[keep], spent / sum(len(one.tokens) + 1 for one in said))
    return {keep: (found[keep], best[keep]) for keep in translators}


if __name__ == "__main__":
    typer.run(main)

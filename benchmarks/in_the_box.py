"""The bundled model, made anew: one model for all directions of English, German and French, and its card.

    python -m benchmarks.in_the_box --data DATA --out runs/box

DATA is described in `benchmarks/box_text.py`; `newstest2014/newstest2014.{en,de}.gz` is only measured with. The run
begins with the weights of the bundled model, whose vocabulary is extended first. A run that is there already is
resumed, or only measured where it has nothing left to do. What the package ships is its last weights in int8, and is
measured so. Figures are printed and written to `benchmarks/results/in-the-box.json`;
sentences of the text are only printed.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.box_card import write_card
from benchmarks.box_checks import SAMPLES as OWN_TEXT
from benchmarks.box_checks import letters_table, names_table
from benchmarks.box_text import (
    OWN_TRIPLES,
    PARTS,
    PHRASES,
    REGISTERS,
    TRIPLES,
    corpora,
    is_dev,
    name_lists,
    pairs_of,
    path_of,
    prepare_text,
)
from benchmarks.common import RESULTS, describe_machine, table, write_result
from benchmarks.robustness import DIRECTIONS, faults, read_inputs
from limelight.config import Direction, RunConfig, dump_config, load_config, override
from limelight.evaluation import Evaluation, evaluate
from limelight.evaluation.confidence import MIN_PAIRS
from limelight.files import remove
from limelight.formats import read_lines, read_pairs
from limelight.interop import export_limelight
from limelight.memory import hold_memory_for_work
from limelight.models.families import count_parameters
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.preparation.hold_out import text_hash
from limelight.preparation.replay import GeneralText, general_corpora, write_general
from limelight.preparation.shortlist import share_detector
from limelight.storage.layout import CARD, CONFIG, bundled_models, find_snapshots
from limelight.storage.model import extend_model, load_model, save_model
from limelight.text.kept_signs import SIGNS
from limelight.text.pair import Pair
from limelight.tokens.extend import extend_tokenizers
from limelight.training.complete import learn_alignment, learn_confidence
from limelight.training.parent import read_parent
from limelight.training.run import train

NAME = "tatoeba-en-de-fr"
NEWS = "newstest2014"
AIMS = {
    "tatoeba": {"en-de": 39.5, "en-fr": 44.3, "de-en": 49.1, "fr-en": 56.4, "de-fr": 30.0},
    "libreoffice-help": {"en-de": 36.0, "en-fr": 50.0, "de-en": 43.0, "fr-en": 50.7},
    "home-assistant": {"en-de": 48.0, "en-fr": 54.5},
    "python-docs": {"en-fr": 51.5},
    "mozilla": {"en-de": 35.0, "en-fr": 40.0},
    "chromium": {"en-de": 35.0, "en-fr": 40.0},
    "written": {"en-de": 26.0, "en-fr": 31.0, "de-en": 31.0, "fr-en": 34.0, "de-fr": 20.0},
}
"""BLEU of the test parts, set before the training."""
SAMPLES = 20
SETTINGS = (
    "model.dropout=0.0",
    "training.seed=1",
    "training.schedule=cosine",
    "training.learning_rate=8e-4",
    "training.warmup=60",
    "training.validate_every=1000",
    "training.checkpoint_every=50",
    "training.keep_snapshots=1",
    "training.bleu_sentences=100",
    "batching.tokens=8192",
    "training.patience=1000",
    "augmentation.join=0.05",
    "augmentation.placeholders=0.04",
    "augmentation.terms=0.04",
    "augmentation.names=0.6",
    "augmentation.numbers=0.2",
    "augmentation.inserts=0.03",
    "augmentation.same=0.01",
    "augmentation.quotes=0.015",
    "augmentation.lists=0.015",
    "augmentation.bare=0.05",
    "augmentation.lowercase=0.04",
    "augmentation.uppercase=0.1",
    "augmentation.titlecase=0.04",
    "augmentation.typos=0.03",
    "augmentation.decimals=0.03",
    "augmentation.signs=0.04",
    "augmentation.emphasis=0.015",
    "augmentation.spaces=0.3",
    "augmentation.figures=0.3",
)
"""What the run sets beside the model that it begins with."""
VOCABULARY = 16_000
REPLAYED, MEASURED = 6_000, 300
"""Triples of the general text for fine-tuning: those that are replayed, and half of those that measure forgetting."""


def main(
    data: Annotated[Path, typer.Option(help="Folder with the text.")],
    out: Annotated[Path, typer.Option(help="Folder for the run and the model to ship.")],
    updates: Annotated[int, typer.Option(help="Updates in all.")] = 1_000,
    parent: Annotated[Path | None, typer.Option(help="The model to begin with; the bundled one if not given.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting, section.key=value.")] = None,
    measure_only: Annotated[bool, typer.Option(help="Train nothing: measure the run, or the model, in OUT.")] = False,
) -> None:
    """Train, make it small, measure, print, write down."""
    hold_memory_for_work()
    text, run = out / "text", out / "run"
    prepare_text(data, text)
    if not measure_only:
        begin_with = extended(parent or bundled_models()[NAME], text, out / "start")
        train(configuration(begin_with, data, text, [f"training.max_steps={updates}", *(set_ or [])]), run)
    shipped = smallest(run, out / NAME) if run.exists() else out / NAME
    errors = calibrate(shipped, text)
    align(shipped, text)
    translator = load_translator(shipped)
    tests = tests_of(data, text)
    scores = {key: score(translator, pairs, key[1]) for key, pairs in tests.items()}
    guarded, alone = ({each: _robustness(translator, each, guards=on) for each in DIRECTIONS} for on in (True, False))
    everyday = {direction: found for (name, direction), found in scores.items() if name == REGISTERS[0].folder}
    tables = {
        "counts": _count_table(text),
        "scores": _score_table(scores),
        "lengths": _length_table(everyday),
        "robustness": _robustness_table(guarded),
        "without_guards": _robustness_table(alone),
        "speed": _speed(),
        "names": names_table(translator, DIRECTIONS),
        "letters": letters_table(translator, written(text)),
        "samples": _sample_tables(translator),
        "confidence": table(("direction", "error"), list(errors.items())),
    }
    (shipped / CARD).write_text(write_card(load_model(shipped), NAME, **tables), encoding="utf-8")
    print((shipped / CARD).read_text(encoding="utf-8"))
    for key, found in scores.items():
        _print_samples(", ".join(key), found, tests[key])
    result = _result(shipped, updates, scores, guarded, alone) | {"calibration_error": errors}
    write_result("in-the-box", result, folder=RESULTS)


def extended(parent: Path, text: Path, folder: Path) -> Path:
    """A model of the parent's weights whose vocabulary also has all `SIGNS`, and merges of the text that the parent
    did not see; written once."""
    if not folder.exists():
        stored = load_model(parent)
        new = (
            side
            for register in REGISTERS[1:]
            for languages in register.pairs
            for pair in read_pairs([path_of(text, register, languages, "train")])
            for side in (pair.source, pair.target)
        )
        tokenizer = stored.tokenizers.target
        lacking = set(SIGNS) - set(tokenizer.pieces(range(tokenizer.size)))
        merges = VOCABULARY - tokenizer.padding - len(lacking)
        extension = extend_tokenizers(stored.tokenizers, characters=SIGNS, texts=new, merges=merges)
        model, tokenizers = extend_model(stored, extension), extension.tokenizers
        tokens = stored.config.tokens.model_copy(update={"vocabulary_size": VOCABULARY})
        config = stored.config.model_copy(update={"tokens": tokens, "weights": "fp32"})
        save_model(
            folder, model, tokenizers, config, notes=stored.notes, card=(stored.folder / CARD).read_text("utf-8")
        )
    return folder


def configuration(begin_with: Path, data: Path, text: Path, settings: list[str]) -> RunConfig:
    """The whole run."""
    config = read_parent(str(begin_with))
    parts = {"train": corpora(text, "train"), "valid": corpora(text, "dev"), "both_directions": True}
    new = {
        "data": config.data.model_copy(update=parts),
        "augmentation": config.augmentation.model_copy(update={"name_lists": name_lists(data)}),
    }
    config = config.model_copy(update={**new, "begin_with": str(begin_with), "weights": "fp32"})
    return override(config, [*SETTINGS, *settings])


def written(text: Path) -> Iterator[str]:
    """The lines of letters and prose in the training text, in all languages."""
    for register in REGISTERS:
        if register.folder == TRIPLES:
            for languages, part in product(register.pairs, (PARTS[0], PHRASES)):
                for pair in pairs_of(text, register, part, languages):
                    yield from (pair.source, pair.target)


def smallest(run: Path, folder: Path) -> Path:
    """The model of the run's last update with weights in rows of int8, written anew. Returns `folder`."""
    snapshots = find_snapshots(run)
    if not snapshots:
        raise typer.BadParameter(f"{run} has no snapshot of its last update: train it to its end with this command")
    remove(folder)
    export_limelight(load_model(snapshots[max(snapshots)]), folder, quantization="int8")
    share_detector(run, folder)
    add_general(folder)
    return folder


def add_general(shipped: Path) -> None:
    """The general text that fine-tuning of the bundled model replays and measures, kept as by `limelight learn`."""
    general, config = general_text(), load_config(shipped / CONFIG)
    write_general(shipped, general)
    train = config.data.train + general_corpora(Path(), general)
    changed = config.model_copy(update={"data": config.data.model_copy(update={"train": train})})
    (shipped / CONFIG).write_text(dump_config(changed), encoding="utf-8")


def general_text() -> GeneralText:
    """Of our own triples, each in one direction: some to replay, and some that were not trained on."""
    rows = (line.split("\t") for path in sorted(OWN_TRIPLES.glob("*.tsv")) for line in read_lines(path))
    triples = sorted((row for row in rows if len(set(row)) == 3), key=lambda row: text_hash(row[0]))
    known, unseen = ([row for row in triples if is_dev(row[0]) is new] for new in (False, True))
    parts = {"train": known[:REPLAYED], "valid": unseen[:MEASURED], "test": unseen[MEASURED : 2 * MEASURED]}
    columns = list(permutations(enumerate(("en", "de", "fr")), 2))
    return {
        Direction(source, target): {
            role: [Pair(row[first], row[second]) for row in part[number :: len(columns)]]
            for role, part in parts.items()
        }
        for number, ((first, source), (second, target)) in enumerate(columns)
    }


def calibrate(shipped: Path, text: Path) -> dict[str, float]:
    """Confidence learned from the development parts of all registers, and its errors on the test parts; nothing where
    these are few."""
    parts: list[dict[Direction, list[Pair]]] = [{}, {}]
    for found, part in zip(parts, ("dev", "test"), strict=True):
        for register in REGISTERS:
            for direction in register.directions:
                found.setdefault(Direction(*direction), []).extend(pairs_of(text, register, part, direction))
    if sum(map(len, parts[0].values())) < MIN_PAIRS:
        return {}
    return learn_confidence(load_translator(shipped), parts[0], test=parts[1])[1]


def align(shipped: Path, text: Path) -> None:
    """The heads that align words, chosen on development sentences of the first register."""
    everyday = REGISTERS[0]
    pairs = {Direction(*each): pairs_of(text, everyday, "dev", each) for each in everyday.directions}
    learn_alignment(load_translator(shipped), pairs)


def tests_of(data: Path, text: Path) -> dict[tuple[str, str], list[Pair]]:
    """The test pairs of each register and direction, and of the news."""
    tests = {
        (register.folder, "-".join(direction)): pairs_of(text, register, "test", direction)
        for register in REGISTERS
        for direction in register.directions
    }
    news = [data / NEWS / f"{NEWS}.{language}.gz" for language in ("en", "de")]
    if all(path.exists() for path in news):
        tests |= {(NEWS, "en-de"): list(read_pairs(news)), (NEWS, "de-en"): list(read_pairs(news[::-1]))}
    return tests


def score(translator: Translator, pairs: Sequence[Pair], name: str) -> Evaluation:
    """sacreBLEU of a direction, one row per pair."""
    source, target = name.split("-")
    return evaluate(translator, pairs, direction=Direction(source, target))


def _robustness(translator: Translator, direction: tuple[str, str], *, guards: bool) -> dict[str, tuple[int, int]]:
    """For each category how many inputs have no fault, and how many there are."""
    inputs, (source, target) = read_inputs(*direction), direction
    texts = [each.text for each in inputs]
    outputs = translator.translate(texts, source_lang=source, target_lang=target, guards=guards)
    found: dict[str, tuple[int, int]] = {}
    for each, output in zip(inputs, outputs, strict=True):
        good, count = found.get(each.category, (0, 0))
        found[each.category] = (good + (not faults(each, output.text)), count + 1)
    return found


def _count_table(text: Path) -> str:
    """Pairs of each part."""
    rows = [
        (
            register.folder,
            "-".join(languages),
            register.weight_of(languages),
            *(len(pairs_of(text, register, part, languages)) for part in PARTS),
        )
        for register in REGISTERS
        for languages in register.pairs
    ]
    return table(("text", "languages", "weight", *PARTS), rows)


def _score_table(scores: dict[tuple[str, str], Evaluation]) -> str:
    rows = [
        (
            name,
            direction,
            found.bleu.score,
            AIMS.get(name, {}).get(direction, "-"),
            found.chrf.score,
            found.sentences,
            found.unfinished,
        )
        for (name, direction), found in scores.items()
    ]
    return table(("text", "direction", "BLEU", "aim", "chrF2", "pairs", "without an end"), rows)


def _length_table(scores: dict[str, Evaluation]) -> str:
    """BLEU by words of the source."""
    labels = [bucket.words for bucket in next(iter(scores.values())).by_length]
    rows = [
        (
            direction,
            *(f"{bucket.bleu:.1f} ({bucket.sentences})" if bucket.sentences else "-" for bucket in found.by_length),
        )
        for direction, found in scores.items()
    ]
    return table(("words", *labels), rows)


def _robustness_table(found: dict[tuple[str, str], dict[str, tuple[int, int]]]) -> str:
    """Inputs without a fault, of all."""
    categories = list(dict.fromkeys(name for each in found.values() for name in each))
    rows = [(name, *(f"{each[name][0]}/{each[name][1]}" for each in found.values())) for name in categories]
    return table(("inputs", *("-".join(direction) for direction in found)), rows)


def _sample_tables(translator: Translator) -> str:
    """Sentences of `benchmarks/box_samples`, which are ours, with their translations."""
    found = []
    for path in sorted(OWN_TEXT.glob("*.txt")):
        sources = path.read_text(encoding="utf-8").splitlines()
        columns = [
            [each.text for each in translator.translate(sources, source_lang="en", target_lang=target, lines=True)]
            for target in ("de", "fr")
        ]
        rows = [[cell.replace("|", "\\|") for cell in row] for row in zip(sources, *columns, strict=True)]
        found.append(f"{path.stem}:\n\n{table(('English', 'German', 'French'), rows)}")
    return "\n\n".join(found)


def _speed() -> str:
    """What `benchmarks.latency` wrote last."""
    path = RESULTS / "latency.json"
    if not path.exists():
        return "Not measured here: `python -m benchmarks.latency`."
    found = json.loads(path.read_text(encoding="utf-8"))
    machine = found["machine"]
    where = f"{machine['processor']}, {machine['threads']} threads, load {machine['load']:.1f}"
    return f"One short sentence (`{found['command']}`; {where}):\n\n{found['table']}"


def _print_samples(name: str, found: Evaluation, pairs: Sequence[Pair]) -> None:
    """Evenly spread over the test set, so that nobody picked them."""
    print(f"\n{name}: {SAMPLES} evenly spread of {len(pairs):,}")
    for row in np.linspace(0, len(pairs) - 1, SAMPLES).astype(int):
        print(f"  {pairs[row].source}\n    {found.translations[row]}\n    ({pairs[row].target})")


def _result(
    shipped: Path,
    updates: int,
    scores: dict[tuple[str, str], Evaluation],
    guarded: dict[tuple[str, str], dict[str, tuple[int, int]]],
    alone: dict[tuple[str, str], dict[str, tuple[int, int]]],
) -> dict[str, Any]:
    stored = load_model(shipped)
    return {
        "benchmark": "the bundled model",
        "updates_in_all": updates,
        "parameters": count_parameters(stored.model),
        "bytes": sum(path.stat().st_size for path in shipped.rglob("*") if path.is_file()),
        "weights": stored.notes,
        "machine": describe_machine(),
        "scores": {f"{name} {direction}": found.to_dict() for (name, direction), found in scores.items()},
        "robustness": {"-".join(direction): found for direction, found in guarded.items()},
        "robustness_without_guards": {"-".join(direction): found for direction, found in alone.items()},
    }


if __name__ == "__main__":
    typer.run(main)

"""General text for a run that begins with another model: pairs that are replayed, so that the model does not forget
them, and held-out pairs that measure what it forgets.

They come from the files that the user names (`data.general`), or from what the folder of the parent model keeps: the
training and validation text of a run, or the general text of a fine-tuned model. A run stores its own copy, so neither
is needed later. Pairs are chosen by a hash of their source or by a fixed seed: equal starts choose the same ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import starmap
from pathlib import Path

import numpy as np

from limelight.batching.store import open_store
from limelight.config import (
    UNNAMED,
    Corpus,
    DataConfig,
    Direction,
    RunConfig,
    directions_of,
    fitting_directions,
    has_tags,
    load_config,
    trained_directions,
)
from limelight.errors import UserError
from limelight.files import remove, whole_folder
from limelight.formats import read_pairs
from limelight.preparation.hold_out import first_by_hash, write_tsv
from limelight.preparation.kept import DATA, Say, kept_valid
from limelight.preparation.pairs import cleaned
from limelight.preparation.read import REPLAY, has_text, new_corpora, pairs_of, silently
from limelight.storage.layout import CONFIG, find_model
from limelight.text.pair import Pair

GENERAL = "general"
"""The folder with the general text, in a run and in a model that `limelight learn` writes."""
ROLES = ("train", "valid", "test")
MEASURED = 300
"""Half the number of pairs, of all directions together, that choose and measure the model at the end."""
MIN_REPLAYED, MAX_REPLAYED = 6000, 50_000
"""Pairs to replay from, if there are as many. An epoch draws as many as it should."""
MIN_PAIRS = 40
"""Minimum number of pairs of a direction: of fewer nothing can be measured."""
MAX_CHARACTERS = 500
"""Longer texts are not used, since measuring takes time."""
_is_usable = partial(has_text, max_characters=MAX_CHARACTERS)
HELD_OUT_SHARE = 16
"""If there is no validation text, one of this many pairs of the new text is held out for it, and one for tests."""
EPOCHS = 3
"""Epochs of a run that is given no bound, or more if these have few updates. It may end earlier, when the new text
stops gaining."""
TOKENS = 30
"""Estimated tokens of a pair, padding included."""
MIN_UPDATES = 400
MIN_HELD_OUT, MAX_HELD_OUT = 10, 250

Text = dict[Direction, list[Pair]]
"""The pairs of each direction."""
Part = tuple[Direction, Iterable[Pair], bool]
"""A direction, its pairs, and whether they are also for the opposite direction."""
GeneralText = dict[Direction, dict[str, list[Pair]]]
"""For each direction the pairs of each role."""


def plan_replay(config: RunConfig, run: Path) -> RunConfig:
    """The configuration with the corpora that `make_replay` will write, and with held-out text and a number of updates
    if none is given. An existing run keeps its own.

    Raises `UserError` as reading the text does, and for general text that is not in a direction of the model.
    """
    data, training = config.data, config.training
    if not (data.replay and config.begin_with and config.learns == "pairs" and data.train):
        return config
    new = new_corpora(data)
    changed: dict[str, object] = {}
    if (run / CONFIG).exists() and (begun := load_config(run / CONFIG)).begin_with == config.begin_with:
        stored = begun.data
        replayed = tuple(corpus for corpus in stored.train if corpus.tag == REPLAY)
        changed = {"train": new + replayed, "replay": stored.replay and data.replay}
        if not data.valid and not data.hold_out:
            changed["hold_out"] = stored.hold_out
        if not training.is_bounded:
            bounds = begun.training.model_dump(include={"max_steps", "max_minutes", "fit_to_budget"})
            training = training.model_copy(update=bounds)
    elif not _continues(config):
        changed = {"replay": 0.0}
    else:
        everything = data.model_copy(update={"hold_out": 0})  # nothing is held out yet
        count, untagged = 0, Counter[Direction]()
        for corpus in new:
            pairs = sum(1 for _ in cleaned(everything, [corpus]))
            count += pairs
            if not corpus.tag:
                untagged[corpus.direction] += pairs
        fewest = min(untagged.values(), default=0)
        general = _general_text(config, count)
        wanted = max(1, round(data.replay * count))
        available = sum(len(roles["train"]) for roles in general.values())
        changed["train"] = new + general_corpora(run, general, min(1.0, wanted / max(1, available)))
        if not data.valid and not data.hold_out and fewest >= MIN_PAIRS:
            changed["hold_out"] = max(MIN_HELD_OUT, min(MAX_HELD_OUT, fewest // HELD_OUT_SHARE))
        if not training.is_bounded:
            epoch = TOKENS * (count + min(wanted, available)) / (config.batching.tokens * training.accumulate)
            training = training.model_copy(update={"max_steps": max(MIN_UPDATES, round(EPOCHS * epoch))})
    return config.model_copy(update={"data": data.model_copy(update=changed), "training": training})


def make_replay(config: RunConfig, run: Path, say: Say) -> None:
    """Write the general text of a run that has not begun."""
    remove(run / GENERAL)  # of a start with other settings
    new = new_corpora(config.data)
    if len(new) == len(config.data.train):
        if config.data.replay and config.begin_with:
            say(
                f"warning: {config.begin_with} keeps nothing of the text that it was trained on, so what it forgets is "
                "not measured, and at most a quarter of what is trained is kept, unless a language is new. --general "
                "FILE names general text, such as everyday sentences, in the same languages; `limelight train --set "
                "data.replay=0` keeps all that is trained"
            )
        return
    general = _general_text(config, sum(1 for _ in cleaned(config.data, new)))
    origin = ", ".join(file for corpus in config.data.general for file in corpus.files) or config.begin_with

    write_general(run, general)
    counts = {role: sum(len(roles[role]) for roles in general.values()) for role in ROLES}
    say(
        f"general text of {origin}: {counts['train']:,} pairs to replay, {counts['valid'] + counts['test']:,} to "
        f"measure what is forgotten, in {run / GENERAL}"
    )


def write_general(run: Path, general: GeneralText) -> None:
    """Write the general text of a run or model folder."""
    with whole_folder(run / GENERAL) as partial:
        for direction, roles in general.items():
            for role, pairs in roles.items():
                write_tsv(partial / _name(role, direction), pairs)


def general_corpora(run: Path, general: GeneralText, weight: float = 1.0) -> tuple[Corpus, ...]:
    """The corpora to replay from, which `write_general` writes."""
    return tuple(
        Corpus(
            files=(str(run / GENERAL / _name("train", direction)),), **direction._asdict(), weight=weight, tag=REPLAY
        )
        for direction in general
    )


def read_general(run: Path, *roles: str) -> Text:
    """The general text for these roles of a run or model folder by direction; empty if it has none.

    Raises `UserError` if a file of it is missing or damaged.
    """
    if not (run / GENERAL).is_dir():
        return {}
    replayed = [corpus.direction for corpus in load_config(run / CONFIG).data.train if corpus.tag == REPLAY]
    return {
        direction: [pair for role in roles for pair in read_pairs([run / GENERAL / _name(role, direction)])]
        for direction in replayed
    }


def _new_directions(data: DataConfig) -> tuple[Direction, ...]:
    """The directions of the new text."""
    return trained_directions(data.model_copy(update={"train": new_corpora(data)}))


def _continues(config: RunConfig) -> bool:
    """Whether the new text is in the direction of the parent, or the parent has several. A model of one direction has
    no language tags, so it cannot keep that direction and learn another one."""
    parent, directions = load_config(find_model(config.begin_with) / CONFIG), _new_directions(config.data)
    return has_tags(parent.data) or (len(directions) == 1 and _is_only(directions[0], directions_of(parent.data)))


def _is_only(direction: Direction, directions: tuple[Direction, ...]) -> bool:
    """Whether a direction is the only one of a model, as far as both are named."""
    return direction == UNNAMED or directions in ((), (UNNAMED,)) or bool(fitting_directions(directions, *direction))


def _name(role: str, direction: Direction) -> str:
    return f"{role}.{direction}.tsv"


def _general_text(config: RunConfig, count: int) -> GeneralText:
    """The general text for `count` pairs of new text: of the named files, or what the parent keeps. If the parent has
    one direction, it is called as in the new text.

    Raises `UserError` if named text has too few pairs.
    """
    model, folder = find_model(config.begin_with), Path(config.begin_with)
    parent, folder = load_config(model / CONFIG), folder if folder.is_dir() else model
    wanted = min(MAX_REPLAYED, max(MIN_REPLAYED, round(config.data.replay * count)))
    if config.data.general:
        text, unseen = by_direction(_of_named_files(config, directions_of(parent.data), wanted)), Text()
        for direction, pairs in text.items():
            if len(pairs) < MIN_PAIRS:
                raise UserError(
                    f"--general: {len(pairs):,} usable pairs for {direction}; give at least {MIN_PAIRS}, better some "
                    "thousands"
                )
    else:
        text = by_direction(_of_training_text(parent, folder, wanted)) or read_general(folder, "train")
        unseen = by_direction(_of_validation_text(parent, folder))
    general = _by_role(text, unseen, wanted)
    if has_tags(parent.data):
        return general
    return dict(zip(_new_directions(config.data), general.values(), strict=False))


def _of_named_files(config: RunConfig, directions: tuple[Direction, ...], wanted: int) -> Iterator[Part]:
    """The pairs of the named files with the smallest hashes; in both directions, if the model has them."""
    for corpus in config.data.general:
        direction = corpus.direction
        if len(directions) == 1 and _is_only(direction, directions):
            direction = directions[0]
        if direction not in directions:
            raise UserError(
                f"--general {' '.join(corpus.files)}: text for {direction}, which is not a direction of "
                f"{config.begin_with}: {', '.join(map(str, directions))}; name its languages: --general en-de=FILE"
            )
        pairs = filter(_is_usable, pairs_of(corpus, silently))
        yield direction, first_by_hash(pairs, wanted + 4 * MEASURED), direction.reversed in directions


def _of_training_text(parent: RunConfig, run: Path, wanted: int) -> Iterator[Part]:
    """Usable pairs of the training text that a run keeps, drawn evenly."""
    for number, corpus in enumerate(parent.data.train):
        folder = run / DATA / f"train-{number}"
        if folder.is_dir() and corpus.tag != "bt" and parent.learns == "pairs":
            store = open_store(folder)
            drawn = np.random.default_rng(number).permutation(len(store))[: wanted + 4 * MEASURED]
            pairs = filter(_is_usable, starmap(Pair, store.texts(np.sort(drawn))))
            yield corpus.direction, pairs, parent.data.both_directions


def _of_validation_text(parent: RunConfig, run: Path) -> Iterator[Part]:
    """The usable validation text that a run keeps, with the general text that measured a fine-tuned one."""
    for direction, pairs in read_general(run, "valid", "test").items():
        yield direction, filter(_is_usable, pairs), False
    for corpus, kept in kept_valid(run, parent.data.valid):
        yield corpus.direction, filter(_is_usable, kept), parent.data.both_directions


def by_direction(parts: Iterable[Part]) -> Text:
    """The pairs of each direction; pairs for both directions also with their sides swapped."""
    text: Text = {}
    for direction, pairs, both in parts:
        added = list(pairs)
        text.setdefault(direction, []).extend(added)
        if both:
            swapped = (Pair(pair.target, pair.source, pair.file, pair.line) for pair in added)
            text.setdefault(direction.reversed, []).extend(swapped)
    return text


def _by_role(text: Text, unseen: Text, wanted: int) -> GeneralText:
    """The pairs of each role. Measured are pairs that the parent has not seen, if there are enough; none of their text
    is replayed, in any direction, if there is other text."""
    usable = {direction: first_by_hash(pairs) for direction, pairs in text.items()}
    enough = {direction: pairs for direction, pairs in usable.items() if len(pairs) >= MIN_PAIRS}
    general, held_out = GeneralText(), set[str]()
    for direction, replayed in enough.items():
        measured = first_by_hash(unseen.get(direction, ()))
        count = min(MEASURED // len(enough), len(replayed) // 4)
        if len(measured) < 2 * min(count, MIN_PAIRS):
            measured, replayed = replayed[: 2 * count], replayed[2 * count :]
        measured = measured[: 2 * count]
        general[direction] = {"train": replayed, "valid": measured[::2], "test": measured[1::2]}
        held_out.update(text for pair in measured for text in (pair.source, pair.target))
    for roles in general.values():
        replayed = [pair for pair in roles["train"] if held_out.isdisjoint((pair.source, pair.target))]
        roles["train"] = (replayed or roles["train"])[: max(1, wanted // len(enough))]
    return general

"""The directions of a run: those of its text, and those that it keeps of the model it begins with."""

from collections.abc import Iterator
from pathlib import Path

from limelight.config import UNNAMED as UNNAMED_SIDES
from limelight.config import (
    Corpus,
    Direction,
    RunConfig,
    direction_of,
    directions_of,
    fitting_directions,
    has_tags,
    load_config,
    trained_directions,
)
from limelight.storage.layout import CONFIG, find_model
from limelight.text.readers import names_languages

UNNAMED = Direction(**UNNAMED_SIDES)
"""The direction of a corpus without language names."""


def resolve_directions(config: RunConfig, folder: Path) -> RunConfig:
    """The configuration with the directions of the run in `folder`, so that it describes the model by itself: a corpus
    without language names is in the only direction that is named, and a run keeps those of the model it begins with.

    A model of several directions reads language tags, whatever direction the new text is in. A run that exists keeps
    what it has: its parent may be gone, and an earlier version may have trained it without tags.
    """
    if config.learns != "pairs":
        return config
    there = load_config(folder / CONFIG) if (folder / CONFIG).exists() else None
    inherited: tuple[tuple[str, str], ...] = ()
    if there and there.begin_with == config.begin_with:
        inherited = there.data.inherited
    elif config.begin_with:
        parent = load_config(find_model(config.begin_with) / CONFIG)
        if parent.learns == "pairs" and has_tags(parent.data):
            inherited = tuple((each.source, each.target) for each in directions_of(parent.data))
    data = config.data.model_copy(update={"inherited": inherited})
    if there is None or there.data.train != data.train:
        data = data.model_copy(
            update={"train": _named_alike(data.train), "valid": _named_alike(data.valid, data.train)}
        )
    return config.model_copy(update={"data": data})


def _named_alike(corpora: tuple[Corpus, ...], others: tuple[Corpus, ...] = ()) -> tuple[Corpus, ...]:
    """Corpora without language names get those of the others, if all of these are in one direction: two directions
    would mean two language tags."""
    named = {direction_of(each) for each in (*corpora, *others)} - {UNNAMED}
    if len(named) != 1:
        return corpora
    [(source, target)] = named
    names = {"source": source, "target": target}
    return tuple(each.model_copy(update=names) if direction_of(each) == UNNAMED else each for each in corpora)


def untrained_directions(config: RunConfig) -> tuple[Direction, ...]:
    """The directions that a model keeps of the one it began with, without text of its own."""
    trained = trained_directions(config.data)
    return tuple(each for each in directions_of(config.data) if each not in trained)


def kept_directions(config: RunConfig, parent: RunConfig) -> Iterator[str]:
    """Which directions are kept without training text; whether language tags are new."""
    begin_with, kept = config.begin_with, untrained_directions(config)
    measured = {direction_of(corpus) for corpus in config.data.valid}
    if config.data.both_directions:
        measured |= {direction.reversed for direction in measured}
    if kept:
        blind = [each for each in kept if each not in measured]
        example = (blind or kept)[0]
        unseen = f"; {', '.join(map(str, blind))} not validated either: --valid {example}=FILE measures one"
        yield (
            f"the model keeps the other directions of {begin_with}, which may get worse without training text: "
            f"{', '.join(map(str, kept))} (--train {example}=FILE trains one further{unseen if blind else ''})"
        )
    if has_tags(config.data) and not config.data.inherited and parent.learns == "pairs":
        yield (
            f"warning: {begin_with} has one direction and was trained without language tags, which this run puts "
            "before each source: its first translations are worse than those of that model"
        )


def named_as_in(parent: RunConfig, corpora: tuple[Corpus, ...]) -> tuple[Corpus, ...]:
    """The corpora, with language names of the parent's text: those without any if the parent has one direction;
    otherwise `en` for `en-US`, as each tag is of a name."""
    directions = directions_of(parent.data)
    if not directions or parent.learns != "pairs":
        return corpora
    return tuple(_named_as_in(directions, corpus) for corpus in corpora)


def _named_as_in(directions: tuple[Direction, ...], corpus: Corpus) -> Corpus:
    found = direction_of(corpus)
    if len(directions) == 1 and found == UNNAMED:
        found = directions[0]
    elif len(directions) > 1 and found not in directions and not names_languages(corpus.files):
        fitting = fitting_directions(directions, *found)
        found = fitting[0] if len(fitting) == 1 else found
    return corpus.model_copy(update={"source": found.source, "target": found.target})

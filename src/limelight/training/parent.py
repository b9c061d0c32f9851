"""Runs that begin with the weights and the vocabulary of an existing model, their parent: directions, weights,
settings.

Weights are only meaningful together with the settings they were trained with. With another number of heads, another
normalization or another layout of the sinusoids every weight still fits by name and shape, but the model is useless.
"""

from collections.abc import Iterator
from pathlib import Path

from limelight.config import (
    UNNAMED,
    Corpus,
    Direction,
    RunConfig,
    directions_of,
    fitting_directions,
    has_tags,
    known_languages,
    load_config,
    trained_directions,
)
from limelight.config.files import Difference, describe_differences, differences
from limelight.config.recipes import finetune
from limelight.errors import UserError, shown
from limelight.files import write_whole
from limelight.formats import names_languages
from limelight.models.interface import Model
from limelight.models.transformer.halves import Classifier
from limelight.preparation.kept import Say
from limelight.recipes import find_recipe
from limelight.storage.layout import CONFIG, LABELS, WEIGHTS, find_model, find_start
from limelight.storage.model import read_card
from limelight.storage.weights import named_weights, put_weights, read_numbers
from limelight.text.labels import read_labels


def resolve_directions(config: RunConfig, folder: Path) -> RunConfig:
    """The configuration with the directions of the run in `folder`, so that it describes the model by itself: a corpus
    without language names is in the only direction that is named, and a run keeps the directions of the model it begins
    with.

    A model of several directions reads language tags, whatever direction the new text is in. A run that exists keeps
    what it has: its parent may be gone, and an earlier version may have trained it without tags.
    """
    if config.learns != "pairs":
        return config
    stored = load_config(folder / CONFIG) if (folder / CONFIG).exists() else None
    inherited: tuple[tuple[str, str], ...] = ()
    if stored and stored.begin_with == config.begin_with:
        inherited = stored.data.inherited
    elif config.begin_with:
        parent = read_parent(config.begin_with)
        if parent.data.language_tokens == "both":
            raise UserError(
                f"{config.begin_with}: translations of this model begin with a token for their language, which "
                "training does not know; begin with a Marian model, or train without --from"
            )
        if parent.learns == "pairs" and has_tags(parent.data):
            inherited = directions_of(parent.data)
    data = config.data.model_copy(update={"inherited": inherited})
    if stored is None or stored.data.train != data.train:
        # Two directions would mean two language tags, so what has no name is in the only direction that is named.
        named = {corpus.direction for corpus in (*data.train, *data.valid)} - {UNNAMED}
        data = data.model_copy(
            update={"train": _named_alike(data.train, *named), "valid": _named_alike(data.valid, *named)}
        )
    return config.model_copy(update={"data": data})


def untrained_directions(config: RunConfig) -> tuple[Direction, ...]:
    """The directions that a model keeps of the one it began with, without text of its own."""
    trained = trained_directions(config.data)
    return tuple(direction for direction in directions_of(config.data) if direction not in trained)


def named_as_in(parent: RunConfig, corpora: tuple[Corpus, ...]) -> tuple[Corpus, ...]:
    """The corpora, with language names of the parent's text."""
    return _named_alike(corpora, *(directions_of(parent.data) if parent.learns == "pairs" else ()))


def _named_alike(corpora: tuple[Corpus, ...], *directions: Direction) -> tuple[Corpus, ...]:
    """The corpora with the names of these directions: one without names is in the only direction; with several, in the
    only one that fits, and `en` stands for `en-US`, as each tag is of a name."""

    def named(corpus: Corpus) -> Corpus:
        direction, known = corpus.direction, known_languages(corpus)
        if len(directions) == 1 and direction == UNNAMED:
            direction = directions[0]
        elif len(directions) > 1 and direction not in directions and not (all(known) and names_languages(corpus.files)):
            fitting = fitting_directions(directions, *known)
            direction = fitting[0] if len(fitting) == 1 else direction
        return corpus.model_copy(update={"source": direction.source, "target": direction.target})

    return tuple(map(named, corpora))


PARENT = "parent.md"
"""The card of the model that a run began with, in the run folder."""
HEAD = "output."
"""Prefix of the weights of a classifier's last layer."""


def borrow_weights(model: Model, begin_with: str, say: Say, run: Path) -> None:
    """Copy the weights of another model, or those that the folder `run` has of it with an extended vocabulary, and
    report which weights are new and which are not used.

    A classifier takes the encoder of a masked model, or all but the last layer of a classifier with other labels.
    Raises `UserError` if no weights fit, or one has another shape.
    """
    folder = find_start(begin_with, run)
    theirs = read_numbers(folder / WEIGHTS)
    labels = folder / LABELS
    if isinstance(model, Classifier) and labels.is_file() and read_labels(labels) != model.labels:
        theirs = {name: tensor for name, tensor in theirs.items() if not name.startswith(HEAD)}
        say(f"the labels differ from the labels of {begin_with}: the last layer begins with random weights")
    own = named_weights(model)
    taken = {name: theirs[name] for name in own if name in theirs}
    if not taken:
        raise UserError(f"{begin_with}: none of its weights fits this model; choose the recipe it was trained with")
    put_weights(model, {**own, **taken}, where=str(folder / WEIGHTS))
    lists = {"new are": own.keys() - taken.keys(), "left out are": theirs.keys() - taken.keys()}
    more = [f"; {what} {shown(', '.join(sorted(names)))}" for what, names in lists.items() if names]
    say(f"beginning with {len(taken)} of {len(theirs)} weights of {begin_with}{''.join(more)}")


def keep_parent_card(begin_with: str, folder: Path) -> None:
    """Copy the other model's card into a run folder, for the cards of the run; the model may be removed later."""
    write_whole(folder / PARENT, read_card(find_model(begin_with)))


MAY_DIFFER = {"family", "dropout", "layers", "encoder_layers", "decoder_layers"}
"""Settings of `model` that do not change the function of the weights. Those of layers that are new or left out are
listed when a run begins."""

SHARE_AN_ENCODER = {"transformer", "encoder_only"}
"""Families whose encoders have the same names: a classifier may begin with the encoder of a translation model."""


def read_parent(begin_with: str) -> RunConfig:
    """The configuration of the model in a run or model folder. Raises `UserError` if there is none."""
    return load_config(find_model(begin_with) / CONFIG)


def fitting_recipe(name: str, parent: RunConfig) -> RunConfig:
    """A recipe for a run that begins with a parent, with the parent's vocabulary. Recipe `finetune` also takes the
    parent's model settings; any other recipe has to be compatible (`require_same_function`)."""
    if name == "finetune":
        return finetune(parent)
    recipe = find_recipe(name)
    tokens = parent.tokens.model_copy(update={"sampling": parent.tokens.sampling and recipe.tokens.sampling})
    return recipe.model_copy(update={"tokens": tokens})


def require_same_function(config: RunConfig) -> None:
    """Raise `UserError` that lists every setting that would change the function of the parent's weights, or that
    contradicts its vocabulary."""
    parent = read_parent(config.begin_with)
    faults = list(_model_differences(parent, config))
    if not any(name == "model.family" for name, _, _ in faults):
        old, new = ({"tokens": settings.tokens.model_dump(exclude={"sampling"})} for settings in (parent, config))
        faults += differences(old, new)
    if faults:
        listed = describe_differences(faults)
        raise UserError(
            f"{config.begin_with}: this run begins with its weights and its vocabulary, and these settings contradict "
            f"them: {listed}. Leave them out: without --recipe and --config a run takes them from "
            f"{config.begin_with}. Or train without --from"
        )


def _model_differences(parent: RunConfig, config: RunConfig) -> Iterator[Difference]:
    old, new = parent.model.model_dump(), config.model.model_dump()
    if old["family"] != new["family"] and {old["family"], new["family"]} != SHARE_AN_ENCODER:
        yield "model.family", old["family"], new["family"]
        return
    ignored = set(MAY_DIFFER)
    if new.get("output_bias"):
        ignored |= {"output_bias"}  # a new bias is zero
    if not (parent.data.train and parent.learns == "labels"):
        ignored |= {"pooling"}  # a masked model never used it
    for name in sorted(old.keys() & new.keys() - ignored):
        if old[name] != new[name]:
            yield f"model.{name}", old[name], new[name]


def parent_warnings(config: RunConfig) -> Iterator[str]:
    """What the new model keeps of the parent's directions, and a warning if it gets language tags that the parent
    lacks."""
    if kept := untrained_directions(config):
        yield (
            f"the model keeps the other directions of {config.begin_with}, which may get worse without training text: "
            f"{', '.join(map(str, kept))} ({'--general' if config.data.replay else '--train'} {kept[0]}=FILE "
            "keeps one)"
        )
    if config.data.general and not config.data.replay:
        yield "warning: --general is not used, for this run replays nothing (data.replay=0)"
    if has_tags(config.data) and not config.data.inherited and read_parent(config.begin_with).learns == "pairs":
        yield (
            f"warning: {config.begin_with} has one direction and was trained without language tags, which this run "
            "puts before each source: its first translations are worse than the translations of that model"
        )

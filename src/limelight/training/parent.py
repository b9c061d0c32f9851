"""Which settings a run may change compared with the model it begins with (its parent).

Weights are only meaningful together with the settings they were trained with. With another number of heads, another
normalization or another layout of the sinusoids every weight still fits by name and shape, but the model is useless.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from limelight.config import UNNAMED, ModelConfig, RunConfig, TokensConfig, directions_of, load_config
from limelight.differences import describe_differences
from limelight.errors import UserError
from limelight.recipes import find_recipe
from limelight.recipes.finetune import SAMPLED, finetune
from limelight.storage.layout import CONFIG, find_model
from limelight.training.directions import kept_directions

CHANGE_NOTHING = {"dropout"}
"""Settings of `model` that do not affect the function that a trained model computes."""

LAYERS = {"layers", "encoder_layers", "decoder_layers"}
"""A run may have more or fewer layers: the weights that are new or left out are listed when it begins."""

SHARE_AN_ENCODER = {"transformer", "encoder_only"}
"""Families whose encoders have the same names: a classifier may begin with the encoder of a translation model."""


def read_parent(begin_with: str) -> RunConfig:
    """The configuration of the model in a run or model folder. Raises `UserError` if there is none."""
    return load_config(find_model(begin_with) / CONFIG)


def fitting_recipe(name: str, parent: RunConfig) -> RunConfig:
    """A recipe for a run that begins with a parent, with the parent's vocabulary. Recipe `finetune` also takes the
    parent's model settings; those of any other recipe have to be compatible (`require_same_function`)."""
    if name == "finetune":
        return finetune(parent)
    recipe = find_recipe(name)
    samples = parent.tokens.kind in SAMPLED
    tokens = parent.tokens.model_copy(update={"sampling": recipe.tokens.sampling if samples else 0.0})
    return recipe.model_copy(update={"tokens": tokens})


def require_same_function(config: RunConfig) -> None:
    """Raise `UserError` that lists every setting that would change the function of the parent's weights, or that
    contradicts its vocabulary."""
    parent = read_parent(config.begin_with)
    faults = list(_model_differences(parent, config))
    if not any(name == "model.family" for name, _, _ in faults):
        faults += _vocabulary_differences(parent.tokens, config.tokens)
    if faults:
        listed = describe_differences(faults)
        raise UserError(
            f"{config.begin_with}: this run begins with its weights and its vocabulary, and these settings contradict "
            f"them: {listed}. Leave them out: without --recipe and --config a run takes them from "
            f"{config.begin_with}. Or train without --from"
        )


def _model_differences(parent: RunConfig, config: RunConfig) -> Iterator[tuple[str, Any, Any]]:
    old, new = parent.model, config.model
    if old.family != new.family and {old.family, new.family} != SHARE_AN_ENCODER:
        yield "model.family", old.family, new.family
        return
    before, now = _effective(old), _effective(new)
    for name in sorted(before.keys() & now.keys() - CHANGE_NOTHING - LAYERS - {"family"}):
        if before[name] == now[name] or getattr(old, name) == getattr(new, name):
            continue  # a size that follows from another setting, which is listed, is not listed
        if name == "output_bias" and now[name]:
            continue  # a new bias is zero
        if name == "pooling" and not (parent.data.train and parent.learns == "labels"):
            continue  # what a masked model never used
        yield f"model.{name}", before[name], now[name]


def _effective(model: ModelConfig) -> dict[str, Any]:
    """The settings with derived defaults, without those that this model does not use."""
    values = model.model_dump()
    if "heads" in values:
        values["head_size"] = values["head_size"] or values["d_model"] // values["heads"]
        values["value_size"] = values["value_size"] or values["head_size"]
        if values["positions"] != "sinusoidal":
            del values["sinusoid_layout"]
        if values["positions"] != "learned":
            del values["max_positions"]
    if "score_size" in values:
        values["score_size"] = values["score_size"] or values["hidden"]
    return values


def _vocabulary_differences(old: TokensConfig, new: TokensConfig) -> Iterator[tuple[str, Any, Any]]:
    """Differences of vocabulary settings, except how it was made, and sampling, which only affects training."""
    for name in sorted(TokensConfig.model_fields.keys() - {"sampling"}):
        if getattr(old, name) != getattr(new, name):
            yield f"tokens.{name}", getattr(old, name), getattr(new, name)


def parent_warnings(config: RunConfig) -> Iterator[str]:
    """What the new model keeps of the parent's directions, and warnings: if the parent's weights are rounded, and for
    each direction of the new text that the parent was not trained for."""
    parent = read_parent(config.begin_with)
    yield from kept_directions(config, parent)
    if parent.weights != "fp32":
        yield (
            f"warning: {config.begin_with} keeps its weights in {parent.weights}, which are rounded ones: begin with "
            "the folder they were made from, if there is one"
        )
    known, name = _directions(parent), Path(config.begin_with).name
    if not known:
        return
    trained = ", ".join(f"{source} -> {target}" for source, target in sorted(known))
    for source, target in sorted(_directions(config) - known):
        if (target, source) in known:
            yield (
                f"warning: {name} translates {trained}, and the new text is {source} -> {target}, the other way "
                "round: unless that is what you want, swap --source and --target, or the columns of the file"
            )
        else:
            yield (
                f"warning: {name} translates {trained}, and the new text is {source} -> {target}: its vocabulary was "
                "not made for that, and a new language is cut into many short tokens"
            )


def _directions(config: RunConfig) -> set[tuple[str, str]]:
    """The directions of translation whose languages are named."""
    if config.learns != "pairs":
        return set()
    pairs = {(_plain(source), _plain(target)) for source, target in directions_of(config.data)}
    return {pair for pair in pairs if pair != tuple(UNNAMED.values())}


def _plain(language: str) -> str:
    """`en` for `EN`, `en-US` and `en_GB`."""
    return language.casefold().replace("_", "-").partition("-")[0]

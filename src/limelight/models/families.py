"""The registry of model families (settings, builder and uses of each), and `build_model`.

References to higher levels are strings `module:name`, which the caller resolves. To add a family, add a file with its
settings, model and builder, and a row here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from limelight.config import (
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentConfig,
    TransformerConfig,
)
from limelight.config.models import LearnsFrom, ModelSection
from limelight.errors import UserError
from limelight.models.interface import Model, Seq2Seq
from limelight.models.recurrent.build import build_recurrent
from limelight.models.transformer.build import build_decoder_only, build_encoder_only, build_transformer
from limelight.models.transformer.halves import Classifier, DecoderOnly, MaskedModel
from limelight.tokens import Tokenizers


class Use(NamedTuple):
    """What models that learned from one kind of text are used for. References are `module:name`, see `resolve`.

    Attributes:
        model: the class of these models.
        prepare: from text files to tokens: `(RunConfig, run folder, say) -> Tokenized`.
        task: the training task: `(RunConfig, Tokenized, model) -> Task`.
        pipeline: from stored models to the object that a user calls: `(Sequence[StoredModel], **options)`.
        name: the name of the command that uses the model.
    """

    model: type[Any]
    prepare: str
    task: str
    pipeline: str
    name: str


class Family(NamedTuple):
    """One row of the registry.

    Attributes:
        build: `(settings, source size, target size, labels) -> model` with random weights; sizes count all ids.
        uses: the use for each kind of training text in `settings.learns_from`.
    """

    settings: type[ModelSection]
    build: Callable[[Any, int, int, Sequence[str]], Model]
    uses: Mapping[LearnsFrom, Use]


TRANSLATE = Use(
    Seq2Seq,
    prepare="limelight.preparation.pairs:prepare",
    task="limelight.training.tasks.translation:Translation",
    pipeline="limelight.pipelines.load:make_translator",
    name="translate",
)
GENERATE = Use(
    DecoderOnly,
    prepare="limelight.preparation.plain_text:prepare_text",
    task="limelight.training.tasks.language:LanguageModeling",
    pipeline="limelight.pipelines.generator:make_generator",
    name="generate",
)
FILL = Use(
    MaskedModel,
    prepare="limelight.preparation.plain_text:prepare_text",
    task="limelight.training.tasks.language:Masked",
    pipeline="limelight.pipelines.encoders:make_reader",
    name="fill",
)
CLASSIFY = Use(
    Classifier,
    prepare="limelight.preparation.pairs:prepare",
    task="limelight.training.tasks.language:Labels",
    pipeline="limelight.pipelines.encoders:make_reader",
    name="classify",
)

FAMILIES: tuple[Family, ...] = (
    Family(TransformerConfig, build_transformer, {"pairs": TRANSLATE}),
    Family(RecurrentConfig, build_recurrent, {"pairs": TRANSLATE}),
    Family(DecoderOnlyConfig, build_decoder_only, {"text": GENERATE}),
    Family(EncoderOnlyConfig, build_encoder_only, {"text": FILL, "labels": CLASSIFY}),
)


def family_of(config: ModelConfig) -> Family:
    """The family of these settings. Raises `TypeError` if there is none."""
    for family in FAMILIES:
        if family.settings is type(config):
            return family
    raise TypeError(f"limelight.models.families has no row for {type(config).__name__}")


def use_of(config: ModelConfig, model: Model) -> Use:
    """The use of this model. Raises `TypeError` if its family has none for it."""
    for use in family_of(config).uses.values():
        if isinstance(model, use.model):
            return use
    raise TypeError(f"the family {config.family} has no use for a {type(model).__name__}")


def build_model(config: ModelConfig, tokenizers: Tokenizers, labels: Sequence[str] = ()) -> Model:
    """A new model with random weights (from torch's global generator); a classifier if `labels` are given.

    Raises `UserError` for invalid settings.
    """
    _require_vocabulary(config, tokenizers)
    return family_of(config).build(config, tokenizers.source.size, tokenizers.target.size, labels)


def _require_vocabulary(config: ModelConfig, tokenizers: Tokenizers) -> None:
    """Raises `UserError` if the model needs a joint vocabulary and there are two."""
    if tokenizers.one_vocabulary:
        return
    if "pairs" not in config.learns_from:
        raise UserError(
            f"model.family={config.family} reads source and target as one text and needs one vocabulary; set "
            "tokens.joint=true"
        )
    if getattr(config, "tie", None) == "three-way":
        raise UserError(
            "model.tie=three-way shares one embedding between both languages and needs one vocabulary; "
            "set tokens.joint=true, or model.tie=two-way"
        )


def count_parameters(model: nn.Module) -> int:
    """The number of weights, shared ones counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def choose_device(name: str) -> torch.device:
    """The device of that name: `cpu`, `cuda` (the current GPU), `cuda:N`, `mps`, or `auto`.

    `auto` takes a CUDA GPU if there is one, otherwise the CPU. Apple's GPU (`mps`) has to be asked for by name: nothing
    has been measured on one.

    Raises `UserError` for another name, and for a device that is not there.
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return torch.device("cuda" if gpus else "cpu")
    available = ["cpu", *(["cuda"] if gpus else []), *(f"cuda:{number}" for number in range(gpus))]
    available += ["mps"] if torch.backends.mps.is_available() else []
    if name not in available:
        raise UserError(
            f"device {name}: this machine, or this build of torch, has only {', '.join(available)}; use one of them, "
            "or auto"
        )
    return torch.device(name)

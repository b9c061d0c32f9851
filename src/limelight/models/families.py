"""The families of models, a row for each: what its settings are, who builds it, and what is done with it.

What belongs to higher levels is named as `module:name`; the caller resolves the name. Adding a family is a file
with its settings, its model and its builder, and a row here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from limelight.config import (
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
    TransformerConfig,
)
from limelight.config.models import LearnsFrom, ModelSection
from limelight.models.interface import Model, Seq2Seq
from limelight.models.language_model import LanguageModel
from limelight.models.recurrent.build import build_language_model, build_recurrent
from limelight.models.transformer.build import build_decoder_only, build_encoder_only, build_transformer
from limelight.models.transformer.encoder_only import Classifier, MaskedModel


@dataclass(frozen=True, slots=True)
class Use:
    """What is done with models that have learned from one kind of text. Places are `module:name`, see `resolve`.

    Attributes:
        model: the class of these models.
        prepare: from text files to tokens: `(RunConfig, run folder, say) -> Tokenized`.
        task: what training does: `(RunConfig, Tokenized, model) -> Task`.
        pipeline: from stored models to what a user calls: `(Sequence[StoredModel], **options)`.
        command: the command that uses it; the name of the function is the name of the command.
    """

    model: type[Any]
    prepare: str
    task: str
    pipeline: str
    command: str

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.command.partition(":")[2]


@dataclass(frozen=True, slots=True)
class Family:
    """A row.

    Attributes:
        build: `(settings, source size, target size, labels) -> model` with random weights; sizes count all ids.
        uses: by what is learned from, all of `settings.learns_from`.
    """

    settings: type[ModelSection]
    build: Callable[[Any, int, int, Sequence[str]], Model]
    uses: Mapping[LearnsFrom, Use]

    @property
    def commands(self) -> str:
        """The commands that use these models, for messages."""
        return " or ".join(f"`limelight {use.name}`" for use in self.uses.values())


TRANSLATE = Use(
    Seq2Seq,
    prepare="limelight.preparation.pairs:prepare",
    task="limelight.training.tasks.translation:Translation",
    pipeline="limelight.pipelines.load:make_translator",
    command="limelight.cli.translate:translate",
)
GENERATE = Use(
    LanguageModel,
    prepare="limelight.preparation.plain_text:prepare_text",
    task="limelight.training.tasks.language:LanguageModeling",
    pipeline="limelight.pipelines.load:make_generator",
    command="limelight.cli.generate:generate",
)
FILL = Use(
    MaskedModel,
    prepare="limelight.preparation.plain_text:prepare_text",
    task="limelight.training.tasks.masked:Masked",
    pipeline="limelight.pipelines.load:make_mask_filler",
    command="limelight.cli.fill:fill",
)
CLASSIFY = Use(
    Classifier,
    prepare="limelight.preparation.labels:prepare_labels",
    task="limelight.training.tasks.labels:Labels",
    pipeline="limelight.pipelines.load:make_classifier",
    command="limelight.cli.classify:classify",
)

FAMILIES: tuple[Family, ...] = (
    Family(TransformerConfig, build_transformer, {"pairs": TRANSLATE}),
    Family(RecurrentConfig, build_recurrent, {"pairs": TRANSLATE}),
    Family(DecoderOnlyConfig, build_decoder_only, {"text": GENERATE}),
    Family(RecurrentLanguageModelConfig, build_language_model, {"text": GENERATE}),
    Family(EncoderOnlyConfig, build_encoder_only, {"text": FILL, "labels": CLASSIFY}),
)


def family_of(config: ModelConfig) -> Family:
    """The row of a model's settings. Raises `TypeError` where there is none."""
    for family in FAMILIES:
        if family.settings is type(config):
            return family
    raise TypeError(f"no row of limelight.models.families is for {type(config).__name__}")


def use_of(config: ModelConfig, model: Model) -> Use:
    """What is done with this model. Raises `TypeError` where its family does nothing with it."""
    for use in family_of(config).uses.values():
        if isinstance(model, use.model):
            return use
    raise TypeError(f"the family {config.family} does nothing with a {type(model).__name__}")


def resolve(place: str) -> Any:
    """What `module:name` stands for."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)

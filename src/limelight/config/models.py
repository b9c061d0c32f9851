"""The settings of each model family."""

import hashlib
import sys
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, SerializeAsAny

from limelight.plugins import load_plugins

Width = Annotated[int, Field(ge=1, le=1_000_000)]
Depth = Annotated[int, Field(ge=1, le=100)]
"""Bounds far above practical sizes: a number with too many zeros is refused before memory runs out."""


class Section(BaseModel):
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


SCORES: dict[str, str | type] = {
    "dot": "limelight.attention.scores:Dot",
    "scaled_dot": "limelight.attention.scores:ScaledDot",
    "general": "limelight.attention.scores:General",
    "concat": "limelight.attention.scores:Concat",
    "concat_bias": "limelight.attention.scores:ConcatBias",
    "additive": "limelight.attention.scores:Additive",
}
"""The registry of attention scores: the name in a configuration, and the class, or `module:name`.

`limelight.attention.register_score` adds the class of a plugin; every model with attention can use it.
"""


def _known_score(name: str) -> str:
    if name not in SCORES:
        load_plugins()
    if name not in SCORES:
        raise ValueError(f"must be one of {', '.join(SCORES)}")
    return name


def plugin_of(score: str) -> dict[str, str] | None:
    """The module that registered this score, and the SHA-256 of its file if it has one; None for our own scores."""
    kind = SCORES.get(score)
    if not isinstance(kind, type):
        return None
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    found = {"module": kind.__module__}
    return found | ({"sha256": hashlib.sha256(Path(file).read_bytes()).hexdigest()} if file else {})


ScoreName = Annotated[str, AfterValidator(_known_score)]


FAMILIES: dict[str, "type[ModelSection]"] = {}
"""The settings of each family that has been imported, by name; see also `limelight.models.families`."""

LearnsFrom = Literal["pairs", "labels", "text"]
"""Pairs of texts, texts with labels, or plain text."""


class ModelSection(Section):
    """Base class of the settings of a model family. A subclass with a default for `family` is registered."""

    family: str
    learns_from: ClassVar[tuple[LearnsFrom, ...]]
    """The kinds of training text that models of the family support."""

    @property
    def width(self) -> int:
        """Width of the vectors between layers."""
        raise NotImplementedError

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        family = cls.model_fields["family"].default
        if isinstance(family, str):
            FAMILIES[family] = cls


class _Stack(ModelSection):
    """Settings of all Transformers. Defaults are the base model of Vaswani et al. 2017, table 3."""

    d_model: Width = 512
    heads: Width = 8
    head_size: int | None = Field(None, ge=1, le=1_000_000)
    """Width of one head's queries and keys (d_k in the paper); default: `d_model / heads`."""
    value_size: int | None = Field(None, ge=1, le=1_000_000)
    """Width of one head's values (d_v); default: `head_size`."""
    score: ScoreName = Field("scaled_dot", examples=list(SCORES))
    """The score of every head; inner layers of a score are as wide as a head's queries."""
    d_ff: Width = 2048
    activation: Literal["relu", "gelu", "swish"] = "relu"
    dropout: float = Field(0.1, ge=0, lt=1)
    norm: Literal["post", "pre"] = "post"
    """Layer normalization after each sub-layer as in the paper, or before it."""
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    """`none` is for scores that see positions themselves, and for decoders, whose masks tell them the order."""
    sinusoid_layout: Literal["interleaved", "halves"] = "interleaved"
    """The paper's interleaved sines and cosines, or all sines before all cosines as in Marian."""
    max_positions: Width = 512
    """Number of learned positions; sinusoidal and rotary positions have no bound."""

    @property
    def width(self) -> int:
        return self.d_model


class TransformerConfig(_Stack):
    """Encoder-decoder Transformer (Vaswani et al. 2017)."""

    learns_from: ClassVar[tuple[LearnsFrom, ...]] = ("pairs",)
    family: Literal["transformer"] = "transformer"
    encoder_layers: Depth = 6
    decoder_layers: Depth = 6
    decoder_autoreg: Literal["self-attention", "ssru"] = "self-attention"
    """What reads the target so far, by Marian's name: masked self-attention as in the paper, or a recurrent unit that
    takes the same time at every position (Kim et al. 2019). Rotary positions, and scores that see positions, then order
    the source alone; the unit itself reads the target in order."""
    tie: Literal["three-way", "two-way", "none"] = "three-way"
    """Which of source embedding, target embedding and output projection share one matrix (two-way: the last two)."""
    output_bias: bool = False
    """Add a bias to the logits, as Marian's models do."""


class DecoderOnlyConfig(_Stack):
    """Decoder-only Transformer (Liu et al. 2018; Radford et al. 2018)."""

    learns_from: ClassVar[tuple[LearnsFrom, ...]] = ("text",)
    family: Literal["decoder_only"] = "decoder_only"
    layers: Depth = 6
    tie: bool = True
    """Whether embedding and output projection share one matrix."""


class EncoderOnlyConfig(_Stack):
    """Encoder-only Transformer (Devlin et al. 2019)."""

    learns_from: ClassVar[tuple[LearnsFrom, ...]] = ("text", "labels")
    family: Literal["encoder_only"] = "encoder_only"
    layers: Depth = 6
    pooling: Literal["mean", "first"] = "mean"
    """The text representation of a classifier: the mean over all positions, or the vector of the first."""


class RecurrentConfig(ModelSection):
    """Recurrent encoder-decoder; `wiring` selects the decoder."""

    learns_from: ClassVar[tuple[LearnsFrom, ...]] = ("pairs",)
    family: Literal["recurrent"] = "recurrent"
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    wiring: Literal["fixed", "bahdanau", "luong"] = "bahdanau"
    """`fixed`: the decoder gets only the last encoder state (Sutskever et al. 2014; Cho et al. 2014). `bahdanau`: the
    context is an input of the cell. `luong`: the context is combined with the cell's output, `tanh(W_c [c; h])`."""
    score: ScoreName = Field("additive", examples=list(SCORES))
    score_size: int | None = Field(None, ge=1, le=1_000_000)
    """Width of the hidden layer of `concat` and `additive`; default: `hidden`."""
    input_feeding: bool = True
    """For Luong's wiring: the attentional hidden state is part of the next input (section 3.3)."""
    bidirectional: bool = True
    encoder_layers: Depth = 1
    decoder_layers: Depth = 1
    embedding: Width = 256
    hidden: Width = 512
    dropout: float = Field(0.2, ge=0, lt=1)
    tie: Literal["three-way", "two-way", "none"] = "none"

    @property
    def width(self) -> int:
        return self.hidden


class RecurrentLanguageModelConfig(ModelSection):
    """Recurrent language model (Mikolov et al. 2010)."""

    learns_from: ClassVar[tuple[LearnsFrom, ...]] = ("text",)
    family: Literal["recurrent_language_model"] = "recurrent_language_model"
    cell: Literal["rnn", "gru", "lstm"] = "lstm"
    layers: Depth = 2
    embedding: Width = 256
    hidden: Width = 512
    dropout: float = Field(0.2, ge=0, lt=1)
    tie: bool = False
    """Whether embedding and output projection share one matrix; a linear layer between adapts different widths."""

    @property
    def width(self) -> int:
        return self.hidden


def _of_its_family(value: Any) -> ModelSection:
    """Validate a section as the family that `value` names. A pydantic union would have to list all families here."""
    if isinstance(value, ModelSection):
        return value
    family = value.get("family") if isinstance(value, dict) else None
    if not isinstance(family, str):
        raise ValueError("name the family of the model: " + " or ".join(f"`family: {name}`" for name in FAMILIES))
    if family not in FAMILIES:
        raise ValueError(f"unknown family {family!r}; choose from {', '.join(map(repr, FAMILIES))}")
    return FAMILIES[family].model_validate(value)


ModelConfig = Annotated[SerializeAsAny[ModelSection], PlainValidator(_of_its_family)]
"""The settings of a model of any family."""

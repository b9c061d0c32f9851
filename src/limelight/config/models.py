"""The settings of each model family."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, SerializeAsAny

from limelight.registry import Registry

Width = Annotated[int, Field(ge=1, le=1_000_000)]
Depth = Annotated[int, Field(ge=1, le=100)]
"""Bounds far above practical sizes: a number with too many zeros is refused before memory runs out."""


class Section(BaseModel):
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


SCORES: Registry[Any] = Registry(
    "score",
    {
        "dot": "limelight.attention.scores:Dot",
        "scaled_dot": "limelight.attention.scores:ScaledDot",
        "general": "limelight.attention.scores:General",
        "concat": "limelight.attention.scores:Concat",
        "concat_bias": "limelight.attention.scores:ConcatBias",
        "additive": "limelight.attention.scores:Additive",
        "qk_norm": "limelight.attention.scores:NormalizedDot",
        "local_m": "limelight.attention.local:LocalMonotonic",
        "local_p": "limelight.attention.local:LocalPredictive",
    },
)
"""Attention scores: subclasses of `limelight.attention.Score`, for every model with attention."""

NORMS: Registry[Callable[..., Any]] = Registry(
    "norm_type", {"layer_norm": "torch.nn:LayerNorm", "rms_norm": "limelight.layers.norm:RMSNorm"}
)
"""Normalizations of a Transformer: made from the width."""

FEED_FORWARDS: Registry[Callable[..., Any]] = Registry(
    "feed_forward",
    {"mlp": "limelight.layers.feed_forward:FeedForward", "gated": "limelight.layers.feed_forward:GatedFeedForward"},
)
"""Feed-forward networks of a Transformer: made from (width, inner width, `activation=`, `dropout=`)."""

POSITIONS: Registry[Callable[..., Any]] = Registry(
    "positions",
    {
        "sinusoidal": "limelight.models.transformer.build:sinusoidal",
        "learned": "limelight.models.transformer.build:learned",
        "rotary": "limelight.models.transformer.build:rotary",
        "none": "limelight.models.transformer.build:without_positions",
    },
)
"""Positions of a Transformer: made from its configuration. They are added to embeddings (`forward` and `at`, see
`SinusoidalPositions`), or rotate queries and keys (a subclass of `RotaryPositions`)."""


def _known(registry: Registry[Any]) -> AfterValidator:
    def check(name: str) -> str:
        if not registry.has(name):
            raise ValueError(f"must be one of {', '.join(registry.parts)}, or of a plugin that --plugin FILE names")
        return name

    return AfterValidator(check)


ScoreName = Annotated[str, _known(SCORES)]


FAMILIES: dict[str, "type[ModelSection]"] = {}
"""The settings of each family that has been imported, by name; see also `limelight.models.families`."""

LearnsFrom = Literal["pairs", "labels", "text"]
"""Pairs of texts, texts with labels, or plain text."""


class ModelSection(Section):
    """Base class of the settings of a model family. A subclass with a default for `family` is registered."""

    family: str
    """Name of the family."""
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
    """Width of the vectors between layers."""
    heads: Width = 8
    """Attention heads of each layer."""
    head_size: Width | None = None
    """Width of one head's queries and keys (d_k in the paper); default: `d_model / heads`."""
    value_size: Width | None = None
    """Width of one head's values (d_v); default: `head_size`."""
    score: ScoreName = Field("scaled_dot", examples=list(SCORES.parts))
    """The score of every head; inner layers of a score are as wide as a head's queries."""
    kv_heads: Width | None = None
    """Number of heads of keys and values, which groups of query heads share (Ainslie et al. 2023); default: `heads`."""
    d_ff: Width = 2048
    """Inner width of the feed-forward network."""
    feed_forward: Annotated[str, _known(FEED_FORWARDS)] = Field("mlp", examples=list(FEED_FORWARDS.parts))
    """Two linear layers with an activation as in the paper, or with a gate (Shazeer 2020): SwiGLU is `gated` with the
    activation `swish`."""
    activation: Literal["relu", "gelu", "swish"] = "relu"
    """Activation inside the feed-forward network."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Of embeddings with positions, of outputs of sub-layers, and inside the feed-forward network."""
    norm: Literal["post", "pre"] = "post"
    """Normalization after each sub-layer as in the paper, or before it."""
    norm_type: Annotated[str, _known(NORMS)] = Field("layer_norm", examples=list(NORMS.parts))
    """Layer normalization, or without mean and bias (Zhang and Sennrich 2019)."""
    positions: Annotated[str, _known(POSITIONS)] = Field("sinusoidal", examples=list(POSITIONS.parts))
    """`none` is for scores that see positions themselves, and for decoders, whose masks tell them the order."""
    sinusoid_layout: Literal["interleaved", "halves", "inclusive"] = "interleaved"
    """The paper's interleaved sines and cosines; all sines before all cosines, as in transformers; or these with rates
    that end with 1 / 10000 itself, as in Marian."""
    max_positions: Width = 512
    """Number of learned positions; sinusoidal and rotary positions have no bound."""

    @property
    def width(self) -> int:
        return self.d_model


class TransformerConfig(_Stack):
    """Encoder-decoder Transformer (Vaswani et al. 2017)."""

    learns_from = ("pairs",)
    family: Literal["transformer"] = "transformer"
    """Name of the family."""
    encoder_layers: Depth = 6
    """Layers of the encoder."""
    decoder_layers: Depth = 6
    """Layers of the decoder."""
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

    learns_from = ("text",)
    family: Literal["decoder_only"] = "decoder_only"
    """Name of the family."""
    layers: Depth = 6
    """Number of layers."""
    tie: bool = True
    """Whether embedding and output projection share one matrix."""


class EncoderOnlyConfig(_Stack):
    """Encoder-only Transformer (Devlin et al. 2019)."""

    learns_from = ("text", "labels")
    family: Literal["encoder_only"] = "encoder_only"
    """Name of the family."""
    layers: Depth = 6
    """Number of layers."""
    pooling: Literal["mean", "first"] = "mean"
    """The text representation of a classifier: the mean over all positions, or the vector of the first."""


class RecurrentConfig(ModelSection):
    """Recurrent encoder-decoder; `wiring` selects the decoder."""

    learns_from = ("pairs",)
    family: Literal["recurrent"] = "recurrent"
    """Name of the family."""
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """Cell of encoder and decoder."""
    wiring: Literal["fixed", "bahdanau", "luong"] = "bahdanau"
    """`fixed`: the decoder gets only the last encoder state (Sutskever et al. 2014; Cho et al. 2014). `bahdanau`: the
    context is an input of the cell. `luong`: the context is combined with the cell's output, `tanh(W_c [c; h])`."""
    score: ScoreName = Field("additive", examples=list(SCORES.parts))
    """The score of the attention; not used by `fixed`."""
    score_size: Width | None = None
    """Width of the hidden layer of `concat` and `additive`; default: `hidden`."""
    input_feeding: bool = True
    """For Luong's wiring: the attentional hidden state is part of the next input (section 3.3)."""
    bidirectional: bool = True
    """The encoder reads both ways."""
    encoder_layers: Depth = 1
    """Layers of the encoder."""
    decoder_layers: Depth = 1
    """Layers of the decoder."""
    embedding: Width = 256
    """Width of the embeddings."""
    hidden: Width = 512
    """Width of a state, in each direction."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Of embeddings, of annotations, between layers, and of the features."""
    tie: Literal["three-way", "two-way", "none"] = "none"
    """Which of source embedding, target embedding and output projection share one matrix (two-way: the last two)."""

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

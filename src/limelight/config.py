"""The whole run in one frozen, typed record: what is trained, on what, how.

A recipe is a function that returns a `RunConfig`; `config.yaml` in a run folder is the one that was really used, and is
enough to run it again. Unknown keys are errors that name the nearest known ones; nothing is ever executed on load.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from limelight.errors import UserError
from limelight.untrusted import MOST_YAML, read_plain, read_yaml, shown

Width = Annotated[int, Field(ge=1, le=1_000_000)]
Depth = Annotated[int, Field(ge=1, le=100)]
"""Bounds far above what is trained here: a number with too many zeros is found before memory runs out."""

MOST_FAULTS = 20
"""So many faults of a configuration are told at once."""


class Section(BaseModel):
    """A frozen group of settings that knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)


class Corpus(Section):
    """Parallel text: one file holding both sides, or two files line by line."""

    files: tuple[str, ...] = Field(min_length=1, max_length=2)
    source: str = "source"
    """Language of the source side, for example `en`."""
    target: str = "target"
    """Language of the target side, for example `de`."""
    weight: float = Field(1.0, gt=0)
    """How often the corpus is seen per epoch; 0.5 is a fresh half of it each time, 2 is all of it twice."""


class DataConfig(Section):
    """Which text is read, and which pairs of it training leaves out."""

    train: tuple[Corpus, ...] = ()
    valid: tuple[Corpus, ...] = ()
    on_bad_line: Literal["stop", "skip"] = "stop"
    """What to do with a line that cannot be read: stop with its place, or report and skip it."""
    max_characters: int = Field(2000, ge=1)
    """Pairs with a longer side are left out of training, and counted."""
    max_length_ratio: float = Field(6.0, ge=1)
    """Pairs whose sides differ more in characters are left out (not where both sides are under 20 characters)."""
    drop_duplicates: bool = True
    drop_identical: bool = True
    """Leave out pairs whose sides are the same text: they teach copying."""


class TokensConfig(Section):
    """How text becomes pieces of words."""

    kind: Literal["bpe", "unigram", "wordpiece"] = "bpe"
    vocabulary_size: int | None = Field(None, ge=64)
    """Pieces per vocabulary, padding not counted; chosen from the size of the corpus when not given."""
    joint: bool = True
    """One vocabulary for both languages (needed to tie source and target embeddings)."""
    sampling: float = Field(0.0, ge=0, lt=1)
    """Sub-word sampling in training: the dropout probability of BPE merges (Provilkov et al. 2020), or the smoothing of
    unigram sampling (Kudo 2018). 0 always takes the best segmentation."""
    byte_fallback: bool = True
    """Spell characters the vocabulary does not know in bytes, so that no text is lost."""


class BatchingConfig(Section):
    """How pairs become batches."""

    tokens: int = Field(4096, ge=1)
    """Budget of a batch: rows times the longest target (or source, if that is longer), padding included."""
    max_length: int = Field(256, ge=1)
    """Pairs with more pieces on a side are left out of training, and counted."""
    chunk_pairs: int = Field(100_000, ge=1)
    """Pairs that are shuffled, sampled and sorted together; bounds the memory a corpus of any size needs."""


class TransformerConfig(Section):
    """Vaswani et al. 2017. Defaults are the base model of its table 3."""

    family: Literal["transformer"] = "transformer"
    encoder_layers: Depth = 6
    decoder_layers: Depth = 6
    d_model: Width = 512
    heads: Width = 8
    head_size: int | None = Field(None, ge=1, le=1_000_000)
    """Width of one head's queries, keys and values; `d_model / heads` when not given."""
    d_ff: Width = 2048
    activation: Literal["relu", "gelu", "swish"] = "relu"
    dropout: float = Field(0.1, ge=0, lt=1)
    norm: Literal["post", "pre"] = "post"
    """Layer normalisation after each sub-layer as in the paper, or before it."""
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    sinusoid_layout: Literal["interleaved", "halves"] = "interleaved"
    """The paper's interleaved sines and cosines, or all sines before all cosines as in Marian."""
    max_positions: Width = 512
    """How many learned positions there are; sinusoids and rotary have no bound."""
    tie: Literal["three-way", "two-way", "none"] = "three-way"
    """Which of source embedding, target embedding and output projection are one matrix (two-way: the last two)."""
    output_bias: bool = False
    """A bias for each piece that can be predicted, as Marian's models have one."""


class RecurrentConfig(Section):
    """Encoder-decoder with recurrent cells; the wiring says whose decoder it is."""

    family: Literal["recurrent"] = "recurrent"
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    wiring: Literal["fixed", "bahdanau", "luong"] = "bahdanau"
    """`fixed`: the last encoder state is all the decoder gets (Sutskever et al. 2014; Cho et al. 2014).
    `bahdanau`: the context enters the cell. `luong`: the context meets the output, `tanh(W_c [c; h])`."""
    score: Literal["dot", "scaled_dot", "general", "concat", "concat_bias", "additive"] = "additive"
    score_size: int | None = Field(None, ge=1, le=1_000_000)
    """Width of the hidden layer of `concat` and `additive`; `hidden` when not given."""
    input_feeding: bool = True
    """Luong's wiring: the attentional hidden state is part of the next input (section 3.3)."""
    bidirectional: bool = True
    encoder_layers: Depth = 1
    decoder_layers: Depth = 1
    embedding: Width = 256
    hidden: Width = 512
    dropout: float = Field(0.2, ge=0, lt=1)
    tie: Literal["three-way", "two-way", "none"] = "none"


ModelConfig = Annotated[TransformerConfig | RecurrentConfig, Field(discriminator="family")]


class TrainingConfig(Section):
    """How the weights are found: bounds, schedule, optimizer, validation, checkpoints."""

    seed: int = Field(1, ge=0, le=2**63)
    max_steps: int | None = Field(None, ge=1)
    """Stop after so many updates in all; whichever of the bounds is reached first ends the run."""
    max_minutes: float | None = Field(None, gt=0)
    """Stop after so many minutes of training in all, interruptions not counted."""
    schedule: Literal["paper", "inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    learning_rate: float = Field(1e-3, gt=0)
    """Peak rate; for `paper` the factor before `d_model^-0.5 min(step^-0.5, step warmup^-1.5)`."""
    warmup: int = Field(4000, ge=0)
    """Updates in which the rate rises linearly."""
    decay_steps: int | None = Field(None, ge=1)
    """Updates after which `cosine` reaches its floor; when not given, it does so at the bound of the run, in updates or
    in minutes."""
    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.98, ge=0, lt=1)
    epsilon: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    clip_norm: float = Field(1.0, ge=0)
    """Largest norm of the gradient; 0 does not clip."""
    accumulate: int = Field(1, ge=1)
    """Batches summed into one update."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """`auto` takes bf16 where the hardware multiplies it, fp32 else. Weights are always kept in fp32."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int | None = Field(None, ge=1)
    """CPU threads; all cores when not given."""
    validate_every: int = Field(500, ge=1)
    """Updates between validations."""
    bleu_sentences: int = Field(500, ge=0)
    """Validation sentences that are really translated (greedily) for BLEU; 0 validates by loss alone."""
    best_by: Literal["bleu", "loss"] = "bleu"
    patience: int = Field(10, ge=1)
    """Validations without improvement before the run stops early."""
    checkpoint_every: int = Field(500, ge=1)
    """Updates between checkpoints of the whole training state."""
    keep_checkpoints: int = Field(3, ge=1)
    average: int = Field(5, ge=1)
    """How many snapshots of the weights the final model averages; 1 takes the best one alone."""
    average_of: Literal["last", "best"] = "last"
    """Whether the last snapshots are averaged (as in the paper) or those that validated best."""
    log_every: int = Field(50, ge=1)


class DecodingConfig(Section):
    """Defaults of `translate` for this model; every one can be given anew for a call."""

    beam_size: int = Field(4, ge=1, le=1000)
    length_penalty: float = Field(0.6, ge=0)
    """alpha of Wu et al. 2016, equation 14 without coverage: `((5 + length) / 6)^alpha`; 0 does not normalise."""
    patience: float = Field(1.0, gt=0)
    """A sentence is decided once `patience * beam_size` hypotheses ended (Kasai et al. 2022), or earlier where none
    can get better; a large value waits until none can."""
    max_length_factor: float = Field(1.5, gt=0, le=100)
    """A translation has at most `factor * source pieces + extra` pieces (the paper: source + 50)."""
    max_length_extra: int = Field(20, ge=1, le=1000)


class RunConfig(Section):
    """A whole run; what `config.yaml` holds."""

    recipe: str = "custom"
    """The recipe this run began with, for the model card; every setting it made is below."""
    data: DataConfig = DataConfig()
    tokens: TokensConfig = TokensConfig()
    batching: BatchingConfig = BatchingConfig()
    model: ModelConfig = TransformerConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()
    weights: Literal["fp32", "bf16", "int8"] = "fp32"
    """In which numbers a model folder keeps its weights: training keeps them whole, `limelight export --to limelight`
    makes the smaller forms. A model is searched in the same, if nothing else is said."""


def load_config(path: str | Path) -> RunConfig:
    """Read a `config.yaml`. Raises `UserError` naming file, key, value and bound."""
    try:
        text = read_plain(Path(path), MOST_YAML).decode("utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: cannot read the configuration: {error}") from None
    try:
        values = read_yaml(text)
    except ValueError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise UserError(f"{path}: a configuration is a mapping of sections, this is a {type(values).__name__}")
    return config_from(values, where=str(path))


def save_config(config: RunConfig, path: str | Path) -> None:
    """Write the configuration as YAML, enough to run it again with `load_config`."""
    Path(path).write_text(dump_config(config), encoding="utf-8")


def dump_config(config: RunConfig) -> str:
    """The configuration as YAML, every setting spelled out."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def config_from(values: dict[Any, Any], where: str = "configuration") -> RunConfig:
    """Check plain values against the closed schema. Raises `UserError` that lists the faults, or the first ones."""
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        faults = [shown(_describe(fault), 500) for fault in error.errors()[:MOST_FAULTS]]
        more = error.error_count() - len(faults)
        raise UserError(f"{where}: " + "; ".join(faults) + (f"; and {more} more" if more else "")) from None


def override(config: RunConfig, assignments: Iterable[str]) -> RunConfig:
    """Apply strict `section.key=value` settings, values in YAML (`true`, `0.3`, `null`). Raises `UserError`."""
    values = config.model_dump(mode="json")
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise UserError(f"--set {assignment}: write it as section.key=value, for example training.seed=7")
        section, key = _find(values, name.strip())
        value = _value(text, assignment)
        if section is values["model"] and key == "family" and value != section[key]:
            raise UserError(
                f"--set {assignment}: the recipe's model is a {section[key]}; choose another --recipe instead"
            )
        section[key] = value
    return config_from(values, where="--set")


def known_keys(family: str | None = None) -> list[str]:
    """Every `section.key` there is, for messages; with a family, only those its models have."""
    keys = [
        f"{section}.{key}"
        for section, field in RunConfig.model_fields.items()
        for kind in _sections_in(field.annotation)
        if section != "model" or family in (None, kind.model_fields["family"].default)
        for key in kind.model_fields
    ]
    return list(dict.fromkeys(keys))


def _find(values: dict[str, Any], name: str) -> tuple[dict[str, Any], str]:
    """The section that holds a setting, and its key there."""
    parts = name.split(".")
    section: Any = values
    for depth, part in enumerate(parts):
        place = ".".join(parts[:depth])
        if isinstance(section, list):
            raise UserError(f"--set {name}: {place} is a list; set it as a whole, or in a file given to --config")
        if not isinstance(section, dict):
            raise UserError(f"--set {name}: {place} is one value and has no settings of its own")
        if part not in section:
            raise UserError(f"--set: {_unknown(name, place, list(section), values['model']['family'])}")
        holder, section = section, section[part]
    if isinstance(section, dict):
        raise UserError(f"--set {name}: that is a section; set one of {', '.join(f'{name}.{key}' for key in section)}")
    return holder, parts[-1]


def _value(text: str, assignment: str) -> Any:
    """A value as YAML reads it, but for `1e-3`, which YAML takes for text and a person means as a number."""
    try:
        value = read_yaml(text)
    except ValueError:
        raise UserError(f"--set {assignment}: {text!r} is not a value YAML can read") from None
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _sections_in(annotation: Any) -> list[type[BaseModel]]:
    """The sections a field can hold: one, one of several families, or a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [kind for part in get_args(annotation) for kind in _sections_in(part)]


def _unknown(name: str, place: str, siblings: list[str], family: str | None) -> str:
    """What to say of a setting that does not exist: the near ones in its own section, then its name in another."""
    key = name.removeprefix(f"{place}.").partition(".")[0]
    if place == "model" and name in known_keys():
        return f"{name} is no setting of a {family} model; choose a recipe of the other family"
    options = [f"{place}.{sibling}" if place else sibling for sibling in siblings]
    near = [option for option in options if option.rpartition(".")[2] in difflib.get_close_matches(key, siblings)]
    near = near or [known for known in known_keys(family) if known.endswith(f".{key}")]
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(options)}"
    return f"unknown setting {name}; {hint}"


def _describe(fault: Any) -> str:
    """One fault of the schema in words a person can act on: place, bound, value."""
    loc = list(fault["loc"])
    family = loc.pop(1) if loc[0] == "model" and len(loc) > 2 else None  # the union's tag, not a key of the file
    place = ".".join(str(part) for part in loc)
    if fault["type"] == "extra_forbidden":
        kinds: list[type[BaseModel]] = [RunConfig]
        for part in (part for part in loc[:-1] if isinstance(part, str)):  # numbers count the corpora of a list
            kinds = [inner for kind in kinds for inner in _sections_in(kind.model_fields[part].annotation)]
        here = [kind for kind in kinds if family in (None, getattr(kind.model_fields.get("family"), "default", None))]
        siblings = [key for kind in here for key in kind.model_fields]
        return _unknown(place, place.rpartition(".")[0], siblings, family)
    if fault["type"] == "union_tag_not_found":
        return f"{place}: say which family the model is of, `family: transformer` or `family: recurrent`"
    value = fault["input"]
    said = "" if isinstance(value, dict) else f", not {shown(repr(value))}"
    return f"{place}: {fault['msg'][:1].lower()}{fault['msg'][1:]}{said}"

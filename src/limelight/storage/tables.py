"""Learned tables of a model: language detector and shortlist as tensors; confidence, the attention heads from which
words are aligned, and the roles of all heads as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Json,
    StrictBool,
    StrictInt,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.dataclasses import dataclass

from limelight.errors import UserError, shown
from limelight.files import json_hash, write_whole
from limelight.storage.weights import read_weights, save_weights
from limelight.text.detection import BUCKETS, LanguageDetector
from limelight.tokens import END, UNKNOWN, Tokenizers
from limelight.untrusted import read_plain

MAX_BYTES = 1_000_000
MAX_WEIGHT = 1e6
Weight = Annotated[float, Field(ge=-MAX_WEIGHT, le=MAX_WEIGHT)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[StrictInt, Field(ge=0)]


class Table(BaseModel):
    """A table as JSON, with notes on how it was made. Validators compare it with the model, which the context of a
    validation describes."""

    model_config = ConfigDict(allow_inf_nan=False, frozen=True)

    format: Literal[1] = 1
    notes: dict[str, Any] = {}


Kind = TypeVar("Kind", bound=Table)


def save_table(path: Path, table: Table, notes: Mapping[str, Any]) -> None:
    """Write a table. An `OSError` names the path."""
    write_whole(path, table.model_copy(update={"notes": dict(notes)}).model_dump_json(indent=1) + "\n")


def read_table(path: Path, kind: type[Kind], **model: Any) -> Kind | None:
    """The table in a file; None if there is no file. `model` is what the validator of the table compares it with.

    Raises `UserError` with the path if it is damaged, has another format, or does not fit the model.
    """
    if not path.exists():
        return None
    try:
        return kind.model_validate_json(read_plain(path, MAX_BYTES), context=model)
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: Exception) -> UserError:
    """The error for a file that is not the table of its name, with the first fault."""
    fault = str(error)
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        fault = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return UserError(f"{path}: not the {path.name} of this model: {shown(fault)}")


@dataclass(frozen=True, slots=True)
class Logistic:
    """Logistic regression: `1 / (1 + exp(-(weights . features + bias)))`."""

    weights: tuple[Weight, ...]
    bias: Weight
    least: tuple[Weight, ...] = ()
    """Range of each feature in the training text, from `least` to `greatest`. Features are clamped to it, as weights do
    not extrapolate. Empty in files of earlier versions."""
    greatest: tuple[Weight, ...] = ()

    @model_validator(mode="after")
    def _require_ranges(self) -> Self:
        if len(self.least) != len(self.greatest) or len(self.least) not in (0, len(self.weights)):
            raise ValueError(f"{len(self.least)} and {len(self.greatest)} bounds, expected {len(self.weights)}")
        return self

    def probabilities(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """The probability for each row of features, from 0 to 1."""
        features = np.reshape(rows, (-1, len(self.weights)))
        clamped = np.clip(features, self.least or -math.inf, self.greatest or math.inf)
        logits = clamped @ np.array(self.weights) + self.bias
        probabilities: list[float] = (1 / (1 + np.exp(-logits.clip(-50, 50)))).tolist()
        return probabilities


class Int8Cost(Table):
    """What a search in int8 costs, measured on validation text."""

    bleu: float
    """BLEU in fp32 minus BLEU in int8, greedy."""


class Confidence(Table):
    """Fitted by `evaluation.confidence.fit_examples`; `pipelines/confidence.py` computes the features."""

    sentence: dict[str, Logistic]
    """By direction (`en-de`); the entry "" is for all other directions."""

    @model_validator(mode="after")
    def _require_features(self, info: ValidationInfo) -> Self:
        """The context has the number of `features`."""
        if "" not in self.sentence:
            raise ValueError("the entry for all directions is missing")
        for name, logistic in self.sentence.items():
            if info.context and len(logistic.weights) != info.context["features"]:
                raise ValueError(f"{name!r} has {len(logistic.weights)} weights, expected {info.context['features']}")
        return self

    def of(self, direction: str) -> Logistic:
        """The entry of a direction."""
        return self.sentence.get(direction) or self.sentence[""]


@dataclass(frozen=True)
class AlignmentHead:
    """A head from which words are aligned, and the step at which its weights are taken."""

    layer: Count
    head: Count
    reads: StrictBool
    """Whether its weights are taken at the step that reads a token (see `inspection.word_alignment`)."""


class Heads(Table):
    """The heads from which words are aligned."""

    heads: Annotated[list[AlignmentHead], Field(min_length=1)]

    @model_validator(mode="after")
    def _require_heads(self, info: ValidationInfo) -> Self:
        """The context has `counts`, the number of heads of each attention."""
        for head in self.heads:
            if info.context and head.head >= info.context["counts"].get(f"decoder.{head.layer}.cross", 0):
                raise ValueError(f"layer {head.layer} has no head {head.head}")
        return self


@dataclass(frozen=True)
class Role:
    """What a head does over a corpus (`inspection.head_roles`)."""

    role: str
    value: Share
    """The mean over the sentences, from 0 to 1."""
    deviation: Share
    """The standard deviation between them."""


class Roles(Table):
    """The roles of the heads of a model."""

    sentences: Count
    """Sentences over which they were measured."""
    attentions: dict[str, list[Role]]
    """By the name of their attention (`decoder.0.cross`), one for each head."""

    @model_validator(mode="after")
    def _require_heads(self, info: ValidationInfo) -> Self:
        """The context has `counts`, the number of heads of each attention, and the `known` roles."""
        if not info.context:
            return self
        if {name: len(head_roles) for name, head_roles in self.attentions.items()} != dict(info.context["counts"]):
            raise ValueError("it has other heads than the model")
        for role in (head_role.role for head_roles in self.attentions.values() for head_role in head_roles):
            if role not in info.context["known"]:
                raise ValueError(f"unknown role {role}")
        return self


class _Detector(BaseModel):
    """The notes of a language detector."""

    languages: Json[Annotated[list[str], Field(min_length=2)]]
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    alphabet: str
    other: Annotated[float, Field(le=0)] = -math.inf
    """Files of earlier versions do not have it."""


def save_detector(path: Path, detector: LanguageDetector) -> None:
    """Write a language detector. Raises `RunError` with path and cause if that fails."""
    notes = {
        "languages": json.dumps(detector.languages),
        "temperature": repr(detector.temperature),
        "alphabet": "".join(sorted(detector.alphabet)),
        "other": repr(detector.other),
    }
    save_weights(path, {"scores": torch.from_numpy(detector.scores)}, notes)


def read_detector(path: Path) -> LanguageDetector | None:
    """The detector in a file; None if there is no file. Raises `UserError` with the path if it is damaged."""
    if not path.exists():
        return None
    tensors, notes = _read_tensors(path, "detector of languages", scores=(torch.uint8, 2))
    try:
        values = _Detector.model_validate(notes)
    except ValidationError as error:
        raise _refused(path, error) from None
    numbers, alphabet = np.asarray(tensors["scores"].numpy()), frozenset(values.alphabet)
    if numbers.shape != (len(values.languages), BUCKETS):
        raise UserError(f"{path}: damaged: scores of shape {numbers.shape} for {len(values.languages)} languages")
    return LanguageDetector(tuple(values.languages), numbers, values.temperature, alphabet, values.other)


def _read_tensors(
    path: Path, what: str, **expected: tuple[torch.dtype, int]
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """As `read_weights`; also raises `UserError` for tensors of other names, types or numbers of axes."""
    tensors, notes = read_weights(path, what)
    kinds = {name: (tensor.dtype, tensor.ndim) for name, tensor in tensors.items()}
    if kinds != expected:
        raise UserError(f"{path}: damaged: types and axes of its tensors are {shown(str(kinds))}, expected {expected}")
    return tensors, notes


Ids = npt.NDArray[np.integer]

MAX_CANDIDATES = 256
"""Maximum number of candidates per source token, also in an untrusted file."""

TOTAL_CANDIDATES, MIN_CANDIDATES = 8192, 24
"""Number of candidates for all source tokens of a sentence together, and the minimum for each of them."""


class Shortlist(NamedTuple):
    """Candidate target tokens for each source token.

    Attributes:
        candidates: (source tokens, candidates) target ids, the likeliest first; rows are filled up with the end token.
        always: (tokens,) target ids that are candidates of every sentence. The end token and the unknown token always
            are, and need not be included.
    """

    candidates: Ids
    always: Ids

    def require_fit(self, sources: int, classes: int, where: str) -> None:
        """Raises `UserError`, starting with `where`, unless the shortlist has these numbers of source tokens and
        classes."""
        (rows, width), ids = self.candidates.shape, np.concatenate([[END], self.candidates.ravel(), self.always])
        if rows != sources or not 1 <= width <= MAX_CANDIDATES or not 0 <= ids.min() <= ids.max() < classes:
            raise UserError(
                f"{where}: it is for {rows:,} source tokens with {width:,} candidates and ids from {ids.min()} to "
                f"{ids.max()}; the model has {sources:,} source tokens and ids from 0 to {classes - 1}, and a source "
                f"token has 1 to {MAX_CANDIDATES} candidates"
            )

    def of(self, source: Sequence[int], classes: int) -> npt.NDArray[np.bool_]:
        """(classes,) mask of the candidates of a source: `TOTAL_CANDIDATES` together, at least `MIN_CANDIDATES` per
        token."""
        listed = np.zeros(classes, dtype=bool)
        listed[[END, UNKNOWN]] = True
        listed[self.always] = True
        pieces = np.unique(np.asarray(source, dtype=np.int64))
        per_piece = max(MIN_CANDIDATES, TOTAL_CANDIDATES // max(len(pieces), 1))
        listed[self.candidates[pieces, :per_piece]] = True
        return listed


def save_shortlist(path: Path, shortlist: Shortlist, tokenizers: Tokenizers) -> None:
    """Write a shortlist with the fingerprint of its vocabulary. Raises `RunError` with path and cause if that fails."""
    stored = {name: torch.from_numpy(ids.astype(np.int32)) for name, ids in shortlist._asdict().items()}
    save_weights(path, stored, {"vocabulary": fingerprint(tokenizers)})


def read_shortlist(path: Path, tokenizers: Tokenizers) -> Shortlist:
    """The shortlist in a file. Raises `UserError` with the path if it is missing, damaged, or for other tokenizers."""
    if not path.exists():
        raise UserError(f"{path}: there is no shortlist yet; `limelight shortlist --model RUN` learns it")
    tensors, notes = _read_tensors(path, "shortlist", candidates=(torch.int32, 2), always=(torch.int32, 1))
    shortlist = Shortlist(tensors["candidates"].numpy(), tensors["always"].numpy())
    shortlist.require_fit(tokenizers.source.padding, tokenizers.target.padding, str(path))
    if notes.get("vocabulary") != fingerprint(tokenizers):
        raise UserError(f"{path}: it was learned for another vocabulary; learn it again with `limelight shortlist`")
    return shortlist


def fingerprint(tokenizers: Tokenizers) -> str:
    """SHA-256 of the tokens of both sides in the order of their ids."""
    return json_hash([tokenizer.pieces(range(tokenizer.size)) for tokenizer in tokenizers])

"""The attention weights of a model for one sentence pair or one text: every layer, head and kind.

    weights[layer, head, i, j]: the share of its attention that position i gives to position j; each row sums to one

Rows are queries, columns are keys. A decoder position has two tokens: its input and its prediction. Cross-attention is
labeled with the predicted tokens, self-attention of the decoder with the input tokens. Layers and heads count from 0,
as in `encoder.0.self`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from limelight.errors import UserError, drawable
from limelight.files import write_output
from limelight.inspection.page_data import NAMES, SIDES
from limelight.inspection.standalone import map_page, notebook_frame, require_theme
from limelight.inspection.words import Groups, group_pieces, merge_rows_and_columns

Weights = npt.NDArray[np.float32]
Chosen = int | Sequence[int] | None
"""One number from 0, several, or all."""
KINDS = tuple(NAMES)

TEXTS = ("source_text", "target_text", "model")
"""Fields that maps of earlier versions do not have."""
FORMAT = "limelight.attention"
VERSION = 1
MAX_TITLE = 60
"""Characters of the sentence where a map is printed."""
_TITLES = {
    "cross": "cross attention: predicted target (rows) to source (columns)",
    "encoder_self": "encoder self-attention: source to source",
    "decoder_self": "decoder self-attention: read target to read target",
}


class Link(NamedTuple):
    """A target word and the source word with its largest weight."""

    target: int
    source: int
    weight: float


@dataclass(frozen=True, eq=False, repr=False)
class AttentionMap:
    """The attention weights of one sentence pair. Without attention of a kind, its array has no layers.

    The text of a language model is a target without a source: its S is 0.

    Attributes:
        source_pieces: S tokens, the last one is `</s>`.
        target_pieces: T predicted tokens, the last one is `</s>`.
        read_pieces: T input tokens, the first one is `<s>`.
        source_words, target_words, read_words: for each token the number of its word, from 0.
        encoder_self: (layers, heads, S, S); decoder_self: (layers, heads, T, T) over the input tokens;
        cross: (layers, heads, T, S) from predicted tokens to source tokens. All float32.
        unit: whether a "piece" is a subword or, after `merge_words`, a whole word.
        source_text, target_text: the sentences as text, for titles; "" if unknown.
        model: the name of the model, for titles.
    """

    source_pieces: tuple[str, ...]
    target_pieces: tuple[str, ...]
    read_pieces: tuple[str, ...]
    source_words: Groups
    target_words: Groups
    read_words: Groups
    encoder_self: Weights
    decoder_self: Weights
    cross: Weights
    unit: Literal["piece", "word"] = "piece"
    source_text: str = ""
    target_text: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        for kind in KINDS:
            rows, columns = self.labels(kind)
            shape = getattr(self, kind).shape
            if len(shape) != 4 or shape[2:] != (len(rows), len(columns)):
                raise ValueError(f"{kind} is {shape}, not (layers, heads, {len(rows)}, {len(columns)})")
        for side in ("source", "target", "read"):
            pieces, words = getattr(self, f"{side}_pieces"), getattr(self, f"{side}_words")
            if len(pieces) != len(words) or not {0, 1}.issuperset(np.diff(words)):
                raise ValueError(f"{side}_words must name one word for each of {side}_pieces, in order")
            "".join(pieces)  # raises `TypeError` for anything but text
        "".join((self.source_text, self.target_text, self.model))

    def __repr__(self) -> str:
        """One short line: the sentence and the sizes of each kind."""
        sentence = _caption(self.source_text, self.target_text)[:MAX_TITLE]
        sizes = [f"{kind} {'x'.join(map(str, getattr(self, kind).shape))}" for kind in self.kinds]
        return f"<AttentionMap{f' {sentence!r}' if sentence else ''}: {', '.join(sizes) or 'no attention'}>"

    def _repr_html_(self) -> str:
        """The page of this map in a frame, for notebooks."""
        return notebook_frame(self)

    def to_html(self, path: str | Path, *, theme: str = "dark") -> None:
        """Write the page of this map as one file that works without a server: every head, words or subwords.

        `theme` is `dark` or `light`; it can be changed on the page. The file is written atomically. Raises `UserError`
        for another theme and for a path that cannot be written.
        """
        require_theme(theme)
        write_output(path, map_page(self, theme=theme).encode())

    def to_bertviz(self) -> dict[str, Any]:
        """The arguments of `bertviz.head_view` and `bertviz.model_view`: `head_view(**attention_map.to_bertviz())`.

        BertViz has one list of tokens of the decoder; these are the input tokens, which the rows of cross-attention
        follow by predicting the next one.
        """
        by_kind = {kind: [torch.tensor(layer)[None] for layer in getattr(self, kind)] for kind in self.kinds}
        alone = {"decoder_self": self.read_pieces, "encoder_self": self.source_pieces}
        if len(by_kind) == 1 and (kind := next(iter(by_kind))) in alone:
            return {"attention": by_kind[kind], "tokens": list(alone[kind])}
        tokens = {"encoder_tokens": list(self.source_pieces), "decoder_tokens": list(self.read_pieces)}
        return {f"{kind.removesuffix('_self')}_attention": layers for kind, layers in by_kind.items()} | tokens

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention this model has."""
        return tuple(kind for kind in KINDS if getattr(self, kind).shape[0])

    def labels(self, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels of the rows (queries) and of the columns (keys) of this kind."""
        rows, columns = SIDES[kind]
        return getattr(self, f"{rows}_pieces"), getattr(self, f"{columns}_pieces")

    def may_attend(self, kind: str) -> npt.NDArray[np.bool_]:
        """(rows, columns): True where this kind of attention is permitted. The decoder may not attend to later
        positions."""
        rows, columns = (len(side) for side in self.labels(kind))
        permitted = np.ones((rows, columns), dtype=np.bool_)
        return np.tril(permitted) if kind == "decoder_self" else permitted

    def title(self, kind: str, *, layer: int | None = None, heads: Chosen = None, each: bool = False) -> str:
        """The title of a picture: the sentence and the model if known, the kind, the layers and heads."""
        which = "each layer and head" if each else f"{_mean_name('layer', layer)}, {_mean_name('head', heads)}"
        model = f"model: {drawable(self.model)}" if self.model else ""
        lines = (_caption(self.source_text, self.target_text, between="\n→ "), model, _TITLES[kind], which)
        return "\n".join(filter(None, lines))

    def weights(self, kind: str) -> Weights:
        """All layers and heads of one kind, (layers, heads, rows, columns). Raises `UserError` if there are none."""
        if kind not in self.kinds:
            raise UserError(f"this model has no attention of the kind {kind}; it has {', '.join(self.kinds) or 'none'}")
        return getattr(self, kind)

    def average(self, kind: str, *, layer: int | None = None, heads: Chosen = None) -> Weights:
        """The plain mean over the chosen layers and heads, (rows, columns); rows still sum to one.

        `layer`: one layer from 0, or from the end with -1; None takes the mean over all. `heads`: one, some, or None
        for all. A mean over heads is a summary that the model itself does not compute. Raises `UserError` for an
        unknown kind, layer or head.
        """
        weights = self.weights(kind)
        chosen = weights[_indices("layer", layer, weights.shape[0])][:, _indices("head", heads, weights.shape[1])]
        return chosen.mean(axis=(0, 1), dtype=np.float64).astype(np.float32)

    def merge_words(self) -> "AttentionMap":
        """The map over whole words instead of subwords; merging is idempotent.

        Attention TO a word is the sum over its tokens, attention FROM a word the mean over its tokens, so that rows
        still sum to one.
        """
        changed: dict[str, Any] = {}
        for kind, (rows, columns) in SIDES.items():
            words = getattr(self, f"{rows}_words"), getattr(self, f"{columns}_words")
            changed[kind] = merge_rows_and_columns(getattr(self, kind), *words)
        for side in ("source", "target", "read"):
            pieces = group_pieces(getattr(self, f"{side}_pieces"), getattr(self, f"{side}_words"))
            changed |= {f"{side}_pieces": pieces, f"{side}_words": tuple(range(len(pieces)))}
        return replace(self, unit="word", **changed)

    def alignment(self, *, layer: int | None = None, heads: Chosen = None) -> tuple[Link, ...]:
        """For each target word the source word with the largest averaged cross attention, in whole words.

        Includes `</s>`. Raises `UserError` if the model has no cross-attention.
        """
        weights = self.merge_words().average("cross", layer=layer, heads=heads)
        best = weights.argmax(axis=1)
        return tuple(Link(row, int(column), float(weights[row, column])) for row, column in enumerate(best))

    def to_json(self) -> str:
        """The whole map as JSON text: format, version, tokens, words, and nested lists of weights with 6 digits."""
        values: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        for field in fields(self):
            value = getattr(self, field.name)
            values[field.name] = np.round(value.astype(np.float64), 6).tolist() if field.name in KINDS else value
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "AttentionMap":
        """Read the output of `to_json`. Raises `UserError` for anything else."""
        try:
            values = json.loads(text)
            if (values["format"], values["version"]) != (FORMAT, VERSION):
                raise ValueError(f'it has no "format": "{FORMAT}", "version": {VERSION}')
            known = {field.name: values[field.name] for field in fields(cls) if field.name not in TEXTS}
            known = {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
            sides = {name: len(known[f"{name}_pieces"]) for name in ("source", "target", "read")}
            for kind, (rows, columns) in SIDES.items():
                weights = np.asarray(values[kind], dtype=np.float32)
                known[kind] = weights if weights.size else np.zeros((0, 0, sides[rows], sides[columns]), np.float32)
            return cls(**known, **{name: values.get(name, "") for name in TEXTS})
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"not an attention map, or a damaged one: {type(error).__name__}: {error}") from None


def _caption(source: str, target: str, between: str = " → ") -> str:
    """`source → target`, or the one that is not empty."""
    return between.join(drawable(side) for side in (source, target) if side)


def _mean_name(name: str, wanted: Chosen) -> str:
    """Layers or heads, or the mean over several, in words."""
    if wanted is None:
        return f"mean of all {name}s"
    numbers = np.atleast_1d(wanted).tolist()
    listed = ", ".join(map(str, numbers))
    return f"{name} {listed}" if len(numbers) == 1 else f"mean of {name}s {listed}"


def _indices(name: str, wanted: Chosen, count: int) -> list[int]:
    """The requested indices, validated; all for None."""
    numbers: list[int] = np.atleast_1d(range(count) if wanted is None else wanted).tolist()
    if not numbers:
        raise UserError(f"no {name} is chosen: name at least one from 0 to {count - 1}")
    for index in numbers:
        if not -count <= index < count:
            raise UserError(f"there is no {name} {index}: the model has {count}, they count from 0 to {count - 1}")
    return numbers

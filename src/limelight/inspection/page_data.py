"""A map as the page's JSON, `docs/schema/page-1.json`: tokens with words and places, a thumbnail and the role of every
head, and weights.

Arrays are `{"dtype": "float32" | "uint8", "shape": [...], "data": base64 of little-endian numbers}`; in files also
`int16` numbers that are to be multiplied by a `scale`.
"""

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from limelight.errors import drawable
from limelight.inspection.head_roles import TEXTS, Needed, head_roles
from limelight.inspection.words import START_PIECE, Groups, group_pieces, readable
from limelight.storage.tables import Roles
from limelight.tokens.tokenizer import END_PIECE, SPACE, spelled

Weights = npt.NDArray[np.float32]
JsonObject = dict[str, Any]
"""Values for JSON."""

FORMAT = "limelight.page"
VERSION = 1

THUMBNAIL = 24
"""Maximum rows and columns of a thumbnail."""

SIDES = {"cross": ("target", "source"), "encoder_self": ("source", "source"), "decoder_self": ("read", "read")}
"""The sides whose tokens are the rows (queries) and the columns (keys), in the order of the page."""


Off = Mapping[str, Sequence[int]]
"""Heads that are switched off, by the name of their attention, as in `keep_heads`."""

NAMES = {"encoder_self": "encoder.{}.self", "decoder_self": "decoder.{}.self", "cross": "decoder.{}.cross"}
"""The name of the attention of a layer, by its kind."""


def layers_of(kind: str, names: Collection[str]) -> list[str]:
    """The names of the attentions of a kind, lowest layer first."""
    return [name for depth in range(len(names)) if (name := NAMES[kind].format(depth)) in names]


def page_document(
    attention: Any,
    *,
    every_head: bool = False,
    needed: Needed | None = None,
    off: Off | None = None,
    roles: Roles | None = None,
) -> JsonObject:
    """The document that the page draws of an `AttentionMap` (which imports this module), as values for JSON.

    It has the mean of each kind in float32; with `every_head` also the weights of each head, for a page without a
    server. `needed` is for the role `aligns`, see `head_roles`. The mean is over the heads that are not `off`,
    zero where there are none. `roles` are the roles of the model's heads over a corpus.
    """
    kinds = [name for name in SIDES if name in attention.kinds]
    document: JsonObject = {
        "format": FORMAT,
        "version": VERSION,
        "model": attention.model,
        "unit": attention.unit,
        "sides": {
            "source": page_side(attention.source_pieces, attention.source_words, attention.source_text),
            "target": page_side(attention.target_pieces, attention.target_words, attention.target_text),
            "read": page_side(attention.read_pieces, attention.read_words, attention.target_text),
        },
        "kinds": [_kind(attention, name, needed, off or {}) for name in kinds],
    }
    if roles is not None:
        document["corpus"] = {"sentences": roles.sentences, "roles": {name: _roles(roles, name) for name in kinds}}
    if every_head:
        document["matrices"] = {name: packed(attention.weights(name)) for name in kinds}
    return document


def packed(values: npt.NDArray[Any], dtype: str = "float32") -> JsonObject:
    """An array in the encoding of the page: `dtype` is `float32`, `uint8` or `int16`."""
    little = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"dtype": dtype, "shape": list(values.shape), "data": base64.b64encode(little.tobytes()).decode()}


def thumbnails(weights: Weights) -> npt.NDArray[np.uint8]:
    """(layers, heads, rows, columns) reduced to at most `THUMBNAIL` rows and columns of levels, 0 to 255: the largest
    weight of each block, because a mean would hide single large weights of long sentences."""
    for axis in (2, 3):
        if weights.shape[axis] > THUMBNAIL:
            firsts = np.linspace(0, weights.shape[axis], THUMBNAIL, endpoint=False).astype(np.int64)
            weights = np.maximum.reduceat(weights, firsts, axis=axis)
    return np.rint(weights.clip(0, 1) * 255).astype(np.uint8)


def places(text: str, pieces: Sequence[str]) -> list[tuple[int, int] | None]:
    """Begin and end of each token in its text, in characters; None for tokens that are not in it, such as tags and the
    end."""
    spans: list[tuple[int, int] | None] = []
    behind, is_known = 0, True
    for shown in (readable(piece).strip(SPACE) for piece in spelled(pieces)):
        first = text.find(shown, behind) if shown else -1
        # Only white space is between two tokens of the text: after other text the match would be accidental.
        if first < 0 or (is_known and text[behind:first].strip()):
            spans.append(None)
            is_known = is_known and not shown
        else:
            spans.append((first, behind := first + len(shown)))
            is_known = True
    return spans


def _kind(attention: Any, name: str, needed: Needed | None, off: Off) -> JsonObject:
    weights = attention.weights(name)
    rows, columns = SIDES[name]
    return {
        "name": name,
        "rows": rows,
        "columns": columns,
        "layers": weights.shape[0],
        "heads": weights.shape[1],
        "causal": name == "decoder_self",
        "mean": packed(_mean(attention, name, off)),
        "thumbnails": packed(thumbnails(weights), "uint8"),
        "descriptions": head_roles(weights, name, needed=needed),
    }


def _roles(roles: Roles, kind: str) -> list[list[JsonObject]]:
    """For each layer and head of a kind `{"role", "value", "deviation", "text"}`."""
    return [
        [
            asdict(role) | {"text": f"{TEXTS[role.role]} {role.value:.2f} ± {role.deviation:.2f}"}
            for role in roles.attentions[name]
        ]
        for name in layers_of(kind, roles.attentions)
    ]


def _mean(attention: Any, name: str, off: Off) -> Weights:
    """The mean over the heads that are not off."""
    weights = attention.weights(name)
    kept = np.ones((*weights.shape[:2], 1, 1))
    for layer, heads in enumerate(kept):
        heads[list(off.get(NAMES[name].format(layer), ()))] = 0
    return ((weights * kept).sum(axis=(0, 1)) / max(kept.sum(), 1)).astype(np.float32)


def page_side(pieces: Sequence[str], words: Groups, text: str) -> JsonObject:
    """Tokens and words of one side; the place of a word is from its first token to its last."""
    spans = places(text, pieces)
    tokens = [
        _label(piece, readable(piece), span) | {"piece": drawable(piece), "word": word - words[0]}
        for piece, word, span in zip(pieces, words, spans, strict=True)
    ]
    word_labels = []
    for number, shown in enumerate(group_pieces(pieces, words)):
        members = [position for position, token in enumerate(tokens) if token["word"] == number]
        known = [span for position in members if (span := spans[position]) is not None]
        span = (known[0][0], known[-1][1]) if known else None  # a word-start mark alone has no place
        word_labels.append(_label(pieces[members[0]] if len(members) == 1 else "", shown, span))
    return {"text": drawable(text), "tokens": tokens, "words": word_labels}


def _label(piece: str, shown: str, span: tuple[int, int] | None) -> JsonObject:
    label: JsonObject = {"text": drawable(shown)}
    if role := _role(piece):
        label["role"] = role
    if span is not None:
        label["start"], label["end"] = span
    return label


def _role(piece: str) -> str:
    """The role of a token that does not represent text."""
    if piece in (START_PIECE, END_PIECE):
        return "start" if piece == START_PIECE else "end"
    return "tag" if piece.startswith("<2") and piece.endswith(">") else ""

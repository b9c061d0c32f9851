"""Computing attention maps: of a translation, of the text of a language model, of the text of an encoder."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from limelight.batching.batch import Batch, begun, label_batch, make_blocks
from limelight.decoding.ensemble import Ensemble
from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.page_data import SIDES
from limelight.inspection.probe import attention_of
from limelight.inspection.words import START_PIECE, Groups
from limelight.models.interface import Model, Seq2Seq
from limelight.models.transformer.halves import DecoderOnly, EncoderOnly
from limelight.tokens import Tokenizer, Tokenizers
from limelight.tokens.tokenizer import END_PIECE


class _Side(NamedTuple):
    """Tokens with the number of the word of each."""

    pieces: tuple[str, ...] = ()
    words: Groups = ()


def _side(tokenizer: Tokenizer, ids: Sequence[int], *, start: bool = False, end: bool = False) -> _Side:
    """The tokens, with the start before them or the end after them as words of their own."""
    words = [word + start for word in tokenizer.word_of(ids)]
    after = words[-1] + 1 if words else int(start)
    return _Side(
        (*[START_PIECE] * start, *tokenizer.pieces(ids), *[END_PIECE] * end), (*[0] * start, *words, *[after] * end)
    )


def attention_map(
    model: Seq2Seq,
    tokenizers: Tokenizers,
    source_text: str,
    target_ids: Sequence[int],
    *,
    source_ids: Sequence[int] | None = None,
) -> AttentionMap:
    """The attention map of one source with one target, which may be the model's own or a forced one.

    `target_ids` are without start and end, as returned by a search or by `tokenizers.target.encode(text)`. `source_ids`
    are what a search read of the text, without the end; by default the text is encoded as it is. The
    model is run in evaluation mode, and its mode is restored. Raises `UserError` for an ensemble.
    """
    if source_ids is None:
        source_ids = tokenizers.source.encode(source_text)
    return _map(
        model,
        model.batch([source_ids], [target_ids]),
        source=_side(tokenizers.source, source_ids, end=True),
        target=_side(tokenizers.target, target_ids, end=True),
        read=_side(tokenizers.target, target_ids, start=True),
        source_text=source_text,
        target_text=tokenizers.target.decode(target_ids),
    )


def text_map(model: DecoderOnly, tokenizer: Tokenizer, ids: Sequence[int]) -> AttentionMap:
    """The attention map of a language model for a text from its beginning, of the kind `decoder_self`.

    `ids` are without the end tokens before and after them.
    """
    batch = make_blocks(np.array([[model.start_id, *ids, model.end_id]]))
    target, read = _side(tokenizer, ids, end=True), _side(tokenizer, ids, start=True)
    return _map(model, batch, target=target, read=read, target_text=tokenizer.decode(ids))


def reader_map(model: EncoderOnly, tokenizer: Tokenizer, text: str) -> AttentionMap:
    """The attention map of an encoder-only model for a text between two end tokens, of the kind `encoder_self`."""
    ids = tokenizer.encode(text)
    batch = label_batch([begun(ids)], [0], padding=tokenizer.padding)
    return _map(model, batch, source=_side(tokenizer, ids, start=True, end=True), source_text=text)


def _map(model: Model, batch: Batch, *, source_text: str = "", target_text: str = "", **given: _Side) -> AttentionMap:
    """The map of a batch of size one. The `target` is what is predicted where `read` is read."""
    if isinstance(model, Ensemble):
        raise UserError(
            f"an ensemble of {len(model.members)} models has no attention of its own: use one of them at a time"
        )
    seen = attention_of(model, batch)
    sides = {name: given.get(name, _Side()) for name in ("source", "target", "read")}
    known: dict[str, Any] = {"source_text": source_text, "target_text": target_text}
    for name, side in sides.items():
        known |= {f"{name}_pieces": side.pieces, f"{name}_words": side.words}
    for kind, (rows, columns) in SIDES.items():
        layers = [layer[0].float().cpu().numpy() for layer in seen.layers(kind)]
        empty = np.zeros((0, 0, len(sides[rows].pieces), len(sides[columns].pieces)), dtype=np.float32)
        known[kind] = np.stack(layers) if layers else empty
    return AttentionMap(**known)

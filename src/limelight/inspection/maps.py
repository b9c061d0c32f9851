"""Computing attention maps: of a translation, of the text of a language model, of the text of an encoder."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from limelight.batching.batch import Batch, begun, label_batch, make_blocks
from limelight.decoding.ensemble import Ensemble
from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap, Weights
from limelight.inspection.probe import Seen, probe
from limelight.inspection.words import END_PIECE, START_PIECE, Groups
from limelight.models.interface import LanguageModel, Model, Seq2Seq, eval_mode
from limelight.models.transformer.halves import EncoderOnly
from limelight.tokens import Tokenizer, Tokenizers


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
    model is run in evaluation mode, and its mode is restored. For a language model both are one text (`text_map`): the
    source, its end, and the target. Raises `UserError` for an ensemble.
    """
    if source_ids is None:
        source_ids = tokenizers.source.encode(source_text)
    seen = _seen(model, model.batch([source_ids], [target_ids]))
    source_words = tokenizers.source.word_of(source_ids)
    target_words = tokenizers.target.word_of(target_ids)
    target_pieces = tokenizers.target.pieces(target_ids)
    read_words = (0, *(word + 1 for word in target_words))
    if isinstance(model, LanguageModel):
        words = (*source_words, _next_word(source_words), *(_next_word(source_words) + 1 + word for word in read_words))
        pieces = (*tokenizers.source.pieces(source_ids), END_PIECE, START_PIECE, *target_pieces)
        text = f"{source_text} {tokenizers.target.decode(target_ids)}".strip()
        return _of_one_text(seen, pieces, words, text)
    source_size, target_size = len(source_ids) + 1, len(target_ids) + 1
    return AttentionMap(
        source_pieces=(*tokenizers.source.pieces(source_ids), END_PIECE),
        target_pieces=(*target_pieces, END_PIECE),
        read_pieces=(START_PIECE, *target_pieces),
        source_words=(*source_words, _next_word(source_words)),
        target_words=(*target_words, _next_word(target_words)),
        read_words=read_words,
        encoder_self=_stacked(seen.layers("encoder_self"), source_size, source_size),
        decoder_self=_stacked(seen.layers("decoder_self"), target_size, target_size),
        cross=_stacked(seen.layers("cross"), target_size, source_size),
        source_text=source_text,
        target_text=tokenizers.target.decode(target_ids),
    )


def text_map(model: LanguageModel, tokenizer: Tokenizer, ids: Sequence[int]) -> AttentionMap:
    """The attention map of a language model for a text from its beginning, of the kind `decoder_self`.

    `ids` are without the end tokens before and after them. For a recurrent model, which has no attention, the map is
    empty.
    """
    seen = _seen(model, make_blocks(np.array([[model.start_id, *ids, model.end_id]])))
    words = (0, *(word + 1 for word in tokenizer.word_of(ids)))
    return _of_one_text(seen, (START_PIECE, *tokenizer.pieces(ids)), words, tokenizer.decode(ids))


def reader_map(model: EncoderOnly, tokenizer: Tokenizer, text: str) -> AttentionMap:
    """The attention map of an encoder-only model for a text between two end tokens, of the kind `encoder_self`."""
    ids = tokenizer.encode(text)
    seen = _seen(model, label_batch([begun(ids)], [0], padding=tokenizer.padding))
    words, size = (0, *(word + 1 for word in tokenizer.word_of(ids))), len(ids) + 2
    return AttentionMap(
        source_pieces=(START_PIECE, *tokenizer.pieces(ids), END_PIECE),
        target_pieces=(),
        read_pieces=(),
        source_words=(*words, words[-1] + 1),
        target_words=(),
        read_words=(),
        encoder_self=_stacked(seen.layers("encoder_self"), size, size),
        decoder_self=_stacked([], 0, 0),
        cross=_stacked([], 0, size),
        source_text=text,
    )


def _seen(model: Model, batch: Batch) -> Seen:
    """The weights of a batch."""
    if isinstance(model, Ensemble):
        raise UserError(
            f"an ensemble of {len(model.members)} models has no attention of its own: use one of them at a time"
        )
    with eval_mode(model) as device, probe(model, weights=True) as seen:
        model(batch.to(device))
    return seen


def _of_one_text(seen: Seen, pieces: tuple[str, ...], words: Groups, text: str) -> AttentionMap:
    """The map of a text whose tokens are input; each predicts the next one, and the last one the end."""
    predicted, size = (*words[1:], words[-1] + 1), len(pieces)
    return AttentionMap(
        source_pieces=(),
        target_pieces=(*pieces[1:], END_PIECE),
        read_pieces=pieces,
        source_words=(),
        target_words=tuple(word - predicted[0] for word in predicted),
        read_words=words,
        encoder_self=_stacked([], 0, 0),
        decoder_self=_stacked(seen.layers("decoder_self"), size, size),
        cross=_stacked([], size, 0),
        target_text=text,
    )


def _next_word(words: Sequence[int]) -> int:
    return words[-1] + 1 if words else 0


def _stacked(layers: Sequence[Tensor], rows: int, columns: int) -> Weights:
    """The layers of a batch of size one as (layers, heads, rows, columns)."""
    if not layers:
        return np.zeros((0, 0, rows, columns), dtype=np.float32)
    return np.stack([layer[0].float().cpu().numpy() for layer in layers])

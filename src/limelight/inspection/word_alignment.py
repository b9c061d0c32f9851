"""Word alignments from attention: which source word each target word translates.

The row of cross-attention that PREDICTS a token often attends to what comes next, while the row of the step that READS
the token attends to its translation (Shift-Att, Chen et al. 2020, "Accurate Word Alignment Induction from Neural
Machine Translation", section 3). Only few heads align at all. `choose_heads` finds them without any alignment by hand:
it compares the links of heads in both directions of translation, or, in a model of one direction, with the source words
without which the model fails (`erasure.py`).
"""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt
import torch

from limelight.errors import UserError
from limelight.inspection.erasure import TokenizedPair, erasures
from limelight.inspection.probe import attention_of
from limelight.inspection.words import membership
from limelight.models.interface import Seq2Seq
from limelight.storage.tables import AlignmentHead
from limelight.text.words import is_unspaced
from limelight.tokens import Tokenizers
from limelight.tokens.tokenizer import SPACE, spelled

Weights = npt.NDArray[np.float64]
MIN_GAIN = 0.005
"""A further head has to raise the agreement by so much."""
MAX_HEADS = 4
Span = tuple[int, int]
"""Begin and end in characters."""


def tokenized(tokenizers: Tokenizers, source: Sequence[str], target: Sequence[str]) -> TokenizedPair:
    """Encode two sentences whose words are given."""
    ids, words = [], []
    for tokenizer, side in ((tokenizers.source, source), (tokenizers.target, target)):
        text, spans = joined_words(side)
        ids.append(tokenizer.encode(text))
        words.append(words_of_tokens(tokenizer.pieces(ids[-1]), text, spans))
    return TokenizedPair(ids[0], ids[1], words[0], words[1], (len(source), len(target)))


_CLOSING = frozenset(".,!?;:)]}%…»”’。，！？；：")
_OPENING = frozenset("([{«“„¿¡#$")


def joined_words(words: Sequence[str]) -> tuple[str, list[Span]]:
    """The text of words and punctuation as people write it, and the span of each of them.

    Models are trained on such text, while alignments are of separate tokens: no space is put before closing and after
    opening punctuation, beside an apostrophe that ends or begins a word (`l'`, `'s`), and between the letters of a
    script without spaces. Straight quotes open and close in turn.
    """
    text, spans, attach, quoted = "", list[Span](), True, False
    for word in words:
        if word == '"':
            quoted = not quoted
        closes = word in _CLOSING or (word == '"' and not quoted) or (word[:1] in "'’" and len(word) > 1)
        joined = bool(text) and bool(word) and is_unspaced(text[-1]) and is_unspaced(word[0])
        if not (attach or closes or joined):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
        attach = word in _OPENING or (word == '"' and quoted) or (word[-1:] in "'’" and len(word) > 1)
    return text, spans


def words_of_tokens(pieces: Sequence[str], text: str, spans: Sequence[Span]) -> list[list[int]]:
    """For each token of a text the numbers of the words that it has characters of.

    Args:
        pieces: the tokens in their readable form, with U+2581 for a space.
        text: what they spell. Where a tokenizer normalizes, the characters that are equal on both sides count.
        spans: of the words.
    """
    owner = [-1] * len(text)
    for number, (begin, end) in enumerate(spans):
        owner[begin:end] = [number] * (end - begin)
    texts = [piece.replace(SPACE, " ") for piece in spelled(pieces)]
    token_of = [token for token, piece in enumerate(texts) for _ in piece]
    by_token: list[dict[int, None]] = [{} for _ in pieces]
    matcher = SequenceMatcher(None, "".join(texts), text, autojunk=False)
    for start, other_start, size in matcher.get_matching_blocks():
        for offset in range(size):
            if owner[other_start + offset] >= 0:
                by_token[token_of[start + offset]][owner[other_start + offset]] = None
    return [list(owners) for owners in by_token]


def word_weights(model: Seq2Seq, pairs: Sequence[TokenizedPair]) -> list[Weights]:
    """For each pair (2, layers, heads, target words, source words): the weights of all heads between words, at the
    steps that predict a token and at those that read it.

    A target word has the mean over its tokens, a source word the sum; the source's `</s>` is left out. All pairs are
    one batch. Raises `UserError` for a model without cross-attention.
    """
    batch = model.batch([pair.source for pair in pairs], [pair.target for pair in pairs])
    if not (cross := attention_of(model, batch).layers("cross")):
        raise UserError("this model has no cross-attention: it cannot align words")
    weights = torch.stack(cross).float().cpu().numpy().astype(np.float64)  # (layers, pairs, heads, target, source)
    return [between_words(weights[:, row], pair) for row, pair in enumerate(pairs)]


def between_words(weights: Weights, pair: TokenizedPair) -> Weights:
    """(2, layers, heads, target words, source words) from (layers, heads, target, source) tokens with padding."""
    source, target = len(pair.source), len(pair.target)
    of_source, of_target = membership(pair.source_words, pair.sizes[0]), membership(pair.target_words, pair.sizes[1])
    of_source /= np.maximum(of_source.sum(axis=0), 1)  # a token of two words gives each a part
    of_target /= np.maximum(of_target.sum(axis=1, keepdims=True), 1)
    both = [weights[..., first : first + target, :source] for first in (0, 1)]
    return np.stack([of_target @ weights_of @ of_source.T for weights_of in both])


def best_sources(weights: Weights, heads: Sequence[AlignmentHead]) -> list[int]:
    """For each target word the source word with the largest mean weight of these heads, -1 if it has none.

    `weights` are one item of `word_weights`; without `heads` all count, at the step that predicts.
    """
    if not weights.shape[-1]:
        return [-1] * weights.shape[-2]
    chosen = [weights[int(head.reads), head.layer, head.head] for head in heads]
    mean = np.mean(chosen, axis=0) if chosen else weights[0].mean(axis=(0, 1))
    return [int(column) if mean[row, column] > 0 else -1 for row, column in enumerate(mean.argmax(axis=1))]


Agreement = Callable[[Sequence[AlignmentHead]], float]
"""From 0 to 1: how well the links of some heads agree with links that were found in another way."""


def choose_heads(shape: tuple[int, int], agreement: Agreement) -> tuple[list[AlignmentHead], float]:
    """The heads with the largest agreement, and it.

    Heads are added as long as each raises the agreement by `MIN_GAIN`, at most `MAX_HEADS`. `shape` is the number of
    layers and of heads.
    """
    layers, heads = shape
    candidates = [
        AlignmentHead(layer, head, reads) for reads in (False, True) for layer in range(layers) for head in range(heads)
    ]
    chosen: list[AlignmentHead] = []
    best = 0.0
    while len(chosen) < min(MAX_HEADS, len(candidates)):
        tried = [candidate for candidate in candidates if candidate not in chosen]
        agreements = [agreement([*chosen, candidate]) for candidate in tried]
        if chosen and max(agreements) < best + MIN_GAIN:
            break
        best = max(agreements)
        chosen.append(tried[agreements.index(best)])
    return chosen, best


def agreement_of_directions(forward: Sequence[Weights], backward: Sequence[Weights]) -> Agreement:
    """How many links the translation in one direction has in common with that in the opposite direction: 2 |A & B| /
    (|A| + |B|). A head that looks one word back does so in both, so that its links disagree.

    Chen et al. (2020, section 3.3) choose a layer like this. Both are items of `word_weights` of the same pairs.
    """

    def agreement(heads: Sequence[AlignmentHead]) -> float:
        common = count = 0
        for of_targets, of_sources in zip(forward, backward, strict=True):
            sources, targets = best_sources(of_targets, heads), best_sources(of_sources, heads)
            common += sum(source >= 0 and targets[source] == target for target, source in enumerate(sources))
            count += sum(word >= 0 for word in (*sources, *targets))
        return 2 * common / count if count else 0.0

    return agreement


def agreement_with_erasure(model: Seq2Seq, pairs: Sequence[TokenizedPair], weights: Sequence[Weights]) -> Agreement:
    """The share of target words whose source word is the one that they need most, see `most_needed`."""
    expected = [most_needed(model, pair) for pair in pairs]
    count = sum(source >= 0 for of_pair in expected for source in of_pair)

    def agreement(heads: Sequence[AlignmentHead]) -> float:
        equal = sum(
            source == wanted >= 0
            for pair_weights, row in zip(weights, expected, strict=True)
            for source, wanted in zip(best_sources(pair_weights, heads), row, strict=True)
        )
        return equal / count if count else 0.0

    return agreement


def most_needed(model: Seq2Seq, pair: TokenizedPair) -> list[int]:
    """For each target word the source word whose removal lowers the log-probability of one of its tokens most; -1 for
    a word without tokens."""
    drops = erasures(model, pair)
    of_target = membership(pair.target_words, pair.sizes[1]) > 0
    return [int(drops[:, tokens].max(axis=1).argmax()) if tokens.any() and len(drops) else -1 for tokens in of_target]

"""Heads over a corpus: what each attends to, and how much it matters."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from limelight.config import Direction
from limelight.errors import UserError
from limelight.evaluation.head_report import HeadFigures, HeadStudy, Mean
from limelight.evaluation.summary import provenance_of
from limelight.inspection.batches import Rows, batches_of
from limelight.inspection.erasure import needed_words, with_words
from limelight.inspection.head_importance import (
    Head,
    change_of,
    heads_of,
    sentence_losses,
)
from limelight.inspection.head_roles import measures
from limelight.inspection.page_data import NAMES
from limelight.inspection.probe import attention_of
from limelight.inspection.words import START_PIECE, readable
from limelight.models.interface import Seq2Seq, longest_sequence
from limelight.pipelines.translator import Translator
from limelight.preparation.lexicon import evenly
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers
from limelight.tokens.tokenizer import is_control

SENTENCES = 500
"""Pairs of a test set that are used by default."""
MAX_TOKENS = 200
"""Pairs with longer sides are left out: every head has a weight for each pair of tokens."""
Groups = Mapping[Direction | None, Sequence[Pair]]
Values = dict[str, dict[str, list[float]]]
"""For each head and role the values of sentences."""


class _Sentence(NamedTuple):
    """A pair as ids."""

    tokenizers: Tokenizers
    source: list[int]
    target: list[int]


def study_heads(
    translator: Translator,
    pairs: Groups,
    *,
    sentences: int = SENTENCES,
    origin: Mapping[str, Any] | None = None,
    show: Callable[[int, int], None] = lambda *_: None,
) -> HeadStudy:
    """Measure all heads of a Transformer with encoder and decoder on text with references.

    Roles are measured on forced references; what a target token needs is found by leaving out source words
    (`inspection.erasure`). Importance: `inspection.head_importance`.

    Args:
        pairs: by direction, None for a model of one.
        sentences: maximum number of pairs, spread evenly over all.
        origin: for the provenance, such as the model's folder.
        show: called with the number of passes over the text that are done and to do.

    Raises `UserError` for other models, and if there is no pair that is short enough.
    """
    model = translator.model
    heads = heads_of(model)
    rows = _choose(translator, pairs, sentences)
    corpus = batches_of(model, [row.source for row in rows], [row.target for row in rows])
    begin = int(
        translator.has_language_tokens and bool(translator.directions)
    )  # after the token of the language, which is forced
    tokens = np.array([len(row.target) + 1.0 - begin for row in rows])
    values = _values_of_roles(model, rows, corpus)
    before, figures = sentence_losses(model, corpus, begin=begin), []
    for count, head in enumerate(heads, start=1):
        roles = {
            name: Mean(float(np.mean(measured)), float(np.std(measured)))
            for name, measured in values[str(head)].items()
        }
        change = change_of(sentence_losses(model, corpus, removed=head, begin=begin), before, tokens)
        figures.append(HeadFigures(head, roles, change))
        show(count, len(heads))
    test = [pair for measured in pairs.values() for pair in measured]
    return HeadStudy(
        loss=float(before.sum() / tokens.sum()),
        heads=tuple(figures),
        provenance=provenance_of(test, origin, sentences=len(rows)),
    )


def _choose(translator: Translator, groups: Groups, count: int) -> list[_Sentence]:
    """Pairs that are short enough, spread evenly over all."""
    every = [(direction, pair) for direction, of_direction in groups.items() for pair in of_direction]
    longest = min(MAX_TOKENS, (longest_sequence(translator.model) or MAX_TOKENS + 1) - 1)
    tokenizers = {direction: translator.towards(direction) for direction in groups}
    rows = []
    for direction, pair in evenly(every, count):
        sides = tokenizers[direction]
        row = _Sentence(sides, sides.source.encode(pair.source), sides.target.encode(pair.target))
        if 0 < len(row.source) <= longest and 0 < len(row.target) <= longest:
            rows.append(row)
    if not rows:
        raise UserError(f"no pair has from 1 to {longest} tokens on each side: give other text")
    return rows


def _values_of_roles(model: Seq2Seq, sentences: Sequence[_Sentence], corpus: Sequence[Rows]) -> Values:
    """The numbers of each role of each head, sentence by sentence."""
    values = defaultdict[str, dict[str, list[float]]](lambda: defaultdict(list))
    frequencies = Counter(token for sentence in sentences for token in sentence.source)
    for rows in corpus:
        seen = attention_of(model, rows.batch)
        weights = {kind: [layer.float().cpu().numpy() for layer in seen.layers(kind)] for kind in NAMES}
        for row, index in enumerate(rows.places):
            pair = sentences[index]
            source, target = len(pair.source) + 1, len(pair.target) + 1
            sizes = {"encoder_self": (source, source), "decoder_self": (target, target), "cross": (target, source)}
            needed = needed_words(model, with_words(pair.tokenizers.source, pair.source, pair.target))
            for kind, name in NAMES.items():
                (height, width), columns = sizes[kind], _columns(pair, kind, frequencies)
                own = needed if kind == "cross" and any(needed) else None
                for depth, layer in enumerate(weights[kind]):
                    for number, head in enumerate(layer[row, :, :height, :width]):
                        roles = measures(head, kind, needed=own, columns=columns)
                        if own is not None:  # row t + 1 reads token t
                            roles["aligns_read"] = measures(head[1:], kind, needed=own)["aligns"]
                        for role, value in roles.items():
                            values[str(Head(name.format(depth), number))][role].append(float(value))
    return values


def _columns(sentence: _Sentence, kind: str, counts: Counter[int]) -> dict[str, list[int]]:
    """The columns of punctuation, of tags, and, in sources of at least three tokens, of the least frequent token."""
    source, target = sentence.tokenizers
    reads = kind == "decoder_self"
    pieces = [START_PIECE, *target.pieces(sentence.target)] if reads else source.pieces(sentence.source)
    chosen = {"signs": [column for column, piece in enumerate(pieces) if _is_sign(piece)]}
    if not reads:
        tags = [column for column, piece in enumerate(pieces) if is_control(piece)]
        words = [column for column in range(len(pieces)) if column not in tags]
        least = min((counts[sentence.source[column]] for column in words), default=0)
        rare = [column for column in words if counts[sentence.source[column]] == least]
        is_one = len({sentence.source[column] for column in rare}) == 1  # it may occur twice
        chosen |= {"tag": tags, "rare": rare if len(words) >= 3 and is_one and len(rare) < len(words) else []}
    return {name: columns for name, columns in chosen.items() if columns}


def _is_sign(piece: str) -> bool:
    """Whether a token is punctuation: it has characters, and none is a letter or a digit."""
    text = readable(piece).strip("▁ ")
    return bool(text) and not is_control(piece) and not any(letter.isalnum() for letter in text)

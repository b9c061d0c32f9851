"""Words of other sentences that the encoder represents like a given word, as in exBERT (Hoover et al. 2020).

The state of a word is the mean over its tokens after a layer, without those of punctuation alone; the similarity is the
cosine.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.errors import UserError
from limelight.inspection.page_data import page_side
from limelight.inspection.probe import probe
from limelight.models.interface import Seq2Seq, eval_mode
from limelight.models.recurrent.model import Recurrent
from limelight.tokens import Tokenizer

BATCH = 32
"""Sentences that are encoded at once."""


class Source(NamedTuple):
    """A text, and its tokens without the end."""

    text: str
    ids: Sequence[int]


def similar_words(
    model: Seq2Seq, tokenizer: Tokenizer, own: Source, word: int, others: Sequence[Source], layer: int, most: int = 20
) -> list[dict[str, Any]]:
    """The words of other texts that are most similar to a word of a text after an encoder layer, as values for JSON.

    `layer` and `word` count from 0, as in the page's document. An item has the `text`, the `number` of its word, the
    `label` of that, and the `cosine`; the largest is first. Raises `UserError` for an unknown layer or word.
    """
    found, wanted = [], None
    for source, states in zip((own, *others), _states(model, (own, *others), layer), strict=True):
        pieces, words = tokenizer.pieces(source.ids), tuple(tokenizer.word_of(source.ids))
        for number, label in enumerate(page_side(pieces, words, source.text)["words"]):
            tokens = [token for token, each in enumerate(words) if each - words[0] == number]
            letters = [token for token in tokens if any(map(str.isalnum, pieces[token]))]
            state = states[letters or tokens].mean(axis=0)
            if source is own:
                wanted = state if number == word else wanted
            elif "role" not in label:
                found.append({"text": source.text, "number": number, "label": label, "state": state})
    if wanted is None:
        raise UserError(f"the text has no word {word}; words count from 0")
    for each in found:
        state = each.pop("state")
        each["cosine"] = float(state @ wanted / max(np.linalg.norm(state) * np.linalg.norm(wanted), 1e-12))
    return sorted(found, key=lambda each: -each["cosine"])[:most]


def _states(model: Seq2Seq, sources: Sequence[Source], layer: int) -> Iterator[npt.NDArray[np.float64]]:
    """The states of the tokens of each source, its end and padding after them."""
    for first in range(0, len(sources), BATCH):
        ids = [each.ids for each in sources[first : first + BATCH]]
        with eval_mode(model) as device, probe(model, states=True) as seen:
            batch = model.batch(ids, [()] * len(ids)).to(device)
            memory = model.encode(batch.source, batch.source_valid)
        is_recurrent = isinstance(model, Recurrent) and layer == 0
        states = memory.annotations if is_recurrent else seen.states.get(f"encoder.{layer + 1}")
        if states is None:
            raise UserError(f"the encoder has no layer {layer}; layers count from 0")
        yield from states.double().cpu().numpy()

"""Words of other sentences that the encoder represents like a given word, as in exBERT (Hoover et al. 2020).

The state of a word is the mean over its tokens after a layer, without tokens of punctuation alone; the similarity is
the cosine.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from limelight.errors import UserError
from limelight.inspection.page_data import JsonObject, page_side
from limelight.inspection.probe import probe
from limelight.models.interface import Seq2Seq, eval_mode
from limelight.models.recurrent.model import Recurrent
from limelight.tokens import Tokenizer

MOST = 20
"""Maximum number of words of an answer."""
BATCH = 32
"""Sentences that are encoded at once."""

States = npt.NDArray[np.float64]


def similar_words(
    model: Seq2Seq, tokenizer: Tokenizer, texts: Sequence[str], ids: Sequence[Sequence[int]], layer: int, word: int
) -> list[JsonObject]:
    """The words of all texts but the first that are most similar to a word of the first, as values for JSON.

    `ids` are the tokens of the texts without the end; `layer` and `word` count from 0, as in the page's document. An
    item has the `text`, the `number` and the `label` of its word, and the `cosine`; the largest is first. Raises
    `UserError` for an unknown layer or word.
    """
    first, *others = (
        _words(tokenizer, *sentence) for sentence in zip(texts, ids, _states(model, ids, layer), strict=True)
    )
    if word >= len(first):
        raise UserError(f"the text has no word {word}; words count from 0")
    _, wanted = first[word]
    entries = list[JsonObject]()
    for text, words in zip(texts[1:], others, strict=True):
        for number, (label, state) in enumerate(words):
            if "role" not in label:
                size = float(np.linalg.norm(state) * np.linalg.norm(wanted))
                cosine = float(state @ wanted) / max(size, 1e-12)
                entries.append({"text": text, "number": number, "label": label, "cosine": cosine})
    return sorted(entries, key=lambda entry: -entry["cosine"])[:MOST]


def _words(tokenizer: Tokenizer, text: str, ids: Sequence[int], states: States) -> list[tuple[JsonObject, States]]:
    """The label and the state of each word."""
    pieces, words, labeled = tokenizer.pieces(ids), tuple(tokenizer.word_of(ids)), []
    for number, label in enumerate(page_side(pieces, words, text)["words"], words[0]):
        tokens = [token for token, word in enumerate(words) if word == number]
        letters = [token for token in tokens if any(map(str.isalnum, pieces[token]))]
        labeled.append((label, states[letters or tokens].mean(axis=0)))
    return labeled


def _states(model: Seq2Seq, ids: Sequence[Sequence[int]], layer: int) -> Iterator[States]:
    """The states of the tokens of each source, its end and padding after them."""
    for first in range(0, len(ids), BATCH):
        rows = ids[first : first + BATCH]
        with eval_mode(model) as device, probe(model, states=True) as seen:
            batch = model.batch(rows, [()] * len(rows)).to(device)
            memory = model.encode(batch.source, batch.source_valid)
        is_recurrent = isinstance(model, Recurrent) and layer == 0
        states = memory.annotations if is_recurrent else seen.states.get(f"encoder.{layer + 1}")
        if states is None:
            raise UserError(f"the encoder has no layer {layer}; layers count from 0")
        yield from states.double().cpu().numpy()

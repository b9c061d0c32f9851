"""Word alignments of a run's corpora, which augmentations need, made once and stored beside their token stores."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from limelight.batching.store import (
    AlignmentStore,
    SideForms,
    TokenStore,
    add_forms,
    add_links,
    described,
    new_store,
    open_alignments,
    store_matches,
)
from limelight.config import Corpus, Direction
from limelight.files import json_hash
from limelight.preparation.kept import DATA, Say
from limelight.preparation.lexicon import evenly
from limelight.preparation.word_alignment import MAX_LEARNED, FormCounter, WordAligner, split_words
from limelight.text.pair import Sides

VERSION = 3
"""Version of the alignment method; a change invalidates stored alignments."""


def align_stores(corpora: Sequence[Corpus], stores: Sequence[TokenStore], run: Path, say: Say) -> list[AlignmentStore]:
    """The word alignments of each store, learned if they are missing or belong to other text.

    Corpora of the same two languages are learned together.
    """
    folders = [run / DATA / f"train-{number}" for number in range(len(stores))]
    by_direction: dict[Direction, dict[Path, TokenStore]] = {}
    for corpus, folder, store in zip(corpora, folders, stores, strict=True):
        by_direction.setdefault(corpus.direction, {})[folder] = store
    for of_direction in by_direction.values():
        made_of = json_hash([VERSION, *(described(folder).fingerprint for folder in of_direction)])
        if not all(store_matches(_alignments_of(folder), made_of) for folder in of_direction):
            _align_together(of_direction, made_of, say)
    return [open_alignments(_alignments_of(folder)) for folder in folders]


def _alignments_of(folder: Path) -> Path:
    """The folder of the alignments of a store."""
    return folder.with_name(f"{folder.name}-words")


def _align_together(stores: Mapping[Path, TokenStore], made_of: str, say: Say) -> None:
    """Write the word alignments of corpora of one direction."""
    sample = sample_pairs(list(stores.values()), MAX_LEARNED)
    aligner, counter = WordAligner(list(map(split_words, sample))), FormCounter()
    stride = -(-sum(map(len, stores.values())) // MAX_LEARNED)
    with ExitStack() as stack:
        alignments = [stack.enter_context(new_store(_alignments_of(folder), made_of)) for folder in stores]
        for columns, (folder, store) in zip(alignments, stores.items(), strict=True):
            for pairs in store.groups():
                words = list(map(split_words, pairs))
                links = list(aligner.align(words))
                add_links(columns, links)
                for pair_words, row in zip(words[::stride], links[::stride], strict=True):
                    counter.add(pair_words, row)
            say(f"{folder.name}: aligned words")
        source, target = (SideForms(counter.related(side), aligner.common(side)) for side in range(2))
        for columns in alignments:
            add_forms(columns, (source, target))


def sample_pairs(stores: Sequence[TokenStore], maximum: int) -> Iterator[Sides]:
    """At most `maximum` pairs, evenly spread over all stores."""
    ends = np.cumsum([len(store) for store in stores])
    chosen = np.array(evenly(range(int(ends[-1])), maximum), dtype=np.int64)
    for store, end in zip(stores, ends, strict=True):
        begin = end - len(store)
        rows = chosen[(chosen >= begin) & (chosen < end)] - begin
        yield from store.texts(rows)

"""What augmentations need of a run's corpora, made once and stored beside their token stores: word alignments, and the
most similar other pair of each pair (Bulte and Tezcan 2019, "Neural Fuzzy Repair")."""

import hashlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from limelight.batching.store import (
    AlignmentStore,
    AlignmentWriter,
    SideForms,
    TokenStore,
    described,
    open_alignments,
    store_matches,
)
from limelight.config import Corpus
from limelight.files import write_whole
from limelight.formats.translation_memory import Index, TranslationMemory, fuzzy_match, index_pairs
from limelight.preparation.kept import DATA, Say
from limelight.preparation.lexicon import evenly
from limelight.preparation.word_alignment import (
    MAX_LEARNED,
    FormCounter,
    WordAligner,
    Words,
    split_words,
)
from limelight.text.pair import Pair, Sides

GROUP = 10_000
"""Number of pairs that are aligned, or looked up, at once."""
VERSION = 1
"""Version of the alignment method; a change invalidates stored alignments."""


def align_stores(corpora: Sequence[Corpus], stores: Sequence[TokenStore], run: Path, say: Say) -> list[AlignmentStore]:
    """The word alignments of each store, learned if they are missing or belong to other text.

    Corpora of the same two languages are learned together.
    """
    groups: dict[tuple[str, str], list[Path]] = {}
    folders = [run / DATA / f"train-{number}" for number in range(len(stores))]
    for corpus, folder in zip(corpora, folders, strict=True):
        groups.setdefault((corpus.source, corpus.target), []).append(folder)
    of = dict(zip(folders, stores, strict=True))
    for group in groups.values():
        parts = [VERSION, *(described(folder).fingerprint for folder in group)]
        made_of = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        if not all(store_matches(_words_of(folder), made_of) for folder in group):
            _align_together({folder: of[folder] for folder in group}, made_of, say)
    return [open_alignments(_words_of(folder)) for folder in folders]


def _words_of(folder: Path) -> Path:
    """The folder of the alignments of a store."""
    return folder.with_name(f"{folder.name}-words")


def _align_together(stores: Mapping[Path, TokenStore], made_of: str, say: Say) -> None:
    """Write the word alignments of corpora of one direction."""
    sample = sample_pairs(list(stores.values()), MAX_LEARNED)
    aligner, counter = WordAligner([split_words(pair).lowercased() for pair in sample]), FormCounter()
    stride = -(-sum(map(len, stores.values())) // MAX_LEARNED)
    with ExitStack() as stack:
        writers = [stack.enter_context(AlignmentWriter(_words_of(folder))) for folder in stores]
        for writer, (folder, store) in zip(writers, stores.items(), strict=True):
            count = 0
            for first in range(0, len(store), GROUP):
                words = _words(store, np.arange(first, min(first + GROUP, len(store))))
                links = list(aligner.align([each.lowercased() for each in words]))
                count += sum(map(len, links))
                writer.append(links)
                for each, row in zip(words[::stride], links[::stride], strict=True):
                    counter.add(each, row)
            say(f"{folder.name}: aligned words, {count / max(len(store), 1):.1f} links per pair")
        source, target = (SideForms(counter.related(side), aligner.common(side)) for side in range(2))
        for writer in writers:
            writer.close(made_of, (source, target))


def sample_pairs(stores: Sequence[TokenStore], most: int) -> Iterator[Sides]:
    """At most so many pairs, evenly spread over all stores."""
    ends = np.cumsum([len(store) for store in stores])
    chosen = evenly(int(ends[-1]), most)
    for store, end in zip(stores, ends, strict=True):
        begin = end - len(store)
        rows = chosen[(chosen >= begin) & (chosen < end)] - begin
        yield from store.texts(rows)


def _words(store: TokenStore, rows: np.ndarray) -> list[Words]:
    return list(map(split_words, store.texts(rows)))


def find_similar(stores: Sequence[TokenStore], run: Path, say: Say) -> list[np.ndarray]:
    """For each store the row of the most similar other pair of each of its rows, and -1 for rows without one; mapped
    from disk."""
    found = []
    for number, store in enumerate(stores):
        folder = run / DATA / f"train-{number}"
        path = folder.with_name(f"{folder.name}-similar-{described(folder).fingerprint[:16]}.npy")
        if not path.exists():
            rows, content = _similar(store), io.BytesIO()
            np.save(content, rows, allow_pickle=False)
            write_whole(path, content.getvalue())
            say(f"{folder.name}: {np.count_nonzero(rows >= 0):,} of {len(rows):,} pairs have a similar one")
        found.append(np.load(path, mmap_mode="r", allow_pickle=False))
    return found


def _similar(store: TokenStore) -> np.ndarray:
    """The rows of the most similar pairs with another source: the pair itself, and others with the same source, would
    teach the model to copy."""
    with tempfile.TemporaryDirectory(prefix="limelight-") as name:
        index_pairs(Path(name) / "index", _pairs(store))
        memory = TranslationMemory([Index(Path(name) / "index", "")])
        matches = (fuzzy_match(memory, pair.source) for pair in _pairs(store))
        numbers = (int(match.origin.rpartition(":")[2]) - 1 if match else -1 for match in matches)
        rows = np.fromiter(numbers, dtype=np.int32, count=len(store))
        memory.close()
    return rows


def _pairs(store: TokenStore) -> Iterator[Pair]:
    for first in range(0, len(store), GROUP):
        rows = np.arange(first, min(first + GROUP, len(store)))
        for row, (source, target) in zip(rows, store.texts(rows), strict=True):
            yield Pair(source, target, "", int(row) + 1)

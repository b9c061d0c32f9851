"""What augmentations need of a run's corpora, made once and stored beside their token stores: word alignments, and the
most similar other pair of each pair (Bulte and Tezcan 2019, "Neural Fuzzy Repair")."""

import hashlib
import io
import json
import tempfile
from collections.abc import Iterator, Sequence
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
from limelight.formats.translation_memory import TranslationMemory, fuzzy_match, index_pairs
from limelight.preparation.kept import DATA, Say
from limelight.preparation.lexicon import evenly
from limelight.preparation.word_alignment import (
    MAX_LEARNED,
    FormCounter,
    WordAligner,
    Words,
    learn_aligner,
    split_words,
)
from limelight.text.marked_pairs import Link
from limelight.text.pair import Pair, Sides

GROUP = 10_000
"""Number of pairs that are aligned, or looked up, at once."""
VERSION = 1
"""Version of the alignment method; a change invalidates stored alignments."""


def align_stores(corpora: Sequence[Corpus], stores: Sequence[TokenStore], run: Path, say: Say) -> list[AlignmentStore]:
    """The word alignments of each store, learned if they are missing or belong to other text.

    Corpora of the same two languages are learned together.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for number, corpus in enumerate(corpora):
        groups.setdefault((corpus.source, corpus.target), []).append(number)
    found: dict[int, AlignmentStore] = {}
    for numbers in groups.values():
        folders = [run / DATA / f"train-{number}" for number in numbers]
        found |= zip(numbers, _aligned([stores[number] for number in numbers], folders, say), strict=True)
    return [found[number] for number in range(len(stores))]


def _aligned(stores: Sequence[TokenStore], folders: Sequence[Path], say: Say) -> list[AlignmentStore]:
    """The word alignments of corpora of one direction."""
    made_of = [described(folder).fingerprint for folder in folders]
    places = [folder.with_name(f"{folder.name}-words") for folder in folders]
    fingerprints = [hashlib.sha256(json.dumps([VERSION, name, made_of]).encode()).hexdigest() for name in made_of]
    if all(map(store_matches, places, fingerprints)):
        return [open_alignments(place) for place in places]
    aligner, counter = learn_aligner(_sample(stores)), FormCounter()
    stride = -(-sum(map(len, stores)) // MAX_LEARNED)
    with ExitStack() as stack:
        writers = [stack.enter_context(AlignmentWriter(place)) for place in places]
        for store, writer, folder in zip(stores, writers, folders, strict=True):
            count = 0
            for words, links in _align(store, aligner):
                count += sum(map(len, links))
                writer.append(links)
                for each, row in zip(words[::stride], links[::stride], strict=True):
                    counter.add(each, row)
            say(f"{folder.name}: aligned words, {count / max(len(store), 1):.1f} links per pair")
        sides = zip((aligner.sources, aligner.targets), range(2), strict=True)
        source, target = (SideForms(counter.related(side), sorted(ids.common())) for ids, side in sides)
        forms = source, target
        return [writer.close(made_of, forms) for writer, made_of in zip(writers, fingerprints, strict=True)]


def _sample(stores: Sequence[TokenStore]) -> list[Words]:
    """The words of at most `MAX_LEARNED` pairs, evenly spread over all stores."""
    ends = np.cumsum([len(store) for store in stores])
    chosen, found = evenly(int(ends[-1]), MAX_LEARNED), []
    for store, end in zip(stores, ends, strict=True):
        begin = end - len(store)
        rows = chosen[(chosen >= begin) & (chosen < end)] - begin
        found += [words.lowercased() for words in _words(store, rows)]
    return found


def _align(store: TokenStore, aligner: WordAligner) -> Iterator[tuple[list[Words], list[list[Link]]]]:
    """The words and the links of all pairs, in groups."""
    for first in range(0, len(store), GROUP):
        words = _words(store, np.arange(first, min(first + GROUP, len(store))))
        yield words, list(aligner.align([each.lowercased() for each in words]))


def _words(store: TokenStore, rows: np.ndarray) -> list[Words]:
    return [split_words(Sides(*texts)) for texts in zip(*store.texts(rows), strict=True)]


def find_similar(stores: Sequence[TokenStore], run: Path, say: Say) -> list[np.ndarray]:
    """For each store the row of the most similar other pair of each of its rows, and -1 for rows without one; mapped
    from disk."""
    return [_similar(store, run / DATA / f"train-{number}", say) for number, store in enumerate(stores)]


def _similar(store: TokenStore, folder: Path, say: Say) -> np.ndarray:
    fingerprint = described(folder).fingerprint
    place = folder.with_name(f"{folder.name}-similar-{fingerprint[:16]}.npy")
    if not place.exists():
        with tempfile.TemporaryDirectory(prefix="limelight-") as name:
            index = Path(name) / "index"
            index_pairs(index, _pairs(store))
            memory = TranslationMemory(index)
            rows = np.fromiter((_row(memory, pair.source) for pair in _pairs(store)), dtype=np.int32, count=len(store))
            memory.close()
        content = io.BytesIO()
        np.save(content, rows, allow_pickle=False)
        write_whole(place, content.getvalue())
        say(f"{folder.name}: {np.count_nonzero(rows >= 0):,} of {len(rows):,} pairs have a similar one")
    found: np.ndarray = np.load(place, mmap_mode="r", allow_pickle=False)
    return found


def _row(memory: TranslationMemory, source: str) -> int:
    """The row of the most similar pair with another source. The pair itself, and others with the same source, would
    teach the model to copy."""
    match = fuzzy_match(memory, source)
    return int(match.origin.rpartition(":")[2]) - 1 if match else -1


def _pairs(store: TokenStore) -> Iterator[Pair]:
    for first in range(0, len(store), GROUP):
        rows = np.arange(first, min(first + GROUP, len(store)))
        for row, source, target in zip(rows, *store.texts(rows), strict=True):
            yield Pair(source, target, "", int(row) + 1)

"""Lexical translation probabilities: IBM Model 1, learned from parallel text.

Every target token is assumed to come from one of its sentence's source tokens, or from none (here: the source's padding
id), independent of positions; t(target | source) is learned by expectation maximization (Brown et al. 1993, "The
Mathematics of Statistical Machine Translation", section 4.1 and equation 17):

   expectation    the share of source token e in target token f of a pair: t(f | e) / sum of t(f | e') over all its e'
   maximization   t(f | e) = the shares of e in f, over all pairs / the shares of e in all target tokens

With a preference for the diagonal, t is multiplied by the probability that the target at position j of n comes from the
source at position i of m, as in fast_align (Dyer et al. 2013, "A Simple, Fast, and Effective Reparameterization of IBM
Model 2", section 2): p0 for none of them, else (1 - p0) exp(-lambda |i/m - j/n|), normalized over i.

The text becomes a table of all (source, target) that co-occur, and the index of its entry for each co-occurrence. That
takes four bytes per co-occurrence, bounded by `MAX_COOCCURRENCES`.

From it come the tables that a run learns: a shortlist for each source token, and a detector of source languages. A
sentence's shortlist holds what Model 1 finds for its tokens, the tokens themselves where the target vocabulary has them
too (names, numbers, bytes, placeholders), and the most frequent target tokens.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.batching.store import TokenStore, open_store
from limelight.config import Corpus, RunConfig, directions_of, known_languages, load_config
from limelight.errors import UserError
from limelight.files import fill_file, sha256, writing
from limelight.preparation.hold_out import DATA
from limelight.storage.layout import BEST, CONFIG, DETECTOR, SHORTLIST, TOKENIZER, find_model
from limelight.storage.tables import Shortlist, read_detector, save_detector, save_shortlist
from limelight.text.clean import CleanReport, clean
from limelight.text.detection import MAX_TEXTS, learn_detector
from limelight.text.pair import BadLine, Pair
from limelight.text.readers import read_pairs
from limelight.tokens import END, Tokenizers, load_tokenizers

Ids = npt.NDArray[np.integer]

MAX_PAIRS = 200_000
"""Maximum number of pairs, evenly spread over a larger corpus; more change the probabilities little."""

MAX_COOCCURRENCES = 64_000_000
"""Maximum number of co-occurrences of source and target tokens: a quarter of a gigabyte, and half a minute."""

BLOCK = 4_000_000
"""Number of co-occurrences that are processed at once."""


NO_SOURCE = 0.08
"""p0 of fast_align."""


class Pieces(NamedTuple):
    """The ids of a pair, without the end token."""

    source: Ids
    target: Ids


class Lexicon(NamedTuple):
    """t(target | source) for all co-occurring tokens, sorted by source, then by target."""

    sources: Ids
    targets: Ids
    probabilities: npt.NDArray[np.float64]


class Meetings(NamedTuple):
    """All co-occurrences in some pairs, one target position after another: each source position, and none at the
    end."""

    keys: Ids
    """`source * classes + target` of each."""
    widths: Ids
    """Number of co-occurrences of each target position."""
    preferences: npt.NDArray[np.float32] | None
    """Probability of each source position for its target position; None if all are equal."""


class _Block(NamedTuple):
    """The co-occurrences of some pairs."""

    entries: Ids
    """For each co-occurrence its index in the table."""
    widths: Ids
    preferences: npt.NDArray[np.float32] | None


def evenly(count: int, most: int) -> Ids:
    """At most `most` evenly spread integers below `count`."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def learn_lexicon(
    pairs: Sequence[Pieces], *, nothing: int, classes: int, iterations: int = 5, diagonal: float = 0.0
) -> Lexicon:
    """Fit Model 1 to these pairs.

    Args:
        nothing: a source id that does not occur; it stands for no source token.
        classes: upper bound of all target ids, exclusive.
        iterations: number of EM iterations, from uniform probabilities.
        diagonal: lambda, the preference for words at similar relative positions; 0 for plain Model 1.
    """
    pairs = [pair for pair in pairs if 0 < _meetings(pair) <= BLOCK]
    share = MAX_COOCCURRENCES / max(sum(map(_meetings, pairs)), MAX_COOCCURRENCES)
    chosen = evenly(len(pairs), int(share * len(pairs)))
    keys, blocks = _table([pairs[row] for row in chosen], nothing, classes, diagonal)
    sources = keys // classes
    probabilities = np.ones(len(keys))
    for _ in range(iterations):
        shares = np.zeros(len(keys))
        for block in blocks:
            shares += _shares(block, probabilities)
        probabilities = shares / np.bincount(sources, shares)[sources]
    return Lexicon(sources, keys % classes, probabilities)


def most_likely(lexicon: Lexicon, *, sources: int, count: int, fill: int) -> Ids:
    """(sources, count) the most probable targets of each source, best first, ties by id, padded with `fill`."""
    source, target, probability = (part[lexicon.sources < sources] for part in lexicon)
    order = np.lexsort((target, -probability, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    chosen = np.full((sources, count), fill, dtype=np.int32)
    best = rank < count
    chosen[source[best], rank[best]] = target[best]
    return chosen


def most_frequent(pairs: Sequence[Pieces], *, classes: int, count: int) -> Ids:
    """The most frequent target ids, in descending order, ties by id."""
    counts = np.zeros(classes, dtype=np.int64)
    for first in range(0, len(pairs), 1000):
        counts += np.bincount(np.concatenate([pair.target for pair in pairs[first : first + 1000]]), minlength=classes)
    order = np.argsort(-counts, kind="stable")[:count]
    return order[counts[order] > 0].astype(np.int32)


def _meetings(pair: Pieces) -> int:
    return (len(pair.source) + 1) * len(pair.target)


def _table(pairs: Sequence[Pieces], nothing: int, classes: int, diagonal: float) -> tuple[Ids, list[_Block]]:
    """All co-occurring (source, target) as `source * classes + target`, and the co-occurrences."""
    found, inverses, parts = [], [], []
    for some in in_blocks(pairs):
        keys, widths, preferences = meet(some, nothing, classes, diagonal)
        unique, inverse = distinct(keys)
        found.append(unique)
        inverses.append(inverse)
        parts.append((widths, preferences))
    table = distinct(np.concatenate(found))[0] if found else np.zeros(0, dtype=np.int64)
    places = [np.searchsorted(table, unique).astype(np.int32) for unique in found]
    return table, [_Block(place[inverse], *part) for place, inverse, part in zip(places, inverses, parts, strict=True)]


def meet(pairs: Sequence[Pieces], nothing: int, classes: int, diagonal: float = 0.0) -> Meetings:
    """The co-occurrences of some pairs; see `learn_lexicon`."""
    none = np.array([nothing])
    sources = np.concatenate([part for pair in pairs for part in (pair.source, none)]).astype(np.int64) * classes
    targets = np.concatenate([pair.target for pair in pairs]).astype(np.int64)
    source_lengths = np.array([len(pair.source) for pair in pairs])
    target_lengths = np.array([len(pair.target) for pair in pairs])
    widths = np.repeat(source_lengths + 1, target_lengths)
    place = _counted(widths)
    begins = np.repeat(np.cumsum(source_lengths + 1) - source_lengths - 1, target_lengths)
    keys = sources[np.repeat(begins, widths) + place] + np.repeat(targets, widths)
    if not diagonal:
        return Meetings(keys, widths, None)
    lengths = np.maximum(widths - 1, 1)
    target_place = (_counted(target_lengths) + 1) / np.repeat(target_lengths, target_lengths)
    near = np.exp(-diagonal * np.abs((place + 1) / np.repeat(lengths, widths) - np.repeat(target_place, widths)))
    ends = np.cumsum(widths) - 1
    near[ends] = 0
    sums = np.add.reduceat(near, ends - widths + 1) if len(ends) else ends
    near *= np.repeat((1 - NO_SOURCE) / np.maximum(sums, 1e-30), widths)
    near[ends] = NO_SOURCE
    return Meetings(keys, widths, near.astype(np.float32))


def distinct(keys: Ids) -> tuple[Ids, npt.NDArray[np.int32]]:
    """The distinct keys in ascending order, and the index of each key among them: `np.unique` with the inverse.

    Keys are at least 0. Key and position are packed into one number for sorting, which is several times as fast as
    `argsort`.
    """
    bits = len(keys).bit_length()
    if not len(keys) or int(keys.max()) >> (63 - bits):
        unique, places = np.unique(keys, return_inverse=True)
        return unique, places.astype(np.int32)
    packed = (keys << bits) | np.arange(len(keys))
    packed.sort()
    values = packed >> bits
    is_new = np.concatenate([[True], values[1:] != values[:-1]])
    inverse = np.empty(len(keys), dtype=np.int32)
    inverse[packed & ((1 << bits) - 1)] = np.cumsum(is_new) - 1
    return values[is_new], inverse


def _counted(lengths: Ids) -> Ids:
    """0, 1, ... for each of the lengths, concatenated."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def in_blocks(pairs: Iterable[Pieces]) -> Iterator[list[Pieces]]:
    """Group pairs into blocks of about `BLOCK` co-occurrences."""
    block: list[Pieces] = []
    meetings = 0
    for pair in pairs:
        block.append(pair)
        meetings += _meetings(pair)
        if meetings >= BLOCK:
            yield block
            block, meetings = [], 0
    if block:
        yield block


def _shares(block: _Block, probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """For each entry of the table, the sum of its source's shares in its target over the co-occurrences of a block."""
    each = probabilities[block.entries]
    if block.preferences is not None:
        each *= block.preferences
    starts = np.cumsum(block.widths) - block.widths
    each /= np.repeat(np.add.reduceat(each, starts), block.widths)
    return np.asarray(np.bincount(block.entries, each, minlength=len(probabilities)), dtype=np.float64)


def keep_detector(
    config: RunConfig, stores: Sequence[TokenStore], tokenizers: Tokenizers, run: Path, say: Callable[[str], None]
) -> None:
    """Learn the detector of a run that has several source languages, where it is not there yet. A run that begins with
    a model takes that model's, if it knows all languages: it learned from more text."""
    path = run / DATA / DETECTOR
    languages = list(dict.fromkeys(language for direction in directions_of(config.data) for language in direction))
    if path.exists() or len({direction.source for direction in directions_of(config.data)}) < 2:
        return
    theirs = find_model(config.begin_with) / DETECTOR if config.begin_with else path
    detector = read_detector(theirs)
    if detector is not None and set(languages) <= set(detector.languages):
        path.parent.mkdir(parents=True, exist_ok=True)
        fill_file(path, lambda partial: shutil.copyfile(theirs, partial))
        return
    texts = {language: _texts(config, stores, tokenizers, language) for language in languages}
    if not all(texts.values()):
        return
    say(f"learning to tell {', '.join(languages)} apart")
    save_detector(path, learn_detector(texts))


def share_detector(run: Path, model: Path) -> None:
    """Put the run's detector, if it has one, beside its model; also where the one there is incomplete or another.

    Raises `RunError` naming path and cause when it cannot be written; the file there is then the former one, or none.
    """
    path, copy = run / DATA / DETECTOR, model / DETECTOR
    if not path.exists() or (copy.exists() and sha256(copy) == sha256(path)):
        return
    model.mkdir(parents=True, exist_ok=True)
    with writing(copy, "what was saved before is intact; after fixing the cause, the same command resumes the run"):
        fill_file(copy, lambda partial: shutil.copyfile(path, partial))


def _texts(config: RunConfig, stores: Sequence[TokenStore], tokenizers: Tokenizers, language: str) -> list[str]:
    """Texts in a language, evenly from all sides of the corpora that are in it."""
    sides = [
        (rows, tokenizer)
        for corpus, store in zip(config.data.train, stores, strict=True)
        for name, rows, tokenizer in (
            (corpus.source, store.sources, tokenizers.source),
            (corpus.target, store.targets, tokenizers.target),
        )
        if name == language and len(store)
    ]
    found = []
    for rows, tokenizer in sides:
        count = min(len(rows), MAX_TEXTS // len(sides))
        places = np.linspace(0, len(rows) - 1, count).astype(np.int64)
        found += [tokenizer.decode([int(token) for token in rows[place]]) for place in places]
    return found


CANDIDATES, FREQUENT = 128, 500
"""For each source token, itself included; and for all sentences."""

LOOKED_AT = 1000
"""Pairs from which the length of the lists is estimated."""


def make_shortlist(model: str | Path, corpora: Sequence[Corpus], say: Callable[[str], None]) -> Path:
    """Learn the shortlist of a run or model folder and write it there; returns the file.

    Args:
        corpora: what to learn from; where there are none, the tokens that the run was trained on, or its text.

    Raises `UserError` for a folder without a model and for text that is not available, `RunError` where the file cannot
    be written.
    """
    folder = find_model(model)
    config, tokenizers = load_config(folder / CONFIG), load_tokenizers(folder / TOKENIZER)
    run = folder.parent if folder.name == BEST else folder
    pairs = None if corpora else _stored_pairs(run, len(config.data.train))
    if pairs is None:
        pairs = _read_pairs(corpora or _own_corpora(config), config, tokenizers)
    if config.data.both_directions:
        half = [pairs[row] for row in evenly(len(pairs), MAX_PAIRS // 2)]
        pairs = [*half, *(Pieces(pair.target, pair.source) for pair in half)]
    shortlist = learn_shortlist(pairs, tokenizers)
    some = [pairs[row] for row in evenly(len(pairs), LOOKED_AT)]
    classes = tokenizers.target.padding
    length = list_length(shortlist, some, classes)
    say(f"learned from {len(pairs):,} pairs: a sentence's list has {length:,.0f} of {classes:,} tokens on average")
    save_shortlist(folder / SHORTLIST, shortlist, tokenizers)
    return folder / SHORTLIST


def learn_shortlist(pairs: Sequence[Pieces], tokenizers: Tokenizers) -> Shortlist:
    """The shortlist that these pairs teach. Raises `UserError` for ids that these tokenizers do not have."""
    sources, classes = tokenizers.source.padding, tokenizers.target.padding
    for pair in pairs:
        if max(pair.source, default=0) >= sources or max(pair.target, default=0) >= classes:
            raise UserError("the stored tokens are those of another vocabulary; give the text with --train FILE")
    lexicon = learn_lexicon(pairs, nothing=sources, classes=classes)
    likely = most_likely(lexicon, sources=sources, count=CANDIDATES - 1, fill=END)
    frequent = most_frequent(pairs, classes=classes, count=FREQUENT)
    return Shortlist(np.concatenate([copies(tokenizers)[:, None], likely], axis=1), frequent)


def copies(tokenizers: Tokenizers) -> Ids:
    """(source tokens,) the id of the same token on the target side; the end where there is none."""
    source, target = tokenizers
    ids = {piece: number for number, piece in enumerate(target.pieces(range(target.padding)))}
    return np.array([ids.get(piece, END) for piece in source.pieces(range(source.padding))], dtype=np.int32)


def list_length(shortlist: Shortlist, pairs: Sequence[Pieces], classes: int) -> float:
    """How many tokens a sentence's list has, on average."""
    return sum(int(shortlist.of([pair.source], classes).sum()) for pair in pairs) / max(len(pairs), 1)


def thinned(pairs: Iterable[Pair], most: int) -> list[Pair]:
    """At most `most` of them, evenly spread; never holds more than twice as many."""
    kept: list[Pair] = []
    stride = 1
    for number, pair in enumerate(pairs):
        if number % stride:
            continue
        kept.append(pair)
        if len(kept) == 2 * most:
            kept, stride = kept[::2], 2 * stride
    return [kept[row] for row in evenly(len(kept), most)]


def _stored_pairs(run: Path, corpora: int) -> list[Pieces] | None:
    """Pairs of the tokens that the run was trained on, drawn evenly; None where they are not all there any more."""
    folders = [run / "data" / f"train-{number}" for number in range(corpora)]
    if not folders or not all((folder / "store.json").is_file() for folder in folders):
        return None
    stores = [open_store(folder) for folder in folders]
    ends = np.cumsum([len(store) for store in stores])
    found = []
    for row in evenly(int(ends[-1]), MAX_PAIRS):
        number = int(np.searchsorted(ends, row, side="right"))
        store, place = stores[number], row - ends[number]  # counted from the end
        found.append(Pieces(store.sources[len(store) + place], store.targets[len(store) + place]))
    return found


def _own_corpora(config: RunConfig) -> Sequence[Corpus]:
    """The files of the run. Raises `UserError` if it names none, or one that is missing."""
    files = [Path(name) for corpus in config.data.train for name in corpus.files]
    gone = [file for file in files if not file.exists()]
    if gone or not files:
        what = f"{gone[0]} is gone" if gone else "the model does not say what it was trained on"
        raise UserError(f"{what}: give parallel text to learn the shortlist from, with --train FILE (or two files)")
    return config.data.train


def _read_pairs(corpora: Sequence[Corpus], config: RunConfig, tokenizers: Tokenizers) -> list[Pieces]:
    """Pairs of text as tokens, drawn evenly from those that training would take."""
    chosen = thinned(_cleaned(corpora, config), MAX_PAIRS)
    if not chosen:
        raise UserError(f"{corpora[0].files[0]}: there is no pair to learn a shortlist from")
    sources = tokenizers.source.encode_batch([pair.source for pair in chosen])
    targets = tokenizers.target.encode_batch([pair.target for pair in chosen])
    return [
        Pieces(np.array(source, dtype=np.int32), np.array(target, dtype=np.int32))
        for source, target in zip(sources, targets, strict=True)
        if max(len(source), len(target)) < config.batching.max_length
    ]


def _cleaned(corpora: Sequence[Corpus], config: RunConfig) -> Iterator[Pair]:
    data = config.data
    for corpus in corpora:
        yield from clean(
            read_pairs(
                corpus.files,
                *known_languages(corpus),
                states=data.states,
                on_bad_line=None if data.on_bad_line == "stop" else _passed_over,
            ),
            CleanReport(),
            max_characters=data.max_characters,
            max_length_ratio=data.max_length_ratio,
            drop_duplicates=data.drop_duplicates,
            drop_identical=data.drop_identical,
        )


def _passed_over(_line: BadLine) -> None:
    """The run's own policy; which lines they are was told when it was trained."""

"""From files of text to what training reads: a tokenizer and a memory-mapped store for each corpus."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from limelight.batching.store import StoreWriter, TokenStore, open_store, store_matches
from limelight.config import Corpus, DataConfig, RunConfig
from limelight.errors import UserError
from limelight.files import write_whole
from limelight.models.stored import TOKENIZER
from limelight.text.clean import CleanReport, clean
from limelight.text.pair import BadLine, Pair
from limelight.text.readers import read_pairs
from limelight.tokens import Tokenizers, load_tokenizers, save_tokenizers, train_tokenizer

Say = Callable[[str], None]
GROUP = 10_000  # pairs tokenised at once: enough to be quick, little enough to stay small


@dataclass(frozen=True, slots=True)
class Prepared:
    """A corpus ready to be trained on."""

    tokenizers: Tokenizers
    stores: list[TokenStore]
    valid: list[Pair]


def prepare(config: RunConfig, run: Path, say: Say) -> Prepared:
    """Read, clean, learn the vocabulary, tokenise once; what a former start has made is used again.

    Raises `UserError` for text that cannot be read, naming file and line, and for a corpus with nothing left in it.
    """
    if not config.data.train:
        raise UserError("there is nothing to train on: give --train FILE (or two files), or data.train in --config")
    _write_tokenizers(config, run / TOKENIZER, say)
    tokenizers = load_tokenizers(run / TOKENIZER)  # from the files, as everybody later will
    stores = [
        _store(config, corpus, tokenizers, run / "data" / f"train-{number}", say)
        for number, corpus in enumerate(config.data.train)
    ]
    return Prepared(tokenizers, stores, read_valid(config.data, say))


def read_valid(data: DataConfig, say: Say) -> list[Pair]:
    """All validation pairs with both sides present."""
    pairs: list[Pair] = []
    for corpus in data.valid:
        found = list(_read(corpus, data, say))
        full = [pair for pair in found if pair.source.strip() and pair.target.strip()]
        if len(full) < len(found):
            say(f"{corpus.files[0]}: {len(found) - len(full)} of {len(found)} validation pairs have an empty side")
        pairs += full
    if data.valid and not pairs:
        raise UserError(f"{data.valid[0].files[0]}: no validation pair has text on both sides")
    return pairs


def _write_tokenizers(config: RunConfig, folder: Path, say: Say) -> None:
    if folder.exists():
        return
    tokens, data = config.tokens, config.data
    counts = [0, 0]
    languages = sorted({corpus.source for corpus in data.train} | {corpus.target for corpus in data.train})

    def learn(sides: tuple[int, ...]) -> object:
        def texts() -> Iterator[str]:
            for pair in _cleaned(data, data.train, CleanReport(), say=lambda _: None):
                for side in sides:
                    counts[side] += 1
                    yield pair.target if side else pair.source

        return train_tokenizer(
            texts(),
            kind=tokens.kind,
            vocabulary_size=tokens.vocabulary_size,
            languages=languages,
            byte_fallback=tokens.byte_fallback,
            seed=config.training.seed,
            sentences=_count(data, data.train),
        )

    if tokens.joint:
        both = learn((0, 1))
        tokenizers = Tokenizers(both, both)
    else:
        tokenizers = Tokenizers(learn((0,)), learn((1,)))
    sizes = sorted({tokenizers.source.size - 1, tokenizers.target.size - 1})
    say(f"learned a {'joint' if tokens.joint else 'separate'} {tokens.kind} vocabulary of {' and '.join(map(str, sizes))}")
    save_tokenizers(tokenizers, folder)


def _count(data: DataConfig, corpora: Iterable[Corpus]) -> int:
    return sum(1 for _ in _cleaned(data, corpora, CleanReport(), say=lambda _: None))


def _store(config: RunConfig, corpus: Corpus, tokenizers: Tokenizers, folder: Path, say: Say) -> TokenStore:
    """The corpus as pieces on the disk, made anew only when text, cleaning or vocabulary have changed."""
    missing = [name for name in corpus.files if not Path(name).exists()]
    if missing and (folder / "store.json").exists():
        say(f"{missing[0]} is gone; going on with the pieces that were made from it")
        return open_store(folder)
    fingerprint = _fingerprint(config, corpus, folder)
    if store_matches(folder, fingerprint):
        return open_store(folder)
    largest = max(tokenizers.source.size, tokenizers.target.size)
    writer = StoreWriter(folder, vocabulary_size=largest)
    report = CleanReport()
    pairs, too_long, longest = _cleaned(config.data, [corpus], report, say), 0, config.batching.max_length
    while group := list(islice(pairs, GROUP)):
        sources = tokenizers.source.encode_batch([pair.source for pair in group])
        targets = tokenizers.target.encode_batch([pair.target for pair in group])
        fits = [max(len(source), len(target)) < longest for source, target in zip(sources, targets, strict=True)]
        too_long += fits.count(False)
        chosen = [number for number, fit in enumerate(fits) if fit]
        writer.append(
            [sources[number] for number in chosen],
            [targets[number] for number in chosen],
            [group[number].source for number in chosen],
            [group[number].target for number in chosen],
        )
    store = writer.close(fingerprint)
    say(f"{' + '.join(corpus.files)}: {report.summary()}")
    if too_long:
        say(f"left out {too_long} pairs of {longest} pieces or more (batching.max_length)")
    if not len(store):
        raise UserError(f"{corpus.files[0]}: no pair is left to train on: {report.summary()}")
    return store


def _fingerprint(config: RunConfig, corpus: Corpus, folder: Path) -> str:
    """What a store depends on: the files as they are, the cleaning, the length limit, the vocabulary."""
    files = [(name, Path(name).stat().st_size, Path(name).stat().st_mtime_ns) for name in corpus.files]
    cleaning = config.data.model_dump(mode="json", exclude={"train", "valid"})
    vocabulary = sorted(
        (str(path.relative_to(folder.parent.parent)), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in (folder.parent.parent / TOKENIZER).rglob("*")
        if path.is_file()
    )
    parts = [files, cleaning, config.batching.max_length, vocabulary]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _cleaned(data: DataConfig, corpora: Iterable[Corpus], report: CleanReport, say: Say) -> Iterator[Pair]:
    for corpus in corpora:
        yield from clean(
            _read(corpus, data, say),
            report,
            max_characters=data.max_characters,
            max_length_ratio=data.max_length_ratio,
            drop_duplicates=data.drop_duplicates,
            drop_identical=data.drop_identical,
        )


def _read(corpus: Corpus, data: DataConfig, say: Say) -> Iterator[Pair]:
    def skip(line: BadLine) -> None:
        say(f"skipped {line}")

    return read_pairs(corpus.files, on_bad_line=skip if data.on_bad_line == "skip" else None)


def write_card(run: Path, text: str) -> None:
    """The model card of a run."""
    write_whole(run / "README.md", text)

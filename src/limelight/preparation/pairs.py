"""From parallel text to training data: a first check of the text, a tokenizer, and a memory-mapped store for each
corpus."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from limelight.batching.store import AlignmentStore, StoreWriter, TokenStore, open_store
from limelight.config import Corpus, DataConfig, RunConfig, has_tags, known_languages, sides_of
from limelight.errors import UserError, shown
from limelight.files import write_folder
from limelight.formats import names_languages, read_pairs
from limelight.formats.lines import chunks
from limelight.formats.opening import require_lasting
from limelight.preparation.align import align_stores, find_similar
from limelight.preparation.doubts import IDENTICAL, doubts
from limelight.preparation.hold_out import held_out_sums, held_out_texts, is_held_out, overlap_warning
from limelight.preparation.kept import DATA, Say, is_resumed, keep_pairs, keeps_stores, places_of, resumed_pairs
from limelight.preparation.sides import MAX_WRONG, check_sides, draw_sample
from limelight.storage.layout import CONFIG, TOKENIZER, find_start
from limelight.text.clean import CleanReport, LeftOutList, SkipReport, clean
from limelight.text.pair import BadLine, Pair
from limelight.tokens import (
    BACK_TRANSLATED,
    FORMALITY_TAGS,
    SIMILAR,
    Tokenizer,
    Tokenizers,
    load_tokenizers,
    save_tokenizers,
    side_constraint_tag,
    train_tokenizer,
)
from limelight.tokens.marked import encode_mixed, knows_marks

OnBadLine = Callable[[BadLine], None]
Encode = Callable[[Sequence[Pair]], tuple[list[list[int]], list[list[int]]]]
"""Maps pairs to the rows of both sides."""
NO_CLEANING = {
    "train", "valid", "both_directions", "inherited", "temperature", "on_doubt", "hold_out", "replay", "general",
}  # fmt: skip
"""Settings of `data` that do not affect which pairs of a corpus are kept."""
NO_CONSTRAINT = "-"
"""The content of a column of side constraints for a pair without one."""
GROUP = 10_000  # pairs tokenized at once: a balance of speed and memory
_SHOWN = 70
"""Maximum characters of each side in a message."""


def silently(_line: BadLine) -> None:
    """Ignore bad lines, which are reported once while the corpus is tokenized."""


def cleaned(
    data: DataConfig,
    corpora: Iterable[Corpus],
    report: CleanReport | None = None,
    on_bad_line: OnBadLine = silently,
    *,
    marks: bool = False,
) -> Iterator[Pair]:
    """All pairs that are suitable for training; with `marks`, inline codes of files become marks."""
    texts = held_out_texts(data)
    for corpus in corpora:
        yield from clean(
            _read(corpus, data, on_bad_line, marks=marks),
            report or CleanReport(),
            max_characters=data.max_characters,
            max_length_ratio=data.max_length_ratio,
            drop_duplicates=data.drop_duplicates,
            drop_identical=data.drop_identical,
            is_held_out=partial(is_held_out, texts=texts) if texts else None,
        )


def _read(corpus: Corpus, data: DataConfig, on_bad_line: OnBadLine, *, marks: bool = False) -> Iterator[Pair]:
    """The pairs of a corpus. Unused segments are always reported."""
    pairs = read_pairs(
        corpus.files,
        *sides_of(corpus),
        marks=marks,
        states=data.states,
        column=corpus.column,
        on_bad_line=on_bad_line if data.on_bad_line == "skip" else None,
        on_unused=on_bad_line,
    )
    constraint = corpus.side_constraint or NO_CONSTRAINT
    return (pair for pair in pairs if pair.cell == constraint) if corpus.column else pairs


def first_look(config: RunConfig, run: Path, say: Say) -> None:
    """Report the first pair of each corpus, and problems of training and validation text.

    A resumed run has reported them before. Raises `UserError` for a file that cannot be read, and for one that is
    mostly wrong, unless `data.on_doubt` is `warn`.
    """
    if (run / CONFIG).exists():
        return
    new = [corpus for corpus in config.data.train if corpus.tag != "replay"]
    for corpus in new:
        first = next(cleaned(config.data, [corpus]), None)
        if first is not None:
            source, target = shown(first.source, _SHOWN), shown(first.target, _SHOWN)
            say(f"{first.place}: {corpus.source}: {source} -> {corpus.target}: {target}")
    # Parts of one file, by a column, are examined together.
    whole = {(corpus.files, corpus.columns, corpus.source, corpus.target): corpus for corpus in new}
    for corpus in (*whole.values(), *config.data.valid):
        for line in doubts(corpus.files, *sides_of(corpus), column=corpus.column):
            say(f"warning: {line}")
        if config.learns == "pairs":
            _check(config, corpus, say)


def _check(config: RunConfig, corpus: Corpus, say: Say) -> None:
    """Report problems of the sides of a corpus. Raises `UserError` if most of it is wrong, unless `data.on_doubt` is
    `warn`."""
    pairs = read_pairs(corpus.files, *sides_of(corpus), states=config.data.states, on_bad_line=silently)
    check = check_sides(draw_sample(pairs), " + ".join(corpus.files), *known_languages(corpus))
    if check.wrong > MAX_WRONG and config.data.on_doubt == "stop":
        amount = f"{100 * check.wrong:.0f} % of the pairs" if check.wrong < 1 else "all of it"
        raise UserError(
            "\n".join(check.findings)
            + f"\nThat is {amount}: correct the text. To train on it all the same: `limelight train "
            + "--set data.on_doubt=warn`"
        )
    if check.measured and corpus in config.data.train:
        say(check.measured)
    for finding in check.findings:
        say(f"warning: {finding}")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Prepared training data of pairs."""

    tokenizers: Tokenizers
    stores: list[TokenStore]
    valid: list[list[Pair]]
    """The pairs of each corpus of `data.valid`."""
    alignments: Sequence[AlignmentStore | None] = ()
    """The word alignments of each store, if the augmentations need them."""
    similar: Sequence[np.ndarray] = ()
    """For each store what `find_similar` found, if the augmentations need it."""


def prepare(config: RunConfig, run: Path, say: Say) -> Prepared:
    """Read and clean the text, learn the vocabulary, and tokenize; results of a previous start are reused.

    Raises `UserError` for text that cannot be read, with file and line, and for a corpus from which nothing is left.
    """
    data = config.data
    for corpus in (*data.train, *data.valid):
        require_lasting(corpus.files)
    valid = [_without_long(pairs, data.max_characters, say) for pairs in read_valid(data, run, say)]
    _write_tokenizers(config, run / TOKENIZER, say)
    tokenizers = load_tokenizers(run / TOKENIZER)  # from the files, as all later uses do

    def encode(pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        marked = [pair.marked for pair in pairs]
        sources = encode_mixed(tokenizers.source, [pair.source for pair in pairs], marked)
        return sources, encode_mixed(tokenizers.target, [pair.target for pair in pairs], marked)

    ids = max(tokenizer.size for tokenizer in tokenizers)
    stores = make_stores(config, encode, run, say, ids=ids, marks=all(map(knows_marks, tokenizers)))
    warn_of_overlap(stores, list(chain.from_iterable(valid)), run, say)
    alignments = align_stores(data.train, stores, run, say) if config.augmentation.needs_alignments else ()
    similar = find_similar(stores, run, say) if config.augmentation.memory else ()
    return Prepared(tokenizers, stores, valid, alignments, similar)


def warn_of_overlap(stores: Sequence[TokenStore], valid: Sequence[Pair], run: Path, say: Say) -> None:
    """Report validation pairs that are also in the training text, once when a run begins."""
    warning = "" if is_resumed(run) else overlap_warning(stores, valid, "validation")
    if warning:
        say(warning)


def read_valid(data: DataConfig, run: Path, say: Say) -> list[list[Pair]]:
    """The validation pairs of each corpus that are not empty on either side; the run stores a copy. A resumed run uses
    its copy if the files are gone."""
    corpora = [_valid_corpus(data, number, run, say) for number in range(len(data.valid))]
    if data.valid and not any(corpora):
        raise UserError(f"{data.valid[0].files[0]}: no validation pair has text on both sides")
    return corpora


def _valid_corpus(data: DataConfig, number: int, run: Path, say: Say) -> list[Pair]:
    corpus, name = data.valid[number], f"valid-{number}"

    def fingerprint() -> str:
        return _hash([_stats(corpus.files), data.on_bad_line, *_languages(corpus)])

    if kept := resumed_pairs(run, name, corpus.files, fingerprint, say):
        return kept
    with SkipReport(run / DATA / f"{name}-skipped.txt", say) as skipped:
        found = list(_read(corpus, data, skipped.add))
    if skipped.total:
        say(f"{' + '.join(corpus.files)}: {skipped.summary()}")
    full = [pair for pair in found if pair.source.strip() and pair.target.strip()]
    if len(full) < len(found):
        say(f"{corpus.files[0]}: {len(found) - len(full)} of {len(found)} validation pairs have an empty side")
    keep_pairs(run, name, full, files=corpus.files, fingerprint=fingerprint())
    return full


def _without_long(pairs: list[Pair], max_characters: int, say: Say) -> list[Pair]:
    """The pairs within the limit of training: translating one of 20,000 words would delay the run at every validation.
    Raises `UserError` if none is left."""
    kept = [pair for pair in pairs if max(len(pair.source), len(pair.target)) <= max_characters]
    if len(kept) < len(pairs):
        count = f"{pairs[0].file}: {len(pairs) - len(kept):,} of {len(pairs):,} validation pairs"
        said = f"{count} are longer than {max_characters:,} characters (data.max_characters)"
        if not kept:
            raise UserError(f"{said}; split them into sentences, or raise the limit")
        say(f"{said}, and are left out")
    return kept


def _write_tokenizers(config: RunConfig, folder: Path, say: Say) -> None:
    """Learn the vocabularies, unless a resumed run has them."""
    if is_resumed(folder.parent):
        return
    if config.begin_with:
        borrowed = load_tokenizers(find_start(config.begin_with, folder.parent) / TOKENIZER)
        if not config.extend_vocabulary:
            say(f"the vocabulary is that of {config.begin_with}")
        write_folder(folder, lambda partial: save_tokenizers(borrowed, partial))
        return
    tokens, data = config.tokens, config.data
    sentences = count_pairs(data)

    def learn(*sides: str) -> Tokenizer:
        return train_tokenizer(
            (getattr(pair, side) for pair in cleaned(data, data.train) for side in sides),
            kind=tokens.kind,
            vocabulary_size=tokens.vocabulary_size,
            languages=sorted({language for corpus in data.train for language in (corpus.source, corpus.target)}),
            byte_fallback=tokens.byte_fallback,
            seed=config.training.seed,
            sentences=sentences,
            reserved=further_pieces(config) if "source" in sides else (),
        )

    source = learn("source", "target") if tokens.joint else learn("source")
    tokenizers = Tokenizers(source, source if tokens.joint else learn("target"))
    sizes = sorted({tokenizer.padding for tokenizer in tokenizers})
    joint = "joint" if tokens.joint else "separate"
    say(f"learned a {joint} {tokens.kind} vocabulary of {' and '.join(map(str, sizes))}")
    write_folder(folder, lambda partial: save_tokenizers(tokenizers, partial))


def count_pairs(data: DataConfig, count: Callable[[Pair], None] = lambda pair: None) -> int:
    """The number of training pairs; `count` is called with each. Raises `UserError` if there are none, with what was
    left out and why, and what could not be read."""
    report, unreadable = CleanReport(), Counter[str]()
    for pair in cleaned(data, data.train, report, lambda line: unreadable.update([line.kind])):
        count(pair)
    if not report.kept:
        files = ", ".join(name for corpus in data.train for name in corpus.files)
        skipped = [f"\n  skipped {count:,}: {kind}" for kind, count in unreadable.most_common()]
        copies = f"\n{IDENTICAL}" if report.dropped["identical"] else ""
        raise UserError(f"{files}: there is nothing to train on: {report.summary()}{''.join(skipped)}{copies}")
    return report.kept


def further_pieces(config: RunConfig) -> tuple[str, ...]:
    """Reserved tokens that the source vocabulary of a new run needs besides language tags."""
    corpora = config.data.train
    constraints = dict.fromkeys(each.side_constraint for each in corpora if each.side_constraint)
    found = [BACK_TRANSLATED] * any(corpus.tag == "bt" for corpus in corpora)
    if config.augmentation.formality or {"formal", "informal"} & constraints.keys():
        found += FORMALITY_TAGS
    found += [SIMILAR] * (config.augmentation.memory > 0)
    return tuple(dict.fromkeys([*found, *map(side_constraint_tag, constraints)]))


def make_stores(
    config: RunConfig, encode: Encode, run: Path, say: Say, *, ids: int, marks: bool = False
) -> list[TokenStore]:
    """A store for each corpus, created again only if text, cleaning or vocabulary changed; ids from `encode` are below
    `ids`. With `marks`, inline codes of files become marks.

    Raises `UserError` for a corpus from which nothing is left.
    """
    stores = []
    for number, corpus in enumerate(config.data.train):
        name = f"train-{number}"

        def fingerprint(corpus: Corpus = corpus) -> str:
            return _fingerprint(config, corpus, run / TOKENIZER)

        if not keeps_stores(run, [name], corpus.files, fingerprint, say):
            with StoreWriter(run / DATA / name, vocabulary_size=ids) as writer:
                said = _write(config, corpus, encode, writer, say, marks=marks)
                writer.close(fingerprint(), places_of(corpus.files))
            say(said)
        stores.append(open_store(run / DATA / name))
    return stores


def _write(config: RunConfig, corpus: Corpus, encode: Encode, writer: StoreWriter, say: Say, *, marks: bool) -> str:
    """Write the pairs of a corpus that are not too long as tokens and as text; returns what was left out and why."""
    part = f" ({corpus.side_constraint or NO_CONSTRAINT})" if corpus.column else ""
    name, folder = f"{' + '.join(corpus.files)}{part}", writer.folder
    too_long = f"more than {config.batching.max_length} tokens, the end counted (batching.max_length)"
    longer, max_length = 0, _max_length(config, corpus)
    with (
        SkipReport(folder.with_name(f"{folder.name}-skipped.txt"), say) as skipped,
        LeftOutList(folder.with_name(f"{folder.name}-left-out.tsv")) as left_out,
    ):
        report = CleanReport(on_left_out=left_out.add)
        for group in chunks(cleaned(config.data, [corpus], report, skipped.add, marks=marks), GROUP):
            rows = list(zip(group, *encode(group), strict=True))
            kept = [
                (pair, source, target) for pair, source, target in rows if max(len(source), len(target)) < max_length
            ]
            for pair, source, target in rows if len(kept) < len(rows) else ():
                if max(len(source), len(target)) >= max_length:
                    left_out.add(pair, too_long)
                    longer += 1
            writer.append(
                [source for _, source, _ in kept],
                [target for _, _, target in kept],
                [pair.source for pair, _, _ in kept],
                [pair.target for pair, _, _ in kept],
                [pair.marked for pair, _, _ in kept],
            )
        report.kept -= longer
        said = report.summary()
        if longer:
            said += f"\n  left out {longer:,}: {too_long}"
        for each in (left_out, skipped):
            said += f"\n{each.summary()}" if each.total else ""
        if not report.kept:
            raise UserError(f"{name}: no pair is left to train on: {said}")
    return f"{name}: {said}"


def _max_length(config: RunConfig, corpus: Corpus) -> int:
    """Maximum tokens of a side, its end included, that leave room for the tags before each source."""
    return config.batching.max_length - has_tags(config.data) - (corpus.tag == "bt") - bool(corpus.side_constraint)


def vocabulary_sums(folder: Path) -> list[tuple[str, str]]:
    """The SHA-256 of each tokenizer file, on which tokens on disk depend."""
    return sorted(
        (str(path.relative_to(folder)), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    )


def _fingerprint(config: RunConfig, corpus: Corpus, tokenizer: Path) -> str:
    """A hash of everything a store depends on: file states, cleaning, length limit, vocabulary."""
    cleaning = config.data.model_dump(mode="json", exclude=NO_CLEANING)
    vocabulary = vocabulary_sums(tokenizer)
    parts = [_stats(corpus.files), cleaning, _max_length(config, corpus), vocabulary, *_languages(corpus)]
    parts += [corpus.column, corpus.side_constraint] if corpus.column else []
    return _hash([*parts, *held_out_sums(config.data)])


def _hash(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _languages(corpus: Corpus) -> tuple[str, ...]:
    """The languages or columns of a corpus, if they select what is read from its file."""
    return (*((corpus.source, corpus.target) if names_languages(corpus.files) else ()), *corpus.columns)


def _stats(files: Iterable[str]) -> list[tuple[str, int, int]]:
    """Name, size and modification time of each file."""
    return [(name, Path(name).stat().st_size, Path(name).stat().st_mtime_ns) for name in files]

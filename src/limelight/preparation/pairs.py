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

from limelight.batching.store import AlignmentStore, StoreWriter, TokenStore, open_store, store_matches
from limelight.config import Corpus, DataConfig, RunConfig, direction_of, has_tags, known_languages, sides_of
from limelight.errors import UserError
from limelight.files import write_folder
from limelight.formats import names_languages, read_pairs
from limelight.formats.lines import chunks
from limelight.formats.opening import require_lasting
from limelight.preparation.align import align_stores, find_similar
from limelight.preparation.doubts import IDENTICAL, doubts
from limelight.preparation.hold_out import (
    DATA,
    Say,
    files_elsewhere,
    find_overlap,
    held_out_sums,
    held_out_texts,
    is_held_out,
    is_resumed,
    keep_pairs,
    keeps,
    kept_pairs,
    places_of,
    store_elsewhere,
)
from limelight.preparation.sides import MAX_WRONG, SideCheck, check_sides, draw_sample
from limelight.preparation.unheld import Characters
from limelight.storage.layout import CONFIG, TOKENIZER, find_start
from limelight.text.clean import CleanReport, LeftOutList, SkipReport, clean
from limelight.text.languages import normal_code
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

_SHOWN = 70
"""Maximum characters of each side in a message."""


def first_look(config: RunConfig, run: Path, say: Say) -> None:
    """Report the first pair of each corpus, and problems of training and validation text.

    A resumed run has reported them before. Raises `UserError` for a file that cannot be read, and for one that is
    mostly wrong, unless `data.on_doubt` is `warn`.
    """
    if (run / CONFIG).exists():
        return
    new = [corpus for corpus in config.data.train if corpus.tag != "replay"]
    for corpus in new:
        first = next(cleaned(config.data, [corpus], CleanReport(), silently), None)
        if first is not None:
            say(f"{first.place}: {corpus.source}: {_short(first.source)} -> {corpus.target}: {_short(first.target)}")
    translates = config.learns == "pairs"
    checks: list[tuple[Corpus, SideCheck]] = []
    undivided = [corpus for place, corpus in enumerate(new) if not any(map(corpus.shares_file_with, new[:place]))]
    for corpus in (*undivided, *config.data.valid):
        for line in doubts(corpus.files, *sides_of(corpus), languages=not translates, column=corpus.column):
            say(f"warning: {line}")
        if translates:
            check = _checked(config, corpus)
            checks.append((corpus, check))
            if check.measured and corpus in config.data.train:
                say(check.measured)
            for finding in check.findings:
                say(f"warning: {finding.text}")
    for warning in _contradictions(checks):
        say(f"warning: {warning}")


def _checked(config: RunConfig, corpus: Corpus) -> SideCheck:
    """Problems of the sides of a corpus. Raises `UserError` if most of it is wrong, unless `data.on_doubt` is
    `warn`."""
    languages = known_languages(corpus)
    pairs = read_pairs(corpus.files, *sides_of(corpus), states=config.data.states, on_bad_line=silently)
    check = check_sides(draw_sample(pairs), " + ".join(corpus.files), *languages)
    if check.wrong > MAX_WRONG and config.data.on_doubt == "stop":
        amount = f"{100 * check.wrong:.0f} % of the pairs" if check.wrong < 1 else "all of it"
        raise UserError(
            "\n".join(finding.text for finding in check.findings)
            + f"\nThat is {amount}: correct the text. To train on it all the same: `limelight train "
            + "--set data.on_doubt=warn`"
        )
    return check


def _contradictions(checks: list[tuple[Corpus, SideCheck]]) -> list[str]:
    """A warning for each corpus whose languages are swapped relative to an earlier one of the same direction."""
    found = []
    for number, (corpus, check) in enumerate(checks):
        here = tuple(map(normal_code, check.languages))
        for earlier, known in checks[:number]:
            there = tuple(map(normal_code, known.languages))
            if direction_of(corpus) == direction_of(earlier) and all(here) and here != there == here[::-1]:
                found.append(
                    f"{' + '.join(earlier.files)} looks like {' -> '.join(there)}, and {' + '.join(corpus.files)} like "
                    f"{' -> '.join(here)}: are the sides of one of them swapped?"
                )
                break
    return found


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


OnBadLine = Callable[[BadLine], None]
Encode = Callable[[Sequence[Pair]], tuple[list[list[int]], list[list[int]]]]
"""Maps pairs to the rows of both sides."""
NO_CLEANING = {
    "train", "valid", "both_directions", "inherited", "temperature", "on_doubt", "hold_out", "replay", "general",
}  # fmt: skip
"""Settings of `data` that do not affect which pairs of a corpus are kept."""
MISSING = "characters-without-tokens.tsv"
"""A file in the data of a run with character, code point, count and first position."""
NO_CONSTRAINT = "-"
"""The content of a column of side constraints for a pair without one."""
GROUP = 10_000  # pairs tokenized at once: a balance of speed and memory


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
    for corpus in (*config.data.train, *config.data.valid):
        require_lasting(corpus.files)
    valid = read_valid(config.data, run, say)  # first, as it is read much faster than the training text
    valid = [_without_long(pairs, config.data.max_characters, say) for pairs in valid]
    _write_tokenizers(config, run / TOKENIZER, say)
    tokenizers = load_tokenizers(run / TOKENIZER)  # from the files, as all later uses do

    def encode(pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        marked = [pair.marked for pair in pairs]
        sources = encode_mixed(tokenizers.source, [pair.source for pair in pairs], marked)
        return sources, encode_mixed(tokenizers.target, [pair.target for pair in pairs], marked)

    ids = max(tokenizer.size for tokenizer in tokenizers)
    stores = make_stores(config, encode, run, say, ids=ids, marks=all(map(knows_marks, tokenizers)))
    warn_of_overlap(stores, list(chain.from_iterable(valid)), run, say)
    alignments = align_stores(config.data.train, stores, run, say) if config.augmentation.needs_alignments else ()
    similar = find_similar(stores, run, say) if config.augmentation.memory else ()
    return Prepared(tokenizers, stores, valid, alignments, similar)


def make_stores(
    config: RunConfig, encode: Encode, run: Path, say: Say, *, ids: int, marks: bool = False
) -> list[TokenStore]:
    """A store for each corpus; ids from `encode` are below `ids`. With `marks`, inline codes of files become marks.

    Raises `UserError` for a corpus from which nothing is left.
    """
    return [
        _store(config, corpus, encode, run / DATA / f"train-{number}", say, ids=ids, marks=marks)
        for number, corpus in enumerate(config.data.train)
    ]


def warn_of_overlap(stores: Sequence[TokenStore], valid: Sequence[Pair], run: Path, say: Say) -> None:
    """Report validation pairs that are also in the training text, once when a run begins."""
    warning = "" if is_resumed(run) else find_overlap(stores, valid).warning("validation")
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
    if is_resumed(run) and keeps(run, name):
        pairs, places, fingerprint = kept_pairs(run, name)
        elsewhere = files_elsewhere(corpus.files, places)
        if elsewhere or fingerprint == _valid_fingerprint(data, corpus):
            if elsewhere:
                say(elsewhere)
            return pairs
        say(f"{' + '.join(corpus.files)}: validation text has changed; reading it again")
    with SkipReport(run / DATA / f"{name}-skipped.txt", say) as skipped:
        found = list(_read(corpus, data, skipped.add))
    if skipped.total:
        say(f"{' + '.join(corpus.files)}: {skipped.summary()}")
    full = [pair for pair in found if pair.source.strip() and pair.target.strip()]
    if len(full) < len(found):
        say(f"{corpus.files[0]}: {len(found) - len(full)} of {len(found)} validation pairs have an empty side")
    keep_pairs(run, name, full, files=corpus.files, fingerprint=_valid_fingerprint(data, corpus))
    return full


def _without_long(pairs: list[Pair], max_characters: int, say: Say) -> list[Pair]:
    """The pairs within the limit of training: translating one of 20,000 words would delay the run at every validation.
    Raises `UserError` if none is left."""
    longer = [pair for pair in pairs if max(len(pair.source), len(pair.target)) > max_characters]
    if not longer:
        return pairs
    count = f"{len(longer):,} of {len(pairs):,} validation pairs"
    limit = f"longer than {max_characters:,} characters (data.max_characters)"
    if len(longer) == len(pairs):
        raise UserError(f"{longer[0].place}: {count} are {limit}; split them into sentences, or raise the limit")
    say(f"{longer[0].place}: {count} are left out, this one first: {limit}")
    left_out = set(map(id, longer))
    return [pair for pair in pairs if id(pair) not in left_out]


def _valid_fingerprint(data: DataConfig, corpus: Corpus) -> str:
    parts = [_stats(corpus.files), data.on_bad_line, *_languages(corpus)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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
    tokens, data, report = config.tokens, config.data, CleanReport()
    unreadable: Counter[str] = Counter()
    pairs = cleaned(data, data.train, report, lambda line: unreadable.update([line.kind]))
    characters, sentences = Characters(), 0
    for pair in pairs:
        characters.count(pair)
        sentences += 1
    if not sentences:
        raise nothing_left(data, report, unreadable)

    def learn(*sides: str) -> Tokenizer:
        pairs = cleaned(data, data.train, CleanReport(), silently)
        return train_tokenizer(
            (getattr(pair, side) for pair in pairs for side in sides),
            kind=tokens.kind,
            vocabulary_size=tokens.vocabulary_size,
            languages=sorted({language for corpus in data.train for language in (corpus.source, corpus.target)}),
            byte_fallback=tokens.byte_fallback,
            seed=config.training.seed,
            sentences=sentences,
            reserved=further_pieces(config) if "source" in sides else (),
        )

    if tokens.joint:
        both = learn("source", "target")
        tokenizers = Tokenizers(both, both)
    else:
        tokenizers = Tokenizers(learn("source"), learn("target"))
    sizes = sorted({tokenizer.padding for tokenizer in tokenizers})
    joint = "joint" if tokens.joint else "separate"
    say(f"learned a {joint} {tokens.kind} vocabulary of {' and '.join(map(str, sizes))}")
    missing = characters.report(tokenizers, folder.parent / DATA / MISSING, byte_fallback=tokens.byte_fallback)
    if missing:
        say(missing)
    write_folder(folder, lambda partial: save_tokenizers(tokenizers, partial))


def further_pieces(config: RunConfig) -> tuple[str, ...]:
    """Reserved tokens that the source vocabulary of a new run needs besides language tags."""
    corpora = config.data.train
    constraints = dict.fromkeys(each.side_constraint for each in corpora if each.side_constraint)
    found = [BACK_TRANSLATED] * any(corpus.tag == "bt" for corpus in corpora)
    if config.augmentation.formality or {"formal", "informal"} & constraints.keys():
        found += FORMALITY_TAGS
    found += [SIMILAR] * (config.augmentation.memory > 0)
    return tuple(dict.fromkeys([*found, *map(side_constraint_tag, constraints)]))


def nothing_left(data: DataConfig, report: CleanReport, unreadable: Counter[str]) -> UserError:
    """The error for a corpus without pairs: what was left out and why, and what could not be read."""
    files = ", ".join(name for corpus in data.train for name in corpus.files)
    skipped = [f"\n  skipped {count:,}: {kind}" for kind, count in unreadable.most_common()]
    copies = f"\n{IDENTICAL}" if report.dropped["identical"] else ""
    return UserError(f"{files}: there is nothing to train on: {report.summary()}{''.join(skipped)}{copies}")


def silently(_line: BadLine) -> None:
    """Ignore bad lines, which are reported once while the corpus is tokenized."""


def _store(
    config: RunConfig, corpus: Corpus, encode: Encode, folder: Path, say: Say, *, ids: int, marks: bool
) -> TokenStore:
    """The tokenized corpus on disk, created again only if text, cleaning or vocabulary changed."""
    name = _name(corpus)
    elsewhere = store_elsewhere(folder.parent.parent, folder.name, corpus.files)
    if elsewhere:
        say(elsewhere)
        return open_store(folder)
    fingerprint = _fingerprint(config, corpus, folder)
    if store_matches(folder, fingerprint):
        return open_store(folder)
    if (folder / "store.json").exists():
        say(f"{name}: text, cleaning or vocabulary has changed; tokenizing it again")
    with (
        SkipReport(folder.with_name(f"{folder.name}-skipped.txt"), say) as skipped,
        LeftOutList(folder.with_name(f"{folder.name}-left-out.tsv")) as left_out,
        StoreWriter(folder, vocabulary_size=ids) as writer,
    ):
        report = CleanReport(on_left_out=left_out.add)
        pairs = cleaned(config.data, [corpus], report, skipped.add, marks=marks)
        too_long = f"more than {config.batching.max_length} tokens, the end counted (batching.max_length)"
        kept = _tokenize(
            pairs, encode, writer, max_length=_max_length(config, corpus),
            on_too_long=lambda pair: left_out.add(pair, too_long),
        )  # fmt: skip
        longer, report.kept = report.kept - kept, kept
        said = report.summary()
        if longer:
            said += f"\n  left out {longer:,}: {too_long}"
        if left_out.total:
            said += f"\n{left_out.summary()}"
        if skipped.total:
            said += f"\n{skipped.summary()}"
        if not kept:
            raise UserError(f"{name}: no pair is left to train on: {said}")
        store = writer.close(fingerprint, places_of(corpus.files))
    say(f"{name}: {said}")
    return store


def _name(corpus: Corpus) -> str:
    """The files of a corpus, and which of their pairs it has."""
    part = f" ({corpus.side_constraint or NO_CONSTRAINT})" if corpus.column else ""
    return f"{' + '.join(corpus.files)}{part}"


def _max_length(config: RunConfig, corpus: Corpus) -> int:
    """Maximum tokens of a side, its end included, that leave room for the tags before each source."""
    return config.batching.max_length - has_tags(config.data) - (corpus.tag == "bt") - bool(corpus.side_constraint)


def _tokenize(
    pairs: Iterator[Pair],
    encode: Encode,
    writer: StoreWriter,
    *,
    max_length: int,
    on_too_long: Callable[[Pair], None],
) -> int:
    """Write the pairs that are not too long as tokens and as text; returns their number."""
    kept = 0
    for group in chunks(pairs, GROUP):
        sources, targets = encode(group)
        chosen = []
        for number, rows in enumerate(zip(sources, targets, strict=True)):
            if max(map(len, rows)) < max_length:
                chosen.append(number)
            else:
                on_too_long(group[number])
        writer.append(
            [sources[number] for number in chosen],
            [targets[number] for number in chosen],
            [group[number].source for number in chosen],
            [group[number].target for number in chosen],
            [group[number].marked for number in chosen],
        )
        kept += len(chosen)
    return kept


def vocabulary_sums(folder: Path) -> list[tuple[str, str]]:
    """The SHA-256 of each tokenizer file, on which tokens on disk depend."""
    return sorted(
        (str(path.relative_to(folder)), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    )


def _fingerprint(config: RunConfig, corpus: Corpus, folder: Path) -> str:
    """A hash of everything a store depends on: file states, cleaning, length limit, vocabulary."""
    cleaning = config.data.model_dump(mode="json", exclude=NO_CLEANING)
    vocabulary = vocabulary_sums(folder.parent.parent / TOKENIZER)
    parts = [_stats(corpus.files), cleaning, _max_length(config, corpus), vocabulary, *_languages(corpus)]
    parts += [corpus.column, corpus.side_constraint] if corpus.column else []
    parts += held_out_sums(config.data)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _languages(corpus: Corpus) -> tuple[str, ...]:
    """The languages or columns of a corpus, if they select what is read from its file."""
    return (*((corpus.source, corpus.target) if names_languages(corpus.files) else ()), *corpus.columns)


def _stats(files: Iterable[str]) -> list[tuple[str, int, int]]:
    """Name, size and modification time of each file."""
    return [(name, Path(name).stat().st_size, Path(name).stat().st_mtime_ns) for name in files]


def cleaned(
    data: DataConfig, corpora: Iterable[Corpus], report: CleanReport, on_bad_line: OnBadLine, *, marks: bool = False
) -> Iterator[Pair]:
    """All pairs that are suitable for training; with `marks`, inline codes of files become marks."""
    texts = held_out_texts(data)
    for corpus in corpora:
        yield from clean(
            _read(corpus, data, on_bad_line, marks=marks),
            report,
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
    return (
        (pair for pair in pairs if pair.cell == (corpus.side_constraint or NO_CONSTRAINT)) if corpus.column else pairs
    )

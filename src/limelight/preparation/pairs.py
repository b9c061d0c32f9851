"""From parallel text, and from texts with labels, to training data: a first check of the text, a vocabulary, and a
memory-mapped store for each corpus."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from limelight.batching.batch import begun
from limelight.batching.store import GROUP, AlignmentStore, Columns, TokenStore, add_pairs, new_store, open_store
from limelight.config import Corpus, DataConfig, RunConfig, has_tags, known_languages, sides_of
from limelight.errors import UserError, shown
from limelight.files import write_whole
from limelight.formats.lines import OnBadLine, chunks
from limelight.preparation.align import align_stores
from limelight.preparation.doubts import IDENTICAL, doubts
from limelight.preparation.hold_out import held_out_filter, overlap_warning
from limelight.preparation.kept import DATA, Say, fingerprint, is_resumed, is_usable, keep_pairs, kept_pairs
from limelight.preparation.read import has_text, new_corpora, pairs_of, silently
from limelight.preparation.sides import MAX_WRONG, check_sides, draw_sample
from limelight.preparation.vocabulary import learn_tokenizer, make_tokenizers
from limelight.storage.layout import LABELS, TOKENIZER
from limelight.text.clean import CleanReport, LeftOutList, SkipReport, clean
from limelight.text.labels import dump_labels, label_fault, label_numbers, labels_fault, read_labels
from limelight.text.pair import Pair
from limelight.tokens import BACK_TRANSLATED, FORMALITY_TAGS, Tokenizer, Tokenizers, side_constraint_tag

Encode = Callable[[Sequence[Pair]], tuple[list[list[int]], list[list[int]]]]
"""Maps pairs to the rows of both sides."""
_SHOWN = 70
"""Maximum characters of each side in a message."""


def cleaned(
    data: DataConfig,
    corpora: Iterable[Corpus],
    report: CleanReport | None = None,
    on_bad_line: OnBadLine = silently,
) -> Iterator[Pair]:
    """All pairs that are suitable for training."""
    is_held_out = held_out_filter(data)
    for corpus in corpora:
        yield from clean(
            _read(corpus, data, on_bad_line),
            report or CleanReport(),
            max_characters=data.max_characters,
            max_length_ratio=data.max_length_ratio,
            drop_duplicates=data.drop_duplicates,
            drop_identical=data.drop_identical,
            is_held_out=is_held_out,
        )


def _read(corpus: Corpus, data: DataConfig, on_bad_line: OnBadLine) -> Iterator[Pair]:
    """The pairs of a corpus. Unused segments are always reported."""
    skip = on_bad_line if data.on_bad_line == "skip" else None
    return pairs_of(corpus, skip, on_bad_line)


def first_look(config: RunConfig, say: Say) -> None:
    """Report the first pair of each corpus of a run that has not begun, and problems of training and validation text.

    Raises `UserError` for a file that cannot be read, and for one that is
    mostly wrong, unless `data.on_doubt` is `warn`.
    """
    new = new_corpora(config.data)
    for corpus in new:
        for pair in islice(cleaned(config.data, [corpus]), 1):
            source, target = shown(pair.source, _SHOWN), shown(pair.target, _SHOWN)
            say(f"{pair.place}: {corpus.source}: {source} -> {corpus.target}: {target}")
    for corpus in (*new, *config.data.valid):
        for line in doubts(corpus.files, *sides_of(corpus)):
            say(f"warning: {line}")
        if config.learns != "pairs":
            continue
        check = check_sides(draw_sample(pairs_of(corpus, silently)), str(corpus), *known_languages(corpus))
        if check.wrong > MAX_WRONG and config.data.on_doubt == "stop":
            raise UserError(
                "\n".join(check.findings)
                + f"\nThat is {100 * check.wrong:.0f} % of the pairs: correct the text. To train on it all the same: "
                + "`limelight train --set data.on_doubt=warn`"
            )
        if check.measured and corpus in new:
            say(check.measured)
        for finding in check.findings:
            say(f"warning: {finding}")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Prepared training data of pairs, or of texts with labels."""

    tokenizers: Tokenizers
    stores: list[TokenStore]
    """Of texts with labels the sources are `begun` rows, and the targets the index of a label."""
    valid: list[list[Pair]]
    """The pairs of each corpus of `data.valid`."""
    alignments: Sequence[AlignmentStore | None] = ()
    """The word alignments of each store, if the augmentations need them."""
    labels: tuple[str, ...] = ()


def prepare(config: RunConfig, run: Path, say: Say) -> Prepared:
    """Read and clean the text, learn the vocabulary, and tokenize; results of a previous start are reused.

    Raises `UserError` for text that cannot be read, with file and line, for a corpus from which nothing is left, for
    invalid labels, and for labels that only validation text has.
    """
    data = config.data
    if config.learns == "labels":  # without checks for translations: a label is always shorter, and may equal the text
        data = data.model_copy(update={"max_length_ratio": 3.0 * data.max_characters, "drop_identical": False})
        config = config.model_copy(update={"data": data})
    valid = read_valid(config, run, say)
    new = _collect_labels(data, say) if config.learns == "labels" and not is_resumed(run) else ()
    tokenizers = make_tokenizers(config, run, say, partial(_learn, config))
    if new:
        write_whole(run / TOKENIZER / LABELS, dump_labels(new))
    labels = read_labels(run / TOKENIZER / LABELS) if config.learns == "labels" else ()

    def encode(pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        sources = [tokenizers.source.encode(pair.source) for pair in pairs]
        if labels:
            return [begun(row) for row in sources], [[number] for number in label_numbers(pairs, labels)]
        return sources, [tokenizers.target.encode(pair.target) for pair in pairs]

    ids = max(len(labels), *(tokenizer.size for tokenizer in tokenizers))
    stores, valid_pairs = make_stores(config, encode, run, say, ids=ids), list(chain.from_iterable(valid))
    if labels:
        label_numbers(valid_pairs, labels)
    if not is_resumed(run) and (warning := overlap_warning(stores, valid_pairs, "validation")):
        say(warning)
    alignments = align_stores(data.train, stores, run, say) if config.augmentation.needs_alignments else ()
    return Prepared(tokenizers, stores, valid, alignments, labels)


def read_valid(config: RunConfig, run: Path, say: Say) -> list[list[Pair]]:
    """The validation pairs of each corpus that have text on both sides, within the limit of training; the run stores a
    copy. Raises `UserError` if there are none."""
    data, by_corpus = config.data, list[list[Pair]]()
    limit = f"text on both sides, and at most {data.max_characters:,} characters (data.max_characters)"
    for number, corpus in enumerate(data.valid):
        name, made_of = f"valid-{number}", fingerprint(config, corpus.files)
        if not is_usable(run, [name], corpus.files, made_of, say):
            with SkipReport(run / DATA / f"{name}-skipped.txt", say) as skipped:
                read = list(_read(corpus, data, skipped.add))
            if skipped.total:
                say(f"{corpus}: {skipped.summary()}")
            pairs = [pair for pair in read if has_text(pair, data.max_characters)]
            if len(pairs) < len(read):
                say(f"{corpus.files[0]}: {len(pairs):,} of {len(read):,} validation pairs have {limit}")
            keep_pairs(run, name, pairs, made_of)
        by_corpus.append(kept_pairs(run, name))
    if data.valid and not any(by_corpus):
        raise UserError(f"{data.valid[0].files[0]}: no validation pair has {limit}")
    return by_corpus


def _learn(config: RunConfig) -> Tokenizers:
    """One vocabulary for both sides, or one for each; of texts with labels, one of the texts."""
    data = config.data
    count = count_pairs(data)

    def learn(*sides: str) -> Tokenizer:
        texts = (getattr(pair, side) for pair in cleaned(data, data.train) for side in sides)
        reserved = further_pieces(config) if "source" in sides else ()
        return learn_tokenizer(config, texts, count, reserved=reserved)

    if config.tokens.joint or config.learns == "labels":
        tokenizer = learn("source", *["target"] * (config.learns == "pairs"))
        return Tokenizers(tokenizer, tokenizer)
    return Tokenizers(learn("source"), learn("target"))


def _collect_labels(data: DataConfig, say: Say) -> list[str]:
    """The labels of the training text, sorted. Raises `UserError` for invalid labels and for fewer than two."""
    counts = Counter[str]()

    def count(pair: Pair) -> None:
        label = pair.target.strip()
        fault = "" if label in counts else label_fault(label)
        if fault:
            raise UserError(f"{pair.place}: {fault}")
        counts[label] += 1

    count_pairs(data, count)
    if fault := labels_fault(sorted(counts)):
        raise UserError(f"{data.train[0].files[-1]}: {fault}: a line of it is a text, a tab, and the label of the text")
    listed = ", ".join(f"{label} {number:,}" for label, number in counts.most_common(10))
    say(f"{len(counts):,} labels: {listed}{' ...' if len(counts) > 10 else ''}")
    return sorted(counts)


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
    constraints = dict.fromkeys(corpus.side_constraint for corpus in corpora if corpus.side_constraint)
    pieces = [BACK_TRANSLATED] * any(corpus.tag == "bt" for corpus in corpora)
    if config.augmentation.formality or {"formal", "informal"} & constraints.keys():
        pieces += FORMALITY_TAGS
    return tuple(dict.fromkeys([*pieces, *map(side_constraint_tag, constraints)]))


def make_stores(config: RunConfig, encode: Encode, run: Path, say: Say, *, ids: int) -> list[TokenStore]:
    """A store for each corpus, created again only if text, settings or vocabulary changed before the run began; ids
    from `encode` are below `ids`.

    Raises `UserError` for a corpus from which nothing is left.
    """
    stores = []
    for number, corpus in enumerate(config.data.train):
        folder, made_of = run / DATA / f"train-{number}", fingerprint(config, corpus.files, run / TOKENIZER)
        if not is_usable(run, [folder.name], corpus.files, made_of, say):
            with new_store(folder, made_of, vocabulary_size=ids) as columns:
                report = _write(config, corpus, encode, columns, folder, say)
            say(report)
        stores.append(open_store(folder))
    return stores


def _write(config: RunConfig, corpus: Corpus, encode: Encode, columns: Columns, folder: Path, say: Say) -> str:
    """Write the pairs of a corpus that are not too long as tokens and as text; returns a summary of them."""
    too_long = f"more than {config.batching.max_length} tokens, the end counted (batching.max_length)"
    # The end token of a side included, with room for the tags before each source.
    limit = config.batching.max_length - has_tags(config.data) - (corpus.tag == "bt") - bool(corpus.side_constraint)
    with (
        SkipReport(folder.with_name(f"{folder.name}-skipped.txt"), say) as skipped,
        LeftOutList(folder.with_name(f"{folder.name}-left-out.tsv")) as left_out,
    ):
        report, longer = CleanReport(on_left_out=left_out.add), 0
        for group in chunks(cleaned(config.data, [corpus], report, skipped.add), GROUP):
            rows = []
            for pair, source, target in zip(group, *encode(group), strict=True):
                if max(len(source), len(target)) < limit:
                    rows.append((source, target, pair.source, pair.target))
                else:
                    left_out.add(pair, too_long)
            longer += len(group) - len(rows)
            add_pairs(columns, rows)
        report.kept -= longer
        lines = [report.summary(), f"  left out {longer:,}: {too_long}" * bool(longer)]
        summary = "\n".join(filter(None, (*lines, left_out.summary(), skipped.summary())))
        if not report.kept:
            raise UserError(f"{corpus}: no pair is left to train on: {summary}")
    return f"{corpus}: {summary}"

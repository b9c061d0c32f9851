"""From plain text, and from labeled texts, to training data: a vocabulary and files of tokens."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from limelight.batching.batch import begun
from limelight.batching.store import (
    DESCRIPTION,
    NO_TEXT,
    TextStore,
    TextWriter,
    TokenStore,
    open_text_store,
    store_matches,
)
from limelight.config import DataConfig, RunConfig
from limelight.errors import UserError
from limelight.files import write_folder
from limelight.formats.opening import require_lasting
from limelight.formats.running_text import PART, Extent, OnBadLine, Part, measure, read_documents
from limelight.preparation.hold_out import Say, is_resumed, places_of, store_elsewhere
from limelight.preparation.pairs import (
    cleaned,
    make_stores,
    nothing_left,
    read_valid,
    silently,
    vocabulary_sums,
    warn_of_overlap,
)
from limelight.storage.layout import LABELS, TOKENIZER, find_model
from limelight.text.clean import CleanReport, SkipReport
from limelight.text.labels import dump_labels, label_fault, label_numbers, labels_fault, read_labels
from limelight.text.pair import Pair
from limelight.tokens import MASK, Tokenizer, Tokenizers, load_tokenizers, save_tokenizers, train_tokenizer
from limelight.tokens.text import RESERVED, encode_texts, line_end, reserved_id

TRAIN, VALID = "text-train", "text-valid"
PAIR = 120
"""Number of characters that count as one pair when the size of a vocabulary is chosen."""
SENTENCE = 4_000
"""Maximum characters of a line from which a vocabulary is learned at once: the libraries skip sentences of a megabyte
and fail at words of that size."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """Prepared training data of plain text."""

    tokenizers: Tokenizers
    """The same vocabulary twice."""
    train: TextStore
    valid: TextStore
    """`NO_TEXT` if no text is given and none is held out."""


def prepare_text(config: RunConfig, run: Path, say: Say) -> PreparedText:
    """Read the text, learn the vocabulary, and tokenize; results of a previous start are reused.

    Raises `UserError` for text that cannot be read, with file and line, and if there is nothing to train on or to
    validate with.
    """
    require_lasting((*config.data.text, *config.data.valid_text))
    text = _Text(config)
    _write_tokenizers(config, text, run / TOKENIZER, say)
    tokenizers = load_tokenizers(run / TOKENIZER)  # from the files, as all later uses do
    return PreparedText(tokenizers, *_stores(config, text, tokenizers, run, say))


class _Text:
    """The files of a run; each is measured once, on first use."""

    def __init__(self, config: RunConfig) -> None:
        data = config.data
        self.by_line, self.skip = data.documents == "line", data.on_bad_line == "skip"
        rest = 0.0 if data.valid_text else data.held_out
        self.held_out = [(name, rest) for name in data.text] + [(name, 1.0) for name in data.valid_text]
        self._extents: list[Extent] = []

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.held_out]

    def extents(self) -> list[Extent]:
        """The extent of each file."""
        if not self._extents:
            silent = silently if self.skip else None
            self._extents = [measure(name, by_line=self.by_line, on_bad_line=silent) for name in self.names]
        return self._extents

    def parts(self, on_bad_line: OnBadLine) -> Iterator[Part]:
        """All documents of all files."""
        for (name, share), extent in zip(self.held_out, self.extents(), strict=True):
            yield from read_documents(
                name,
                extent,
                by_line=self.by_line,
                held_out=share,
                on_bad_line=on_bad_line if self.skip else None,
            )


def _write_tokenizers(config: RunConfig, text: _Text, folder: Path, say: Say) -> None:
    """Learn the vocabulary, or use that of the parent model, unless a resumed run has it."""
    if is_resumed(folder.parent):
        return
    if config.begin_with:
        tokenizers = _taken_over(config.begin_with)
        say(f"the vocabulary is that of {config.begin_with}: {tokenizers.target.padding}")
    else:
        _require_text(text)
        parts = (part for part in text.parts(silently) if not part.held_out)
        sentences = _sentences(parts, lines=config.tokens.kind != "characters")
        count = sum(extent.characters for extent in text.extents()) // PAIR
        tokenizers = _learned(config, sentences, count, say, reserved=RESERVED)
    write_folder(folder, lambda partial: save_tokenizers(tokenizers, partial))


def _learned(
    config: RunConfig, texts: Iterable[str], count: int, say: Say, *, reserved: Sequence[str] = ()
) -> Tokenizers:
    """A vocabulary learned from texts that have as many characters as `count` pairs; the same for both sides."""
    tokens = config.tokens
    learned = train_tokenizer(
        texts,
        kind=tokens.kind,
        vocabulary_size=tokens.vocabulary_size,
        languages=(),
        byte_fallback=tokens.byte_fallback,
        seed=config.training.seed,
        sentences=count,
        reserved=reserved,
    )
    say(f"learned a {tokens.kind} vocabulary of {learned.padding}")
    return Tokenizers(learned, learned)


def _require_text(text: _Text) -> None:
    """Raises `UserError` if every document is blank."""
    extents = [extent for extent, (_, share) in zip(text.extents(), text.held_out, strict=True) if share < 1]
    if not any(extent.documents for extent in extents):
        names = ", ".join(name for name, share in text.held_out if share < 1)
        raise UserError(f"{names}: there is nothing to train on: every document is blank, or was skipped")


def _taken_over(begin_with: str) -> Tokenizers:
    """The tokenizers of a run or model folder. Raises `UserError` if they were not made for plain text."""
    folder = find_model(begin_with) / TOKENIZER
    tokenizers = load_tokenizers(folder)
    try:
        for tokenizer in tokenizers:
            reserved_id(tokenizer, MASK)
            line_end(tokenizer)
    except UserError as error:
        raise UserError(f"{begin_with}: a run on plain text cannot begin with this model: {error}") from None
    return tokenizers


def _sentences(parts: Iterable[Part], *, lines: bool) -> Iterator[str]:
    """The text from which a vocabulary is learned: lines, or whole parts for characters."""
    for part in parts:
        if lines:
            yield from chain.from_iterable(map(_divided, part.text.split("\n")))
        else:
            yield part.text


def _divided(line: str) -> Iterator[str]:
    """A line in pieces of at most `SENTENCE` characters, split before a space if there is one."""
    place = 0
    while len(line) - place > SENTENCE:
        space = line.rfind(" ", place + 1, place + SENTENCE)
        cut = space if space > 0 else place + SENTENCE
        yield line[place:cut]
        place = cut
    yield line[place:]


def _stores(config: RunConfig, text: _Text, tokenizers: Tokenizers, run: Path, say: Say) -> tuple[TextStore, TextStore]:
    """The tokenized text on disk, created again only if text, its division or the vocabulary changed."""
    data = config.data
    shares = [share for _, share in text.held_out]
    kinds = [TRAIN, VALID] if any(shares) else [TRAIN]
    folders = [run / "data" / kind for kind in kinds]
    there = all((folder / DESCRIPTION).exists() for folder in folders)
    elsewhere = store_elsewhere(run, TRAIN, text.names) if there else ""
    if elsewhere:
        say(elsewhere)
        return _opened(folders)
    fingerprint = _fingerprint(text, run / TOKENIZER)
    if all(store_matches(folder, fingerprint) for folder in folders):
        return _opened(folders)
    if there:
        say(f"{', '.join(data.text)}: text, its division or vocabulary has changed; tokenizing it again")
    _require_text(text)
    with SkipReport(run / "data" / "text-skipped.txt", say) as skipped, ExitStack() as stack:
        size = tokenizers.target.size
        writers = [stack.enter_context(TextWriter(folder, vocabulary_size=size)) for folder in folders]
        for part, ids in _encoded(text.parts(skipped.add), tokenizers.target):
            writers[part.held_out].append(ids, ends=part.ends, characters=part.characters, utf8_bytes=part.utf8_bytes)
        _require_documents(config, writers)
        stores = [writer.close(fingerprint, places_of(text.names)) for writer in writers]
    for line in (*_summaries(text, stores), *filter(None, [skipped.summary()])):
        say(line)
    return _opened(folders)


def _opened(folders: list[Path]) -> tuple[TextStore, TextStore]:
    train, valid = [*map(open_text_store, folders), NO_TEXT][:2]
    return train, valid


def _encoded(parts: Iterator[Part], tokenizer: Tokenizer) -> Iterator[tuple[Part, list[int]]]:
    """Each part with its tokens; short ones are encoded together."""
    for group in _grouped(parts):
        yield from zip(group, encode_texts(tokenizer, [part.text for part in group]), strict=True)


def _grouped(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Groups of parts, each with at least `PAIR` characters."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += part.characters
        if size >= PART:
            yield group
            group, size = [], 0
    yield group


def _require_documents(config: RunConfig, writers: list[TextWriter]) -> None:
    """Raises `UserError` if nothing is left for training, or nothing for validation."""
    data = config.data
    if not writers[0].documents:
        raise UserError(
            f"{', '.join(data.text)}: there is nothing to train on: data.held_out={data.held_out} holds all of it out"
        )
    if len(writers) > 1 and not writers[1].documents:
        if data.valid_text:
            raise UserError(f"{', '.join(data.valid_text)}: the text for validation is blank")
        raise UserError(
            f"{', '.join(data.text)}: data.held_out={data.held_out} holds nothing out: the text is too short, or its "
            "last document too long; give --valid-text FILE, another share, or 0 to train without validation"
        )


def _summaries(text: _Text, stores: list[TextStore]) -> Iterator[str]:
    """Messages about the stores."""
    for store, role in zip(stores, ("to train on", "for validation"), strict=False):
        unknown = f", {store.unknown:,} of them unknown" if store.unknown else ""
        counts = f"{store.documents:,} documents, {store.characters:,} characters, {len(store.ids):,} tokens"
        yield f"{role}: {counts}{unknown}"
    blank = sum(extent.blank for extent in text.extents())
    if blank:
        yield f"left out {blank:,}: documents of nothing but white space"


def _fingerprint(text: _Text, folder: Path) -> str:
    """A hash of everything the stores depend on: file states, how they are read and divided, the vocabulary."""
    files = [(name, share, Path(name).stat().st_size, Path(name).stat().st_mtime_ns) for name, share in text.held_out]
    vocabulary = vocabulary_sums(folder)
    return hashlib.sha256(json.dumps([files, text.by_line, text.skip, vocabulary]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class PreparedLabels:
    """Prepared training data of labeled texts."""

    tokenizers: Tokenizers
    """The same vocabulary twice."""
    labels: tuple[str, ...]
    stores: list[TokenStore]
    """Sources are `begun` rows, targets the index of a label."""
    valid: list[Pair]


def prepare_labels(config: RunConfig, run: Path, say: Say) -> PreparedLabels:
    """Read and clean the texts, collect the labels, learn the vocabulary, and tokenize; results of a previous start are
    reused.

    Raises `UserError` for text that cannot be read, for invalid labels and for labels that only validation text has,
    with file and line, and if there is nothing to train on.
    """
    for corpus in (*config.data.train, *config.data.valid):
        require_lasting(corpus.files)
    config = config.model_copy(update={"data": _of_labels(config.data)})
    # First, as it is read much faster than the training text.
    valid = list(chain.from_iterable(read_valid(config.data, run, say)))
    _write_vocabulary(config, run / TOKENIZER, say)
    tokenizers, labels = load_tokenizers(run / TOKENIZER), read_labels(run / TOKENIZER / LABELS)

    def encode(pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        rows = tokenizers.source.encode_batch([pair.source for pair in pairs])
        return [begun(row) for row in rows], [[number] for number in label_numbers(pairs, labels)]

    stores = make_stores(config, encode, run, say, ids=max(tokenizers.source.size, len(labels)))
    label_numbers(valid, labels)
    warn_of_overlap(stores, valid, run, say)
    return PreparedLabels(tokenizers, labels, stores, valid)


def _of_labels(data: DataConfig) -> DataConfig:
    """The settings without checks for translations: a label is always shorter, and may equal the text."""
    return data.model_copy(update={"max_length_ratio": float(data.max_characters), "drop_identical": False})


def _write_vocabulary(config: RunConfig, folder: Path, say: Say) -> None:
    """Collect the labels and learn the vocabulary, or use that of the parent model, unless a resumed run has them."""
    if is_resumed(folder.parent):
        return
    counts = _count_labels(config.data)
    if config.begin_with:
        tokenizers = _taken_over_labels(config.begin_with)
        say(f"the vocabulary is that of {config.begin_with}")
    else:
        pairs = cleaned(config.data, config.data.train, CleanReport(), silently)
        tokenizers = _learned(config, (pair.source for pair in pairs), counts.total(), say)
    most = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(10))
    say(f"{len(counts):,} labels: {most}{' ...' if len(counts) > 10 else ''}")

    def fill(partial: Path) -> None:
        save_tokenizers(tokenizers, partial)
        (partial / LABELS).write_text(dump_labels(sorted(counts)), encoding="utf-8")

    write_folder(folder, fill)


def _count_labels(data: DataConfig) -> Counter[str]:
    """Number of texts with each label. Raises `UserError` for invalid labels, and for fewer than two labels."""
    counts: Counter[str] = Counter()
    report, unreadable = CleanReport(), Counter[str]()
    for pair in cleaned(data, data.train, report, lambda line: unreadable.update([line.kind])):
        label = pair.target.strip()
        fault = "" if label in counts else label_fault(label)
        if fault:
            raise UserError(f"{pair.place}: {fault}")
        counts[label] += 1
    if not counts:
        raise nothing_left(data, report, unreadable)
    fault = labels_fault(sorted(counts))
    if fault:
        raise UserError(f"{data.train[0].files[-1]}: {fault}: a line of it is a text, a tab, and the label of the text")
    return counts


def _taken_over_labels(begin_with: str) -> Tokenizers:
    """The tokenizers of a run or model folder. Raises `UserError` if there are two vocabularies."""
    tokenizers = load_tokenizers(find_model(begin_with) / TOKENIZER)
    if not tokenizers.one_vocabulary:
        raise UserError(f"{begin_with}: a classifier reads one language, and this model has a vocabulary for each side")
    return tokenizers

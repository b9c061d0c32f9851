"""From plain text, and from labeled texts, to training data: a vocabulary and files of tokens."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from limelight.batching.batch import begun
from limelight.batching.store import NO_TEXT, TextStore, TextWriter, TokenStore, open_text_store
from limelight.config import RunConfig
from limelight.errors import UserError
from limelight.files import write_folder
from limelight.formats.opening import require_lasting
from limelight.formats.running_text import PART, Extent, OnBadLine, Part, measure, read_documents
from limelight.preparation.kept import DATA, Say, fingerprint, is_resumed, keeps_stores
from limelight.preparation.pairs import (
    cleaned,
    count_pairs,
    learn_tokenizer,
    make_stores,
    read_valid,
    silently,
    warn_of_overlap,
)
from limelight.storage.layout import LABELS, TOKENIZER, find_model
from limelight.text.clean import SkipReport
from limelight.text.labels import dump_labels, label_fault, label_numbers, labels_fault, read_labels
from limelight.text.pair import Pair
from limelight.tokens import MASK, Tokenizers, load_tokenizers, save_tokenizers
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


class _Text:
    """The files of a run; they are measured once, on first use."""

    def __init__(self, config: RunConfig) -> None:
        data = config.data
        self.by_line, self.skip = data.documents == "line", data.on_bad_line == "skip"
        rest = 0.0 if data.valid_text else data.held_out
        self.shares = [(name, rest) for name in data.text] + [(name, 1.0) for name in data.valid_text]
        """Each file and the share of it that is held out."""
        self.names = [name for name, _ in self.shares]

    @cached_property
    def extents(self) -> list[Extent]:
        """The extent of each file. Raises `UserError` if every document to train on is blank."""
        silent = silently if self.skip else None
        extents = [measure(name, by_line=self.by_line, on_bad_line=silent) for name in self.names]
        trained = [extent for extent, (_, share) in zip(extents, self.shares, strict=True) if share < 1]
        if not any(extent.documents for extent in trained):
            names = ", ".join(name for name, share in self.shares if share < 1)
            raise UserError(f"{names}: there is nothing to train on: every document is blank, or was skipped")
        return extents

    def parts(self, on_bad_line: OnBadLine = silently) -> Iterator[Part]:
        """All documents of all files."""
        skip = on_bad_line if self.skip else None
        for (name, share), extent in zip(self.shares, self.extents, strict=True):
            yield from read_documents(name, extent, by_line=self.by_line, held_out=share, on_bad_line=skip)


def prepare_text(config: RunConfig, run: Path, say: Say) -> PreparedText:
    """Read the text, learn the vocabulary, and tokenize; results of a previous start are reused.

    Raises `UserError` for text that cannot be read, with file and line, and if there is nothing to train on or to
    validate with.
    """
    require_lasting((*config.data.text, *config.data.valid_text))
    text = _Text(config)
    if not is_resumed(run):
        tokenizers = _taken_over(config, say) if config.begin_with else _learned_of(text, config, say)
        write_folder(run / TOKENIZER, lambda partial: save_tokenizers(tokenizers, partial))
    tokenizers = load_tokenizers(run / TOKENIZER)  # from the files, as all later uses do
    names = [TRAIN, VALID] if any(share for _, share in text.shares) else [TRAIN]

    made_of = fingerprint(config, text.names, run / TOKENIZER)
    if not keeps_stores(run, names, text.names, made_of, say):
        _write(config, text, tokenizers, [run / DATA / name for name in names], made_of, say)
    train, valid = [*(open_text_store(run / DATA / name) for name in names), NO_TEXT][:2]
    return PreparedText(tokenizers, train, valid)


def _taken_over(config: RunConfig, say: Say) -> Tokenizers:
    """The tokenizers of the model that a run begins with. Raises `UserError` if they were not made for plain text."""
    tokenizers = load_tokenizers(find_model(config.begin_with) / TOKENIZER)
    try:
        for tokenizer in tokenizers:
            reserved_id(tokenizer, MASK)
            line_end(tokenizer)
    except UserError as error:
        raise UserError(f"{config.begin_with}: a run on plain text cannot begin with this model: {error}") from None
    say(f"the vocabulary is that of {config.begin_with}: {tokenizers.target.padding}")
    return tokenizers


def _learned_of(text: _Text, config: RunConfig, say: Say) -> Tokenizers:
    """A vocabulary of the text that is not held out: of its lines, or of whole parts for characters."""
    count = sum(extent.characters for extent in text.extents) // PAIR
    texts = (part.text for part in text.parts() if not part.held_out)
    if config.tokens.kind != "characters":
        texts = (piece for text in texts for line in text.split("\n") for piece in _divided(line))
    return _learned(config, texts, count, say, reserved=RESERVED)


def _learned(config: RunConfig, texts: Iterable[str], count: int, say: Say, **pieces: Sequence[str]) -> Tokenizers:
    """A vocabulary learned from texts that have as many characters as `count` pairs; the same for both sides."""
    tokenizer = learn_tokenizer(config, texts, count, **pieces)
    say(f"learned a {config.tokens.kind} vocabulary of {tokenizer.padding}")
    return Tokenizers(tokenizer, tokenizer)


def _divided(line: str) -> list[str]:
    """A line in pieces of at most `SENTENCE` characters, split beside spaces if there are some."""
    if len(line) <= SENTENCE:
        return [line]
    return textwrap.wrap(
        line, SENTENCE, expand_tabs=False, replace_whitespace=False, drop_whitespace=False, break_on_hyphens=False
    )


def _write(
    config: RunConfig, text: _Text, tokenizers: Tokenizers, folders: Sequence[Path], made_of: str, say: Say
) -> None:
    """Tokenize the text. Raises `UserError` if nothing is left for training, or nothing for validation."""
    data, tokenizer = config.data, tokenizers.target
    with SkipReport(folders[0].with_name("text-skipped.txt"), say) as skipped, ExitStack() as stack:
        writers = [stack.enter_context(TextWriter(folder, vocabulary_size=tokenizer.size)) for folder in folders]
        for group in _grouped(text.parts(skipped.add)):
            rows = encode_texts(tokenizer, [part.text for part in group])
            for part, ids in zip(group, rows, strict=True):
                sizes = {"characters": part.characters, "utf8_bytes": part.utf8_bytes}
                writers[part.held_out].append(ids, ends=part.ends, **sizes)
        if not all(writer.figures["documents"] for writer in writers):
            raise UserError(
                f"{', '.join(data.valid_text or data.text)}: nothing is left for training, or for validation: the text "
                f"is blank or too short, or its last document too long for data.held_out={data.held_out}; give "
                "--valid-text FILE, another share, or 0 to train without validation"
            )
        stores = [writer.close(made_of) for writer in writers]
    for store, role in zip(stores, ("to train on", "for validation"), strict=False):
        unknown = f", {store.unknown:,} of them unknown" if store.unknown else ""
        counts = f"{store.documents:,} documents, {store.characters:,} characters, {len(store.ids):,} tokens"
        say(f"{role}: {counts}{unknown}")
    blank = sum(extent.blank for extent in text.extents)
    if blank:
        say(f"left out {blank:,}: documents of nothing but white space")
    if skipped.total:
        say(skipped.summary())


def _grouped(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Groups of parts that are encoded together, of at least `PART` characters."""
    group: list[Part] = []
    size = 0
    for part in parts:
        group.append(part)
        size += part.characters
        if size >= PART:
            yield group
            group, size = [], 0
    yield group


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
    data = config.data
    for corpus in (*data.train, *data.valid):
        require_lasting(corpus.files)
    # Without checks for translations: a label is always shorter, and may equal the text.
    data = data.model_copy(update={"max_length_ratio": float(data.max_characters), "drop_identical": False})
    config = config.model_copy(update={"data": data})
    valid = list(chain.from_iterable(read_valid(config, run, say)))
    if not is_resumed(run):
        _write_vocabulary(config, run / TOKENIZER, say)
    tokenizers, labels = load_tokenizers(run / TOKENIZER), read_labels(run / TOKENIZER / LABELS)

    def encode(pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        rows = tokenizers.source.encode_batch([pair.source for pair in pairs])
        return [begun(row) for row in rows], [[number] for number in label_numbers(pairs, labels)]

    stores = make_stores(config, encode, run, say, ids=max(tokenizers.source.size, len(labels)))
    label_numbers(valid, labels)
    warn_of_overlap(stores, valid, run, say)
    return PreparedLabels(tokenizers, labels, stores, valid)


def _write_vocabulary(config: RunConfig, folder: Path, say: Say) -> None:
    """Collect the labels and learn the vocabulary, or use that of the parent model. Raises `UserError` for invalid
    labels, for fewer than two, and for a parent with two vocabularies."""
    data, counts = config.data, Counter[str]()

    def count(pair: Pair) -> None:
        label = pair.target.strip()
        fault = "" if label in counts else label_fault(label)
        if fault:
            raise UserError(f"{pair.place}: {fault}")
        counts[label] += 1

    total = count_pairs(data, count)
    fault = labels_fault(sorted(counts))
    if fault:
        raise UserError(f"{data.train[0].files[-1]}: {fault}: a line of it is a text, a tab, and the label of the text")
    if config.begin_with:
        tokenizers = load_tokenizers(find_model(config.begin_with) / TOKENIZER)
        if not tokenizers.one_vocabulary:
            raise UserError(
                f"{config.begin_with}: a classifier reads one language, and this model has a vocabulary for each side"
            )
        say(f"the vocabulary is that of {config.begin_with}")
    else:
        tokenizers = _learned(config, (pair.source for pair in cleaned(data, data.train)), total, say)
    most = ", ".join(f"{label} {number:,}" for label, number in counts.most_common(10))
    say(f"{len(counts):,} labels: {most}{' ...' if len(counts) > 10 else ''}")

    def fill(partial: Path) -> None:
        save_tokenizers(tokenizers, partial)
        (partial / LABELS).write_text(dump_labels(sorted(counts)), encoding="utf-8")

    write_folder(folder, fill)

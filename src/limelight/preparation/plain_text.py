"""From plain text to training data: a vocabulary and files of tokens."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path

from limelight.batching.store import NO_TEXT, TextStore, add_text, new_store, open_text_store
from limelight.config import RunConfig
from limelight.errors import UserError
from limelight.formats.lines import OnBadLine, chunks
from limelight.formats.running_text import PART, Extent, Part, measure, read_documents
from limelight.preparation.kept import DATA, Say, fingerprint, is_usable
from limelight.preparation.read import silently
from limelight.preparation.vocabulary import learn_tokenizer, make_tokenizers
from limelight.storage.layout import TOKENIZER
from limelight.text.clean import SkipReport
from limelight.tokens import Tokenizers
from limelight.tokens.text import RESERVED, encode_text

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
        self.data = data = config.data
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
        if not any(extent.documents for extent in extents[: len(self.data.text)]):
            raise UserError(
                f"{', '.join(self.data.text)}: there is nothing to train on: every document is blank, or was skipped"
            )
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
    text = _Text(config)
    tokenizers = make_tokenizers(config, run, say, partial(_learn, text, config))
    names = [TRAIN, VALID] if any(share for _, share in text.shares) else [TRAIN]

    made_of = fingerprint(config, text.names, run / TOKENIZER)
    if not is_usable(run, names, text.names, made_of, say):
        _write(config, text, tokenizers, [run / DATA / name for name in names], made_of, say)
    train, valid = [*(open_text_store(run / DATA / name) for name in names), NO_TEXT][:2]
    return PreparedText(tokenizers, train, valid)


def _learn(text: _Text, config: RunConfig) -> Tokenizers:
    """A vocabulary of the text that is not held out: of its lines, or of whole parts for characters."""
    count = sum(extent.characters for extent in text.extents) // PAIR
    texts = (part.text for part in text.parts() if not part.held_out)
    if config.tokens.kind != "characters":
        texts = (piece for text in texts for line in text.split("\n") for piece in _divided(line))
    tokenizer = learn_tokenizer(config, texts, count, reserved=RESERVED)
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
        stores = [stack.enter_context(new_store(folder, made_of, vocabulary_size=tokenizer.size)) for folder in folders]
        for group in chunks(text.parts(skipped.add), PART, attrgetter("characters")):
            rows = [encode_text(tokenizer, part.text) for part in group]
            for held_out, store in enumerate(stores):
                numbers = [number for number, part in enumerate(group) if part.held_out == held_out]
                add_text(store, [group[number] for number in numbers], [rows[number] for number in numbers])
        if not all(store.figures["documents"] for store in stores):
            raise UserError(
                f"{', '.join(data.valid_text or data.text)}: nothing is left for training, or for validation: the text "
                f"is blank or too short, or its last document too long for data.held_out={data.held_out}; give "
                "--valid-text FILE, another share, or 0 to train without validation"
            )
    for store, role in zip(stores, ("to train on", "for validation"), strict=False):
        of = store.figures
        unknown = f", {of['unknown']:,} of them unknown" if of["unknown"] else ""
        counts = f"{of['documents']:,} documents, {of['characters']:,} characters, {of['pieces']:,} tokens"
        say(f"{role}: {counts}{unknown}")
    blank = sum(extent.blank for extent in text.extents)
    if blank:
        say(f"left out {blank:,}: documents of nothing but white space")
    if skipped.total:
        say(skipped.summary())

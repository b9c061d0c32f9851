"""From texts with labels to what training reads: a vocabulary, the labels there are, and a store for each corpus."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from limelight.batching.labels import begun
from limelight.batching.store import TokenStore
from limelight.config import DataConfig, RunConfig
from limelight.errors import UserError
from limelight.files import write_folder
from limelight.preparation.kept_text import is_resumed
from limelight.preparation.pairs import Say, cleaned, make_stores, nothing_left, read_valid, silently, warn_of_overlap
from limelight.storage.layout import LABELS, TOKENIZER, find_model
from limelight.text.clean import CleanReport
from limelight.text.labels import dump_labels, label_fault, label_numbers, labels_fault, read_labels
from limelight.text.open_text import require_lasting
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers, load_tokenizers, save_tokenizers, train_tokenizer


@dataclass(frozen=True, slots=True)
class PreparedLabels:
    """Texts and labels ready to be trained on."""

    tokenizers: Tokenizers
    """One vocabulary twice."""
    labels: tuple[str, ...]
    stores: list[TokenStore]
    """Sources are `begun` rows, targets the number of a label each."""
    valid: list[Pair]


def prepare_labels(config: RunConfig, run: Path, say: Say) -> PreparedLabels:
    """Read, clean, find the labels, learn the vocabulary, tokenize once; what a former start has made is used again.

    Raises `UserError` for text that cannot be read, for what is no label and for one that validation alone has, naming
    file and line, and where there is nothing to train on.
    """
    for corpus in (*config.data.train, *config.data.valid):
        for file in corpus.files:
            require_lasting(Path(file))
    config = config.model_copy(update={"data": _of_labels(config.data)})
    # First: it is read in a moment, and the training text is not.
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
    """The same without the checks for translations: a label is always shorter, and may be equal to the text."""
    return data.model_copy(update={"max_length_ratio": float(data.max_characters), "drop_identical": False})


def _write_vocabulary(config: RunConfig, folder: Path, say: Say) -> None:
    """Find the labels and learn the vocabulary, or take over that of the model the run begins with, unless a resumed
    run has them."""
    if is_resumed(folder.parent):
        return
    counts = _count_labels(config.data)
    if config.begin_with:
        tokenizers = _taken_over(config.begin_with)
        say(f"the vocabulary is that of {config.begin_with}")
    else:
        tokens = config.tokens
        learned = train_tokenizer(
            (pair.source for pair in cleaned(config.data, config.data.train, CleanReport(), silently)),
            kind=tokens.kind,
            vocabulary_size=tokens.vocabulary_size,
            languages=(),
            byte_fallback=tokens.byte_fallback,
            seed=config.training.seed,
            sentences=counts.total(),
        )
        tokenizers = Tokenizers(learned, learned)
        say(f"learned a {tokens.kind} vocabulary of {learned.padding}")
    most = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(10))
    say(f"{len(counts):,} labels: {most}{' ...' if len(counts) > 10 else ''}")

    def fill(partial: Path) -> None:
        save_tokenizers(tokenizers, partial)
        (partial / LABELS).write_text(dump_labels(sorted(counts)), encoding="utf-8")

    write_folder(folder, fill)


def _count_labels(data: DataConfig) -> Counter[str]:
    """How many texts have each label. Raises `UserError` for what is no label, and where there are not two of them."""
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


def _taken_over(begin_with: str) -> Tokenizers:
    """The tokenizers of a run or model folder. Raises `UserError` where they are two vocabularies."""
    tokenizers = load_tokenizers(find_model(begin_with) / TOKENIZER)
    if not tokenizers.one_vocabulary:
        raise UserError(f"{begin_with}: a classifier reads one language, and this model has a vocabulary for each side")
    return tokenizers

"""Tables learned from the text of a run: a shortlist for each source token, and a detector of source languages.

A sentence's shortlist holds what Model 1 (`lexicon.py`) finds for its tokens, the tokens themselves where the target
vocabulary has them too (names, numbers, bytes, placeholders), and the most frequent target tokens."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from limelight.batching.store import TokenStore, open_store
from limelight.config import Corpus, RunConfig, directions_of, load_config
from limelight.errors import UserError
from limelight.files import remove, write_whole
from limelight.preparation.align import sample_pairs
from limelight.preparation.kept import DATA, Say, is_resumed, keeps
from limelight.preparation.lexicon import (
    MAX_PAIRS,
    Pieces,
    evenly,
    learn_lexicon,
    most_frequent,
    most_likely,
    spread,
)
from limelight.preparation.pairs import cleaned
from limelight.storage.layout import BEST, CONFIG, DETECTOR, SHORTLIST, TOKENIZER, find_model
from limelight.storage.tables import Shortlist, read_detector, save_detector, save_shortlist
from limelight.text.detection import MAX_TEXTS, learn_detector
from limelight.text.pair import Sides
from limelight.tokens import END, Tokenizers, load_tokenizers


def keep_detector(config: RunConfig, stores: Sequence[TokenStore], run: Path, say: Say) -> None:
    """Learn the detector of a run with several source languages before it begins. A run that begins with a model takes
    the detector of that model, which learned from more text, if it knows all languages."""
    path, directions = run / DATA / DETECTOR, directions_of(config.data)
    languages = list(dict.fromkeys(language for direction in directions for language in direction))
    if is_resumed(run):
        return
    remove(path)  # of a start with other settings
    if len({direction.source for direction in directions}) < 2:
        return
    of_parent = find_model(config.begin_with) / DETECTOR if config.begin_with else path
    detector = read_detector(of_parent)
    if detector is not None and set(languages) <= set(detector.languages):
        write_whole(path, of_parent.read_bytes())
        return
    texts = {language: _texts(config, stores, language) for language in languages}
    if all(texts.values()):
        say(f"learning to tell {', '.join(languages)} apart")
        save_detector(path, learn_detector(texts))


def share_detector(run: Path, model: Path) -> None:
    """Copy the detector of a run, if it has one, to its model folder. An `OSError` names it; a former file stays."""
    path = run / DATA / DETECTOR
    if path.exists():
        model.mkdir(parents=True, exist_ok=True)
        write_whole(model / DETECTOR, path.read_bytes())


def _texts(config: RunConfig, stores: Sequence[TokenStore], language: str) -> list[str]:
    """Texts in a language, evenly from all sides of the corpora that are in it."""
    corpora = zip(config.data.train, stores, strict=True)
    sides = [(store, side) for corpus, store in corpora for side in range(2) if corpus.direction[side] == language]
    chosen = ((store, side, evenly(range(len(store)), MAX_TEXTS // len(sides))) for store, side in sides)
    return [pair[side] for store, side, rows in chosen for pair in store.texts(np.array(rows, dtype=np.int64))]


CANDIDATES, FREQUENT = 128, 500
"""For each source token, itself included; and for all sentences."""


def make_shortlist(model: str | Path, corpora: Sequence[Corpus], say: Say) -> Path:
    """Learn the shortlist of a run or model folder and write it there; returns the file.

    Args:
        corpora: what to learn from; without any, the text that the run was trained on.

    Raises `UserError` for a folder without a model and for text that is not available, `RunError` if the file cannot
    be written.
    """
    folder = find_model(model)
    config, tokenizers = load_config(folder / CONFIG), load_tokenizers(folder / TOKENIZER)
    run = folder.parent if folder.name == BEST else folder
    if corpora:
        data = config.data.model_copy(update={"hold_out": 0})  # the held-out files of the run may be elsewhere
        texts = [Sides(pair.source, pair.target) for pair in spread(cleaned(data, corpora), MAX_PAIRS)]
    else:
        names = [f"train-{number}" for number in range(len(config.data.train))]
        if not names or not all(keeps(run, name) for name in names):
            raise UserError(
                f"{run}: the training text is not there: give parallel text to learn the shortlist from, with --train "
                "FILE (or two files)"
            )
        texts = list(sample_pairs([open_store(run / DATA / name) for name in names], MAX_PAIRS))
    if not texts:
        raise UserError(f"{corpora[0].files[0]}: there is no pair to learn a shortlist from")
    sides = [
        [np.array(row, dtype=np.int32) for row in map(tokenizer.encode, side)]
        for tokenizer, side in zip(tokenizers, zip(*texts, strict=True), strict=True)
    ]
    pairs = [pair for pair in map(Pieces, *sides) if max(map(len, pair)) < config.batching.max_length]
    if config.data.both_directions:
        half = evenly(pairs, MAX_PAIRS // 2)
        pairs = [*half, *(Pieces(pair.target, pair.source) for pair in half)]
    say(f"learned from {len(pairs):,} pairs")
    if len(pairs) < (size := tokenizers.target.size):
        say(f"this is little text for a vocabulary of {size:,} tokens: translations of other text will lack words")
    save_shortlist(folder / SHORTLIST, learn_shortlist(pairs, tokenizers), tokenizers)
    return folder / SHORTLIST


def learn_shortlist(pairs: Sequence[Pieces], tokenizers: Tokenizers) -> Shortlist:
    """The shortlist learned from these pairs."""
    sources, classes = tokenizers.source.padding, tokenizers.target.padding
    lexicon = learn_lexicon(pairs, nothing=sources, classes=classes)
    likely = most_likely(lexicon, sources=sources, count=CANDIDATES - 1, fill=END)
    frequent = most_frequent(pairs, classes=classes, count=FREQUENT)
    ids = {piece: number for number, piece in enumerate(tokenizers.target.pieces(range(classes)))}
    copies = [ids.get(piece, END) for piece in tokenizers.source.pieces(range(sources))]
    return Shortlist(np.insert(likely, 0, copies, axis=1), frequent)

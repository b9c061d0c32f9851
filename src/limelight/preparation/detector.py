"""A model that translates from several languages learns to tell them apart, from the text that it is trained on."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from limelight.batching.store import TokenStore
from limelight.config import RunConfig, directions_of
from limelight.files import fill_file, sha256, writing
from limelight.preparation.kept_text import DATA
from limelight.storage.layout import DETECTOR, find_model
from limelight.storage.tables import read_detector, save_detector
from limelight.text.detection import MAX_TEXTS, learn_detector
from limelight.tokens import Tokenizers


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

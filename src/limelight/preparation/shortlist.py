"""Tables learned from the text of a run: a shortlist for each source token, and a detector of source languages.

A sentence's shortlist holds what Model 1 (`lexicon.py`) finds for its tokens, the tokens themselves where the target
vocabulary has them too (names, numbers, bytes, placeholders), and the most frequent target tokens."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from limelight.batching.store import DESCRIPTION, TokenStore, open_store
from limelight.config import Corpus, RunConfig, directions_of, load_config
from limelight.errors import UserError
from limelight.files import fill_file, sha256, writing
from limelight.preparation.kept import DATA
from limelight.preparation.lexicon import (
    MAX_PAIRS,
    Ids,
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
from limelight.tokens import END, Tokenizers, load_tokenizers


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
    sides = []
    for corpus, store in zip(config.data.train, stores, strict=True):
        both = (corpus.source, store.sources, tokenizers.source), (corpus.target, store.targets, tokenizers.target)
        sides += [(rows, tokenizer) for name, rows, tokenizer in both if name == language and len(store)]
    found = []
    for rows, tokenizer in sides:
        count = min(len(rows), MAX_TEXTS // len(sides))
        places = np.linspace(0, len(rows) - 1, count).astype(np.int64)
        found += [tokenizer.decode([int(token) for token in rows[place]]) for place in places]
    return found


CANDIDATES, FREQUENT = 128, 500
"""For each source token, itself included; and for all sentences."""


def make_shortlist(model: str | Path, corpora: Sequence[Corpus], say: Callable[[str], None]) -> Path:
    """Learn the shortlist of a run or model folder and write it there; returns the file.

    Args:
        corpora: what to learn from; without any, the tokens that the run was trained on.

    Raises `UserError` for a folder without a model and for text that is not available, `RunError` if the file cannot
    be written.
    """
    folder = find_model(model)
    config, tokenizers = load_config(folder / CONFIG), load_tokenizers(folder / TOKENIZER)
    run = folder.parent if folder.name == BEST else folder
    pairs = _read_pairs(corpora, config, tokenizers) if corpora else _stored_pairs(run, len(config.data.train))
    if config.data.both_directions:
        half = [pairs[row] for row in evenly(len(pairs), MAX_PAIRS // 2)]
        pairs = [*half, *(Pieces(pair.target, pair.source) for pair in half)]
    shortlist = learn_shortlist(pairs, tokenizers)
    say(f"learned from {len(pairs):,} pairs")
    if len(pairs) < (size := tokenizers.target.size):
        say(f"this is little text for a vocabulary of {size:,} tokens: translations of other text will lack words")
    save_shortlist(folder / SHORTLIST, shortlist, tokenizers)
    return folder / SHORTLIST


def learn_shortlist(pairs: Sequence[Pieces], tokenizers: Tokenizers) -> Shortlist:
    """The shortlist that these pairs teach. Raises `UserError` for ids that these tokenizers do not have."""
    sources, classes = tokenizers.source.padding, tokenizers.target.padding
    for pair in pairs:
        if max(pair.source, default=0) >= sources or max(pair.target, default=0) >= classes:
            raise UserError("the stored tokens are those of another vocabulary; give the text with --train FILE")
    lexicon = learn_lexicon(pairs, nothing=sources, classes=classes)
    likely = most_likely(lexicon, sources=sources, count=CANDIDATES - 1, fill=END)
    frequent = most_frequent(pairs, classes=classes, count=FREQUENT)
    return Shortlist(np.concatenate([copies(tokenizers)[:, None], likely], axis=1), frequent)


def copies(tokenizers: Tokenizers) -> Ids:
    """(source tokens,) the id of the same token on the target side; the end where there is none."""
    source, target = tokenizers
    ids = {piece: number for number, piece in enumerate(target.pieces(range(target.padding)))}
    return np.array([ids.get(piece, END) for piece in source.pieces(range(source.padding))], dtype=np.int32)


def _stored_pairs(run: Path, corpora: int) -> list[Pieces]:
    """Pairs of the tokens that the run was trained on, drawn evenly. Raises `UserError` if they are gone."""
    folders = [run / DATA / f"train-{number}" for number in range(corpora)]
    if not folders or not all((folder / DESCRIPTION).is_file() for folder in folders):
        raise UserError(
            f"{run}: the training text is not there: give parallel text to learn the shortlist from, with --train FILE "
            "(or two files)"
        )
    stores = [open_store(folder) for folder in folders]
    ends = np.cumsum([len(store) for store in stores])
    found = []
    for row in evenly(int(ends[-1]), MAX_PAIRS):
        number = int(np.searchsorted(ends, row, side="right"))
        store, place = stores[number], row - ends[number]  # counted from the end
        found.append(Pieces(store.sources[len(store) + place], store.targets[len(store) + place]))
    return found


def _read_pairs(corpora: Sequence[Corpus], config: RunConfig, tokenizers: Tokenizers) -> list[Pieces]:
    """Pairs of text as tokens, drawn evenly from those that training would take."""
    data = config.data.model_copy(update={"hold_out": 0})  # the held-out files of the run may be elsewhere
    chosen = spread(cleaned(data, corpora), MAX_PAIRS)
    if not chosen:
        raise UserError(f"{corpora[0].files[0]}: there is no pair to learn a shortlist from")
    sources = tokenizers.source.encode_batch([pair.source for pair in chosen])
    targets = tokenizers.target.encode_batch([pair.target for pair in chosen])
    return [
        Pieces(np.array(source, dtype=np.int32), np.array(target, dtype=np.int32))
        for source, target in zip(sources, targets, strict=True)
        if max(len(source), len(target)) < config.batching.max_length
    ]

"""What a run keeps of its text: token stores, and copies of the validation pairs. A run that has begun goes on with
them, whatever has become of its files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple
from itertools import starmap
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from limelight.batching.store import DESCRIPTION, store_matches
from limelight.config import Corpus, RunConfig, known_languages
from limelight.errors import RunError
from limelight.files import json_hash, sha256, write_whole
from limelight.storage.layout import CONFIG, TOKENIZER
from limelight.text.pair import Pair
from limelight.text.words import words_of

DATA = "data"
MAX_SENTENCES = 40
"""Maximum number of validation sentences of a language that the page offers."""
Say = Callable[[str], None]


def is_resumed(run: Path) -> bool:
    """Whether the folder contains a run with configuration and vocabulary. Before that, its content may come from a
    start with other settings."""
    return (run / CONFIG).exists() and (run / TOKENIZER).exists()


def keeps(run: Path, name: str) -> bool:
    """Whether the folder contains the text of this name, for example `train-0` or `valid-0`."""
    return (run / DATA / name / DESCRIPTION).exists() or _pairs_file(run, name).exists()


def fingerprint(config: RunConfig, files: Iterable[str], tokenizer: Path | None = None) -> str:
    """A hash of everything that stored text depends on: its files, by size and time of modification, the settings, and
    the vocabulary. Empty if a file is gone."""
    try:
        states = [(name, Path(name).stat().st_size, Path(name).stat().st_mtime_ns) for name in files]
    except OSError:
        return ""
    settings = config.data.model_dump(mode="json", exclude={"on_doubt"})
    vocabulary = sorted(map(sha256, filter(Path.is_file, tokenizer.rglob("*")))) if tokenizer else []
    return json_hash([states, settings, config.batching.max_length, config.training.seed, vocabulary])


def is_usable(run: Path, names: Sequence[str], files: Sequence[str], made_of: str, say: Say) -> bool:
    """Whether the kept text of these names can be used: an earlier start made it of the same, or the run has begun."""
    if all(_matches(run, name, made_of) for name in names):
        return True
    if not (is_resumed(run) and all(keeps(run, name) for name in names)):
        return False
    say(f"{' + '.join(files)}: not as it was when the run began; going on with the text that the run has kept")
    return True


def _matches(run: Path, name: str, made_of: str) -> bool:
    """Whether the folder contains the text of this name, made of the same."""
    with suppress(RunError):  # there is none, or it is damaged and, if no run has begun, written again
        return _read(run, name).fingerprint == made_of
    return store_matches(run / DATA / name, made_of)


class _Kept(BaseModel):
    """Validation pairs with their positions."""

    version: Literal[1] = 1
    fingerprint: str
    """What the pairs were made of."""
    pairs: list[tuple[str, str, str, int]]
    """The fields of `Pair`."""


def keep_pairs(run: Path, name: str, pairs: Sequence[Pair], made_of: str) -> None:
    """Write validation pairs with their positions."""
    path = _pairs_file(run, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _Kept(fingerprint=made_of, pairs=list(map(astuple, pairs))).model_dump_json())


def kept_pairs(run: Path, name: str) -> list[Pair]:
    """The pairs as stored by `keep_pairs`. Raises `RunError` if the file is damaged."""
    return list(starmap(Pair, _read(run, name).pairs))


def kept_valid(run: Path, corpora: Sequence[Corpus]) -> Iterator[tuple[Corpus, list[Pair]]]:
    """The validation corpora of a run with their pairs, as far as it has kept them."""
    for number, corpus in enumerate(corpora):
        if keeps(run, name := f"valid-{number}"):
            yield corpus, kept_pairs(run, name)


def validation_sentences(run: Path, corpora: Sequence[Corpus]) -> dict[str, list[str]]:
    """Some validation sentences of a run by language, `""` where that is not named; empty for a model folder."""
    by_language: dict[str, list[str]] = {}
    for corpus, pairs in kept_valid(run, corpora):
        languages = known_languages(corpus)
        for pair in pairs:
            for language, text in zip(languages, (pair.source, pair.target), strict=True):
                texts = by_language.setdefault(language, [])
                if len(texts) < MAX_SENTENCES and 4 <= len(words_of(text)) <= 14 and text not in texts:
                    texts.append(text)
    return by_language


def _read(run: Path, name: str) -> _Kept:
    path = _pairs_file(run, name)
    try:
        return _Kept.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        fault = str(error).partition("\n")[0]
        raise RunError(f"{path}: not validation pairs of a run ({fault}); delete it; it is created again") from None


def _pairs_file(run: Path, name: str) -> Path:
    return run / DATA / f"{name}.json"

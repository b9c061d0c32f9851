"""What a run keeps of its text: token stores, and copies of the validation pairs. A run is resumed with it after its
files were moved, and in another directory."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from limelight.batching.store import DESCRIPTION, described, store_matches
from limelight.config import Corpus, known_languages
from limelight.errors import RunError
from limelight.files import write_whole
from limelight.storage.layout import CONFIG, TOKENIZER
from limelight.text.pair import Pair

DATA = "data"
VERSION = 1
Say = Callable[[str], None]


def is_resumed(run: Path) -> bool:
    """Whether the folder contains a run with configuration and vocabulary. Before that, its content may come from a
    start with other settings."""
    return (run / CONFIG).exists() and (run / TOKENIZER).exists()


def keeps(run: Path, name: str) -> bool:
    """Whether the folder contains the text of this name, for example `train-0` or `valid-0`."""
    return (run / DATA / name / DESCRIPTION).exists() or _pairs_file(run, name).exists()


def places_of(files: Sequence[str]) -> list[str]:
    """The absolute paths of the files, which do not depend on the working directory."""
    return [os.path.abspath(file) for file in files]


def _elsewhere(files: Sequence[str], places: Sequence[str]) -> str:
    """A message about the first file that is missing or has another absolute path than before; empty if all are in
    their `places` (unknown for stores of older versions)."""
    for file, here, there in zip(files, places_of(files), places or places_of(files), strict=True):
        if not Path(file).exists():
            return f"{file} is gone; going on with the text that the run has kept of it"
        if here != there:
            return f"{file} is here another file than {there}, which this run began with; going on with that text"
    return ""


def keeps_stores(
    run: Path, names: Sequence[str], files: Sequence[str], fingerprint: Callable[[], str], say: Say
) -> bool:
    """Whether a start made the stores of these names from the files as they are, or a resumed run has them of files
    that are elsewhere now. Says what has changed."""
    folders = [run / DATA / name for name in names]
    there = all((folder / DESCRIPTION).exists() for folder in folders)
    elsewhere = _elsewhere(files, described(folders[0]).files) if there and is_resumed(run) else ""
    if elsewhere:
        say(elsewhere)
        return True
    if there and all(store_matches(folder, fingerprint()) for folder in folders):
        return True
    if there:
        say(f"{' + '.join(files)}: text, cleaning or vocabulary has changed; tokenizing it again")
    return False


def keep_pairs(run: Path, name: str, pairs: Sequence[Pair], *, files: Sequence[str], fingerprint: str) -> None:
    """Write validation pairs with their positions, and the files they come from."""
    rows = [[pair.source, pair.target, pair.file, pair.line] for pair in pairs]
    content = {"version": VERSION, "fingerprint": fingerprint, "files": places_of(files), "pairs": rows}
    path = _pairs_file(run, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(content))


def kept_pairs(run: Path, name: str) -> list[Pair]:
    """The pairs as stored by `keep_pairs`. Raises `RunError` if the file is damaged."""
    return _read(run, name)[0]


def validation_sentences(run: Path, corpora: Sequence[Corpus], most: int = 4) -> dict[str, list[str]]:
    """Some validation sentences of a run by language, `""` where that is not named; empty for a model folder."""
    found: dict[str, list[str]] = {}
    for number, corpus in enumerate(corpora):
        pairs = kept_pairs(run, f"valid-{number}") if _pairs_file(run, f"valid-{number}").exists() else []
        languages = known_languages(corpus)
        for pair in pairs:
            for language, text in zip(languages, (pair.source, pair.target), strict=True):
                texts = found.setdefault(language, [])
                if len(texts) < most and 4 <= len(text.split()) <= 14 and text not in texts:
                    texts.append(text)
    return found


def resumed_pairs(run: Path, name: str, files: Sequence[str], fingerprint: Callable[[], str], say: Say) -> list[Pair]:
    """The validation pairs of a resumed run, if its files are elsewhere or unchanged; empty otherwise."""
    if not (is_resumed(run) and keeps(run, name)):
        return []
    pairs, places, made_of = _read(run, name)
    elsewhere = _elsewhere(files, places)
    if elsewhere:
        say(elsewhere)
    if elsewhere or made_of == fingerprint():
        return pairs
    say(f"{' + '.join(files)}: validation text has changed; reading it again")
    return []


def _read(run: Path, name: str) -> tuple[list[Pair], list[str], str]:
    """The pairs, the absolute paths of their files, and the fingerprint."""
    path = _pairs_file(run, name)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise ValueError(f"version {content['version']}")
        pairs = [
            Pair(str(source), str(target), str(file), int(line)) for source, target, file, line in content["pairs"]
        ]
        return pairs, list(map(str, content["files"])), str(content["fingerprint"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(f"{path}: not validation pairs of a run ({error}); delete it; it is created again") from None


def _pairs_file(run: Path, name: str) -> Path:
    return run / DATA / f"{name}.json"

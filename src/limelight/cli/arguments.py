"""How files, models and languages are named on the command line."""

from pathlib import Path

from limelight.config import Corpus
from limelight.errors import UserError

SEVERAL = ("--train", "--valid", "--test")
"""Options that take all the words after them, as in `--train train.en train.de`."""
ONE_FILE = (".tsv", ".jsonl")
COMPRESSED = (".gz", ".xz", ".zst")


def repeat_options(arguments: list[str]) -> list[str]:
    """`--train A B` becomes `--train A --train B`: the parser takes one word per option."""
    repeated: list[str] = []
    current = ""
    for word in arguments:
        if word.startswith("-"):
            current = word if word in SEVERAL else ""
            if not current:
                repeated.append(word)
        elif current:
            repeated += [current, word]
        else:
            repeated.append(word)
    return repeated


def corpora(files: list[str], source: str, target: str, option: str) -> tuple[Corpus, ...]:
    """Files to corpora: each .tsv or .jsonl is one; others come in twos, a file for each language.

    Raises `UserError` when a file is left without its other language.
    """
    found: list[Corpus] = []
    waiting = ""
    for file in files:
        if _plain_suffix(file) in ONE_FILE:
            if waiting:
                break
            found.append(Corpus(files=(file,), source=source or "source", target=target or "target"))
        elif waiting:
            languages = (source or _language(waiting, "source"), target or _language(file, "target"))
            found.append(Corpus(files=(waiting, file), source=languages[0], target=languages[1]))
            waiting = ""
        else:
            waiting = file
    if waiting:
        raise UserError(
            f"{option} {waiting}: a file of one language needs its other language beside it, for example "
            f"{option} train.en train.de; or give one .tsv or .jsonl file that holds both"
        )
    return tuple(found)


def _plain_suffix(file: str) -> str:
    path = Path(file)
    return Path(path.stem).suffix if path.suffix in COMPRESSED else path.suffix


def _language(file: str, otherwise: str) -> str:
    """`train.en.gz` is English."""
    suffix = _plain_suffix(file).removeprefix(".")
    return suffix if 2 <= len(suffix) <= 3 and suffix.isalpha() and suffix != "txt" else otherwise

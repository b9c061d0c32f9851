"""X8: model folders that a stranger made. Refused with a message, or harmless; nothing in them is ever executed.

Every folder is a good one with one thing changed. Each is given to `limelight translate --model`, or `classify`, in a
process that is watched: how it ends, what it says, what it takes of processor and memory, and whether any code of the
folder's ran.
"""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.torture.conftest import Measured
from tests.torture.hostile import (
    CLASSIFIER,
    CONFIG,
    LABELS,
    METADATA,
    WEIGHTS,
    Change,
    Folders,
    counted,
)
from tests.torture.hostile_cases import (
    config_cases,
    description_cases,
    harmless_cases,
    label_cases,
    pickle_cases,
    place_cases,
    sentencepiece_cases,
    weights_cases,
    with_pieces,
    write,
)

MUTATIONS = 200


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folders]:
    found = Folders(tmp_path_factory.mktemp("hostile"))
    yield found
    found.watched.end()


GROUPS = {
    "pickles": ("bpe", pickle_cases),
    "weights": ("bpe", lambda _: weights_cases()),
    "configurations": ("bpe", config_cases),
    "sentencepiece models": ("bpe", lambda _: sentencepiece_cases()),
    "descriptions of a tokenizer": ("bpe", lambda _: description_cases()),
    "links, fifos, devices": ("bpe", lambda _: place_cases()),
    "labels": (CLASSIFIER, lambda _: label_cases()),
}


@pytest.mark.parametrize("group", GROUPS)
def test_hostile_folders_are_refused_and_nothing_in_them_runs(
    group: str, folders: Folders, full: bool, seed: int, measured: Measured
) -> None:
    kind, make = GROUPS[group]
    cases: Mapping[str, Change] = make(folders.canary)
    names = list(cases) if full else random.Random(seed).sample(list(cases), min(6, len(cases) // 3))
    held, note = counted(names, [folders.tried(cases[name], kind) for name in names], may_translate=False)
    assert not folders.canary.exists()
    measured("X8", f"{group}: refused, nothing run", held=held, of=len(names), note=note)


def test_what_is_none_of_our_business_does_no_harm(folders: Folders, measured: Measured) -> None:
    """Code that lies beside a model, corpora that its configuration names, how a stranger would split words."""
    cases = harmless_cases(folders.canary)
    tried = [folders.tried(change) for change in cases.values()]
    held, note = counted(cases, tried, may_translate=True)
    assert not folders.canary.exists()
    assert [outcome.code for _, outcome in tried] == [0] * len(cases)
    measured("X8", "what is not taken from a folder does no harm", held=held, of=len(cases), note=note)


# --- random damage ---


def damaged(content: bytes, draw: random.Random) -> bytes:
    """One to three bits turned, bytes removed, doubled or put in."""
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(content))
        before, some, after = content[:place], content[place : place + draw.choice((1, 2, 50))], content[place:]
        turned = bytes([some[0] ^ 1 << draw.randrange(8)]) + content[place + 1 :]
        ways = (turned, after[len(some) :], some + after, draw.randbytes(3) + after, b"9" * 9 + after, b"[" + after)
        content = before + draw.choice(ways)
    return content


TARGETS = {
    "weights": ("bpe", WEIGHTS),
    "configuration": ("bpe", CONFIG),
    "description": ("bpe", METADATA),
    "labels": (CLASSIFIER, LABELS),
    "bpe tokens with their sum": ("bpe", None),
    "unigram tokens with their sum": ("unigram", None),
}


@pytest.mark.parametrize("target", TARGETS)
def test_random_damage_is_refused_or_harmless(
    target: str, folders: Folders, full: bool, seed: int, measured: Measured
) -> None:
    kind, name = TARGETS[target]
    draw = random.Random(seed)

    def change(folder: Path) -> None:
        if name is None:
            with_pieces(kind, lambda content: damaged(content, draw))(folder)
        else:
            write(name, damaged((folder / name).read_bytes(), draw))(folder)

    tried = [folders.tried(change, kind) for _ in range(MUTATIONS if full else 4)]
    held, note = counted((f"damage {number}" for number in range(len(tried))), tried, may_translate=True)
    measured("X8", f"random damage to {target}: refused or harmless", held=held, of=len(tried), note=note)

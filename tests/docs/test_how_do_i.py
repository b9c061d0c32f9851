"""The commands of docs/how-do-i.md are run, one after another in one folder, with small models and few updates."""

import itertools
import re
from pathlib import Path

import pytest

from limelight.cli.app import run
from tests.docs.test_docs import commands, programs, read

PAGE = "docs/how-do-i.md"
QUESTIONS = re.split(r"^## ", read(PAGE), flags=re.MULTILINE)[1:]
SMALL = """
model.encoder_layers=1 model.decoder_layers=1 model.d_model=16 model.heads=2 model.d_ff=20 batching.tokens=400
tokens.vocabulary_size=330 training.bleu_sentences=2 training.precision=fp32 training.average=1
training.validate_every=4 decoding.max_length_factor=1 decoding.max_length_extra=3 data.on_doubt=warn
"""
LEARNED = "training.bleu_sentences=2 training.validate_every=4 data.on_doubt=warn"
"""What a run that begins with a model may change."""


def changed(words: list[str], folder: Path) -> list[str]:
    """The command with few updates of a small model."""
    if words[0] != "train":
        return words
    out = Path(words[words.index("--out") + 1])
    settings = LEARNED if "--from" in words else "" if (folder / out).exists() else SMALL
    updates = "4" if (folder / out).exists() else "2"
    return [
        *words,
        "--quiet",
        "--max-steps",
        updates,
        *itertools.chain(*(["--set", each] for each in settings.split())),
    ]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text under the names of the page."""
    folder = tmp_path_factory.mktemp("workplace")
    animals = {"dog": "Hund", "bird": "Vogel", "horse": "Esel", "man": "Mann", "child": "Sohn", "king": "König"}
    colors = {"small": "kleine", "old": "alte", "big": "große", "young": "junge", "brown": "braune"}
    verbs = {"sings": "singt", "runs": "rennt", "sleeps": "schläft", "eats": "isst"}
    pairs = [
        (f"The {color} {animal} {verb} today.", f"Der {colors[color]} {animals[animal]} {verbs[verb]} heute.")
        for animal, color, verb in itertools.product(animals, colors, verbs)
    ]
    for name, some in {"train": pairs[:90], "valid": pairs[90:100], "test": pairs[100:110]}.items():
        for side, language in enumerate(("en", "de")):
            (folder / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in some), encoding="utf-8")
    for name, some in {"own": pairs[:60], "everyday": pairs[60:], "a": pairs, "b": pairs, "c": pairs}.items():
        (folder / f"{name}.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in some), encoding="utf-8")
    for name, side in (("manual.txt", 0), ("handbuch.txt", 1)):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in pairs[::3]), encoding="utf-8")
    (folder / "terms.tsv").write_text("car\tWagen\n", encoding="utf-8")
    (folder / "manual.md").write_text("# The dog\n\nThe small dog sings today.\n", encoding="utf-8")
    (folder / "texts").mkdir()
    (folder / "texts" / "one.md").write_text("A dog runs.\n", encoding="utf-8")
    return folder


def test_there_are_twenty_questions_and_the_first_five_are_answered_in_300_words() -> None:
    assert len(QUESTIONS) == 20
    assert all(list(commands(question)) or programs_in(question) for question in QUESTIONS)
    assert len(read(PAGE).partition(f"## {QUESTIONS[5]}")[0].split()) <= 300


def programs_in(question: str) -> bool:
    return "```python" in question


@pytest.mark.slow
def test_each_command_of_the_page_runs(workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(workplace)
    for words in commands(read(PAGE)):
        if words[0] != "serve":
            assert run(changed(words, workplace)) == 0, (words, capsys.readouterr().err)
    assert "Wagen" in capsys.readouterr().out
    for code in programs(PAGE):
        exec(compile(code, PAGE, "exec"), {})

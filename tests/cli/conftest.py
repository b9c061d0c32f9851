"""One tiny run, trained once through the command line itself, that all commands are tried on."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.phrase_grammar import write_corpus
from limelight.cli.app import run
from tests.cli.corpora import reversing_run

TINY = """
model.encoder_layers=1 model.decoder_layers=1 model.d_model=16 model.heads=2 model.d_ff=20
tokens.vocabulary_size=150 tokens.byte_fallback=false batching.tokens=400
training.validate_every=4 training.checkpoint_every=5 training.bleu_sentences=2 training.log_every=2 training.warmup=4
training.precision=fp32 training.device=cpu decoding.max_length_factor=1 decoding.max_length_extra=3
"""


class Ended(NamedTuple):
    """What a command line left behind."""

    code: int
    out: str
    err: str


Limelight = Callable[..., Ended]


def settings() -> list[str]:
    """`--set` for each of `TINY`."""
    return [word for setting in TINY.split() for word in ("--set", setting)]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.tsv, valid.tsv and test.tsv in English and Lumi."""
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, count=150, seed=7, held_out=5)
    return folder


@pytest.fixture(scope="session")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run; to be looked at, not to be trained on."""
    folder = tmp_path_factory.mktemp("runs") / "en-lumi"
    text = ["--train", str(corpus / "train.tsv"), "--valid", str(corpus / "valid.tsv")]
    languages = ["--source", "en", "--target", "lumi"]
    command = ["train", *text, *languages, "--recipe", "tiny", *settings(), "--max-steps", "8", "--out", str(folder)]
    assert run([*command, "--quiet"]) == 0
    return folder


@pytest.fixture(scope="session")
def writing(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a language model that has read the English side (train.txt); test.txt stands beside it, too."""
    folder = tmp_path_factory.mktemp("writers") / "en"
    for name in ("train", "test"):
        lines = (corpus / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        english = "".join(line.split("\t")[0] + "\n" for line in lines)
        (folder.parent / f"{name}.txt").write_text(english, encoding="utf-8")
    sizes = "model.layers=1 model.d_model=16 model.heads=2 model.d_ff=20 model.max_positions=16 batching.block=16"
    fast = "batching.tokens=512 training.warmup=5 training.learning_rate=0.01 training.validate_every=20"
    given = [word for setting in f"{sizes} {fast} training.device=cpu".split() for word in ("--set", setting)]
    command = ["train", "--text", str(folder.parent / "train.txt"), "--recipe", "gpt-tiny", *given]
    assert run([*command, "--max-steps", "40", "--out", str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder."""
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(autouse=True)
def without_bundled_models(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested here does not depend on the models that the package has."""
    monkeypatch.setattr("limelight.storage.layout.BOX", empty)


@pytest.fixture(autouse=True)
def without_notices_of_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command says does not depend on whether loops have been compiled on this machine before."""
    monkeypatch.setattr("limelight.cli.models._tell_compiling", lambda: None)


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that translates en-de: it says words backwards, and in capitals."""
    return reversing_run(tmp_path_factory.mktemp("one"), both=False)


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that translates en-de and de-en."""
    return reversing_run(tmp_path_factory.mktemp("many"), both=True)


@pytest.fixture
def limelight(capsys: pytest.CaptureFixture[str]) -> Limelight:
    """Run a command line in this process."""

    def call(*words: object) -> Ended:
        capsys.readouterr()
        code = run([str(word) for word in words])
        return Ended(code, *capsys.readouterr())

    return call


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Put these bytes into standard input."""

    def give(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give

"""Count the source: lines, files, packages, and the files that one sentence and one pair cross.

    python -m benchmarks.house              # print the table
    python -m benchmarks.house --write      # and put it into docs/architecture.md

A line is a line of a file, blank ones and docstrings included. A file is crossed if one of its functions runs, in any
thread, in a second call; what is done only once (imports, packing of weights) does not count. The model is the bundled
one. A pair is read, cleaned, tokenized, stored, drawn into a batch, and its loss is computed; the model's own files
(`attention`, `layers`, `models`) are left out of that count.
"""

import ast
import contextlib
import io
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

import limelight
from benchmarks.output import table

SOURCE = Path(limelight.__file__).parent
PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
MARKS = "<!-- house -->\n", "<!-- /house -->"
MODEL = ("attention", "layers", "models")
SENTENCE = "Two dogs are running."


def main(
    write: Annotated[bool, typer.Option(help="Write the table into docs/architecture.md.")] = False,
) -> None:
    """Print the table, and write it if asked to."""
    found = table(["what", "count"], [*counts(), *crossings()])
    print(found)
    if write:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replaced(text, found), encoding="utf-8")


def replaced(text: str, found: str) -> str:
    """The page with another table between the marks."""
    begin, end = (re.escape(mark) for mark in MARKS)
    new, count = re.subn(f"{begin}.*?{end}", lambda _: f"{MARKS[0]}{found}\n{MARKS[1]}", text, flags=re.DOTALL)
    assert count == 1, "the page has no place for the table"
    return new


def counts(source: Path = SOURCE) -> list[tuple[str, int]]:
    """Source lines, those of them that are blank or in docstrings, files and packages."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))]
    lines = sum(len(text.splitlines()) for text in texts)
    packages = [path for path in source.iterdir() if (path / "__init__.py").exists()]
    rows = [("source lines", lines), ("blank lines and docstrings among them", sum(map(without_code, texts)))]
    return [*rows, ("files", len(texts)), ("packages", len(packages))]


def without_code(text: str) -> int:
    """The number of lines of a module that are blank or in a docstring."""
    found = {number for number, line in enumerate(text.splitlines(), start=1) if not line.strip()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found)


def crossings() -> list[tuple[str, int]]:
    """Files crossed by a sentence, from the command line and from `Translator.translate`, and by a pair."""
    translator = limelight.load()
    library = crossed(lambda: translator.translate(SENTENCE, target_lang="de"))
    rows = [
        ("files from the command line to the printed text", len(crossed(_command))),
        ("files from `Translator.translate` to the text", len(library)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        to_loss = {name for name in crossed(_loss(Path(folder))) if not name.startswith(MODEL)}
    return [*rows, ("files from a pair to its loss, without the model", len(to_loss))]


def crossed(call: Callable[[], object]) -> set[str]:
    """The files of Limelight in which a function runs during the second `call`."""
    call()
    found: set[str] = set()

    def seen(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return {str(Path(name).relative_to(SOURCE)) for name in found if Path(name).is_relative_to(SOURCE)}


def _command() -> None:
    from limelight.cli.app import run

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert run(["translate", "--to", "de", "--text", SENTENCE]) == 0


def _loss(folder: Path) -> Callable[[], None]:
    """A function that takes a hundred pairs to their loss."""
    from limelight.batching.stream import Position
    from limelight.config import Corpus, DataConfig
    from limelight.models.families import build_model
    from limelight.preparation.pairs import Prepared, make_stores, prepare
    from limelight.recipes import find_recipe
    from limelight.text.pair import Pair
    from limelight.training.optimization.loss import batch_loss
    from limelight.training.tasks.translation import stream_of

    text = folder / "train.tsv"
    text.write_text("".join(f"{n} dogs run {n}.\t{n} Hunde rennen {n}.\n" for n in range(100)), encoding="utf-8")
    corpus = Corpus(files=(str(text),), source="en", target="de")
    config = find_recipe("tiny").model_copy(update={"data": DataConfig(train=(corpus,))})
    tokens = config.tokens.model_copy(update={"sampling": 0.0, "vocabulary_size": None})
    config = config.model_copy(update={"tokens": tokens})
    tokenizers = prepare(config, folder, lambda _: None).tokenizers
    model = build_model(config.model, tokenizers)

    def encode(pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        source, target = zip(*((pair.source, pair.target) for pair in pairs), strict=True)
        return tokenizers.source.encode_batch(source), tokenizers.target.encode_batch(target)

    def to_loss() -> None:
        for file in (folder / "data").rglob("*.json"):
            file.unlink()
        stores = make_stores(config, encode, folder, lambda _: None, ids=tokenizers.source.size)
        batches = stream_of(config, Prepared(tokenizers, stores, []), processes=0).batches(Position())
        batch_loss(model, next(batches)[0], label_smoothing=0.1).backward()
        batches.close()

    return to_loss


if __name__ == "__main__":
    typer.run(main)

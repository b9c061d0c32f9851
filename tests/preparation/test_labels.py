"""Texts with labels, from files to what training reads."""

from pathlib import Path

import pytest

from limelight.config import Corpus, RunConfig
from limelight.errors import UserError
from limelight.preparation import pairs
from limelight.preparation.pairs import Prepared
from limelight.tokens import END
from tests.training.helpers import go
from tests.training.readers import LABELS, label_run, masked_run


def prepare(config: RunConfig, run: Path) -> tuple[Prepared, list[str]]:
    said: list[str] = []
    return pairs.prepare(config, run, said.append), said


def with_files(config: RunConfig, **files: str) -> RunConfig:
    """The same run on other files, as their text."""
    data = {side: (Corpus(files=(name,)),) for side, name in files.items()}
    return config.model_copy(update={"data": config.data.model_copy(update=data)})


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_each_text_is_stored_with_the_number_of_its_label(tmp_path: Path) -> None:
    config = label_run(tmp_path / "text")
    prepared, said = prepare(config, tmp_path / "run")
    assert prepared.labels == LABELS
    assert prepared.tokenizers.one_vocabulary
    lines = (tmp_path / "text" / "train.tsv").read_text().splitlines()
    unique = list(dict.fromkeys(lines))
    (store,) = prepared.stores
    assert len(store) == len(unique)
    for number, line in enumerate(unique):
        text, label = line.split("\t")
        assert store.sources[number].tolist() == [END, *prepared.tokenizers.source.encode(text)]
        assert prepared.labels[store.targets[number].item()] == label
    assert [pair.target for pair in prepared.valid[0]] == [
        line.split("\t")[1] for line in (tmp_path / "text" / "valid.tsv").read_text().splitlines()
    ]
    assert any(line.startswith("2 labels: ") for line in said)


def test_what_is_asked_of_translations_is_not_asked_of_labels(tmp_path: Path) -> None:
    """A label is shorter than any text, and may be the text itself; white space around it is nothing."""
    long = "長" * 160
    train = written(tmp_path / "train.tsv", f"{long}\tx\nx\t x\ny\ty\nsomething else\ty \n")
    config = with_files(label_run(tmp_path / "text"), train=train, valid=train)
    data = config.data.model_copy(update={"max_characters": len(long)})
    prepared, _ = prepare(config.model_copy(update={"data": data}), tmp_path / "run")
    assert prepared.labels == ("x", "y")
    assert len(prepared.stores[0]) == 4


def test_a_label_of_validation_alone_is_refused_with_its_place(tmp_path: Path) -> None:
    valid = written(tmp_path / "valid.tsv", "sun\tday\nfog\tautumn\n")
    with pytest.raises(
        UserError, match=r"valid\.tsv:2: 'autumn' is not one of the labels in the training data: day, night"
    ):
        prepare(with_files(label_run(tmp_path / "text"), valid=valid), tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "one\ta\ntwo\ta\n",
            r"train\.tsv: 1 labels; a classifier chooses among 2 to 10,000: a line of it is a text, a tab",
        ),
        (f"one\ta\ntwo\t{'b' * 201}\n", r"train\.tsv:2: 'b+\.\.\. is not a valid label"),
        ("one\ta\ntwo\tb\x07\n", r"train\.tsv:2: 'b.+' is not a valid label"),
        ("one\t\n", r"train\.tsv: there is nothing to train on: 0 of 1 pairs kept"),
    ],
)
def test_what_has_no_labels_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    train = written(tmp_path / "train.tsv", text)
    with pytest.raises(UserError, match=fault):
        prepare(with_files(label_run(tmp_path / "text"), train=train), tmp_path / "run")


def test_the_vocabulary_may_be_that_of_a_masked_model(tmp_path: Path) -> None:
    go(masked_run(tmp_path / "plain", max_steps=1), tmp_path / "masked")
    config = label_run(tmp_path / "text").model_copy(update={"begin_with": str(tmp_path / "masked")})
    prepared, said = prepare(config, tmp_path / "run")
    assert f"the vocabulary is that of {tmp_path / 'masked'}" in said
    assert "[MASK]" in prepared.tokenizers.source.pieces(range(prepared.tokenizers.source.size))

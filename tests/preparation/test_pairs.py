"""From files to stores: dirty text, empty text, missing text, and what is not done twice."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limelight.config import Corpus, RunConfig
from limelight.errors import UserError
from limelight.preparation import pairs as module
from limelight.preparation import vocabulary
from limelight.preparation.pairs import Prepared, prepare, read_valid
from limelight.text.marking import placeholder
from limelight.tokens.tokenizer import PLACEHOLDERS
from tests.formats.files import tmx, unit
from tests.training.helpers import tiny_run


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    return tiny_run(tmp_path / "text")


def prepared(config: RunConfig, folder: Path) -> tuple[Prepared, str]:
    said: list[str] = []
    return prepare(config, folder, said.append), "\n".join(said)


def with_data(config: RunConfig, **changed: Any) -> RunConfig:
    return config.model_copy(update={"data": config.data.model_copy(update=changed)})


def corpus(path: Path, content: bytes) -> tuple[Corpus, ...]:
    path.write_bytes(content)
    return (Corpus(files=(str(path),), source="en", target="de"),)


def text_of(config: RunConfig) -> bytes:
    return Path(config.data.train[0].files[0]).read_bytes()


def test_everything_that_was_read_is_in_the_store(config: RunConfig, tmp_path: Path) -> None:
    found, said = prepared(config, tmp_path / "run")
    lines = [line.split("\t") for line in text_of(config).decode().splitlines()]
    store = found.stores[0]
    assert store.texts(np.arange(len(store))) == [(line[0], line[1]) for line in lines]
    encode = found.tokenizers.source.encode
    assert [store.sources[row].tolist() for row in range(len(store))] == [encode(line[0]) for line in lines]
    assert [pair.line for pair in found.valid[0]] == list(range(1, 8))
    assert "train.tsv: 61 of 61 pairs kept" in said


BAD = {"not valid UTF-8": b"\xff\xfe bad\tschlecht\n", "NUL": b"one\0two\teins\n", "TAB": b"no tabulator here\n"}


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_line_stops_with_its_place(reason: str, config: RunConfig, tmp_path: Path) -> None:
    dirty = corpus(tmp_path / "dirty.tsv", text_of(config) + BAD[reason])
    with pytest.raises(UserError, match=rf"dirty\.tsv:62: .*{reason}"):
        prepared(with_data(config, train=dirty), tmp_path / "run")
    assert not (tmp_path / "run" / "data" / "train-0").exists()


def test_bad_lines_are_reported_and_skipped_on_request(config: RunConfig, tmp_path: Path) -> None:
    dirty = corpus(tmp_path / "dirty.tsv", BAD["TAB"] + text_of(config) + b"".join(BAD.values()))
    found, said = prepared(with_data(config, train=dirty, on_bad_line="skip"), tmp_path / "run")
    assert len(found.stores[0]) == 61
    for line in (1, 63, 64, 65):
        assert said.count(f"skipped {tmp_path / 'dirty.tsv'}:{line}: ") == 1  # told once, not each time it is read
    listing = tmp_path / "run" / "data" / "train-0-skipped.txt"
    assert f"61 of 61 pairs kept\nskipped 4 lines that cannot be read; each of them in {listing}\n" in said
    assert "  skipped 2: there is no TAB in this line (first: " in said
    assert [line.split(":")[1] for line in listing.read_text().splitlines()] == ["1", "63", "64", "65"]


def test_a_corpus_of_which_nothing_is_left_names_the_reasons_every_time(config: RunConfig, tmp_path: Path) -> None:
    """Also at the second start, when its tokens would already stand there."""
    nothing = corpus(tmp_path / "same.tsv", b"same\tsame\n\tempty\n")
    both = with_data(config, train=(*config.data.train, *nothing))
    for _ in range(2):
        with pytest.raises(UserError, match=r"same\.tsv: no pair is left to train on: 0 of 2 pairs kept") as caught:
            prepared(both, tmp_path / "run")
        assert "left out 1: both sides are the same text (first: " in str(caught.value)
        assert "same.tsv:2" in str(caught.value)


def test_pairs_of_too_many_pieces_are_left_out_and_counted(config: RunConfig, tmp_path: Path) -> None:
    full, _ = prepared(config, tmp_path / "full")
    store = full.stores[0]
    longest = np.maximum(store.sources.lengths(), store.targets.lengths()) + 1
    limit = int(np.median(longest))
    short = config.model_copy(update={"batching": config.batching.model_copy(update={"max_length": limit})})
    found, said = prepared(short, tmp_path / "short")
    kept = int((longest <= limit).sum())
    assert 0 < kept < 61
    assert len(found.stores[0]) == kept
    assert f"{kept} of 61 pairs kept" in said
    assert f"left out {61 - kept}: more than {limit} tokens, the end counted (batching.max_length)" in said
    listing = tmp_path / "short" / "data" / "train-0-left-out.tsv"
    assert f"all of the {61 - kept} are in {listing}" in said
    lines = [int(row.split("\t")[1]) for row in listing.read_text(encoding="utf-8").splitlines()]
    assert lines == (np.flatnonzero(longest > limit) + 1).tolist()
    shortest = config.model_copy(update={"batching": config.batching.model_copy(update={"max_length": 2})})
    with pytest.raises(UserError, match=r"no pair is left .*\n.*left out 61: more than 2 tokens"):
        prepared(shortest, tmp_path / "shortest")


def test_the_second_start_makes_nothing_anew(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(config, tmp_path / "run")
    (tmp_path / "run" / "config.yaml").touch()
    monkeypatch.setattr(vocabulary, "train_tokenizer", None)
    monkeypatch.setattr(module, "_write", None)
    found, said = prepared(config, tmp_path / "run")
    assert (len(found.stores[0]), said) == (61, "")


@pytest.mark.parametrize("change", ["text", "cleaning", "length"])
def test_what_has_changed_before_a_run_began_is_made_anew(change: str, config: RunConfig, tmp_path: Path) -> None:
    prepared(config, tmp_path / "run")
    if change == "text":
        Path(config.data.train[0].files[0]).write_bytes(text_of(config) + b"one more\tnoch eins\n")
    elif change == "cleaning":
        config = with_data(config, max_characters=30)
    else:
        config = config.model_copy(update={"batching": config.batching.model_copy(update={"max_length": 9})})
    found, _ = prepared(config, tmp_path / "run")
    assert len(found.stores[0]) != 61
    assert (len(found.stores[0]) == 62) == (change == "text")


@pytest.mark.parametrize("change", ["text", "gone"])
def test_a_run_that_has_begun_goes_on_with_its_text(change: str, config: RunConfig, tmp_path: Path) -> None:
    prepared(config, tmp_path / "run")
    (tmp_path / "run" / "config.yaml").touch()
    train, valid = (Path(each[0].files[0]) for each in (config.data.train, config.data.valid))
    for path in (train, valid):
        content = path.read_bytes()
        path.unlink()
        if change == "text":
            path.write_bytes(content + b"one more\tnoch eins\n")
    found, said = prepared(config, tmp_path / "run")
    assert (len(found.stores[0]), len(found.valid[0])) == (61, 7)
    for path in (train, valid):
        assert f"{path}: not as it was when the run began; going on with the text that the run has kept" in said
    if change == "gone":
        with pytest.raises(UserError, match=r"valid\.tsv: there is no such file"):
            prepared(config, tmp_path / "another")


def test_validation_pairs_that_cannot_be_measured_are_left_out_and_counted(config: RunConfig, tmp_path: Path) -> None:
    text = b"one\teins\n\tzwei\nthree\t \nfour\t" + b"vier " * 20_000 + b"\nfive\tfuenf\n"
    config = with_data(config, valid=corpus(tmp_path / "v.tsv", text))
    found, said = prepared(config, tmp_path / "run")
    assert [pair.line for pair in found.valid[0]] == [1, 5]
    limit = "text on both sides, and at most 2,000 characters (data.max_characters)"
    assert f"{tmp_path / 'v.tsv'}: 2 of 5 validation pairs have {limit}" in said
    none = with_data(config, valid=corpus(tmp_path / "none.tsv", b"\tzwei\n"))
    with pytest.raises(UserError, match=r"none\.tsv: no validation pair has text on both sides"):
        read_valid(none, tmp_path / "other", print)


def test_segments_without_a_translation_are_listed(config: RunConfig, tmp_path: Path) -> None:
    units = [unit(("en", f"one {number}"), *[("de", f"eins {number}")] * (number % 3 > 0)) for number in range(40)]
    train = corpus(tmp_path / "a.tmx", tmx("".join(units)).encode())
    _, said = prepared(with_data(config, train=train), tmp_path / "run")
    listing = tmp_path / "run" / "data" / "train-0-skipped.txt"
    assert f"26 of 26 pairs kept\n14 segments are not used; each of them in {listing}\n" in said
    assert "  not used 14: no text in de (first: " in said


def test_characters_that_look_like_marks_stay_ordinary_text(config: RunConfig, tmp_path: Path) -> None:
    own = placeholder(0)
    lines = "".join(f"one {number}{own}\teins {number}{own}\n" for number in range(40))
    found, _ = prepared(with_data(config, train=corpus(tmp_path / "a.tsv", lines.encode())), tmp_path / "run")
    [store], (tokenizer, _) = found.stores, found.tokenizers
    reserved = {tokenizer.reserved_id(piece) for piece in PLACEHOLDERS}
    assert all(reserved.isdisjoint(store.sources[row].tolist()) for row in range(len(store)))
    assert all(own in text for side in store.texts(np.arange(len(store))) for text in side)

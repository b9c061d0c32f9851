"""Inputs that are URLs: their files, what stands in them, and errors that say which place and what to do."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from limelight.corpus import shards
from limelight.corpus.shards import find_shards, read_items
from limelight.errors import UserError
from tests.corpus.fakes import job_of, run, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "in" / "deep" / "b.txt.gz").write_bytes(gzip.compress(b"three\n"))
    (tmp_path / "in" / "c.jsonl").write_text(json.dumps({"id": 7, "text": "four"}) + "\n")
    return tmp_path / "in"


def test_hidden_files_are_no_inputs(folder: Path) -> None:
    (folder / ".DS_Store").write_bytes(b"\0")
    (folder / ".git").mkdir()
    (folder / ".git" / "config.txt").write_text("x")
    for url in (f"file://{folder}", str(folder)):
        assert sorted(texts(url)) == ["a.txt", "c.jsonl", "deep/b.txt.gz"]


def texts(url: str) -> dict[str, list[str]]:
    with TemporaryDirectory() as name:
        return {
            shard.name: [each.text for each in read_items(shard, shard.local(Path(name, shard.name))) if not each.fault]
            for shard in find_shards([url])
        }


def test_a_url_of_files_is_what_the_files_are(folder: Path) -> None:
    a, b, c = {"a.txt": ["one", "two"]}, {"b.txt.gz": ["three"]}, {"c.jsonl": ["four"]}
    assert texts(f"file://{folder}") == texts(f"file://{folder}/") == {**a, **c, "deep/b.txt.gz": ["three"]}
    assert texts(f"file://{folder}/a.txt") == a
    assert texts(f"file://{folder}/deep/*.gz") == b
    assert texts(f"file://{folder}/*.jsonl") == c


def test_it_is_translated_and_resumed_as_a_folder_is(folder: Path, tmp_path: Path) -> None:
    job = job_of(folder, tmp_path / "out")
    object.__setattr__(job, "inputs", (f"file://{folder}",))
    report = run(job)
    assert (report.files, report.counts["read"], report.counts["written"]) == (3, 4, 4)
    assert (tmp_path / "out" / "a.txt").read_text() == "".join(f"{said(text)}\n" for text in ("one", "two"))
    assert run(job).former == 3
    assert not list((tmp_path / "out" / ".shards").rglob("*.txt"))  # the copies


def test_a_file_that_fails_while_it_is_read_stops_no_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File systems raise errors of their own kinds, such as those of aiohttp."""
    system = shards._file_system

    def failing(url: str) -> object:
        if url.endswith("a.txt"):
            raise LookupError("connection lost")
        return system(url)

    monkeypatch.setattr(shards, "_file_system", failing)
    job = job_of(folder, tmp_path / "out")
    object.__setattr__(job, "inputs", (f"file://{folder}",))
    report = run(job)
    assert report.faults == [f"file://{folder}/a.txt: cannot be read: connection lost"]
    assert report.files == 2


@pytest.mark.parametrize("name", ["/in/../../etc/passwd", "http://elsewhere/a", "/in"])
def test_a_name_outside_of_its_folder_is_refused(name: str) -> None:
    """What a server lists is not trusted: results are written under that name."""
    with pytest.raises(UserError, match="does not lie in /in"):
        shards._below(name, "/in", "http://host/in/")
    assert shards._below("/in/deep/a.txt", "/in", "http://host/in/") == "deep/a.txt"


def test_a_file_named_as_the_report_is_refused(folder: Path) -> None:
    name = "report.json"
    (folder / name).write_text("{}")
    for given in (str(folder), str(folder / name)):
        with pytest.raises(UserError, match=name):
            find_shards([given])
    (folder / name).rename(folder / "deep" / name)
    assert f"deep/{name}" in [shard.name for shard in find_shards([str(folder)])]


def test_a_url_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(UserError, match="password") as refused:
        find_shards(["https://user:s3cr3t@localhost/corpus.txt"])
    assert "s3cr3t" not in str(refused.value)

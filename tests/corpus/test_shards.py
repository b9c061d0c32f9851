"""Which files of a folder are inputs."""

from pathlib import Path

import pytest

from limelight.corpus.shards import find_shards
from limelight.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "deep/b.txt.gz", ".DS_Store", ".git/config.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_hidden_files_are_no_inputs(folder: Path) -> None:
    assert [shard.name for shard in find_shards([str(folder)])] == ["a.txt", "deep/b.txt.gz"]


def test_a_file_named_as_the_report_and_a_document_are_refused(folder: Path) -> None:
    name = "report.json"
    (folder / name).touch()
    for given in (folder, folder / name):
        with pytest.raises(UserError, match=name):
            find_shards([str(given)])
    (folder / name).rename(folder / "deep" / name)
    with pytest.raises(UserError, match=r"report\.json: is a document, .* the folder that it is in, without --workers"):
        find_shards([str(folder)])


def test_a_linked_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text("a\n", encoding="utf-8")
    (tmp_path / "in/.hidden").symlink_to(tmp_path)
    assert len(find_shards([str(tmp_path / "in")])) == 1
    (tmp_path / "in/link").symlink_to(tmp_path)
    with pytest.raises(UserError, match="a link to a folder"):
        find_shards([str(tmp_path / "in")])

"""What is translated: in the order of the files, fit for a column, and surveyed before any work."""

import gzip
from pathlib import Path

import pytest

from limelight.corpus.synthesis import Job, Part, Survey, survey_job
from limelight.errors import UserError
from limelight.files import sha256


def job_of(parts: list[Part], *, skip: bool) -> Job:
    return Job(tuple(parts), Path("out.tsv"), "source", skip_bad_lines=skip)


def survey(parts: list[Part], *, skip: bool) -> Survey:
    return survey_job(job_of(parts, skip=skip))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes("\ufeffone\ttwo \r\n\n drei\rvier\n".encode())
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"five\n"))
    (tmp_path / "c.tsv").write_bytes(b"six\tsechs\n")
    (tmp_path / "d.jsonl").write_bytes(b'{"source": "seven\\neight", "target": "sieben\\nacht"}\n')
    return tmp_path


def test_inputs_come_in_order_and_fit_into_a_column(folder: Path) -> None:
    a, b, c, d = (str(folder / name) for name in ("a.txt", "b.txt.gz", "c.tsv", "d.jsonl"))
    parts = [Part((a, b)), Part((c,), "source"), Part((d,), "target"), Part((d,), "source")]
    assert list(job_of(parts, skip=False).inputs()) == [
        "one two",
        "",
        "drei vier",
        "five",
        "six",
        "sieben acht",
        "seven eight",
    ]
    found = survey(parts, skip=False)
    assert (found.total, found.unreadable) == (7, 0)
    assert found.files == {name: sha256(Path(name)) for name in (a, b, c, d)}


@pytest.mark.parametrize("side", ["", "source"])
def test_a_bad_line_stops_or_is_counted(side: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.tsv"
    path.write_bytes(b"one\teins\n\xff\xfe\ntwo\tzwei\nthree\0\tdrei\n")
    with pytest.raises(UserError, match=r"bad\.tsv:2: not valid UTF-8"):
        survey([Part((str(path),), side)], skip=False)
    found = survey([Part((str(path),), side)], skip=True)
    assert (found.total, found.unreadable) == (2, 2)

"""Resuming a corpus: what has changed since is noticed, and several drivers may begin at once."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from limelight.corpus import results
from limelight.corpus.results import MANIFEST, open_results
from limelight.errors import UserError
from tests.corpus.fakes import job_of, run, write_shards


def test_an_input_that_changed_without_changing_its_size_is_refused(tmp_path: Path) -> None:
    given = write_shards(tmp_path / "in", shards=1, lines=3)
    path = given / "0" / "part-0.txt"
    path.write_text("Please park your car here.\n")
    run(job_of(given, tmp_path / "out"))
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text("Please wash your car here.\n")
    with pytest.raises(
        UserError, match=r"part-0\.txt: it has changed since it was translated; remove .*part-0\.txt to"
    ):
        run(job_of(given, tmp_path / "out"))
    path.write_text("Please park your car here.\n")
    assert path.stat().st_mtime_ns != times[1]
    assert run(job_of(given, tmp_path / "out")).former == 1  # the same content, written again


def test_a_half_done_input_that_changed_without_changing_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write_shards(tmp_path / "in", shards=1)
    path = given / "0" / "part-0.txt"
    with monkeypatch.context() as patched:
        patched.setattr(results.Results, "finish", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(job_of(given, tmp_path / "out"))
    path.write_text(path.read_text().replace("line", "life"))
    with pytest.raises(UserError, match="SHA-256 of the input is"):
        run(job_of(given, tmp_path / "out"))


def test_half_a_surrogate_pair_in_any_field_stays_as_it_was(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    lines = ['{"id": 1, "text": "ä", "title": "cut \\ud83d"}', '{"id": 2, "text": "b", "\\ude00": [{"x": "\\ud83d"}]}']
    (given / "a.jsonl").write_text("\n".join([*lines, '{"text": "\\ud83d"}']) + "\n")
    (given / "b.jsonl").write_text('{"text": "whole 😀"}\n')
    report = run(job_of(given, tmp_path / "out"))
    assert (report.counts.written, report.counts.skipped, report.faults) == (3, 1, [])
    found = (tmp_path / "out" / "a.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in found] == [
        {**json.loads(lines[0]), "translation": "Ä"}, {**json.loads(lines[1]), "translation": "B"}
    ]  # fmt: skip
    assert "😀" in (tmp_path / "out" / "b.jsonl").read_text()


def test_drivers_that_start_at_once_share_a_folder(tmp_path: Path) -> None:
    for turn in range(20):
        begin = Barrier(4)

        def drive(folder: Path = tmp_path / str(turn), begin: Barrier = begin) -> None:
            begin.wait()
            open_results(folder, {"model": "a"})

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(drive) for _ in range(4)]:
                done.result()
        assert [path.name for path in (tmp_path / str(turn)).iterdir() if path.is_file()] == [MANIFEST]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_field_with_the_text_is_not_replaced_by_the_translation(kind: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    row = {"id": 1, "translation": "a dog"}
    if kind == "jsonl":
        (tmp_path / "in" / "a.jsonl").write_text(json.dumps(row))
    else:
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(
            arrow.Table.from_pylist([row]), tmp_path / "in" / "a.parquet"
        )
    report = run(replace(job_of(tmp_path / "in", tmp_path / "out"), field="translation"))
    [fault] = report.faults
    assert "the translation would replace the text, 'translation'; rename it" in fault

"""Files through real processes into a folder: what is written, and what is left when something is killed."""

import gzip
import json
import os
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from limelight.corpus.pool import ENDED, Process
from limelight.corpus.translate import Report
from limelight.errors import RunError, UserError
from limelight.files import sha256
from tests.corpus.fakes import DIE, HANG, REFUSE, contents, drive, job_of, run, said, write_shards


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def skipped(path: Path) -> list[dict]:
    return [json.loads(line) for line in lines_of(path.with_name(path.name + ".skipped.jsonl"))]


def adds_up(report: Report) -> bool:
    counts = report.counts
    reasons = sum(count for name, count in counts.items() if name.startswith("skipped: "))
    return counts["read"] == counts["written"] + counts["skipped"] and reasons == counts["skipped"]


def test_every_format_keeps_its_order_and_ids(tmp_path: Path) -> None:
    given = write_shards(tmp_path / "in", lines=20)
    with gzip.open(given / "packed.txt.gz", "wt", encoding="utf-8") as file:
        file.write("one loop\n\ntwo\n")
    records = [{"id": number, "text": f"text {number}", "more": [1, {"a": "ü"}]} for number in range(10)]
    (given / "o.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    (given / "empty.txt").write_text("")
    (given / "empty.txt.gz").write_bytes(gzip.compress(b""))
    report = run(job_of(given, tmp_path / "out"))
    for number in range(3):
        name = f"{number % 2}/part-{number}.txt"
        assert lines_of(tmp_path / "out" / name) == [said(line) for line in lines_of(given / name)]
    assert gzip.decompress((tmp_path / "out" / "packed.txt.gz").read_bytes()).decode() == "POOL ENO\n\nOWT\n"
    found = [json.loads(line) for line in lines_of(tmp_path / "out" / "o.jsonl")]
    assert found == [{**each, "translation": said(str(each["text"]))} for each in records]
    assert (tmp_path / "out" / "empty.txt").read_text() == ""
    assert gzip.decompress((tmp_path / "out" / "empty.txt.gz").read_bytes()) == b""
    assert (report.files, report.counts["read"], report.counts["skipped"]) == (7, 73, 0)
    assert (report.counts["warning: loop"], report.faults, adds_up(report)) == (1, [], True)
    assert not list((tmp_path / "out").rglob("*.partial*"))
    assert not list((tmp_path / "out").rglob("*.skipped.jsonl"))


def test_a_task_has_fewer_lines_if_they_are_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, sizes, ask = write_shards(tmp_path / "in", shards=1, lines=10), list[int](), Process.ask

    def asked(self: Process, texts: list[str], first: int, timeout: float) -> object:
        sizes.append(len(texts))
        return ask(self, texts, first, timeout)

    monkeypatch.setattr(Process, "ask", asked)
    monkeypatch.setattr("limelight.corpus.translate.LINE_CHARACTERS", 4)
    report = run(job_of(given, tmp_path / "out", workers=1))
    assert (sizes, report.counts["written"]) == ([0, 4, 4, 2], 10)  # the first starts the worker


def test_what_is_finished_is_not_done_again(tmp_path: Path) -> None:
    given = write_shards(tmp_path / "in")
    first = run(job_of(given, tmp_path / "out"))
    before = contents(tmp_path / "out")
    (tmp_path / "out" / "1" / "part-1.txt").unlink()
    (tmp_path / "out" / "1" / "part-1.txt.skipped.jsonl").write_text("of other results")
    again = run(job_of(given, tmp_path / "out"))
    assert (again.former, again.new, again.counts) == (2, 40, first.counts)
    assert contents(tmp_path / "out") == before
    nothing = run(job_of(given, tmp_path / "out"))
    assert (nothing.former, nothing.new) == (3, 0)


def test_bad_lines_are_written_aside_and_the_report_adds_up(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    (given / "a.txt").write_bytes(b"one\n\xff\xfe bad\ntwo\n" + f"x {REFUSE}\nthree\n".encode())
    (given / "b.jsonl").write_text('{"id": 1, "text": "one"}\nno json\n{"id": 2}\n{"id": 3, "text": "two"}\n[1]\n')
    (given / "c.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n" * 50)[:-9])
    report = run(job_of(given, tmp_path / "out"))
    assert lines_of(tmp_path / "out" / "a.txt") == ["ENO", "", "OWT", "", "EERHT"]  # beside their sources
    assert [each["line"] for each in skipped(tmp_path / "out" / "a.txt")] == [2, 4]
    assert skipped(tmp_path / "out" / "a.txt")[1] == {
        "line": 4, "reason": "text 4: it is too long", "text": f"x {REFUSE}"
    }  # fmt: skip
    assert [json.loads(line)["id"] for line in lines_of(tmp_path / "out" / "b.jsonl")] == [1, 3]
    assert [each["line"] for each in skipped(tmp_path / "out" / "b.jsonl")] == [2, 3, 5]
    assert (report.counts["read"], report.counts["written"], report.counts["skipped"]) == (10, 5, 5)
    assert adds_up(report)
    assert report.counts["skipped: text N: it is too long"] == 1
    [fault] = report.faults
    assert "c.txt.gz" in fault
    assert "damaged or cut off" in fault
    assert not (tmp_path / "out" / "c.txt.gz").exists()
    assert any("not finished: " in line for line in report.lines())


def test_a_line_that_ends_or_hangs_its_worker_is_left_out(tmp_path: Path) -> None:
    given = write_shards(tmp_path / "in", shards=2, lines=36)  # the last line is alone in its chunk
    path = given / "0" / "part-0.txt"
    texts = lines_of(path)
    texts[5], texts[35] = DIE, HANG
    path.write_text("".join(f"{line}\n" for line in texts), encoding="utf-8")
    report = run(job_of(given, tmp_path / "out", timeout=3.0))
    found = lines_of(tmp_path / "out" / "0" / "part-0.txt")
    assert found == [said(line) if line not in (DIE, HANG) else "" for line in texts]
    reasons = {each["text"]: each["reason"] for each in skipped(tmp_path / "out" / "0" / "part-0.txt")}
    assert reasons[DIE] == f"{ENDED}, 2 with no other: ended from outside by SIGKILL, usually because memory ran out"
    assert reasons[HANG] == f"{ENDED}, 2 with no other: no answer after 3 s"
    assert (report.counts["written"], report.counts["skipped"]) == (70, 2)
    assert report.ended >= 5


def test_other_settings_and_other_files_are_refused(tmp_path: Path) -> None:
    given = write_shards(tmp_path / "in", shards=1, lines=5)
    run(job_of(given, tmp_path / "out"))
    with pytest.raises(UserError, match=r"made with other settings: field is '' there, 'body' here"):
        run(replace(job_of(given, tmp_path / "out"), field="body"))
    path = given / "0" / "part-0.txt"
    before = path.read_text()
    path.write_text(before.replace("line", "life"))
    with pytest.raises(UserError, match=r"part-0\.txt: it exists already.*SHA-256 of the input is"):
        run(job_of(given, tmp_path / "out"))
    path.write_text(before)
    assert run(job_of(given, tmp_path / "out")).former == 1  # the same content, written again
    (tmp_path / "mine" / "0").mkdir(parents=True)
    (tmp_path / "mine" / "0" / "part-0.txt").write_text("dear")
    with pytest.raises(UserError, match=r"part-0\.txt: exists already"):
        run(job_of(given, tmp_path / "mine"))
    (tmp_path / "out" / ".shards" / "0" / "part-0.txt.json").write_text("{")
    with pytest.raises(RunError, match=r"part-0\.txt\.json: damaged"):
        run(job_of(given, tmp_path / "out"))
    with pytest.raises(UserError, match="is in it; give -o another folder"):
        run(job_of(given, tmp_path))
    with pytest.raises(UserError, match=r"in/out: is in the input .*/in; give -o another folder"):
        run(job_of(given, given / "out"))


def test_a_file_that_cannot_be_read_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = write_shards(tmp_path / "in", shards=2, lines=5)

    def unreadable(path: Path) -> str:
        if path.name == "part-0.txt":
            raise PermissionError(13, "Permission denied")
        return sha256(path)

    monkeypatch.setattr("limelight.corpus.translate.sha256", unreadable)
    report = run(job_of(given, tmp_path / "out"))
    assert report.faults == [f"{given / '0' / 'part-0.txt'}: cannot be read: permission denied"]
    assert len(list((tmp_path / "out").rglob("part-1.txt"))) == 1


def test_half_a_surrogate_pair_in_any_field_stays_as_it_was(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    lines = ['{"id": 1, "text": "ä", "title": "cut \\ud83d"}', '{"id": 2, "text": "b", "\\ude00": [{"x": "\\ud83d"}]}']
    (given / "a.jsonl").write_text("\n".join([*lines, '{"text": "\\ud83d"}']) + "\n")
    (given / "b.jsonl").write_text('{"text": "whole 😀"}\n')
    report = run(job_of(given, tmp_path / "out"))
    assert (report.counts["written"], report.counts["skipped"], report.faults) == (3, 1, [])
    found = (tmp_path / "out" / "a.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in found] == [
        {**json.loads(lines[0]), "translation": "Ä"}, {**json.loads(lines[1]), "translation": "B"}
    ]  # fmt: skip
    assert "😀" in (tmp_path / "out" / "b.jsonl").read_text()


def test_a_field_with_the_text_is_not_replaced_by_the_translation(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"id": 1, "translation": "a dog"}')
    report = run(replace(job_of(tmp_path / "in", tmp_path / "out"), field="translation"))
    [fault] = report.faults
    assert "the translation would replace the text, 'translation'; rename it" in fault


def test_workers_that_are_killed_lose_nothing(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = write_shards(tmp_path / "in", shards=4, lines=70)
    draw, pids = random.Random(seed), set[int]()
    ask = Process.ask

    def asked(self: Process, texts: list[str], first: int, timeout: float) -> object:
        if len(texts) > 1 and self.process.pid not in pids and draw.random() < 0.5:
            pids.add(self.process.pid)
            os.kill(self.process.pid, signal.SIGKILL)
        return ask(self, texts, first, timeout)

    monkeypatch.setattr(Process, "ask", asked)
    report = run(job_of(given, tmp_path / "out"))
    assert (report.counts["written"], report.counts["skipped"]) == (280, 0)
    assert bool(pids) <= report.ended <= len(pids)
    monkeypatch.undo()
    run(job_of(given, tmp_path / "one", workers=1))
    assert contents(tmp_path / "out") == contents(tmp_path / "one")


def test_a_job_that_is_killed_several_times_gives_the_same_bytes(tmp_path: Path, seed: int) -> None:
    given = write_shards(tmp_path / "in", shards=2, lines=30)
    with (given / "0" / "part-0.txt").open("ab") as file:
        file.write(b"\xff\n" * 3 + f"a loop\n{REFUSE}\n".encode())
    whole = run(job_of(given, tmp_path / "whole", workers=1))
    draw = random.Random(seed)
    codes = {drive(given, tmp_path / "out", draw.randint(3, 40)) for _ in range(3)}
    assert codes <= {0, -signal.SIGKILL}
    assert run(job_of(given, tmp_path / "out")).counts == whole.counts
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert "  warning: loop, in 1 line" in whole.lines()


def test_a_model_that_is_missing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="missing: there is no such model"):
        run(job_of(write_shards(tmp_path / "in", shards=1), tmp_path / "out"), "missing")

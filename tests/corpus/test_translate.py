"""Files through real processes into a folder: what is written, and what is left when something is killed."""

import gzip
import json
import os
import random
import signal
from pathlib import Path

import pytest

from limelight.corpus.pool import Pool, Processes, _Process
from limelight.corpus.results import MANIFEST, SHARDS
from limelight.corpus.shards import Form
from limelight.corpus.translate import Report, translate_corpus
from limelight.errors import RunError, UserError
from limelight.files import PARTIAL
from tests.corpus.fakes import DIE, HANG, REFUSE, ROOT, contents, drive_job, job_of, run, said, settings, write_shards
from tests.forked import PROCESSES


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `run` changes of this process is put back."""
    monkeypatch.setattr("limelight.corpus.pool.PROGRAM", "limelight.corpus.worker")
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def skipped(path: Path) -> list[dict]:
    return [json.loads(line) for line in lines_of(path.with_name(path.name + ".skipped.jsonl"))]


def adds_up(report: Report) -> bool:
    counts = report.counts
    return counts.read == counts.written + counts.skipped and sum(counts.reasons.values()) == counts.skipped


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
    assert (report.files, report.counts.read, report.counts.skipped) == (7, 73, 0)
    assert (report.counts.warnings, report.faults, adds_up(report)) == ({"loop": 1}, [], True)
    assert not list((tmp_path / "out").rglob("*.partial*"))
    assert not list((tmp_path / "out").rglob("*.skipped.jsonl"))


def test_what_is_finished_is_not_done_again(tmp_path: Path) -> None:
    given = write_shards(tmp_path / "in")
    first = run(job_of(given, tmp_path / "out"))
    before = contents(tmp_path / "out")
    (tmp_path / "out" / "1" / "part-1.txt").unlink()
    again = run(job_of(given, tmp_path / "out"))
    assert (again.former, again.new, again.counts) == (2, 40, first.counts)
    assert contents(tmp_path / "out") == before
    nothing = run(job_of(given, tmp_path / "out"))
    assert (nothing.former, nothing.new, nothing.workers.started) == (3, 0, 0)


def test_bad_lines_are_written_aside_and_the_report_adds_up(tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    (given / "a.txt").write_bytes(b"one\n\xff\xfe bad\ntwo\n" + f"x {REFUSE}\nthree\n".encode())
    (given / "b.jsonl").write_text('{"id": 1, "text": "one"}\nno json\n{"id": 2}\n{"id": 3, "text": "two"}\n[1]\n')
    (given / "c.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n" * 50)[:-9])
    report = run(job_of(given, tmp_path / "out"))
    assert lines_of(tmp_path / "out" / "a.txt") == ["ENO", "", "OWT", "", "EERHT"]  # beside their sources
    assert [each["line"] for each in skipped(tmp_path / "out" / "a.txt")] == [2, 4]
    assert skipped(tmp_path / "out" / "a.txt")[1]["text"] == f"x {REFUSE}"
    assert [json.loads(line)["id"] for line in lines_of(tmp_path / "out" / "b.jsonl")] == [1, 3]
    assert [each["line"] for each in skipped(tmp_path / "out" / "b.jsonl")] == [2, 3, 5]
    assert (report.counts.read, report.counts.written, report.counts.skipped) == (10, 5, 5)
    assert adds_up(report)
    assert report.counts.reasons["text N: it is too long"] == 1
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
    assert reasons[DIE].startswith("its worker ended")
    assert reasons[HANG].startswith("its worker had no answer after 3 s")
    assert (report.counts.written, report.counts.skipped) == (70, 2)
    assert report.workers.ended >= 5


@pytest.mark.parametrize("spoiled", [False, True])
def test_workers_that_are_killed_lose_nothing(
    spoiled: bool, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of those at work is killed again and again. The control: without a second try, lines are lost."""
    given = write_shards(tmp_path / "in", shards=4, lines=70)
    draw, pids, killed = random.Random(seed), set[int](), []
    if spoiled:
        lose = lambda self, task, reason: self._fill(task, [reason] * (task.end - task.begin))  # noqa: E731
        monkeypatch.setattr(Pool, "_ended", lose)
    ask = _Process.ask

    def asked(self: _Process, texts: list[str], first: int, timeout: float) -> object:
        if len(texts) > 1 and self.pid not in pids and draw.random() < 0.5:
            pids.add(self.pid)
            killed.append(self.pid)
            os.kill(self.pid, signal.SIGKILL)
        return ask(self, texts, first, timeout)

    monkeypatch.setattr(_Process, "ask", asked)
    report = run(job_of(given, tmp_path / "out"))
    assert adds_up(report)
    assert spoiled or bool(killed) <= report.workers.ended <= len(killed)
    whole = all(
        lines_of(path) == [said(line) for line in lines_of(given / path.relative_to(tmp_path / "out"))]
        for path in (tmp_path / "out").rglob("part-*.txt")
    )
    assert whole is not (spoiled and bool(killed))


def test_the_process_that_loads_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed with a worker of its own, it is started again."""
    given = write_shards(tmp_path / "in", shards=2)
    ask, left = _Process.ask, [1]

    def asked(self: _Process, texts: list[str], first: int, timeout: float) -> object:
        if left and left.pop():
            os.kill(int(Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
            os.kill(self.pid, signal.SIGKILL)
        return ask(self, texts, first, timeout)

    monkeypatch.setattr(_Process, "ask", asked)
    report = run(job_of(given, tmp_path / "out"))
    assert (report.counts.written, report.workers.ended) == (80, 1)


def drive(given: Path, output: Path, step: int, spoil: str = "no") -> int | None:
    """The job in a process that is killed before its n-th change in the folder; its exit code."""
    process = PROCESSES.Process(target=drive_job, args=(given, output, step, spoil))
    process.start()
    process.join()
    return process.exitcode


@pytest.mark.parametrize("spoil", ["no", "keep", "forget"])
def test_a_job_that_is_killed_goes_on_without_loss_or_doubles(spoil: str, tmp_path: Path, seed: int) -> None:
    """Killed in the middle, several times. The controls: what was not committed stays; where it was is forgotten."""
    given = write_shards(tmp_path / "in", shards=2, lines=30)
    with (given / "0" / "part-0.txt").open("ab") as file:
        file.write(b"\xff\n" * 3)
    run(job_of(given, tmp_path / "whole"))
    draw, codes = random.Random(seed), []
    steps = [draw.randint(3, 40) for _ in range(3)] if spoil == "no" else [25]
    for step in steps:
        codes.append(drive(given, tmp_path / "out", step, spoil))
    if spoil == "keep":  # as a process leaves it that is killed between the write and its record
        for partial in (tmp_path / "out").rglob("*.partial"):
            partial.write_bytes(partial.read_bytes() + b"half a line")
    assert drive(given, tmp_path / "out", 0, spoil) == 0
    assert set(codes) <= {0, -signal.SIGKILL}
    assert -signal.SIGKILL in codes
    assert (contents(tmp_path / "out") == contents(tmp_path / "whole")) is (spoil == "no")


def test_a_job_that_is_killed_while_it_makes_its_folder_begins_anew(tmp_path: Path) -> None:
    given, output = write_shards(tmp_path / "in", shards=1, lines=2), tmp_path / "out"
    (output / SHARDS).mkdir(parents=True)
    (output / (MANIFEST + PARTIAL)).write_text("{")
    run(job_of(given, output))
    run(job_of(given, tmp_path / "whole"))
    assert contents(output) == contents(tmp_path / "whole")


def test_other_settings_and_other_files_are_refused(tmp_path: Path) -> None:
    given = write_shards(tmp_path / "in", shards=1, lines=5)
    run(job_of(given, tmp_path / "out"))
    with pytest.raises(UserError, match=r"made with other settings: form\.pairs is '' there, 'source' here"):
        run(job_of(given, tmp_path / "out", Form(pairs="source")))
    (given / "0" / "part-0.txt").write_text("more\n" * 9)
    with pytest.raises(UserError, match=r"it had 60 bytes when it was translated, and has 45 now; remove "):
        run(job_of(given, tmp_path / "out"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match=r"there are other files in it, and no manifest\.json"):
        run(job_of(given, tmp_path / "mine"))
    (tmp_path / "out" / "manifest.json").write_text("{")
    with pytest.raises(RunError, match=r"manifest\.json: damaged"):
        run(job_of(given, tmp_path / "out"))
    with pytest.raises(UserError, match="is in it; give -o another folder"):
        run(job_of(given, tmp_path))


def test_a_model_that_is_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.corpus.pool.PROGRAM", "tests.corpus.fakes")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    given = write_shards(tmp_path / "in", shards=1)
    for forks in (True, False):
        with pytest.raises(UserError, match="missing: there is no such model"):
            translate_corpus(job_of(given, tmp_path / "out"), Processes(settings("missing"), forks=forks))


def test_workers_that_load_for_themselves_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with GPUs, whose drivers cannot be forked."""
    monkeypatch.setattr("limelight.corpus.pool.PROGRAM", "tests.corpus.fakes")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    given = write_shards(tmp_path / "in")
    translate_corpus(job_of(given, tmp_path / "alone"), Processes(settings(), forks=False))
    run(job_of(given, tmp_path / "forked"))
    assert contents(tmp_path / "alone") == contents(tmp_path / "forked")

"""A corpus is the same bytes however often its making was interrupted, and its report counts everything."""

import itertools
import json
import random
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limelight.corpus.synthesis import REASONS, Job, Part, report_table, survey_job, synthesize
from limelight.decoding.sampling import Sampling
from limelight.documents.parts import MANIFEST, parts_of
from limelight.errors import RunError, UserError
from limelight.files import remove, sha256
from tests.corpus.fakes import killed_before
from tests.corpus.synthesis.fakes import Parrot

MADE_WITH = {"model": {"parrot": "1"}}


@pytest.fixture
def text(tmp_path: Path, seed: int) -> Path:
    """103 lines, of which some stand there twice and some are blank."""
    generator = random.Random(seed)
    lines = [" ".join(generator.choices(["a", "bb", "ccc", "dd d"], k=generator.randint(2, 5))) for _ in range(80)]
    lines += [generator.choice(lines) for _ in range(20)] + ["", " ", "\t"]
    generator.shuffle(lines)
    path = tmp_path / "mono.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def job_of(text: Path, output: str, **changed: Any) -> Job:
    return replace(Job((Part((str(text),)),), text.with_name(output), "source", chunk=25), **changed)


def made(job: Job, translator: Parrot | None = None, **made_with: Any) -> dict[str, Any]:
    found = survey_job(job)
    return synthesize(job, found, translator or Parrot(), made_with=MADE_WITH | made_with, show=lambda *_: None)


def test_each_input_is_translated_once_and_in_its_order(text: Path, tmp_path: Path) -> None:
    report = made(job_of(text, "out.tsv"), Parrot(tmp_path / "log"))
    wanted = list(dict.fromkeys(filter(None, map(str.strip, text.read_text().splitlines()))))
    assert (tmp_path / "log").read_text().splitlines() == wanted
    pairs = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]
    kept = [line for line in wanted if line.split() != line.split()[::-1]]  # those that read alike are copies
    assert pairs == [[" ".join(line.split()[::-1]), line] for line in kept]
    assert (report["inputs"], report["pairs"]) == (103, len(kept))
    assert report["left_out"]["duplicate"] == 100 - len(wanted)
    assert report["left_out"]["blank"] == 3


def test_every_reason_is_counted_and_every_input_has_one_or_a_pair(tmp_path: Path) -> None:
    lines = ["a b", "a b", "", "x" * 2001, "empty a", "unfinished b", "loop c", "long d", "copy e", "c d"]
    (tmp_path / "bad.txt").write_bytes("".join(f"{line}\n" for line in lines).encode() + b"\xff\n")
    report = made(job_of(tmp_path / "bad.txt", "out.tsv", skip_bad_lines=True))
    assert report["left_out"] == dict.fromkeys(REASONS, 1)
    assert (report["inputs"], report["pairs"], report["unreadable"]) == (10, 2, 1)
    assert (tmp_path / "out.tsv").read_text() == "b a\ta b\nd c\tc d\n"
    table = report_table(report)
    assert table.startswith("out.tsv: 2 pairs from 10 inputs\n  left out 1: the input is blank\n")
    assert all(f"left out 1: {words}" in table for words in REASONS.values())
    assert "left out 1: the line cannot be read" in table


def test_the_report_stands_beside_the_corpus_and_says_where_it_comes_from(text: Path, tmp_path: Path) -> None:
    report = made(job_of(text, "out.tsv.gz"))
    stored = json.loads((tmp_path / "out.tsv.gz.json").read_text())
    assert stored == report
    assert stored["sha256"] == sha256(tmp_path / "out.tsv.gz")
    assert stored["made_of"]["model"] == {"parrot": "1"}
    assert stored["made_of"]["text"] == {str(text): sha256(text)}
    assert stored["made_of"]["search"]["beam_size"] == 4
    assert {"limelight", "torch", "python"} <= stored["versions"].keys()


@pytest.mark.parametrize("sampling", [pytest.param(None, marks=pytest.mark.slow), Sampling(seed=7)])
def test_killed_at_any_step_it_goes_on_to_the_same_bytes(sampling: Sampling | None, text: Path, tmp_path: Path) -> None:
    options = {"sampling": sampling} if sampling else {}
    expected = made(job_of(text, "whole.tsv.gz", options=options))
    job, log = job_of(text, "out.tsv.gz", options=options), tmp_path / "log"
    kills = 0
    for step in itertools.count(1):
        for left in [*tmp_path.glob("out*"), *tmp_path.glob("log")]:
            remove(left)
        if killed_before(step, tmp_path / "out", made_with_log, job, log) != -signal.SIGKILL:
            break
        kills += 1
        report = made(job, Parrot(log))
        assert (tmp_path / "out.tsv.gz").read_bytes() == (tmp_path / "whole.tsv.gz").read_bytes(), step
        assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.tsv.gz", "out.tsv.gz.json"]
        assert report == expected | {"output": "out.tsv.gz"}
        again = Counter(log.read_text().splitlines())
        assert again.keys() == set(filter(None, map(str.strip, text.read_text().splitlines())))
        assert again.total() - len(again) <= job.chunk  # at most one chunk twice
    assert kills > 20


def made_with_log(job: Job, log: Path) -> None:
    made(job, Parrot(log))


def test_what_is_done_is_not_done_again(text: Path, tmp_path: Path) -> None:
    job = job_of(text, "out.tsv")
    report = made(job)
    parts_of(job.output).mkdir()  # as a process leaves it that is killed at its very end
    (parts_of(job.output) / MANIFEST).write_text("{}")
    assert made(job, Parrot(tmp_path / "log")) == report
    assert not (tmp_path / "log").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mono.txt", "out.tsv", "out.tsv.json"]


def interrupted(job: Job) -> None:
    """Begin, and stop after two chunks."""

    def stop(tally: Any, _total: int) -> None:
        if tally.inputs == 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synthesize(job, survey_job(job), Parrot(), made_with=MADE_WITH, show=stop)


@pytest.mark.parametrize("done", [False, True])
def test_other_text_or_settings_are_refused(done: bool, text: Path) -> None:
    job = job_of(text, "out.tsv")
    made(job) if done else interrupted(job)
    said = "made with other settings"
    with pytest.raises(UserError, match=rf"{said}: search\.beam_size is 4 there, 2 here"):
        made(replace(job, options={"beam_size": 2}))
    with pytest.raises(UserError, match=rf"{said}: limits is \[2000, 6\.0, False\] there, \[2000, 3\.0, False\] here"):
        made(replace(job, max_length_ratio=3.0))
    with pytest.raises(UserError, match=rf"{said}: model\.parrot is '1' there, '2' here"):
        made(job, model={"parrot": "2"})
    before = text.read_text()
    text.write_text(before.replace("\n", " a\n", 1))
    with pytest.raises(UserError, match=rf"{said}: text\..*mono\.txt is '"):
        made(job)
    text.write_text(before)
    made(job)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Part(("a.tsv",), "source", ("#1", "#2")), Part(("a.tsv",), "source", ("#3", "#2"))),
        (Part(("a.en", "a.de"), "source"), Part(("a.de", "a.en"), "source")),
    ],
)
def test_other_columns_and_files_in_another_order_are_refused(
    first: Part, second: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("a.tsv", "one\ttwo\tthree\n"), ("a.en", "one\n"), ("a.de", "two\n")):
        Path(name).write_text(content)
    job = Job((first,), Path("out.tsv"), "target")
    made(job)
    with pytest.raises(UserError, match=r"made with other settings: parts is \[\['a\."):
        made(replace(job, parts=(second,)))


def test_a_corpus_of_somebody_else_is_not_overwritten(text: Path, tmp_path: Path) -> None:
    (tmp_path / "out.tsv").write_text("mine\tmeins\n")
    with pytest.raises(UserError, match=r"out\.tsv: exists already; give -o another name"):
        made(job_of(text, "out.tsv"))
    assert (tmp_path / "out.tsv").read_text() == "mine\tmeins\n"
    with pytest.raises(UserError, match=r"out\.txt: a corpus is written as \.tsv, \.tsv\.gz"):
        made(job_of(text, "out.txt"))


def test_samples_follow_from_the_seed_and_differ_from_chunk_to_chunk(tmp_path: Path) -> None:
    lines = [f"{' '.join('abcdefgh')} {number:02}" for number in range(50)]
    (tmp_path / "a.txt").write_text("".join(f"{line}\n" for line in lines))
    texts = {}
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        made(job_of(tmp_path / "a.txt", f"{name}.tsv", options={"sampling": Sampling(seed=seed)}))
        texts[name] = (tmp_path / f"{name}.tsv").read_text()
    assert texts["one"] == texts["same"] != texts["other"]
    orders = [[word for word in line.split("\t")[0].split() if word.isalpha()] for line in texts["one"].splitlines()]
    assert orders[:25] != orders[25:]
    with pytest.raises(UserError, match="sampling needs a seed here"):
        made(job_of(tmp_path / "a.txt", "x.tsv", options={"sampling": Sampling()}))


def test_text_that_changes_while_it_is_read_is_told(text: Path) -> None:
    def change(tally: Any, _total: int) -> None:
        if tally.inputs == 25:
            text.write_text(text.read_text() + "one more\n")

    job = job_of(text, "out.tsv")
    with pytest.raises(RunError, match="it had 103 lines, then 104"):
        synthesize(job, survey_job(job), Parrot(), made_with=MADE_WITH, show=change)

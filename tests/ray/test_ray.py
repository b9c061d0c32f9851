"""`--engine ray` with real actors, and Parquet files: the text of processes, whatever ends an actor."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet
import pytest
import ray

from limelight.config import DecodingConfig, RunConfig, TransformerConfig
from limelight.corpus import ray_actors
from limelight.corpus.pool import Start, processes
from limelight.corpus.ray_actors import Texts, actors
from limelight.corpus.results import Results
from limelight.corpus.translate import CorpusJob, Report, translate_corpus
from limelight.corpus.worker import Done, Outcome, WorkerSettings
from limelight.models.families import build_model
from limelight.storage.model import save_model
from limelight.tokens import Tokenizers, train_tokenizer

TEXTS = ["a dog runs", "two birds sing", "the cat sees a dog", "a bird"]
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray about itself


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A small Ray, started once."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=80 * 2**20, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random model, whose translations are noise, but the same noise every time."""
    folder = tmp_path_factory.mktemp("model") / "run"
    both = train_tokenizer(
        TEXTS * 5, kind="bpe", vocabulary_size=None, languages=(), byte_fallback=True, seed=1, sentences=20
    )
    sizes = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12)
    config = RunConfig(model=sizes, decoding=DecodingConfig(max_length_factor=1, max_length_extra=3))
    tokenizers = Tokenizers(both, both)
    save_model(folder, build_model(sizes, tokenizers), tokenizers, config, notes={}, card="")
    return str(folder)


def settings(model: str) -> WorkerSettings:
    return WorkerSettings([model], {"batch_tokens": 4096, "lines": True, "guards": False, "beam_size": 2}, device="cpu")


def run(start: Start, given: Path, output: Path, workers: int = 1) -> Report:
    job = CorpusJob((str(given),), output, {}, workers=workers, timeout=120.0, chunk=10)
    return translate_corpus(job, start)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(2):
        lines = [f"{TEXTS[line % 4]} {line}\n" for line in range(25)]
        (folder / f"{number}.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def texts_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}


def test_actors_give_the_text_of_processes(model: str, given: Path, tmp_path: Path) -> None:
    report = run(actors(settings(model), workers=1), given, tmp_path / "ray")
    run(processes(settings(model), shares=True), given, tmp_path / "processes")
    assert texts_of(tmp_path / "ray") == texts_of(tmp_path / "processes") != {}
    assert (report.counts["read"], report.counts["written"], report.ended) == (50, 50, 0)
    again = run(actors(settings(model), workers=1), given, tmp_path / "ray")
    assert (again.former, again.new) == (2, 0)


class Faulty(Texts):
    """Ends at a text, always; or once, as long as a file is there."""

    def load(self, settings: WorkerSettings, number: int) -> None:
        self._once = Path(settings.folders[0])

    def translate(self, texts: Sequence[str], first: int) -> list[Outcome]:
        for text in texts:
            if text.endswith(" 7") or (text.endswith(" 13") and self._once.exists()):
                if text.endswith(" 13"):
                    self._once.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return [Done([text.upper()]) for text in texts]


def test_an_actor_that_is_killed_is_replaced_and_a_text_that_kills_is_left_out(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_actors, "Texts", Faulty)
    (given / "1.txt").unlink()
    (tmp_path / "once").touch()
    report = run(actors(WorkerSettings([str(tmp_path / "once")], {}), workers=1), given, tmp_path / "out")
    lines = (given / "0.txt").read_text().splitlines()
    found = (tmp_path / "out" / "0.txt").read_text().splitlines()
    assert found == ["" if line.endswith(" 7") else line.upper() for line in lines]
    assert (report.counts["written"], report.counts["skipped"]) == (24, 1)
    assert report.ended >= 4
    [left_out] = (tmp_path / "out" / "0.txt.skipped.jsonl").read_text().splitlines()
    assert json.loads(left_out)["line"] == 8


def write_parquet(path: Path) -> list[dict]:
    rows = [{"id": number, "text": f"{TEXTS[number % 4]} {number}", "at": bytes([number])} for number in range(25)]
    rows[3]["text"] = None
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return rows


def test_rows_of_parquet_keep_their_columns_and_order(model: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = write_parquet(tmp_path / "in" / "a.parquet")
    plain = tmp_path / "in" / "a.txt"
    plain.write_text("".join(f"{row['text'] or ''}\n" for row in rows))
    report = run(processes(settings(model), shares=True), tmp_path / "in", tmp_path / "out")
    assert (report.counts["read"], report.counts["written"], report.counts["skipped"]) == (50, 49, 1)
    found = parquet.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    translations = (tmp_path / "out" / "a.txt").read_text().splitlines()
    expected = [{**row, "translation": text} for row, text in zip(rows, translations, strict=True)]
    assert found == [each for each in expected if each["id"] != 3]
    assert not list((tmp_path / "out" / ".shards").glob("*.rows*"))


def test_parquet_that_was_interrupted_goes_on(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    write_parquet(tmp_path / "in" / "a.parquet")
    run(processes(settings(model), shares=True), tmp_path / "in", tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr(Results, "finish", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(processes(settings(model), shares=True), tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out" / "a.parquet").exists()
    again = run(processes(settings(model), shares=True), tmp_path / "in", tmp_path / "out")
    assert (again.new, again.counts["read"]) == (0, 25)
    tables = [parquet.read_table(tmp_path / name / "a.parquet") for name in ("out", "whole")]
    assert tables[0] == tables[1]

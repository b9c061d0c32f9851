"""Inputs of an HTTP server on this machine: text, JSONL and Parquet."""

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest

from limelight.corpus.shards import find_shards
from limelight.errors import UserError
from tests.corpus.fakes import job_of, run, said

pytestmark = pytest.mark.filterwarnings("ignore")  # of aiohttp about the end of its loop
"""Bytes: more than fsspec asks for at once."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        return None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "in" / "c.jsonl").write_text(json.dumps({"id": 7, "text": "four"}) + "\n")
    rows = [{"id": number, "text": f"row {number}"} for number in range(3)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "in" / "p.parquet")
    return tmp_path / "in"


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_files_of_a_server_are_translated(address: str, folder: Path, tmp_path: Path) -> None:
    job = job_of(folder, tmp_path / "out")
    object.__setattr__(job, "inputs", tuple(f"{address}/{name}" for name in ("a.txt", "c.jsonl", "p.parquet")))
    report = run(job)
    assert (tmp_path / "out" / "a.txt").read_text() == "".join(f"{said(text)}\n" for text in ("one", "two"))
    assert json.loads((tmp_path / "out" / "c.jsonl").read_text())["translation"] == said("four")
    rows = parquet.read_table(tmp_path / "out" / "p.parquet").to_pylist()
    assert [row["translation"] for row in rows] == [said(f"row {number}") for number in range(3)]
    assert report.faults == []


def test_a_folder_of_a_server_is_its_list(address: str) -> None:
    assert [shard.name for shard in find_shards([f"{address}/"])] == ["a.txt", "c.jsonl", "p.parquet"]


def test_what_is_missing_is_told(address: str) -> None:
    with pytest.raises(UserError, match=rf"^{address}/none.txt: cannot be read: 404"):
        find_shards([f"{address}/none.txt"])
    with pytest.raises(UserError, match=r"^http://127.0.0.1:9/a.txt: cannot be read: .*127.0.0.1:9"):
        find_shards(["http://127.0.0.1:9/a.txt"])

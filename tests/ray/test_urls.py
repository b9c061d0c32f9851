"""Inputs of an HTTP server on this machine: text, JSONL and Parquet, with and without parts of a file."""

import json
import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest

from limelight.corpus.shards import Item, find_shards, read_items
from limelight.errors import UserError
from tests.corpus.fakes import job_of, run, said

pytestmark = pytest.mark.filterwarnings("ignore")  # of aiohttp about the end of its loop
LONG = 6 * 2**20
"""Bytes: more than fsspec asks for at once."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        return None


class Ranged(Quiet):
    """The same, with parts of files."""

    def do_GET(self) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        path = Path(self.translate_path(self.path))
        if not asked or not path.is_file():
            return super().do_GET()
        content = path.read_bytes()[int(asked[1]) : int(asked[2]) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {asked[1]}-{asked[2]}/{path.stat().st_size}")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "in" / "c.jsonl").write_text(json.dumps({"id": 7, "text": "four"}) + "\n")
    rows = [{"id": number, "text": f"row {number}"} for number in range(3)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "in" / "p.parquet")
    return tmp_path / "in"


@pytest.fixture(params=[Quiet, Ranged])
def address(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(request.param, directory=str(folder)))
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


def test_a_long_file_needs_no_parts(address: str, folder: Path, tmp_path: Path) -> None:
    line = "x" * 1023
    (folder / "long.txt").write_text(f"{line}\n" * (LONG // 1024))
    [shard] = find_shards([f"{address}/long.txt"])
    items = read_items(shard, shard.local(tmp_path / "copy"))
    assert sum(isinstance(item, Item) and item.text == line for item in items) == LONG // 1024


def test_a_folder_of_a_server_is_its_list(address: str) -> None:
    assert [shard.name for shard in find_shards([f"{address}/"])] == ["a.txt", "c.jsonl", "p.parquet"]


def test_what_is_missing_is_told(address: str) -> None:
    with pytest.raises(UserError, match=rf"^{address}/none.txt: cannot be read: 404"):
        find_shards([f"{address}/none.txt"])
    with pytest.raises(UserError, match=r"^http://127.0.0.1:9/a.txt: cannot be read: .*127.0.0.1:9"):
        find_shards(["http://127.0.0.1:9/a.txt"])

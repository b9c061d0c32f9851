"""Documents over HTTP: each format, hostile files, and nothing left of them."""

import asyncio
import http.client
import io
import json
import multiprocessing
import os
import signal
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import docx
import pytest
import uvicorn

from limelight import child
from limelight.child import Handler
from limelight.documents import document
from limelight.documents.translate import Work, translate_document
from limelight.formats.lines import chunks
from limelight.formats.unit import Options
from limelight.serving import uploads
from limelight.serving.dialects import documents
from limelight.serving.dialects.documents import CHARACTERS, CHUNK, SUFFIXES, Segment, weight
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.limits import Limits
from limelight.serving.links import Task
from limelight.serving.refusal import Refusal
from limelight.serving.server import drain
from limelight.serving.service import Client, Service
from limelight.serving.uploads import Uploads
from tests import forked
from tests.serving.helpers import Answered, Running, ThreadLink, carrying, running, wait_until

ONE = carrying()
XLIFF = '<xliff version="1.2"><file source-language="en" target-language="de"><body>%s</body></file></xliff>'
PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "the lamp %s hums"\nmsgstr ""\n'
SAMPLES = {
    ".txt": "the lamp hums.\n\nit is a lamp\n",
    ".srt": "1\n00:00:01,000 --> 00:00:02,000\nthe lamp hums\n",
    ".vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nthe lamp hums\n",
    ".po": PO,
    ".pot": PO,
    ".html": '<html lang="en"><p>the <b>lamp</b> hums <code>x</code></p></html>',
    ".htm": "<p>the lamp</p>",
    ".xhtml": "<p>the lamp</p>",
    ".md": "# the lamp\n\nit *hums* `x`\n",
    ".markdown": "the lamp\n",
    ".json": '{"a": "the lamp hums {x}"}',
    ".arb": '{"a": "the lamp hums"}',
    ".yaml": "a: the lamp hums\n",
    ".yml": "a: the lamp hums\n",
    ".xlf": XLIFF % '<trans-unit id="1"><source>the <g id="1">lamp</g> hums</source></trans-unit>',
    ".xliff": XLIFF % '<trans-unit id="1"><source>the lamp hums</source></trans-unit>',
}
SAMPLES |= dict.fromkeys((".sdlxliff", ".mqxliff"), SAMPLES[".xlf"])


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """No document is translated until this is set."""
    gate, segments = threading.Event(), Service.segments

    async def waiting(*given: Any) -> list[str]:
        while not gate.is_set():
            await asyncio.sleep(0.01)
        return await segments(*given)

    monkeypatch.setattr(Service, "segments", waiting)
    monkeypatch.setattr("limelight.serving.dialects.documents.STATUS_SECONDS", 0.05)
    try:
        yield gate
    finally:
        gate.set()


def draining(started: Running, seconds: float) -> "Future[None]":
    """The service is told to end, and waits for so many seconds at most."""
    server = cast(uvicorn.Server, SimpleNamespace(should_exit=False))
    ending = drain(started.service, server, seconds)
    future = asyncio.run_coroutine_threadsafe(ending, started.loop)
    wait_until(lambda: started.service.draining)
    return future


def word_file() -> bytes:
    document, stream = docx.Document(), io.BytesIO()
    paragraph = document.add_paragraph("the ")
    paragraph.add_run("lamp").bold = True
    paragraph.add_run(" hums")
    document.add_table(1, 1).cell(0, 0).text = "it is a lamp"
    document.save(stream)
    return stream.getvalue()


def sample(suffix: str) -> bytes:
    return word_file() if suffix == ".docx" else SAMPLES[suffix].encode()


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": ONE}, limits=Limits(document=300_000, segments=1000)) as started:
        yield started


def multipart(content: bytes, name: str, fields: dict[str, str]) -> tuple[bytes, str]:
    boundary = "limelight-boundary"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    return b"".join([*parts, head, content, f"\r\n--{boundary}--\r\n".encode()]), boundary


def send(service: Running, content: bytes, name: str = "in.txt", path: str = "/v2/document", **more: str) -> Answered:
    fields = {"target_lang": "DE", "source_lang": "EN"} if path == "/v2/document" else {"source": "en", "target": "de"}
    body, boundary = multipart(content, name, {**fields, **more})
    return service.send("POST", path, body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}, 120)


def fetched(service: Running, handle: dict[str, str]) -> bytes:
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    wait_until(lambda: service.post(path, key).value["status"] == "done", 120)
    return service.post(f"{path}/result", key).value


def children() -> list[Any]:
    """Processes that read documents."""
    return [each for each in multiprocessing.active_children() if each.name == "limelight.child:answer_calls"]


def roomy() -> Handler:
    """The handler of a process that was forked from one with more in it than the bound on its memory."""
    document.MEMORY <<= 6
    return document.reader()


def killed() -> Handler:
    """The handler of a process that is killed while it reads a document."""
    document.read_document = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    return roomy()


@pytest.fixture
def forked_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that read documents start at once."""
    monkeypatch.setattr(child, "PROCESSES", forked.PROCESSES)
    monkeypatch.setattr(documents, "reader", roomy)


@pytest.mark.usefixtures("forked_readers")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_document_comes_back_as_the_command_line_writes_it(service: Running, suffix: str, tmp_path: Path) -> None:
    content, name = sample(suffix), f"a{suffix}"
    (tmp_path / name).write_bytes(content)
    asked = ONE.options(source_lang="en", target_lang="de", protect=True)
    work = Work(lambda texts, source: ONE.run(ONE.jobs(texts, asked)), Options("en", "de"))
    translate_document(tmp_path / name, tmp_path / f"out{suffix}", work)
    expected = (tmp_path / f"out{suffix}").read_bytes()
    assert expected != content
    path = path_of(SUFFIXES.index(suffix))
    handle = send(service, content, name, path)
    assert handle.status == 200, handle.value
    if path == "/v2/document":
        same_document(fetched(service, handle.value), expected)
        return
    url = urlsplit(handle.value["translatedFileUrl"])
    assert url.path.endswith(f".a_de{suffix}")
    same_document(as_bytes(service.get(url.path)), expected)


def path_of(number: int) -> str:
    """Each of the two APIs has every second document: both hand them to the same reader."""
    return ("/v2/document", "/translate_file")[number % 2]


def as_bytes(answer: Answered) -> bytes:
    return answer.value if isinstance(answer.value, bytes) else json.dumps(answer.value).encode()


def same_document(found: bytes, expected: bytes) -> None:
    if not expected.startswith(b"PK"):
        assert found == expected
        return
    docx.Document(io.BytesIO(found))
    with zipfile.ZipFile(io.BytesIO(found)) as one, zipfile.ZipFile(io.BytesIO(expected)) as other:
        assert {name: one.read(name) for name in one.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }


def test_the_status_of_a_document_and_its_end(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    before = service.service.uploads.unfetched
    handle = send(service, "\ufeffThe lamp. It hums!\n\n  a name\n".encode("utf-8")).value
    assert len(handle["document_id"]) == 32
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    wait_until(lambda: service.post(path, key).value["status"] == "done")
    assert service.post(path, key).value["billed_characters"] > 20
    for wrong in ("", "guess", handle["document_key"][:-1]):
        for end in ("", "/result"):
            answer = service.post(path + end, {"document_key": wrong})
            assert (answer.status, answer.value["message"]) == (400, "Document not found")
    assert [service.post(f"{path}/result", key).status for _ in "ab"] == [200, 200], "a lost connection loses nothing"
    assert service.service.uploads.unfetched == before
    monkeypatch.setattr(uploads, "TAKEN_SECONDS", 0.0)
    handle = send(service, b"the lamp").value
    fetched(service, handle)
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    wait_until(lambda: service.post(path, key).status == 400)
    again = service.post(f"{path}/result", key)
    assert (again.status, again.value["message"]) == (400, "Document not found")
    wait_until(lambda: not children())


HOSTILE = {
    "no zip": (b"PK\x03\x04 nonsense", "a.docx", 400, "zip"),
    "too many": (b"a\n\n" * 1001, "a.txt", 400, "--max-segments"),
    "too large": (b"a " * 400_000, "a.txt", 413, "bytes"),
    "another kind": (b"%PDF", "a.pdf", 415, ".docx"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_an_error_that_says_why(service: Running, name: str) -> None:
    content, file, status, says = HOSTILE[name]
    path = path_of([*HOSTILE].index(name))
    before = len(service.service.uploads._documents)
    answer = send(service, content, file, path)
    message = answer.value["message" if path == "/v2/document" else "error"]
    assert answer.status in (status, 400), message
    assert answer.status < 500
    assert says in message
    assert "Traceback" not in message
    assert len(service.service.uploads._documents) <= before
    wait_until(lambda: not children())


def test_what_never_ends_to_be_read_is_ended(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed, and others are answered meanwhile. Without the bound this would wait for ever."""
    monkeypatch.setattr("limelight.serving.dialects.documents.SECONDS", 0.0)
    answer = send(service, b"the lamp")
    assert (answer.status, "CPU time" in answer.value["message"]) == (413, True)
    wait_until(lambda: not children())


@pytest.mark.usefixtures("forked_readers")
def test_a_reading_process_that_is_killed_is_told_with_the_usual_cause(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(documents, "reader", killed)
        answer = send(service, b"the lamp")
    assert answer.status == 413
    for part in ("SIGKILL", "memory ran out", "divide the document", "--max-documents"):
        assert part in answer.value["message"]
    assert send(service, b"the lamp", "a.txt", "/translate_file").status == 200


@pytest.mark.usefixtures("forked_readers")
def test_a_name_is_never_a_path(service: Running) -> None:
    for name in ("../../etc/passwd.txt", "C:\\\\windows\\\\x.txt", "/etc/x.txt"):
        answer = send(service, b"the lamp", name)
        assert answer.status == 200
        fetched(service, answer.value)
    for path in ("/v2/document", "/translate_file"):
        assert service.post(path, {"target_lang": "DE", "source": "en", "target": "de"}).status == 400
    assert service.get("/download_file/..%2f..%2fetc%2fpasswd").status == 404


@pytest.mark.usefixtures("forked_readers")
@pytest.mark.parametrize("begun", [False, True])
def test_a_document_that_is_cancelled_leaves_its_place(begun: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the queue, and in an engine, which is told: the time of one is over, and the client of the other has left."""
    tasks = list[Task]()
    with running({"one": carrying()}) as service, monkeypatch.context() as held:
        pool = service.service.catalog.models[0].pool
        if begun:
            send_task = ThreadLink.send
            held.setattr(ThreadLink, "send", lambda self, task: tasks.append(task) if task else send_task(self, task))
        else:
            held.setattr(pool, "_dispatch", lambda: None)
        identity = send(service, b"the lamp\n\nit hums\n").value["document_id"]
        body, boundary = multipart(b"the lamp\n", "a.txt", {"source": "en", "target": "de"})
        header = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        with closing(http.client.HTTPConnection("127.0.0.1", service.port)) as leaving:
            leaving.request("POST", "/translate_file", body, header)
            wait_until(lambda: (pool.waiting, pool.decoding) == ((0, 2) if begun else (2, 0)))
            assert len(service.service.uploads._documents) == 2
        document = service.service.uploads._documents[identity]
        service.loop.call_soon_threadsafe(service.service.uploads.forget, document)
        wait_until(lambda: len(service.service.uploads._documents) == pool.waiting == pool.decoding == 0)
        wait_until(
            lambda: service.counts() == {"accepted": 1, "rejected": 0, "canceled": 1, "failed": 0, "in_progress": 0}
        )
        wait_until(lambda: not children())
        begun_ones = [task.id for task in tasks if task.kind not in ("cancel", "ping")]
        assert sorted(task.id for task in tasks if task.kind == "cancel") == sorted(begun_ones)
        held.undo()
        fetched(service, send(service, b"the lamp").value)


def test_a_fault_is_logged_and_failed_documents_take_no_room(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_BYTES", 5 * uploads.OVERHEAD)
    monkeypatch.setattr(documents, "_translations", lambda *given, **more: 1 / 0)
    for _ in range(4):
        handle = send(service, b"the lamp").value
        answer = service.post(f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}).value
        assert (answer["status"], answer["error_message"]) == ("error", "it could not be translated")
    assert [line["kind"] for line in service.lines() if line["event"] == "fault"] == ["ZeroDivisionError"] * 4


@pytest.mark.usefixtures("forked_readers")
def test_a_document_whose_reader_cannot_be_started_leaves_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    with running({"one": ONE}) as service:
        with monkeypatch.context() as patch:
            patch.setattr(documents, "Child", fail)
            assert send(service, b"the lamp").status == 500
        assert service.service.uploads._documents == {}
        fetched(service, send(service, b"the lamp").value)


@pytest.mark.usefixtures("forked_readers")
def test_half_of_a_surrogate_pair_is_another_character(service: Running) -> None:
    content = fetched(service, send(service, b'{"a": "the lamp \\ud800"}', "a.json").value)
    assert set(json.loads(content)) == {"a"}
    segments, _ = documents._counted(json.dumps([["a \ud800", []]]).encode())
    assert segments[0].text == "a ?"


def test_segments_are_sent_some_at_a_time() -> None:
    segments = [Segment("a" * size) for size in (*[CHARACTERS // 2] * 3, *[1] * (CHUNK + 1))]
    found = list(chunks(segments, CHARACTERS, weight))
    assert [segment for some in found for segment in some] == segments
    assert [len(some) for some in found] == [2, 1 + CHUNK // 2, 1 + CHUNK // 2]


def test_a_document_waits_for_the_rate_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        busy.keys.give_back("me", 600)

    busy = SimpleNamespace(keys=Keys([Key("me", digest("me"), "", 1000)]))
    monkeypatch.setattr(documents, "asyncio", SimpleNamespace(sleep=sleep))
    for _ in range(3):
        asyncio.run(documents._pay(busy, Client("me", "me"), 600))
    assert len(slept) == 2
    with pytest.raises(Refusal, match="may translate 1000 a minute") as caught:
        asyncio.run(documents._pay(busy, Client("me", "me"), 1001))
    assert caught.value.status == 413, "it never fits"


def test_documents_are_forgotten_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = Uploads()

        async def work() -> bytes:
            return b"x"

        one = store.add("a", "", 1)
        assert one.status == "translating"
        working = store.begin(one, work())
        with pytest.raises(Refusal, match="not ready"):
            store.take(one.id, one.key)
        await working
        assert store.take(one.id, one.key) == ("a", b"x")
        store = Uploads(4)
        opened = [store.begin(store.add("a", client, 1), work()) for client in ("a", "a", "b", "b")]
        for client in ("a", "c"):
            with pytest.raises(Refusal, match="more than 4 documents at a time"):
                store.add("a", client, 1)
        await asyncio.gather(*opened)
        store.forget(store.add("a", "c", 1))
        with pytest.raises(Refusal, match="bytes of documents"):
            store.add("a", "c", uploads.MAX_BYTES)
        store.close()
        monkeypatch.setattr(uploads, "KEPT_SECONDS", 0.0)
        store.begin(store.add("a", "", 1), work())
        while store._documents:  # the bound is the time of the test
            await asyncio.sleep(0.01)

    asyncio.run(main())


# ---- the end of the service


def test_a_document_is_finished_and_fetched_before_the_service_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch) as gate, running({"one": ONE}) as started:
        sent = send(started, b"the lamp hums", "a.txt").value
        key = {"document_key": sent["document_key"]}
        ended = draining(started, 60)
        assert send(started, b"the lamp hums", "b.txt").status == 503, "nothing new"
        assert started.post(f"/v2/document/{sent['document_id']}", key).value["status"] == "translating"
        gate.set()
        wait_until(lambda: started.post(f"/v2/document/{sent['document_id']}", key).value["status"] == "done")
        assert not ended.done()
        found = started.post(f"/v2/document/{sent['document_id']}/result", key)
        assert (found.status, found.value) == (200, ONE.translate("the lamp hums").text.encode())
        ended.result(30)
        assert {"event": "drained", "unanswered": 0, "documents": 0}.items() <= started.lines()[-1].items()


def test_what_cannot_be_finished_in_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch), running({"one": ONE}) as started:
        monkeypatch.setattr("limelight.serving.dialects.documents.STATUS_SECONDS", 30.0)
        sent = send(started, b"the lamp hums", "a.txt").value
        key = {"document_key": sent["document_key"]}
        told: list[Answered] = []
        asked = [
            threading.Thread(target=lambda: told.append(started.post(f"/v2/document/{sent['document_id']}", key))),
            threading.Thread(target=lambda: told.append(send(started, b"the lamp hums", path="/translate_file"))),
        ]
        for thread in asked:
            thread.start()
        wait_until(lambda: len(started.service.uploads._documents) == 2 and started.counts()["in_progress"] == 2)
        wait_until(lambda: all(each.work for each in started.service.uploads._documents.values()))
        draining(started, 0.05).result(30)
        for thread in asked:
            thread.join(600)
        by_status = {each.status: each.value for each in told}
        assert by_status[200] == {
            "document_id": sent["document_id"], "status": "error", "error_message": "it was not finished in time"
        }  # fmt: skip
        assert "about to end" in by_status[503]["error"]

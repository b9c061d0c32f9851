"""DeepL's documents: sent, asked about, fetched once, by who has the key alone."""

import asyncio
import random
from collections.abc import Iterator

import pytest

from limelight.serving import uploads
from limelight.serving.dialects.documents import blocks
from limelight.serving.refusal import Refusal
from limelight.serving.uploads import Uploads
from tests.serving.helpers import Answered, Running, running, table, translator, wait_until

ONE = translator(table(1))


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": ONE}) as started:
        yield started


def send(service: Running, content: bytes, name: str = "a.txt", **fields: str) -> Answered:
    parts = [f'name="{key}"\r\n\r\n{value}'.encode() for key, value in {"target_lang": "DE", **fields}.items()]
    parts.append(f'name="file"; filename="{name}"\r\n\r\n'.encode() + content)
    body = b"".join(b"--x\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--x--\r\n"
    return service.send("POST", "/v2/document", body, {"Content-Type": "multipart/form-data; boundary=x"})


def test_a_document_is_translated_and_fetched_once(service: Running) -> None:
    handle = send(service, "Dab. Face!\n\n  cab\n".encode("utf-8-sig"))
    assert handle.status == 200
    path = f"/v2/document/{handle.value['document_id']}"
    key = {"document_key": handle.value["document_key"]}
    wait_until(lambda: service.post(path, key).value["status"] == "done")
    assert service.post(path, key).value["billed_characters"] == 18
    result = service.post(f"{path}/result", key)
    expected = [ONE.translate(text).text for text in ("Dab.", "Face!", "cab")]
    assert result.value.decode() == f"{expected[0]} {expected[1]}\n\n  {expected[2]}\n"
    again = service.post(f"{path}/result", key)
    assert (again.status, again.value["message"]) == (404, "Document not found")


def test_nobody_else_gets_it(service: Running) -> None:
    handle = send(service, b"dab").value
    path = f"/v2/document/{handle['document_id']}"
    for key in ("", "guess", handle["document_key"][:-1]):
        for end in ("", "/result"):
            answer = service.post(path + end, {"document_key": key})
            assert (answer.status, answer.value["message"]) == (404, "Document not found")
    assert service.post("/v2/document/none", {"document_key": handle["document_key"]}).status == 404


@pytest.mark.parametrize(
    ("content", "name", "fields", "says"),
    [
        (b"a", "a.docx", {}, ".txt"),
        (b"a", "file", {"filename": "x.pdf"}, ".txt"),
        (b"a", "a.txt", {"output_format": "pdf"}, ".txt"),
        (b"\xff\xfe", "a.txt", {}, "UTF-8"),
        (b"a", "a.txt", {"target_lang": "XX"}, "XX"),
    ],
)
def test_what_is_no_plain_text_is_refused(service: Running, content: bytes, name: str, fields: dict, says: str) -> None:
    answer = send(service, content, name, **fields)
    assert answer.status == 400
    assert says in answer.value["message"]


def test_a_name_is_never_a_path(service: Running) -> None:
    for name in ("../../etc/passwd.txt", "C:\\windows\\x.txt", "/etc/x.txt"):
        assert send(service, b"dab", name).status == 200
    assert service.post("/v2/document", {"target_lang": "DE"}).status == 400


def test_blocks_are_the_text(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        text, most = "".join(draw.choices("ab \n\r\u2028", k=draw.randrange(200))), draw.randint(1, 30)
        found = list(blocks(text, most))
        assert "".join(found) == text
        assert all(len(block) <= most or len(block.splitlines()) == 1 for block in found)


def test_documents_are_forgotten_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = Uploads()

        async def work() -> bytes:
            return b"x"

        identity, key = store.add("a", 1, work())
        assert store.find(identity, key).status == "translating"
        with pytest.raises(Refusal, match="not ready"):
            store.take(identity, key)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert store.take(identity, key) == ("a", b"x")
        monkeypatch.setattr(uploads, "MAX_DOCUMENTS", 2)
        for _ in range(2):
            store.add("a", 1, work())
        late = work()
        with pytest.raises(Refusal, match="already"):
            store.add("a", 1, late)
        late.close()
        monkeypatch.setattr(uploads, "KEPT_SECONDS", -1.0)
        store.add("a", 1, work())
        assert len(store) == 1
        await asyncio.sleep(0)

    asyncio.run(main())

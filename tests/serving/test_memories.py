"""Translation memories of clients: made, listed, used in every API, kept, and nobody else's."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from limelight.serving.dialects.own import NewMemory, add_memory
from limelight.serving.fields import Upload
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.limits import Limits
from limelight.serving.links import Loading
from limelight.serving.refusal import Refusal
from limelight.serving.stored import Memories, StoredMemory
from limelight.storage.layout import DEFAULT, bundled_models
from tests.serving.helpers import Answered, Running, carrying, running

LAMP, MINE = "the lamp hums here now", "Hier brummt jetzt die Leuchte."
PAIR = {"source_lang": "en", "target_lang": "de"}
TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>
<tu><tuv><seg>no language</seg></tuv></tu>
</body></tmx>"""


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    keys = Keys([Key(name, digest(name), "") for name in ("alice", "bob")])
    limits = Limits(memories=3, memory_segments=6)
    with running({"one": carrying(), "back": carrying("de", "en")}, keys=keys, limits=limits) as started:
        yield started


@pytest.fixture(autouse=True)
def nothing_left(service: Running) -> Iterator[None]:
    yield
    for key in ("alice", "bob"):
        for each in asked(service, "GET", key=key).value["memories"]:
            assert asked(service, "DELETE", f"/{each['id']}", key=key).status == 204


def asked(service: Running, method: str, path: str = "", body: object = None, key: str = "alice") -> Answered:
    return service.send(method, f"/api/v1/memory{path}", body, {"Authorization": f"Bearer {key}"})


def made(service: Running, pairs: dict[str, str], key: str = "alice", **more: str) -> Answered:
    lines = (json.dumps({"source": source, "target": target}) for source, target in pairs.items())
    return sent(service, "\n".join(lines), "old.jsonl", key, **more)


def sent(service: Running, content: str, file: str = "old.tmx", key: str = "alice", **more: str) -> Answered:
    fields = {"name": "old", **PAIR, **more}
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{each}"\r\n\r\n{value}\r\n' for each, value in fields.items()
    )
    part = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{file}"\r\n\r\n{content}\r\n--x--\r\n'
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "multipart/form-data; boundary=x"}
    return service.send("POST", "/api/v1/memory", (parts + part).encode(), headers)


def translated(service: Running, key: str, text: str = LAMP) -> dict[str, Any]:
    """By each API."""
    header = {"Authorization": f"Bearer {key}"}

    def post(path: str, body: dict[str, Any]) -> Any:
        answer = service.send("POST", path, body, header)
        assert answer.status == 200, answer
        return answer.value

    chat = {"model": "one:en-de", "messages": [{"role": "user", "content": text}]}
    return {
        "own": post("/api/v1/translate", {"text": text, **PAIR})["translations"][0]["text"],
        "deepl": post("/v2/translate", {"text": [text], **PAIR})["translations"][0]["text"],
        "libretranslate": post("/translate", {"q": text, "source": "en", "target": "de"})["translatedText"],
        "openai": post("/v1/chat/completions", chat)["choices"][0]["message"]["content"],
    }


def test_a_memory_is_used_by_its_key_alone_in_every_api(service: Running) -> None:
    new = made(service, {LAMP: MINE})
    assert (new.status, new.value["segments"], new.value["left_out"]) == (201, 1, 0)
    assert set(translated(service, "alice").values()) == {MINE}
    assert MINE not in translated(service, "bob").values()
    made(service, {LAMP: "Bobs Lampe."}, key="bob")
    assert set(translated(service, "bob").values()) == {"Bobs Lampe."}
    assert set(translated(service, "alice").values()) == {MINE}
    (found,) = asked(service, "GET").value["memories"]
    assert found["id"] == new.value["id"]
    assert asked(service, "DELETE", f"/{found['id']}", key="bob").status == 404
    assert asked(service, "DELETE", f"/{found['id']}").status == 204
    assert MINE not in translated(service, "alice").values()


def test_matches_name_the_memory_and_no_path(service: Running) -> None:
    made(service, {"a": "b", LAMP: MINE})
    header = {"Authorization": "Bearer alice"}
    answer = service.send("POST", "/api/v1/translate", {"text": LAMP, **PAIR}, header).value
    (match,) = answer["translations"][0]["sentences"][0]["matches"]
    assert (match["target"], match["origin"]) == (MINE, "old:2")


def test_the_newest_memory_comes_first_and_other_directions_have_none(service: Running) -> None:
    made(service, {LAMP: "Alt."})
    made(service, {LAMP: "Neu."})
    made(service, {LAMP: "Falsch."}, source_lang="de", target_lang="en")
    assert set(translated(service, "alice").values()) == {"Neu."}


def test_a_file_is_read_and_what_cannot_be_used_is_named(service: Running) -> None:
    new = sent(service, TMX.format(source=LAMP, target=MINE))
    assert (new.status, new.value["segments"], new.value["left_out"]) == (201, 1, 1)
    assert new.value["reason"].startswith("line 3: ")
    assert set(translated(service, "alice").values()) == {MINE}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("old.tmx", "<tmx><body><tu>", "old.tmx"),
        ("old.tmx", '<!DOCTYPE x [<!ENTITY a "b">]><tmx>&a;</tmx>', "old.tmx"),
        ("old.tsv", "no tab\n", "there are no segments from en to de in it (line 1: "),
        ("old.exe", "a\tb\n", "its name must end in .tsv, .jsonl"),
        ("old.tsv.gz", "a\tb\n", "its name must end in"),
        ("old.tsv", f"a\t{'b' * 6000}\n", "segment 1 has more than 5000 characters"),
    ],
)
def test_what_is_no_memory_is_refused_without_a_path(service: Running, name: str, content: str, says: str) -> None:
    answer = sent(service, content, name)
    assert answer.status in (400, 413), answer
    assert says in str(answer.value)
    assert "/tmp" not in str(answer.value)
    assert asked(service, "GET").value["memories"] == []


def test_quotas_name_their_options_and_belong_to_a_key(service: Running) -> None:
    made(service, {str(number): "x" for number in range(5)})
    answer = made(service, {"a": "b", "c": "d"})
    assert answer.status == 413
    assert "--max-memory-segments" in str(answer.value)
    assert made(service, {"a": "b", "c": "d"}, key="bob").status == 201
    assert made(service, {"a": "b"}).status == 201
    asked(service, "DELETE", f"/{asked(service, 'GET').value['memories'][0]['id']}")
    for _ in range(2):
        assert made(service, {"a": "b"}).status == 201
    answer = made(service, {"a": "b"})
    assert answer.status == 400
    assert "this is memory 4 of yours, and at most 3 are accepted" in str(answer.value)
    assert "--max-memories" in str(answer.value)


def test_what_is_no_request_is_refused(service: Running) -> None:
    answers = {
        "file: there is none": asked(service, "POST", "", {**PAIR, "name": "a"}),
        "name: ": made(service, {"a": "b"}, name=""),
        "there are no segments": made(service, {"a": " "}),
        "xx is not supported": made(service, {"a": "b"}, target_lang="xx"),
    }
    for says, answer in answers.items():
        assert answer.status == 400
        assert says in str(answer.value)


def new(owner: str, name: str) -> StoredMemory:
    return StoredMemory(owner=owner, name=name, source="en", target="de")


def test_a_folder_keeps_memories_for_the_next_service(tmp_path: Path) -> None:
    async def make() -> None:
        memories = Memories(Limits(), tmp_path)
        gone, _ = await memories.add(new("alice", "two"), "a.tsv", b"a\tb")
        await memories.delete("alice", gone.id)
        assert not any(tmp_path.iterdir())
        await memories.add(new("alice", "one"), "a.tsv", b"a\tb")

    asyncio.run(make())
    second = Memories(Limits(), tmp_path)
    ((name, path, *languages),) = second.of("alice", "en-GB", "de")
    assert (name, Path(path).is_file(), languages) == ("one", True, ["en", "de"])
    assert second.of("alice", "de", "en") == []


def test_a_memory_whose_client_leaves_is_stored_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories, begun, gate, fill = Memories(Limits(), tmp_path), threading.Event(), threading.Event(), Memories._fill

    def slow(*given: Any) -> int:
        begun.set()
        assert gate.wait(60)
        return fill(*given)

    monkeypatch.setattr(Memories, "_fill", slow)
    catalog = SimpleNamespace(ways=lambda *_: [SimpleNamespace(direction=("en", "de"))])
    service = SimpleNamespace(catalog=catalog, memories=memories)
    call: Any = SimpleNamespace(service=service, client=SimpleNamespace(key=""), file=Upload("a.tsv", b"a\tb"))

    async def leave() -> None:
        adding = asyncio.ensure_future(add_memory(call, NewMemory(name="x", source_lang="en", target_lang="de")))
        assert await asyncio.to_thread(begun.wait, 60)
        adding.cancel()
        with suppress(asyncio.CancelledError):
            await adding
        gate.set()
        async with memories._writing:
            assert len(memories.list("")) == 1

    asyncio.run(leave())
    assert len(Memories(Limits(), tmp_path).list("")) == 1


def test_what_is_refused_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    memories = Memories(Limits(memory_segments=1), tmp_path)
    with pytest.raises(Refusal):
        asyncio.run(memories.add(new("a", "x"), "a.tsv", b"a\tb\nc\td"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::UserWarning")  # lines of the log
def test_the_memory_of_the_service_is_used_and_named(tmp_path: Path) -> None:
    source, target = "The pharmacy is closed today.", "Die Apotheke hat heute zu."
    (tmp_path / "m.tmx").write_text(TMX.format(source=source, target=target), encoding="utf-8")
    with running({"box": Loading(str(bundled_models()[DEFAULT]), memory=str(tmp_path / "m.tmx"))}) as one:
        (own,) = one.post("/api/v1/translate", {"text": source, **PAIR}).value["translations"]
    assert own["text"] == target
    (match, *_) = own["sentences"][0]["matches"]
    assert match["origin"] == "m.tmx:2"

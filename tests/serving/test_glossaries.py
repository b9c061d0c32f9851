"""Glossaries of clients: made, changed, used, kept, and nobody else's."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from limelight.errors import RunError, UserError
from limelight.serving import stored
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.refusal import Refusal
from limelight.serving.stored import Dictionary, Glossaries, read_entries, read_terms
from tests.serving.helpers import Answered, Running, carrying, running

TERMS = "lamp\tLeuchte\ndog\tKöter"


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    keys = Keys([Key(name, digest(name), "") for name in ("alice", "bob")])
    with running({"one": carrying(), "back": carrying("de", "en")}, keys=keys) as started:
        yield started


def asked(service: Running, method: str, path: str, body: object = None, key: str = "alice") -> Answered:
    return service.send(method, path, body, {"Authorization": f"DeepL-Auth-Key {key}"})


def made(service: Running, **more: object) -> dict:
    body = {"name": "mine", "source_lang": "EN", "target_lang": "DE", "entries": TERMS, "entries_format": "tsv", **more}
    answer = asked(service, "POST", "/v2/glossaries", body)
    assert answer.status == 201, answer.value
    return answer.value


def translated(service: Running, text: str, key: str = "alice", **more: object) -> Answered:
    body = {"text": [text], "target_lang": "DE", "source_lang": "EN", **more}
    return asked(service, "POST", "/v2/translate", body, key)


def test_a_glossary_of_one_direction(service: Running) -> None:
    new = made(service)
    assert (new["source_lang"], new["target_lang"], new["entry_count"], new["ready"]) == ("en", "de", 2, True)
    path = f"/v2/glossaries/{new['glossary_id']}"
    assert asked(service, "GET", path).value == new
    assert new in asked(service, "GET", "/v2/glossaries").value["glossaries"]
    assert asked(service, "GET", f"{path}/entries").value.decode() == TERMS
    pairs = asked(service, "GET", "/v2/glossary-language-pairs").value["supported_languages"]
    assert {"source_lang": "en", "target_lang": "de"} in pairs
    (found,) = translated(service, "the lamp hums", glossary_id=new["glossary_id"]).value["translations"]
    assert "Leuchte" in found["text"]
    (found,) = translated(
        service, "the <b>lamp</b> hums", glossary_id=new["glossary_id"], tag_handling="xml", target_lang="de"
    ).value["translations"]
    assert "Leuchte" in found["text"]
    assert "Leuchte" not in translated(service, "the lamp hums").value["translations"][0]["text"]
    assert asked(service, "DELETE", path).status == 204
    for gone in (asked(service, "GET", path), asked(service, "DELETE", path), asked(service, "GET", f"{path}/entries")):
        assert (gone.status, gone.value["message"]) == (404, "Glossary not found")


def test_a_glossary_of_several_directions(service: Running) -> None:
    one = {"source_lang": "en", "target_lang": "de", "entries": "lamp,Leuchte", "entries_format": "csv"}
    other = {"source_lang": "de", "target_lang": "en", "entries": "Leuchte\tlamp", "entries_format": "tsv"}
    answer = asked(service, "POST", "/v3/glossaries", {"name": "both", "dictionaries": [one, other]})
    assert answer.status == 201
    new = answer.value
    path = f"/v3/glossaries/{new['glossary_id']}"
    assert [each["entry_count"] for each in new["dictionaries"]] == [1, 1]
    assert asked(service, "GET", path).value == new
    more = {**one, "entries": "dog\tKöter\nlamp\tFunzel", "entries_format": "tsv"}
    changed = asked(service, "PATCH", path, {"name": "new", "dictionaries": [more]}).value
    assert changed["name"] == "new"
    entries = asked(service, "GET", f"{path}/entries?source_lang=EN&target_lang=DE").value["dictionaries"]
    assert entries == [{**more, "entries": "lamp\tFunzel\ndog\tKöter"}]
    assert asked(service, "PUT", f"{path}/dictionaries", one).value["entry_count"] == 1
    identity = new["glossary_id"]
    assert "Leuchte" in translated(service, "the lamp", glossary_ids=[identity]).value["translations"][0]["text"]
    where = f"{path}/dictionaries?source_lang=de&target_lang=en"
    assert asked(service, "DELETE", where).status == 204
    assert asked(service, "DELETE", where).status == 404
    last = asked(service, "DELETE", f"{path}/dictionaries?source_lang=en&target_lang=de")
    assert (last.status, "only dictionary" in last.value["message"]) == (400, True)
    assert asked(service, "GET", "/v3/glossaries").value["glossaries"] == [asked(service, "GET", path).value]
    assert asked(service, "DELETE", path).status == 204


def test_nobody_else_sees_or_uses_it(service: Running) -> None:
    identity = made(service)["glossary_id"]
    assert asked(service, "GET", "/v2/glossaries", key="bob").value == {"glossaries": []}
    for method, path in (
        ("GET", f"/v2/glossaries/{identity}"),
        ("DELETE", f"/v2/glossaries/{identity}"),
        ("GET", f"/v2/glossaries/{identity}/entries"),
        ("GET", f"/v3/glossaries/{identity}"),
        ("PATCH", f"/v3/glossaries/{identity}"),
    ):
        assert asked(service, method, path, {} if method == "PATCH" else None, key="bob").status == 404
    assert translated(service, "a", key="bob", glossary_id=identity).status == 404
    assert asked(service, "GET", f"/v2/glossaries/{identity}").status == 200
    asked(service, "DELETE", f"/v2/glossaries/{identity}")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"entries": "lamp"}, "entries:1"),
        ({"entries": ""}, "no terms"),
        ({"entries": "a\t"}, "entries:1"),
        ({"entries": "!\tx"}, "no terms"),
        ({"entries": "a" * 300 + "\tx"}, "200 characters"),
        ({"entries_format": "xls"}, "entries_format"),
        ({"target_lang": "xx"}, "xx"),
        ({"name": ""}, "name"),
        ({"name": 7}, "name"),
    ],
)
def test_what_is_no_glossary_is_refused(service: Running, changed: dict, says: str) -> None:
    body = {"name": "mine", "source_lang": "EN", "target_lang": "DE", "entries": TERMS, **changed}
    answer = asked(service, "POST", "/v2/glossaries", body)
    assert answer.status == 400
    assert says in answer.value["message"]


def test_a_translation_needs_the_source_and_a_dictionary(service: Running) -> None:
    identity = made(service)["glossary_id"]
    answer = translated(service, "a", glossary_id=identity, source_lang="")
    assert (answer.status, "source_lang" in answer.value["message"]) == (400, True)
    answer = translated(service, "a", glossary_id=identity, source_lang="DE", target_lang="EN-US")
    assert (answer.status, "no dictionary" in answer.value["message"]) == (404, True)
    assert translated(service, "a", glossary_id="../../etc/passwd").status == 404
    asked(service, "DELETE", f"/v2/glossaries/{identity}")


def dictionary(text: str = TERMS) -> Dictionary:
    return read_entries("en", "de", text, "\t")


def test_they_outlive_the_service(tmp_path: Path) -> None:
    async def make() -> str:
        store = Glossaries(tmp_path / "kept")
        gone = await store.add("alice", "gone", [dictionary()])
        kept = await store.add("alice", "kept", [dictionary()])
        await store.change("alice", kept.id, lambda each: each.with_dictionary(dictionary("a\tb")))
        await store.delete("alice", gone.id)
        return kept.id

    identity = asyncio.run(make())
    (tmp_path / "kept" / f"{identity}.json.partial").write_text("half")
    again = Glossaries(tmp_path / "kept")
    (kept,) = again.list("alice")
    assert (kept.id, kept.name, kept.dictionaries[0].entries) == (identity, "kept", "a\tb")
    assert again.list("bob") == []
    (path,) = (tmp_path / "kept").glob("*.json")
    for damaged in ("", "[]", "{}", json.dumps({"format": 99}), json.dumps({"format": 1, "dictionaries": [{}]})):
        path.write_text(damaged)
        with pytest.raises(UserError, match=identity):
            Glossaries(tmp_path / "kept")
    with pytest.raises(RunError, match="cannot be kept"):
        Glossaries(path)


def test_changes_at_once_are_all_kept(tmp_path: Path) -> None:
    """Each adds a term to what the one before has left: without the lock most would be lost."""

    async def main() -> None:
        store = Glossaries(tmp_path)
        one = await store.add("", "one", [dictionary("x\ty")])

        async def more(number: int) -> None:
            await store.change(
                "", one.id, lambda each: each.with_dictionary(
                    read_entries("en", "de", f"w{number}\tv", "\t", each.dictionary("en", "de")))
            )  # fmt: skip

        await asyncio.gather(*(more(number) for number in range(20)))
        assert len(store.list("")[0].dictionaries[0].terms) == 21

    asyncio.run(main())


def test_they_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = Glossaries()
        monkeypatch.setattr(stored, "MAX_OWN", 2)
        monkeypatch.setattr(stored, "MAX_CHARACTERS", 40)
        for name in ("a", "b"):
            await store.add("alice", name, [dictionary()])
        with pytest.raises(Refusal, match="at most 2"):
            await store.add("alice", "c", [dictionary()])
        bobs = await store.add("bob", "c", [dictionary()])
        with pytest.raises(Refusal, match="at most 40"):
            await store.change(
                "bob", bobs.id, lambda each: each.with_dictionary(dictionary("a\tb\n" * 1 + "cc\t" + "d" * 99))
            )
        with pytest.raises(Refusal, match="two of one direction"):
            await store.add("eve", "c", [dictionary(), dictionary()])

    asyncio.run(main())


def test_an_engine_reads_the_terms_of_a_direction_as_they_are_now() -> None:
    async def main() -> None:
        store = Glossaries()
        one = await store.add("me", "a", [dictionary("lamp\tLeuchte\n!\t?"), read_entries("de", "en", "a\tb", "\t")])
        [(path, version)] = store.files("me", [one.id, one.id], "EN", "de-AT")
        assert one.dictionaries[0].entries == "lamp\tLeuchte\n!\t?"
        assert read_terms(path, "en", "de-AT") == [("lamp", "Leuchte")]
        await store.change("me", one.id, lambda each: each.with_dictionary(dictionary("a\tc")))
        assert store.files("me", [one.id], "en", "de") != [(path, version)]
        assert read_terms(path, "en", "de") == [("a", "c")]
        await store.delete("me", one.id)
        assert read_terms(path, "en", "de") == []

    asyncio.run(main())


def test_fields_of_the_client_for_node(service: Running) -> None:
    """It sends objects in a list as fields with their place."""
    one = {"source_lang": "EN", "target_lang": "DE", "entries": TERMS, "entries_format": "tsv"}
    content = urlencode({"name": "node", **{f"dictionaries[0].{name}": value for name, value in one.items()}}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": "DeepL-Auth-Key alice"}
    made = service.send("POST", "/v3/glossaries", content, headers)
    assert made.value["dictionaries"] == [{"source_lang": "en", "target_lang": "de", "entry_count": 2}]
    more = urlencode({f"dictionaries[0].{name}": value for name, value in {**one, "entries": "a\tb"}.items()}).encode()
    changed = service.send("PATCH", f"/v3/glossaries/{made.value['glossary_id']}", more, headers)
    assert changed.value["dictionaries"][0]["entry_count"] == 3
    asked(service, "DELETE", f"/v3/glossaries/{made.value['glossary_id']}")
    none = service.send("POST", "/v3/glossaries", b"name=a&dictionaries[x].y=1", headers)
    assert (none.status, "dictionaries" in none.value["message"]) == (400, True)

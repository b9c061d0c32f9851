"""Glossaries of clients: made, changed, used, kept, and nobody else's."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from limelight.errors import RunError, UserError
from limelight.serving import stored
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.refusal import Refusal
from limelight.serving.stored import Glossaries, StoredGlossary, read_entries, read_terms
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


def test_weblate_asks_in_version_3(service: Running) -> None:
    for side in ("source", "target"):
        expected = [each["language"] for each in asked(service, "GET", f"/v2/languages?type={side}").value]
        for resource in ("translate_text", "glossary"):
            known = asked(service, "GET", f"/v3/languages?resource={resource}").value
            assert sorted(each["lang"] for each in known if each[f"usable_as_{side}"]) == sorted(expected)
            assert len({each["lang"] for each in known}) == len(known)
    assert asked(service, "GET", "/v3/languages?resource=write").value == []
    dictionary = {"source_lang": "en", "target_lang": "de", "entries": TERMS, "entries_format": "tsv"}
    answer = asked(service, "POST", "/v3/glossaries", {"name": "weblate", "dictionaries": [dictionary]})
    assert (answer.status, answer.value["name"], answer.value["entry_count"]) == (201, "weblate", 2)
    assert [each["entry_count"] for each in answer.value["dictionaries"]] == [2], "for DeepL's own client"
    assert answer.value in asked(service, "GET", "/v3/glossaries").value["glossaries"]
    identity = answer.value["glossary_id"]
    (found,) = translated(service, "the lamp hums", glossary_id=identity).value["translations"]
    assert "Leuchte" in found["text"]
    path = f"/v3/glossaries/{identity}"
    assert asked(service, "PUT", f"{path}/dictionaries", dictionary).status == 404, "it is made again"
    assert [asked(service, "DELETE", path).status for _ in range(2)] == [204, 404]
    for dictionaries in ([], [dictionary, dictionary], ["x"], [{}], {}):
        body = {"name": "weblate", "dictionaries": dictionaries}
        assert asked(service, "POST", "/v3/glossaries", body).status == 400


def test_nobody_else_sees_or_uses_it(service: Running) -> None:
    identity = made(service)["glossary_id"]
    assert asked(service, "GET", "/v2/glossaries", key="bob").value == {"glossaries": []}
    for method, path in (
        ("GET", f"/v2/glossaries/{identity}"),
        ("DELETE", f"/v2/glossaries/{identity}"),
        ("GET", f"/v2/glossaries/{identity}/entries"),
    ):
        assert asked(service, method, path, key="bob").status == 404
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


def glossary(owner: str, text: str = TERMS) -> StoredGlossary:
    return StoredGlossary(owner=owner, name="mine", source="en", target="de", entries=read_entries(text, "\t"))


def test_they_outlive_the_service(tmp_path: Path) -> None:
    async def make() -> str:
        store = Glossaries(tmp_path / "kept")
        gone, kept = await store.add(glossary("alice")), await store.add(glossary("alice", "a\tb"))
        await store.delete("alice", gone.id)
        return kept.id

    identity = asyncio.run(make())
    (tmp_path / "kept" / f"{identity}.json.partial").write_text("half")
    again = Glossaries(tmp_path / "kept")
    (kept,) = again.list("alice")
    assert (kept.id, kept.name, kept.entries) == (identity, "mine", "a\tb")
    assert again.list("bob") == []
    (path,) = (tmp_path / "kept").glob("*.json")
    for damaged in ("", "[]", "{}", json.dumps({"format": 99}), json.dumps({"format": 1, "dictionaries": [{}]})):
        path.write_text(damaged)
        with pytest.raises(UserError, match=identity):
            Glossaries(tmp_path / "kept")
    with pytest.raises(RunError, match="cannot be kept"):
        Glossaries(path)


def test_they_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = Glossaries()
        monkeypatch.setattr(stored, "MAX_OWN", 2)
        for _ in range(2):
            await store.add(glossary("alice"))
        with pytest.raises(Refusal, match="at most 2"):
            await store.add(glossary("alice"))

    asyncio.run(main())


def test_an_engine_reads_the_usable_terms_of_a_direction() -> None:
    async def main() -> None:
        store = Glossaries()
        one = await store.add(glossary("me", "lamp\tLeuchte\n!\t?"))
        path = store.file("me", one.id, "EN", "de-AT")
        assert one.entries == "lamp\tLeuchte\n!\t?"
        assert read_terms(path) == [("lamp", "Leuchte")]
        await store.delete("me", one.id)
        assert read_terms(path) == []

    asyncio.run(main())

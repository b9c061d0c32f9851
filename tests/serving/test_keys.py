"""Keys: kept as hashes, found in constant time, limited one by one."""

import asyncio
import json
import os
import threading
from contextlib import suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from limelight.errors import UserError
from limelight.serving.keys import Key, Keys, add_key, digest, read_keys, revoke_key
from limelight.serving.limits import Limits
from limelight.serving.logs import Log
from limelight.serving.origin import Origins
from limelight.serving.refusal import Refusal
from limelight.serving.server import run_service
from tests.serving.helpers import running, table, translator


def test_a_key_is_known_by_its_hash_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    secret = add_key(path, "alice")
    other = add_key(path, "bob", 500)
    assert secret not in path.read_text()
    assert secret != other
    assert len(secret) >= 40
    keys = Keys(read_keys(path))
    assert keys.find(secret).name == "alice"  # type: ignore[union-attr]
    assert keys.find(other).characters_per_minute == 500  # type: ignore[union-attr]
    assert keys.find(secret[:-1]) is None
    assert keys.find("") is None
    assert keys.find("\ud800") is None


def test_keys_are_revoked_by_name(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    add_key(path, "alice")
    with pytest.raises(UserError, match="already"):
        add_key(path, "alice")
    for name in (" ", "a\nb", "a\udcff"):
        with pytest.raises(UserError, match="name of printable"):
            add_key(path, name)
    with pytest.raises(UserError, match="there are: alice"):
        revoke_key(path, "bob")
    revoke_key(path, "alice")
    assert read_keys(path) == []


def stored(**changed: Any) -> str:
    """A file of one key with these fields instead."""
    key = {"name": "a", "sha256": digest("s"), "created": "2026-01-01", "characters_per_minute": None, **changed}
    return json.dumps({"format": 1, "keys": [key]})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "invalid json"),
        ("[" * 100_000, "invalid json"),
        ("[]", "object"),
        ("{}", "format: field required"),
        ('{"format": 2, "keys": []}', "format"),
        ('{"format": 1, "keys": ["a"]}', "keys[0]"),
        ('{"format": 1, "keys": [{"no": 1}]}', "keys[0].name: field required"),
        (stored(name=" "), "keys[0].name"),
        (stored(sha256="ü" * 64), "keys[0].sha256"),
        (stored(characters_per_minute="9"), "characters_per_minute: input should be a valid integer"),
        (stored(characters_per_minute=0), "characters_per_minute"),
        (stored().replace("}]", "}, {}]").replace("{}", stored()[stored().index("[") + 1 : -2]), "two keys"),
    ],
)
def test_a_file_that_holds_no_keys_is_refused(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"keys\.json") as caught:
        read_keys(path)
    assert says in str(caught.value)
    assert digest("s") not in str(caught.value)


def test_a_folder_and_a_missing_file_are_no_keys(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a directory"):
        read_keys(tmp_path)
    with pytest.raises(UserError, match="limelight keys add NAME --keys"):
        read_keys(tmp_path / "none.json")


def test_the_file_keeps_its_permissions_and_a_link_leads_to_it(tmp_path: Path) -> None:
    path, link = tmp_path / "secrets" / "keys.json", tmp_path / "keys.json"
    path.parent.mkdir()
    add_key(path, "alice")
    path.chmod(0o640)
    link.symlink_to(path)
    add_key(link, "bob")
    revoke_key(link, "alice")
    assert link.is_symlink()
    assert [key.name for key in read_keys(path)] == ["bob"]
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in path.parent.iterdir()] == ["keys.json"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root changes owners")
def test_the_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "folder that is made" / "keys.json"
    add_key(path, "alice")
    os.chown(path, 1234, 1234)
    revoke_key(path, "alice")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1234)
    read: list[str] = []
    keys = Keys(path, log=lambda event, **_: read.append(event))
    for owner in (0, 0, 1234):
        os.chown(path, owner, owner)
        keys.find("")
    assert len(read) >= 2  # again after each change of the owner


def test_changes_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    for number in range(8):
        add_key(path, f"old {number}")
    changes = [partial(add_key, path, f"new {number}") for number in range(8)]
    changes += [partial(revoke_key, path, f"old {number}") for number in range(8)]
    threads = [threading.Thread(target=change) for change in changes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert {key.name for key in read_keys(path)} == {f"new {number}" for number in range(8)}


def test_a_revoked_key_is_unknown_without_a_signal(tmp_path: Path) -> None:
    path, logged = tmp_path / "keys.json", list[str]()
    secret = add_key(path, "alice")

    keys = Keys(path, log=lambda event, **_: logged.append(event))
    assert keys.find(secret) is not None
    revoke_key(path, "alice")
    assert keys.find(secret) is None
    path.write_text("{")
    assert keys.find(add_key(tmp_path / "other.json", "x")) is None
    assert logged == ["keys_read", "reload_failed"]
    other = add_key(tmp_path / "new.json", "bob")
    (tmp_path / "new.json").replace(path)
    assert keys.find(other) is not None


def test_a_key_gets_its_limit_each_minute_and_at_most_twice_that_in_one() -> None:
    now = [0.0]
    keys = Keys([Key("k", digest("s"), "", 6000)], clock=lambda: now[0])
    keys.spend("k", 6000)
    with pytest.raises(Refusal, match="of which 0 are left") as caught:
        keys.spend("k", 100)
    assert (caught.value.status, caught.value.retry_after) == (429, 1)
    with pytest.raises(Refusal, match="6001 characters, and this key may translate 6000 a minute: send less") as caught:
        keys.spend("k", 6001)
    assert (caught.value.status, caught.value.retry_after) == (413, None)  # else its client would send it forever
    through = 0
    while now[0] < 60.0:
        now[0] += 0.05
        with suppress(Refusal):
            keys.spend("k", 37)
            through += 37
    assert 0.99 * 6000 <= through <= 6000
    now[0] = 1000.0
    keys.spend("k", 6000)
    keys.give_back("k", 6000)
    keys.spend("k", 6000)
    with pytest.raises(Refusal):
        keys.spend("k", 1)
    keys.spend("unlimited", 10**9)


def test_a_service_does_not_begin_without_the_keys_it_is_to_have(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text("{")
    service = run_service(
        {}, Limits(), Log(StringIO()), host="127.0.0.1", port=0, engines=1, keys=path, glossaries=None, memories=None,
        origins=Origins(), proxies="", drain_seconds=0.0,
    )  # fmt: skip
    with pytest.raises(UserError, match=r"keys\.json"):
        asyncio.run(service)


def test_a_request_without_room_costs_a_key_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys([Key("one", digest("secret"), "", 10)])
    with running({"one": translator(table(1))}, keys=keys) as service:
        pool = service.service.catalog.models[0].pool
        with monkeypatch.context() as patch:

            async def full(*_: object, **__: object) -> list[object]:
                raise Refusal(503, "overloaded", "there is no room", retry_after=1)

            patch.setattr(pool, "run", full)
            for _ in range(3):
                answer = service.post("/api/v1/translate", {"text": "dabdabdabd"}, authorization="Bearer secret")
                assert answer.status == 503
        answer = service.post("/api/v1/translate", {"text": "dabdabdabd"}, authorization="Bearer secret")
        assert answer.status == 200

"""Keys: kept as hashes, found in constant time, limited one by one."""

import hmac
from pathlib import Path
from typing import Any

import pytest

from limelight.errors import UserError
from limelight.serving.keys import Key, Keys, add_key, digest, read_keys, revoke_key
from limelight.serving.refusal import Refusal


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
    with pytest.raises(UserError, match="name"):
        add_key(path, " ")
    with pytest.raises(UserError, match="there are: alice"):
        revoke_key(path, "bob")
    revoke_key(path, "alice")
    assert read_keys(path) == []
    assert read_keys(tmp_path / "other.json") == []


@pytest.mark.parametrize("content", ["", "{}", '{"format": 2, "keys": []}', '{"format": 1, "keys": [{"no": 1}]}', "[]"])
def test_a_file_that_holds_no_keys_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"keys\.json"):
        read_keys(path)


def test_every_hash_is_compared_whichever_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first, the last and no key take as many comparisons, each in constant time."""
    keys = Keys([Key(name, digest(name), "") for name in "abcd"])
    compared: list[str] = []
    real = hmac.compare_digest

    def counted(one: Any, other: Any) -> bool:
        compared.append(other)
        return real(one, other)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    for secret in ("a", "d", "x"):
        compared.clear()
        keys.find(secret)
        assert len(compared) == 4


def test_a_limit_holds_in_any_minute() -> None:
    now = [0.0]
    keys = Keys([Key("k", digest("s"), "", 600)], clock=lambda: now[0])
    keys.spend("k", 500)
    now[0] = 10.0
    keys.spend("k", 100)
    with pytest.raises(Refusal) as caught:
        keys.spend("k", 1)
    assert caught.value.status == 429
    assert caught.value.retry_after == 51
    now[0] = 10.0 + 51
    keys.spend("k", 500)
    with pytest.raises(Refusal) as caught:
        keys.spend("k", 1)
    assert caught.value.retry_after == 10
    with pytest.raises(Refusal):
        keys.spend("k", 601)
    keys.spend("unlimited", 10**9)


def test_over_a_minute_a_key_gets_its_limit() -> None:
    """Whatever the size of the requests, from the first minute on."""
    now = [0.0]
    keys = Keys([Key("k", digest("s"), "", 6000)], clock=lambda: now[0])
    through = 0
    while now[0] < 60.0:
        now[0] += 0.05
        try:
            keys.spend("k", 37)
            through += 37
        except Refusal:
            pass
    assert 0.99 * 6000 <= through <= 6000

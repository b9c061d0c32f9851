"""Keys of the API: kept as hashes, compared in constant time, each with a limit of its own.

A key is 32 random bytes, so a plain SHA-256 of it cannot be turned back; a slow hash is for passwords.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import os
import re
import secrets
import stat
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from limelight.errors import UserError
from limelight.files import cause, locked, write_whole
from limelight.serving.refusal import Refusal

FORMAT = 1
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Key:
    """The public fields of a key; not the key itself."""

    name: str
    sha256: str
    created: str
    characters_per_minute: int | None = None
    """None for no limit."""


@dataclass(eq=False, slots=True)
class Entry:
    """Characters that were counted for a key."""

    forgotten: float
    """The time at which they no longer count."""
    characters: int


def digest(secret: str) -> str:
    """A stored key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(path: Path, *, required: bool = False) -> list[Key]:
    """The keys of a file; none where there is no file and none is required. Raises `UserError` for a file that cannot
    be read, or is not one of keys."""
    wrong = f"{path}: not a key file"
    remedy = "restore it, or make another one with `limelight keys add`"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise UserError(
                f"{path}: there is no such file; `limelight keys add NAME --keys {path}` makes it"
            ) from None
        return []
    except OSError as error:
        raise UserError(f"{path}: the file of keys cannot be read: {cause(error).lower()}") from None
    except (ValueError, RecursionError) as error:
        place = f", line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UserError(f"{wrong}: it is not valid JSON{place}; {remedy}") from None
    if not isinstance(stored, dict) or not isinstance(stored.get("keys"), list):
        raise UserError(f"{wrong}: it has no list `keys`; {remedy}")
    if stored.get("format") != FORMAT:
        raise UserError(f"{path}: this is a file of keys of format {stored.get('format')!r}, and {FORMAT} is known")
    keys: dict[str, Key] = {}
    for number, each in enumerate(stored["keys"], start=1):
        fault = _fault_of(each) or ("two keys have this name" if each["name"] in keys else "")
        if fault:
            raise UserError(f"{wrong}: key {number}: {fault}; {remedy}")
        keys[each["name"]] = Key(**each)
    return list(keys.values())


def _fault_of(value: Any) -> str:
    """The fault of a key in a file; empty if there is none. The hash is not shown."""
    if not isinstance(value, dict):
        return "it must be an object"
    known = {each.name for each in fields(Key)}
    if wrong := sorted({"name", "sha256", "created"} - value.keys() or value.keys() - known):
        return f"{wrong[0]} is {'not known' if wrong[0] not in known else 'missing'}"
    per_minute = value.get("characters_per_minute")
    if not isinstance(value["name"], str) or not value["name"].strip():
        return "name must be a text"
    if not isinstance(value["sha256"], str) or not re.fullmatch("[0-9a-f]{64}", value["sha256"]):
        return "sha256 must be 64 hexadecimal digits"
    if not isinstance(value["created"], str):
        return "created must be a date"
    if per_minute is not None and (type(per_minute) is not int or per_minute < 1):
        return f"characters_per_minute must be a whole number from 1, not {per_minute!r}"
    return ""


def write_keys(path: Path, keys: Sequence[Key]) -> None:
    """Write the whole file, with the permissions, the owner and the group that it had; a link still leads to it. Raises
    `UserError`, before anything is changed, where they cannot be kept."""
    value = {"format": FORMAT, "keys": [asdict(key) for key in keys]}
    path = path.resolve()
    former = path.stat() if path.exists() else None
    if former is not None and hasattr(os, "chown"):
        mine = (os.geteuid(), os.getegid())
        if mine[0] != 0 and (former.st_uid != mine[0] or former.st_gid not in (mine[1], *os.getgroups())):
            raise UserError(f"{path}: it belongs to another user or group, which would be lost: run this as that user")
    write_whole(path, json.dumps(value, indent=1) + "\n")
    if former is not None:
        if hasattr(os, "chown") and (path.stat().st_uid, path.stat().st_gid) != (former.st_uid, former.st_gid):
            os.chown(path, former.st_uid, former.st_gid)
        path.chmod(stat.S_IMODE(former.st_mode))


def add_key(path: Path, name: str, characters_per_minute: int | None = None) -> str:
    """Create a key, which is returned and not stored. Raises `UserError` for a name that is taken or empty."""
    if not name.strip():
        raise UserError("a key needs a name, by which it can be revoked")
    secret = secrets.token_urlsafe(32)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    with locked(path.resolve().parent):
        keys = read_keys(path)
        if any(key.name == name for key in keys):
            raise UserError(f"{path}: there is a key {name!r} already; revoke it, or choose another name")
        write_keys(path, [*keys, Key(name, digest(secret), created, characters_per_minute)])
    return secret


def revoke_key(path: Path, name: str) -> None:
    """Revoke a key. Raises `UserError` if there is none of this name."""
    with locked(path.resolve().parent):
        keys = read_keys(path)
        if all(key.name != name for key in keys):
            there = ", ".join(key.name for key in keys) or "none"
            raise UserError(f"{path}: there is no key {name!r}; there are: {there}")
        write_keys(path, [key for key in keys if key.name != name])


async def watch_keys(path: Path, keys: Keys, log: Callable[..., None], *, seconds: float = 2.0) -> None:
    """Read the file again whenever it has changed: a key that is revoked is refused within seconds. One that cannot be
    read changes nothing."""

    def version() -> tuple[int, int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    known = version()
    while True:
        await asyncio.sleep(seconds)
        if (now := version()) == known:
            continue
        known = now
        try:
            keys.replace(await asyncio.to_thread(read_keys, path, required=True))
            log("keys_read")
        except UserError as error:
            log("reload_failed", reason=str(error))


class Keys:
    """The keys of a service, and what each has used within the last minute.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, keys: Sequence[Key], *, clock: Any = time.monotonic) -> None:
        self._clock = clock
        self._spent: dict[str, deque[Entry]] = {}
        self._used = Counter[str]()
        """Characters of the entries of each key."""
        self.replace(keys)

    def replace(self, keys: Sequence[Key]) -> None:
        """Replace the keys."""
        self._keys = {key.name: key for key in keys}

    def find(self, secret: str) -> Key | None:
        """The key, or None. It is compared with every hash, so the time says nothing about which fits."""
        given, found = digest(secret), None
        for key in self._keys.values():
            if hmac.compare_digest(given, key.sha256):
                found = key
        return found

    def limit(self, name: str) -> int | None:
        """Characters a minute."""
        key = self._keys.get(name)
        return None if key is None else key.characters_per_minute

    def spend(self, name: str, characters: int) -> Entry:
        """Count characters against the key's limit, which holds in any 60 seconds. Raises `Refusal`, 429, above it; 413
        for more than it ever permits at a time."""
        limit, now, spent = self.limit(name), self._clock(), self._spent.setdefault(name, deque())
        entry = Entry(now + MINUTE, characters)
        if limit is None:
            return entry
        if characters > limit:
            what = f"these are {characters} characters, and this key may translate {limit} a minute"
            remedy = "send less at a time, or ask the operator for a key with more --characters-per-minute"
            raise Refusal(413, "quota", f"{what}: {remedy}")
        while spent and spent[0].forgotten <= now:
            self._used[name] -= spent.popleft().characters
        left = limit - self._used[name]
        if characters > left:
            message = (
                f"these are {characters} characters, and this key may translate {limit} a minute, of which "
                f"{max(left, 0)} are left: wait, or ask the operator for a key with more --characters-per-minute"
            )
            freed = accumulate(each.characters for each in spent)
            wait = next(
                (each.forgotten - now for each, sum in zip(spent, freed, strict=True) if left + sum >= characters),
                MINUTE,
            )
            raise Refusal(429, "quota", message, retry_after=max(1, math.ceil(wait)))
        spent.append(entry)
        self._used[name] += characters
        return entry

    def give_back(self, name: str, entry: Entry) -> None:
        """Undo a count, for work that was not done."""
        if entry in self._spent.get(name, ()):
            self._used[name] -= entry.characters
            entry.characters = 0

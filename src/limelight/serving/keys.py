"""Keys of the API: kept as hashes, each with a limit of its own.

A key is 32 random bytes, so a plain SHA-256 of it cannot be turned back; a slow hash is for passwords.
"""

import hashlib
import hmac
import math
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.dataclasses import dataclass

from limelight.errors import UserError
from limelight.files import cause, locked, write_whole
from limelight.serving.refusal import Refusal, of_validation

MINUTE = 60.0


@dataclass(frozen=True, config=ConfigDict(extra="forbid", strict=True))
class Key:
    """The public fields of a key; not the key itself."""

    name: Annotated[str, Field(pattern=r"\S")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    created: str
    characters_per_minute: Annotated[int | None, Field(ge=1)] = None
    """None for no limit."""


class KeyFile(BaseModel):
    """A file of keys."""

    model_config = ConfigDict(extra="forbid")

    format: Literal[1]
    keys: list[Key]

    @field_validator("keys")
    @classmethod
    def _different(cls, keys: list[Key]) -> list[Key]:
        if len({key.name for key in keys}) < len(keys):
            raise ValueError("two keys have the same name")
        return keys


def digest(secret: str) -> str:
    """A stored key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def read_keys(path: Path) -> list[Key]:
    """The keys of a file. Raises `UserError` for a file that is missing, cannot be read, or is not one of keys."""
    try:
        return KeyFile.model_validate_json(path.read_bytes()).keys
    except FileNotFoundError:
        remedy = f"`limelight keys add NAME --keys {path}` makes it"
        raise UserError(f"{path}: there is no such file; {remedy}") from None
    except OSError as error:
        raise UserError(f"{path}: the file of keys cannot be read: {cause(error).lower()}") from None
    except ValidationError as error:
        remedy = "restore it, or make another one with `limelight keys add`"
        raise UserError(f"{path}: not a key file: {of_validation(error).message}; {remedy}") from None


@contextmanager
def changing_keys(path: Path) -> Iterator[list[Key]]:
    """A context with the list of a file's keys, which is written at its end. The file keeps its owner and
    permissions, and a link still leads to it."""
    path = path.resolve()
    with locked(path.parent):
        before = path.stat() if path.exists() else None
        keys = read_keys(path) if before else []
        yield keys
        write_whole(path, KeyFile(format=1, keys=keys).model_dump_json(indent=1) + "\n")
        if before is not None:
            for owner, group in ((before.st_uid, -1), (-1, before.st_gid)):
                with suppress(OSError, AttributeError):  # only root gives files away; Windows has no owners
                    os.chown(path, owner, group)
            path.chmod(stat.S_IMODE(before.st_mode))


def add_key(path: Path, name: str, characters_per_minute: int | None = None) -> str:
    """Create a key, which is returned and not stored. Raises `UserError` for a name that is taken, or cannot be
    printed."""
    if not name.strip() or not name.isprintable():
        raise UserError("a key needs a name of printable characters, by which it can be revoked")
    secret = secrets.token_urlsafe(32)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    path.resolve().parent.mkdir(parents=True, exist_ok=True)
    with changing_keys(path) as keys:
        if any(key.name == name for key in keys):
            raise UserError(f"{path}: there is a key {name!r} already; revoke it, or choose another name")
        keys.append(Key(name, digest(secret), created, characters_per_minute))
    return secret


def revoke_key(path: Path, name: str) -> None:
    """Revoke a key. Raises `UserError` if no key has this name."""
    with changing_keys(path) as keys:
        left = [key for key in keys if key.name != name]
        if len(left) == len(keys):
            listed = ", ".join(key.name for key in keys) or "none"
            raise UserError(f"{path}: there is no key {name!r}; there are: {listed}")
        keys[:] = left


class Keys:
    """The keys of a service, and what each may still translate.

    A key with a limit regains characters steadily, its limit in a minute, and never has more than its limit: after a
    pause it may spend all of it at once. The keys of a file are read again when it has changed; a file that cannot be
    read changes nothing.

    Args:
        keys: the keys, or a file of them, which must exist.
        clock: seconds that only grow.
        log: is called when the file was read again.
    """

    def __init__(
        self,
        keys: Sequence[Key] | Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        log: Callable[..., None] = lambda event, **_: None,
    ) -> None:
        self._clock, self._log = clock, log
        self._path = keys if isinstance(keys, Path) else None
        self._keys = () if isinstance(keys, Path) else keys
        self._version: tuple[int, ...] = ()
        """What changes with the file."""
        self._regained: dict[str, float] = {}
        """When a key will have all its characters again."""
        self._read()

    def find(self, secret: str) -> Key | None:
        """The key, or None. It is compared with every hash, so the time says nothing about which fits."""
        try:
            if self._read():
                self._log("keys_read")
        except UserError as error:
            self._log("reload_failed", reason=str(error))
        hashed = digest(secret)
        matching = [key for key in self._keys if hmac.compare_digest(hashed, key.sha256)]
        return matching[0] if matching else None

    def _read(self) -> bool:
        """Read the file if it has changed; returns whether it has. Raises `UserError`."""
        if self._path is None:
            return False
        try:
            status = self._path.stat()
            # The second changes with the owner, too.
            version = status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        except OSError:
            version = 0, 0, 0
        is_changed, self._version = version != self._version, version
        if is_changed:
            self._keys = read_keys(self._path)
        return is_changed

    def limit(self, name: str) -> int | None:
        """Characters a minute."""
        return next((key.characters_per_minute for key in self._keys if key.name == name), None)

    def spend(self, name: str, characters: int) -> None:
        """Count characters against the key's limit. Raises `Refusal`, 429, above it; 413 for more than it ever permits
        at a time."""
        limit, now = self.limit(name), self._clock()
        if limit is None:
            return
        more = "ask the operator for a key with more --characters-per-minute"
        what = f"these are {characters} characters, and this key may translate {limit} a minute"
        if characters > limit:
            raise Refusal(413, "quota", f"{what}: send less at a time, or {more}")
        missing, seconds = max(0.0, self._regained.get(name, 0.0) - now), characters * MINUTE / limit
        if (wait := round(missing + seconds - MINUTE, 3)) > 0:  # not for an error of rounding
            left = int((MINUTE - missing) * limit / MINUTE)
            message = f"{what}, of which {left} are left: wait, or {more}"
            raise Refusal(429, "quota", message, retry_after=math.ceil(wait))
        self._regained[name] = now + missing + seconds

    def give_back(self, name: str, characters: int) -> None:
        """Undo a count, for work that was not done."""
        if limit := self.limit(name):
            self._regained[name] = self._regained.get(name, 0.0) - characters * MINUTE / limit

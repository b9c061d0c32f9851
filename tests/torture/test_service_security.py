"""What the service promises about strangers: paths, keys and limits; checks X2 and X5 to X7.

Controls break a mechanism: its check has to fail.
"""

import hmac
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from limelight.serving.keys import MINUTE, Key, Keys, digest
from limelight.serving.pool import Pool
from limelight.serving.refusal import Refusal
from limelight.serving.routes import APIS
from tests.serving.helpers import ROOT, Running, running, table, translator
from tests.torture.conftest import Measured
from tests.torture.test_serving import answered

SECRET = "secret-of-alice"


@pytest.fixture(scope="module")
def plain() -> Iterator[Running]:
    with running({"one": translator(table(1))}) as service:
        yield service


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    with running({"one": translator(table(1))}, keys=Keys([Key("alice", digest(SECRET), "")])) as service:
        yield service


# ---- X2: the refusal of a long text takes no time


@pytest.mark.usefixtures("in_full_only")
def test_a_megabyte_is_refused_at_once(plain: Running, measured: Measured) -> None:
    body, seconds = json.dumps({"text": "a" * 1_000_000}), []
    for _ in range(50):
        begun = time.monotonic()
        assert plain.post("/api/v1/translate", body.encode(), **{"Content-Type": "application/json"}).status == 413
        seconds.append(time.monotonic() - begun)
    note = f"median {1000 * sorted(seconds)[25]:.1f} ms, the slowest {1000 * max(seconds):.0f} ms"
    measured("X2", "1 MB refused within 100 ms", held=sum(each < 0.1 for each in seconds), of=50, note=note)


# ---- X5: paths

PARTS = [
    "../", "..\\", "%2e%2e/", "%252e%252e%252f", "/etc/passwd", "\x00", "C:\\", "\\\\host\\share\\", "file://", "~",
    "....//",
    "\u2025/", "\uff0e\uff0e\uff0f", "/proc/self/environ", ".", "..;/", "CON", "%c0%ae%c0%ae/",
]  # fmt: skip


class Opened:
    """What any thread of the service opens while it is watched."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.watching = False
        sys.addaudithook(self._hook)  # which cannot be taken away again

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and self.watching:
            self.names.append(str(arguments[0]))

    def outside(self, *roots: Path) -> list[str]:
        """What was opened and lies in none of these folders. A number is a file that was open already, and
        `/dev/null` is for the process that reads a document."""
        names = [name for name in self.names if not name.isdecimal() and name != "/dev/null"]
        return [each for each in names if not any(Path(each).resolve().is_relative_to(root) for root in roots)]


@pytest.fixture(scope="module")
def opened() -> Opened:
    return Opened()


def uploaded(service: Running, path: str) -> int:
    """The status for a document of this name."""
    name = path.encode().replace(b"\x00", b"%00")
    body = (
        b'--x\r\nContent-Disposition: form-data; name="target_lang"\r\n\r\nDE\r\n--x\r\n'
        b'Content-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\na\r\n--x--\r\n'
    )
    return service.send("POST", "/v2/document", body, {"Content-Type": "multipart/form-data; boundary=x"}).status


def asked_for(service: Running, path: str) -> list[int]:
    """The statuses where a path is given as a model, a language, an address and a glossary."""
    message = {"messages": [{"role": "user", "content": "a"}]}
    named = {"text": ["a"], "source_lang": "EN", "target_lang": "DE", "glossary_id": path}
    statuses = [
        service.post("/api/v1/translate", {"text": "a", "model": path[:200]}).status,
        service.post("/v2/translate", {"text": ["a"], "target_lang": path[:20]}).status,
        service.post("/v2/translate", named).status,
        service.post("/v1/chat/completions", {"model": path[:200], **message}).status,
    ]  # fmt: skip
    quoted = path.encode().replace(b" ", b"%20").replace(b"\x00", b"%00").decode("latin-1")
    for where in ("/page/", "/download_file/", "/v2/document/", "/v2/glossaries/"):
        line = answered(
            service, f"GET {where}{quoted} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode("latin-1")
        )
        statuses.append(int(line[9:12] or 400))
    return statuses


def test_no_path_that_is_asked_for_is_opened(
    plain: Running, opened: Opened, full: bool, seed: int, measured: Measured
) -> None:
    """Nothing but the page's own files is looked at, whatever a request names."""
    number, draw, held = 500 if full else 40, random.Random(seed), 0
    asked_for(plain, "warm")
    uploaded(plain, "warm")  # the first process of a document imports how one is started
    opened.names.clear()
    opened.watching = True
    try:
        for turn in range(number):
            path = "".join(draw.choices(PARTS, k=draw.randint(1, 6)))
            statuses = asked_for(plain, path)
            if full and turn % 25 == 0:  # a process is started for each
                assert uploaded(plain, path) < 500  # a name is no path: the text is taken as plain text
            held += all(400 <= status < 500 for status in statuses) and not opened.outside(ROOT / "src/limelight/page")
    finally:
        opened.watching = False
    assert held == number, opened.outside(ROOT / "src/limelight/page")[:3]
    measured("X5", "paths in models, languages, names of files and addresses: nothing opened", held=held, of=number)


# ---- X6: keys

PUBLIC = {"/health", "/api/v1/health/live", "/api/v1/health/ready", "/", "/page/{name}", "/download_file/{name}"}
PUBLIC |= {"/languages", "/frontend/settings", "/spec"}


def spellings(path: str) -> list[str]:
    """Other ways to write a path, which a careless check of keys takes for another one."""
    middle = path.replace("/", "//")
    encoded = "/" + "".join(f"%{ord(letter):02x}" if letter.isalpha() else letter for letter in path[1:])
    return [
        path, path + "/", "/" + path, middle, path.upper(), encoded, path + "?x=1", path + ";a=b", path + "%00",
        path + "%20", "/." + path, "/health/.." + path, "/health/%2e%2e" + path, "http://health" + path,
        "http://127.0.0.1/health/.." + path, path + "#/health", path + "/health", "/health;" + path, "*",
        path.lstrip("/"),
    ]  # fmt: skip


def let_in(service: Running, routes: list[Any]) -> tuple[list[str], int]:
    """(requests without a key that got anything but a refusal, how many were sent), with odd `Host` headers, too."""
    found, number = [], 0
    hosts = ("x", "health", "127.0.0.1/health", "localhost:8000", "a b")
    for route in routes:
        path = re.sub("{.*?}", "some-id", route.path)
        for place, spelled in enumerate(spellings(path)):
            host = hosts[place % len(hosts)]
            head = (
                f"{route.method} {spelled} HTTP/1.1\r\nHost: {host}\r\nX-Original-URL: /health\r\nConnection: close\r\n"
            )
            answer = answered(
                service, (head + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}").encode()
            )
            number += 1
            if answer[9:12] not in (b"400", b"401", b"403"):
                found.append(f"{route.method} {spelled} {host}: {answer[:12]!r}")
    return found, number


def test_no_route_is_reached_without_a_key(guarded: Running, full: bool, seed: int, measured: Measured) -> None:
    """Every route but the list of public ones, in 20 spellings."""
    routes = [route for api in APIS for route in api.routes if route.path not in PUBLIC]
    chosen = routes if full else random.Random(seed).sample(routes, 8)
    found, number = let_in(guarded, chosen)
    assert not found, found[:3]
    measured("X6", "requests without a key, in odd spellings, refused", held=number - len(found), of=number)


def test_keys_are_hashed_and_in_no_log_or_metric(guarded: Running, measured: Measured) -> None:
    """Sent as a header, as a field and, by mistake, in an address; an unknown one, too."""
    libre = {"q": "dab", "source": "en", "target": "de"}
    assert guarded.post("/translate", {**libre, "api_key": SECRET}).status == 200
    guarded.send("POST", f"/translate?q=a&source=en&target=xx&api_key={SECRET}")
    for key in (SECRET, "wrong-secret"):
        guarded.post("/api/v1/translate", {"text": "a"}, Authorization=f"Bearer {key}")
        guarded.get(f"/{key}/nothing?key={key}", Authorization=f"Bearer {key}")
    told = guarded.log.getvalue() + guarded.get("/metrics", Authorization=f"Bearer {SECRET}").value.decode()
    stored = guarded.service.keys
    assert stored is not None
    kept = json.dumps([str(each) for each in vars(stored).values()])
    held = ["secret" not in told, digest(SECRET) not in told, SECRET not in kept, digest(SECRET) in kept]
    measured("X6", "log, metrics and memory of keys without any key", held=sum(held), of=len(held))


def test_hashes_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    """Each through `hmac.compare_digest`, whether or not one fits; `==` instead is seen."""
    calls: list[str] = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: bool(calls.append(other)) or real(one, other))
    keys = Keys([Key(name, digest(name), "") for name in "abcd"])
    held = 0
    for secret in ("a", "d", "x", ""):
        calls.clear()
        keys.find(secret)
        held += len(calls) == 4
    calls.clear()
    careless = next((key for key in keys._keys.values() if key.sha256 == digest("a")), None)
    assert careless is not None
    assert not calls, "control: a comparison with == is none of these"
    measured("X6", "every hash compared, by hmac.compare_digest", held=held, of=4)


# ---- X7: the limit of a key


def through_in_a_minute(keys: Keys, now: list[float], size: int) -> int:
    through = 0
    end = now[0] + MINUTE
    while now[0] < end:
        try:
            keys.spend("k", size)
            through += size
        except Refusal:
            pass
        now[0] += 0.05
    return through


def test_a_key_gets_its_characters_and_no_more(full: bool, measured: Measured) -> None:
    """In the first minute and in each that follows, within 5 %; the clock is a number, so nothing waits."""
    held = tried = 0
    for size in (1, 37, 100, 250) if full else (37, 250):
        now = [1000.0]
        keys = Keys([Key("k", digest("s"), "", 6000)], clock=lambda now=now: now[0])
        for _ in range(5 if full else 3):
            through = through_in_a_minute(keys, now, size)
            held += 0.95 * min(6000, 1200 * size) <= through <= 1.05 * 6000
            tried += 1
    measured("X7", "minutes in which a key got its limit within 5 %", held=held, of=tried)


def clients_of(monkeypatch: pytest.MonkeyPatch, proxies: str) -> set[str]:
    """Who the service takes the sender of requests with forged addresses to be."""
    seen: set[str] = set()
    real = Pool.run

    async def watched(self: Pool, client: str, *arguments: Any) -> Any:
        seen.add(client)
        return await real(self, client, *arguments)

    with monkeypatch.context() as patch, running({"one": translator(table(1))}, proxies=proxies) as service:
        patch.setattr(Pool, "run", watched)
        for place in range(5):
            forged = {"X-Forwarded-For": f"10.0.0.{place}", "Forwarded": "for=10.1.1.1", "X-Real-IP": "10.2.2.2"}
            assert service.post("/api/v1/translate", {"text": "a"}, **forged).status == 200
    return seen


def test_a_forged_address_is_not_believed(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    """Nor where another address is the trusted proxy. The control is the proxy that is trusted."""
    held = [clients_of(monkeypatch, "") == {"127.0.0.1"}, clients_of(monkeypatch, "192.0.2.7") == {"127.0.0.1"}]
    held.append(clients_of(monkeypatch, "127.0.0.1") == {f"10.0.0.{place}" for place in range(5)})
    measured("X7", "X-Forwarded-For is believed of a trusted proxy alone", held=sum(held), of=3)

"""What a request may name or hold: paths, addresses of others, texts that are hard to divide; checks X5, X7 and X9."""

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limelight.formats.html import html_units
from limelight.serving.pool import Pool
from limelight.text.sentences import split_sentences
from tests.serving.helpers import ROOT, Running, running, table, translator, words
from tests.torture.conftest import Measured
from tests.torture.test_service import answered

PARTS = [
    "../", "..\\", "%2e%2e/", "%252e%252e%252f", "/etc/passwd", "\x00", "C:\\", "\\\\host\\share\\", "file://", "~",
    "....//",
    "\u2025/", "\uff0e\uff0e\uff0f", "/proc/self/environ", ".", "..;/", "CON", "%c0%ae%c0%ae/",
]  # fmt: skip


def asked_for(service: Running, path: str) -> list[int]:
    """The statuses where a path is given as a model, a language, a glossary and an address."""
    message = {"messages": [{"role": "user", "content": "a"}]}
    named = {"text": ["a"], "source_lang": "EN", "target_lang": "DE", "glossary_id": path}
    answers = [
        service.post("/api/v1/translate", {"text": "a", "model": path[:200]}),
        service.post("/v2/translate", {"text": ["a"], "target_lang": path[:20]}),
        service.post("/v2/translate", named),
        service.post("/v1/chat/completions", {"model": path[:200], **message}),
    ]
    assert {answer.headers["x-content-type-options"] for answer in answers} == {"nosniff"}
    quoted = path.encode().replace(b" ", b"%20").replace(b"\x00", b"%00").decode("latin-1")
    places = ("/page/", "/download_file/", "/v2/document/", "/v2/glossaries/")
    lines = [f"GET {where}{quoted} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" for where in places]
    return [answer.status for answer in answers] + [
        int(answered(service.port, line.encode("latin-1"))[9:12] or 400) for line in lines
    ]


def test_no_path_that_is_asked_for_is_opened(full: bool, seed: int, measured: Measured) -> None:
    """Nothing but the page's own files is looked at, whatever a request names. A number is a file that was open."""
    number, draw, opened, watching = 500 if full else 40, random.Random(seed), list[str](), True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("open", "os.listdir", "os.scandir") and not str(arguments[0]).isdecimal():
            opened.append(str(arguments[0]))

    with running({"one": translator(table(1))}) as service:
        asked_for(service, "warm")
        sys.addaudithook(watch)  # which cannot be taken away again
        statuses = [asked_for(service, "".join(draw.choices(PARTS, k=draw.randint(1, 6)))) for _ in range(number)]
        watching = False
    held = sum(all(400 <= status < 500 for status in some) for some in statuses)
    outside = [name for name in opened if not Path(name).resolve().is_relative_to(ROOT / "src/limelight/page")]
    assert outside == []
    measured("X5", "paths in models, languages, glossaries and addresses: nothing opened", held=held, of=number)


def clients_of(monkeypatch: pytest.MonkeyPatch, proxies: str) -> set[str]:
    """Who the service takes the sender of requests with forged addresses to be."""
    seen: set[str] = set()
    real = Pool.run

    async def watched(self: Pool, client: str, *arguments: Any, **more: Any) -> Any:
        seen.add(client)
        return await real(self, client, *arguments, **more)

    with monkeypatch.context() as patch, running({"one": translator(table(1))}, proxies=proxies) as service:
        patch.setattr(Pool, "run", watched)
        for place in range(5):
            forged = {"X-Forwarded-For": f"10.0.0.{place}", "Forwarded": "for=10.1.1.1", "X-Real-IP": "10.2.2.2"}
            assert service.post("/api/v1/translate", {"text": "a"}, **forged).status == 200
    return seen


def test_a_forged_address_is_not_believed(monkeypatch: pytest.MonkeyPatch, measured: Measured) -> None:
    """Nor where another address is the trusted proxy. The control is the proxy that is trusted."""
    trusted = {f"10.0.0.{place}" for place in range(5)}
    expected = {"": {"127.0.0.1"}, "192.0.2.7": {"127.0.0.1"}, "127.0.0.1": trusted}
    held = sum(clients_of(monkeypatch, proxies) == clients for proxies, clients in expected.items())
    measured("X7", "X-Forwarded-For is believed of a trusted proxy alone", held=held, of=3)


HARD = {
    "one letter": "a", "combining marks": "a\u0301\u0327", "joined emoji": "\U0001f468\u200d\U0001f469\u200d",
    "no spaces": "犬猫。", "dots": "a. ", "quotes": "\"'", "open tags": "<b", "entities": "&amp", "closing": "</b>",
    "comments": "<!--",
}  # fmt: skip


def text_work(text: str) -> None:
    """What is made of a text before a model has it."""
    words().decode(words().encode(text))
    split_sentences(text, "en")


def calls(work: Callable[[str], object], text: str) -> float:
    """How many functions are called, of Python's and of C's."""
    count = 0

    def tell(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(tell)
    try:
        work(text)
    finally:
        sys.setprofile(None)
    return count


def seconds_of(work: Callable[[str], object], text: str) -> float:
    """Of computing, the best of three: calls do not show quadratic work within a call."""
    found = []
    for _ in range(3):
        begun = time.process_time()
        work(text)
        found.append(time.process_time() - begun)
    return max(1e-3, min(found))


def test_long_texts_take_work_in_proportion(full: bool, measured: Measured) -> None:
    """Ten times the text: at most twelve times the calls. In time up to 25 times, where the larger text no longer fits
    into a cache; quadratic work takes a hundred times as long. Texts with tags have a tenth."""
    words()
    for measure, size, bound in ((calls, 3000, 12), *([(seconds_of, 100_000, 25)] if full else [])):
        ratios = {}
        for work, length in ((text_work, size), (html_units, size // 10)):
            for name, unit in HARD.items():
                few, many = ((unit * (n // len(unit) + 1))[:n] for n in (length, 10 * length))
                ratios[f"{work.__name__}: {name}"] = measure(work, many) / measure(work, few)
        worst = max(ratios, key=lambda name: ratios[name])
        what = f"texts ten times as long: at most {bound} times the {measure.__name__}"
        held = sum(ratio <= bound for ratio in ratios.values())
        measured("X9", what, held=held, of=len(ratios), note=f"worst: {worst}, {ratios[worst]:.1f}x")

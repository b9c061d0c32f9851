"""What the service promises about texts, who reaches it and what it is built on; checks X9 to X12.

Controls break a mechanism: its check has to fail.
"""

import io
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from limelight.cli.serve import require_access
from limelight.errors import UserError
from limelight.formats.html import html_units
from limelight.inspection import standalone
from limelight.pipelines.explain import Question, explain
from limelight.serving.run import Plan
from limelight.text.sentences import split_sentences
from tests.browser.helpers import untrained
from tests.serving.helpers import ROOT, Running, running, table, translator, words
from tests.torture.conftest import Measured


@pytest.fixture(scope="module")
def plain() -> Iterator[Running]:
    with running({"one": translator(table(1))}) as service:
        yield service


# ---- X9: long words

HARD = {
    "one letter": "a", "combining marks": "a\u0301\u0327", "joined emoji": "\U0001f468\u200d\U0001f469\u200d",
    "no spaces": "犬猫。", "dots": "a. ", "quotes": "\"'", "open tags": "<b", "entities": "&amp", "closing": "</b>",
    "comments": "<!--",
}  # fmt: skip


def text_work(text: str) -> None:
    """What is made of a text before a model has it."""
    words().decode(words().encode(text))
    split_sentences(text, "en")


def markup_work(text: str) -> None:
    """What is made of a text with tags, of which a segment has at most 100,000 characters."""
    html_units(text)


def calls(work: Callable[[str], None], text: str) -> int:
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


def seconds_of(work: Callable[[str], None], text: str) -> float:
    """Of computing, the best of three."""
    found = []
    for _ in range(3):
        begun = time.process_time()
        work(text)
        found.append(time.process_time() - begun)
    return min(found)


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def growth(measure: Callable[[Callable[[str], None], str], float], small: int) -> dict[str, float]:
    """How many times the measure of each hard text grows with ten times the text. Texts with tags have a tenth."""
    ratios = {}
    for work, size in ((text_work, small), (markup_work, small // 10)):
        for name, unit in HARD.items():
            few, many = (measure(work, repeated(unit, length)) for length in (size, 10 * size))
            ratios[f"{work.__name__}: {name}"] = many / max(few, 1e-3)
    print(ratios)
    return ratios


def test_long_texts_take_work_in_proportion(full: bool, measured: Measured) -> None:
    """Ten times the text: at most twelve times the calls."""
    words()
    ratios = growth(calls, 100_000 if full else 3000)
    worst = max(ratios, key=lambda name: ratios[name])
    held = sum(ratio <= 12 for ratio in ratios.values())
    note = f"worst: {worst}, {ratios[worst]:.1f}x"
    measured("X9", "texts ten times as long: at most twelve times the calls", held=held, of=len(ratios), note=note)


@pytest.mark.usefixtures("in_full_only")
def test_a_million_characters_take_time_in_proportion(measured: Measured) -> None:
    """Calls do not show quadratic work within a call. Linear work takes 10 times as long, and up to twice that where
    the larger text no longer fits into a cache; quadratic work takes 100 times as long."""
    words()
    ratios = growth(seconds_of, 100_000)
    worst = max(ratios, key=lambda name: ratios[name])
    held = sum(ratio <= 25 for ratio in ratios.values())
    note = f"worst: {worst}, {ratios[worst]:.1f}x"
    measured("X9", "a million characters: at most 25 times the time of a tenth", held=held, of=len(ratios), note=note)


# ---- X10: markup


class Tags(HTMLParser):
    """What a browser would take for elements and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append(tag + "".join(f" {name}" for name, _ in attributes))


def tags_of(markup: str) -> list[str]:
    parser = Tags()
    parser.feed(markup)
    return parser.found


def injections(number: int, seed: int) -> list[str]:
    """Strings that would run in a page that puts them there as they are."""
    starts = ["", "'", '"', "</script>", "-->", "]]>", "</title>", "</style>", "`", "\u2028"]
    bodies = [
        "<script>X</script>", "<img src=x onerror=X>", "<svg/onload=X>", "<a href=javascript:X>a</a>",
        "<iframe srcdoc=X>", "<b onmouseover=X>", "<math><mtext></form><form>", "<style>@import'X'</style>",
        "<base href=//x>", "&lt;script&gt;X",
    ]  # fmt: skip
    every = [start + body.replace("X", "alert(1)") for start in starts for body in bodies]
    random.Random(seed).shuffle(every)
    return every[:number]


def with_text(value: Any, text: str) -> Any:
    """The same document with this as every text, token and name of a language in it."""
    if isinstance(value, dict):
        return {key: with_text(each, text) for key, each in value.items()}
    if isinstance(value, list):
        return [with_text(each, text) for each in value]
    return text if isinstance(value, str) and len(value) < 40 else value


def inert(document: Any, text: str, clean: list[str]) -> bool:
    """Whether the file of a document with this text has the elements of any other."""
    return tags_of(standalone.standalone_page(with_text(document, text))) == clean


def plain_error(service: Running, text: str) -> bool:
    """Whether an error that is about this text is no markup."""
    told = service.post("/api/v1/translate", {"text": "a", "target_lang": text})
    kinds = [told.headers["content-type"], told.headers["x-content-type-options"]]
    return told.status == 400 and kinds == ["application/json", "nosniff"]


def test_markup_in_texts_stays_text(
    plain: Running, full: bool, seed: int, monkeypatch: pytest.MonkeyPatch, measured: Measured
) -> None:
    """As a text, a token or a language; where it is not escaped, that is seen."""
    texts = injections(100 if full else 10, seed)
    document = explain(untrained(), Question("abcde", "en", "de"))
    clean = tags_of(standalone.standalone_page(document))
    held = sum(inert(document, text, clean) and plain_error(plain, text) for text in texts)
    policies = [plain.get(path).headers["content-security-policy"] for path in ("/", "/page/main.js", "/docs")]
    assert all("default-src 'none'" in each and "unsafe" not in each for each in policies)
    assert "access-control-allow-origin" not in plain.get("/", Origin="https://a.example").headers
    real = standalone.standalone_page
    monkeypatch.setattr(standalone, "standalone_page", lambda *given, **of: real(*given, **of).replace("\\u003c", "<"))
    assert not inert(document, "</script><script>alert(1)</script>", clean), "control: markup as it is, is seen"
    measured("X10", "markup as text, token and language, in the file and in errors: inert", held=held, of=len(texts))


# ---- X11: who reaches it


def test_it_is_for_this_machine_unless_it_is_told_otherwise(plain: Running, measured: Measured) -> None:
    """The address, the refusal of others without a key, and the log."""
    held = [Plan({}).host == "127.0.0.1"]
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(UserError, match="--keys FILE"):
            require_access(host, None, no_keys=False)
        held.append(True)
    require_access("0.0.0.0", None, no_keys=True)
    text = "a word that nobody is to read"
    plain.post("/api/v1/translate", {"text": text})
    plain.post("/translate", {"q": text, "source": text, "target": text})
    plain.get(f"/{text.replace(' ', '%20')}?q={text.replace(' ', '+')}")
    log = plain.log.getvalue()
    held.append(bool(log) and "nobody" not in log)
    stream = io.StringIO(log)
    stream.seek(0, 2)
    stream.write(json.dumps({"event": "request", "text": text}))
    assert "nobody" in stream.getvalue(), "control: a text in the log is seen"
    measured("X11", "loopback by default, others only with keys, no text in the log", held=sum(held), of=6)


# ---- X12: dependencies


def unpinned(requirements: str) -> list[str]:
    """Lines that leave a version open."""
    lines = [line.split("#")[0].strip() for line in requirements.splitlines()]
    return [
        line for line in lines if line and not line.startswith("-") and not re.match(r"\S+==[\w.+!-]+( *;.*)?$", line)
    ]


def test_every_dependency_is_pinned(measured: Measured) -> None:
    files = sorted(ROOT.glob("requirements*.txt"))
    assert len(files) >= 4
    held = sum(not unpinned(path.read_text(encoding="utf-8")) for path in files)
    assert unpinned("torch>=2.11\nnumpy==2.0 # x\n") == ["torch>=2.11"], "control"
    measured("X12", "lists of requirements with one version of everything", held=held, of=len(files))

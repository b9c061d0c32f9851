"""What a request may name: paths, check X5."""

import random
import sys
from pathlib import Path
from typing import Any

from tests.serving.helpers import ROOT, Running, running, table, translator
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

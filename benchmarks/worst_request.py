"""The request that takes the most CPU time of those that the default limits accept, and what another client feels.

`python -m benchmarks.worst_request [NAME...]` starts `limelight serve` with the bundled model, and sends one request at
a time: every kind of text, divided into few or many texts, with the widest beam that is accepted, a long prefix, terms,
a stream, and a document. For each it prints the status, the CPU seconds of the service with all its processes, and the
longest time that a sentence of another client took meanwhile. The last line names the worst one.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine
from limelight.serving.limits import Limits
from limelight.serving.service import WIDTH

LIMITS = Limits()
TICKS = os.sysconf("SC_CLK_TCK")
WORDS = ["the", "old", "house", "by", "a", "river", "was", "sold", "to", "people", "who", "never", "came"]
ALPHABETS = {
    "letters": "abcdefghijklmnopqrstuvwxyz ", "one-letter": "a", "emoji": "\U0001f600\U0001f680\U0001f9ea\U0001f40d ",
    "no-spaces": "abcdefghijklmnopqrstuvwxyz0123456789", "digits": "0123456789., ", "chinese": "犬猫水火山川，",
}  # fmt: skip


def text_of(kind: str, size: int, draw: random.Random) -> str:
    """A text of so many characters."""
    if kind == "words":
        return " ".join(draw.choices(WORDS, k=size))[: size - 1] + "."
    if kind == "sentences":
        return " ".join(f"Go {draw.choice(WORDS)} on!" for _ in range(max(1, size // 12)))[:size]
    if kind == "lines":
        return ("a.\n" * size)[:size]
    return "".join(draw.choices(ALPHABETS[kind], k=size))


def requests() -> Iterator[tuple[str, str, dict[str, Any] | bytes]]:
    """Name, path and body of each."""
    draw, path, base = random.Random(1), "/api/v1/translate", {"source_lang": "en", "target_lang": "de"}
    wide = {**base, "beam_size": LIMITS.beam, "n_best": LIMITS.n_best}
    narrow = LIMITS.characters * WIDTH // LIMITS.beam
    for kind in ("words", "sentences", "lines", *ALPHABETS):
        for count in (1, LIMITS.texts):
            texts = [text_of(kind, narrow // count, draw) for _ in range(count)]
            yield f"{kind}, {count} texts, beam {LIMITS.beam}", path, {**wide, "text": texts}
        yield f"{kind}, 1 text, beam of the model", path, {**base, "text": text_of(kind, LIMITS.characters, draw)}
    words = text_of("words", LIMITS.characters // 2, draw)
    yield "stream", path, {**base, "text": words, "stream": True}
    yield "prefix", path, {**wide, "text": "A dog.", "prefix": text_of("words", 2000, draw)}
    terms = [{"source": f"the {word} {number}", "target": "x"} for number in range(76) for word in WORDS]
    yield "terms", path, {**base, "text": text_of("lines", 6000, draw), "terms": terms}
    yield "tags", path, {**base, "text": "<b>a</b> dog <i>runs</i>, " * 1000, "tag_handling": "html"}
    document = text_of("letters", 200_000, draw).replace("q", "\n\n").encode()
    form = b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    head = form % (b"source", b"en") + form % (b"target", b"de")
    file = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + document + b"\r\n--x--\r\n"
    yield "document of 200,000 letters", "/translate_file", head + file


def cpu_seconds(pid: int) -> float:
    """Of a process and its children, so far."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    total = 0.0
    for each in (str(pid), *children):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def ask(url: str, path: str, body: dict[str, Any] | bytes) -> int:
    """Status of the answer."""
    kind = "multipart/form-data; boundary=x" if isinstance(body, bytes) else "application/json"
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url + path, content, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.read()
        return error.code


def slowest_of_another(url: str, ended: threading.Event, seconds: list[float]) -> None:
    """Send a short sentence again and again from another address."""
    while not ended.is_set():
        began = time.monotonic()
        ask(url, "/api/v1/translate", {"text": "A dog runs.", "source_lang": "en", "target_lang": "de"})
        seconds.append(time.monotonic() - began)
        ended.wait(0.1)


def measured(url: str, pid: int, path: str, body: dict[str, Any] | bytes) -> tuple[int, float, float]:
    """Status, CPU seconds without those of the other client's sentences, and the longest of these."""
    ended, seconds = threading.Event(), list[float]()
    other = threading.Thread(target=slowest_of_another, args=[url.replace("127.0.0.1", "127.0.0.2"), ended, seconds])
    before = cpu_seconds(pid)
    other.start()
    status = ask(url, path, body)
    ended.set()
    other.join()
    time.sleep(1)  # what goes on after an answer is counted, too
    return status, cpu_seconds(pid) - before, max(seconds)


def main() -> None:
    """Print a line for each request, and the worst."""
    print(describe_machine())
    asked = sys.argv[1:]
    command = [sys.executable, "-m", "limelight", "serve", "--port", "0", "--host", "0.0.0.0", "--no-keys"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(json.loads(line) for line in process.stderr)
        url = next(f"http://127.0.0.1:{line['port']}" for line in lines if line["event"] == "listening")
        next(line for line in lines if line["event"] == "engine_ready")
        threading.Thread(target=lambda: list(lines), daemon=True).start()
        worst = (0.0, "")
        for name, path, body in requests():
            if asked and not any(name.startswith(each) for each in asked):
                continue
            status, used, slowest = measured(url, process.pid, path, body)
            print(f"{name}: status {status}, {used:.1f} CPU s, another client's sentence {slowest:.2f} s", flush=True)
            worst = max(worst, (used, name))
        print(f"the worst: {worst[1]}, {worst[0]:.1f} CPU seconds")
        process.terminate()


if __name__ == "__main__":
    main()

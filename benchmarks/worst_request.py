"""The request that takes the most CPU time of those that the default limits accept, and what another client feels.

`python -m benchmarks.worst_request --minutes 10` starts `limelight serve` with the bundled model, and sends one request
at a time: first one of each kind, then variations of the worst one so far, each with one property changed at random, as
the alphabet, the number of texts, the beam, a prefix, terms, tags, a stream, or a document. For each it prints the
status, the CPU seconds of the service with all its processes, and what a sentence of another client took meanwhile: the
99th percentile and the longest, beside those of 50 alone that follow at once, as the load of a machine changes within
minutes. The last lines describe the worst one, and the largest ratio of these two percentiles. The service has a
deadline that no request reaches, so that the load of the machine hides nothing.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import describe_machine
from limelight.serving.limits import Limits
from limelight.serving.pool import WIDTH

LIMITS = Limits()
TICKS = os.sysconf("SC_CLK_TCK")
WORDS = ["the", "old", "house", "by", "a", "river", "was", "sold", "to", "people", "who", "never", "came"]
ALPHABETS = {
    "letters": "abcdefghijklmnopqrstuvwxyz ", "one-letter": "a", "emoji": "\U0001f600\U0001f680\U0001f9ea\U0001f40d ",
    "no-spaces": "abcdefghijklmnopqrstuvwxyz0123456789", "digits": "0123456789., ", "chinese": "犬猫水火山川，",
}  # fmt: skip


class Recipe(NamedTuple):
    """How a request is made."""

    kind: str = "words"
    texts: int = 1
    beam: int = LIMITS.beam
    split: bool = True
    prefix: int = 0
    """Its characters."""
    terms: int = 0
    tags: bool = False
    stream: bool = False
    document: bool = False


CHOICES: dict[str, Sequence[Any]] = {
    "kind": ("words", "sentences", "lines", "addresses", *ALPHABETS), "texts": (1, 8, LIMITS.texts),
    "beam": (1, WIDTH, LIMITS.beam), "split": (True, False), "prefix": (0, 500, 5000), "terms": (0, 1000),
    "tags": (False, True), "stream": (False, True), "document": (False, True),
}  # fmt: skip
"""What the search varies."""
STARTS = [
    Recipe("one-letter"), Recipe("emoji"), Recipe("letters", stream=True), Recipe("one-letter", split=False),
    *(Recipe(kind) for kind in CHOICES["kind"] if kind not in ("one-letter", "emoji")), Recipe(prefix=5000),
    Recipe("lines", terms=1000), Recipe(tags=True), Recipe("letters", document=True),
]  # fmt: skip


def text_of(kind: str, size: int, draw: random.Random) -> str:
    """A text of so many characters."""
    if kind == "words":
        return " ".join(draw.choices(WORDS, k=size))[: size - 1] + "."
    if kind == "sentences":
        return " ".join(f"Go {draw.choice(WORDS)} on!" for _ in range(max(1, size // 12)))[:size]
    if kind == "lines":
        return ("a.\n" * size)[:size]
    if kind == "addresses":
        return " ".join(f"{{x{number}}} a@b.org" for number in range(size // 12 + 1))[:size]
    return "".join(draw.choices(ALPHABETS[kind], k=size))


def request_of(recipe: Recipe, draw: random.Random) -> tuple[str, dict[str, Any] | bytes]:
    """Path and body of the largest request of this kind that the limits accept."""
    if recipe.document:
        return "/translate_file", uploaded(text_of(recipe.kind, 200_000, draw).encode())
    body: dict[str, Any] = {"source_lang": "en", "target_lang": "de", "beam_size": recipe.beam}
    plain = not (recipe.tags or recipe.terms)
    prefix = recipe.prefix if plain and recipe.texts == 1 else 0
    size = LIMITS.characters * WIDTH // max(WIDTH, recipe.beam) - prefix
    size = min(size, LIMITS.body // 3)
    texts = [text_of(recipe.kind, size // recipe.texts, draw) for _ in range(recipe.texts)]
    if recipe.tags:
        texts = [f"<p>{text.replace(' ', ' <b>x</b> ')}"[: size // recipe.texts] + "</p>" for text in texts]
        body["tag_handling"] = "html"
    if recipe.terms:
        terms = [f"{draw.choice(WORDS)} {number}" for number in range(recipe.terms)]
        body["terms"] = [{"source": term, "target": "x"} for term in terms]
    body |= {"text": texts, "split_sentences": recipe.split}
    body |= {"n_best": recipe.beam, "stream": recipe.stream} if plain else {}
    return "/api/v1/translate", body | ({"prefix": text_of("words", prefix, draw)} if prefix else {})


def uploaded(document: bytes) -> bytes:
    """A form with this text file."""
    form = b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    head = form % (b"source", b"en") + form % (b"target", b"de")
    file = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    return head + file + document + b"\r\n--x--\r\n"


def varied(recipe: Recipe, draw: random.Random) -> Recipe:
    """The same with one property changed."""
    name = draw.choice(list(CHOICES))
    others = [value for value in CHOICES[name] if value != getattr(recipe, name)]
    return recipe._replace(**{name: draw.choice(others)})


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


def alone(url: str, pid: int) -> tuple[float, list[float]]:
    """CPU seconds of a sentence of another client, alone, and how long 50 of them took."""
    before, ended, seconds = cpu_seconds(pid), threading.Event(), list[float]()
    other = threading.Thread(target=slowest_of_another, args=[url, ended, seconds])
    other.start()
    while len(seconds) < 50:
        time.sleep(0.1)
    ended.set()
    other.join()
    return (cpu_seconds(pid) - before) / len(seconds), seconds


def percentile(seconds: Sequence[float]) -> float:
    """The 99th one."""
    return sorted(seconds)[len(seconds) * 99 // 100]


def measured(
    url: str, pid: int, each: float, path: str, body: dict[str, Any] | bytes
) -> tuple[int, float, list[float]]:
    """Status, CPU seconds without those of the other client's sentences, `each`, and how long these took."""
    ended, seconds = threading.Event(), list[float]()
    other = threading.Thread(target=slowest_of_another, args=[url.replace("127.0.0.1", "127.0.0.2"), ended, seconds])
    before = cpu_seconds(pid)
    other.start()
    status = ask(url, path, body)
    ended.set()
    other.join()
    time.sleep(1)  # what goes on after an answer is counted, too
    return status, cpu_seconds(pid) - before - each * len(seconds), seconds


def searched(url: str, pid: int, minutes: float, seed: int) -> None:
    """Print a line for each request, and the worst."""
    draw, worst, end = random.Random(seed), (0.0, Recipe()), time.monotonic() + 60 * minutes
    waiting, known, slowest = list(STARTS), set(STARTS), (0.0, Recipe())
    each, _ = alone(url, pid)
    while time.monotonic() < end:
        if waiting:
            recipe = waiting.pop(0)
        else:
            recipe = varied(worst[1], draw)
            for _ in range(100):
                if recipe not in known:
                    break
                recipe = varied(recipe, draw)
        known.add(recipe)
        status, used, beside = measured(url, pid, each, *request_of(recipe, draw))
        each, by_itself = alone(url, pid)
        said = {name: value for name, value in recipe._asdict().items() if value != Recipe._field_defaults[name]}
        times = f"{percentile(beside):.3f} s (p99), {max(beside):.3f} s (longest), alone {percentile(by_itself):.3f} s"
        print(f"{said}: status {status}, {used:.1f} CPU s, another client's sentence {times}", flush=True)
        worst = max(worst, (used, recipe))
        slowest = max(slowest, (percentile(beside) / percentile(by_itself), recipe))
    print(f"the worst of {len(known) - len(waiting)}: {worst[1]}, {worst[0]:.1f} CPU seconds")
    print(f"another client's sentence, p99 relative to alone: at most {slowest[0]:.1f}, beside {slowest[1]}")


def main() -> None:
    """Start a service, and search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(describe_machine(), flush=True)
    command = [
        sys.executable,
        "-m",
        "limelight",
        "serve",
        "--port",
        "0",
        "--host",
        "0.0.0.0",
        "--no-keys",
        "--deadline",
        "3600",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(json.loads(line) for line in process.stderr)
        url = next(f"http://127.0.0.1:{line['port']}" for line in lines if line["event"] == "listening")
        next(line for line in lines if line["event"] == "engine_ready")
        reader = threading.Thread(target=lambda: list(lines), daemon=True)
        reader.start()
        searched(url, process.pid, given.minutes, given.seed)
        process.terminate()
        reader.join()


if __name__ == "__main__":
    main()

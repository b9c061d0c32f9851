"""The service under load: requests a second and latencies for 1 to 128 clients.

    make bench-serve MODEL=folder
    python -m benchmarks.serving --model folder --target de --seconds 10 --clients 1 8 32 128
    python -m benchmarks.serving --model folder --worst 4        # what a client feels of another one's worst request

The service runs in processes of its own. Requests have three sizes: a sentence, a paragraph of four, a page of sixteen.
Answers are compared with what the model says alone.
"""

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from benchmarks.common import report, table
from limelight.serving.limits import Limits
from limelight.serving.links import WIDTH

ROOT = Path(__file__).parents[1]
SHORT = [
    "A dog runs across the yard.",
    "Two children play in the snow.",
    "The old man reads a newspaper.",
    "She opens the window and looks out.",
    "We waited an hour for the train.",
    "My brother lives in a small town.",
    "He forgot his umbrella at home.",
    "The shop closes at six today.",
]
LONG = " ".join(f"{sentence} {SHORT[(place * 3 + 1) % len(SHORT)]}" for place, sentence in enumerate(SHORT))

LOADS = {
    "sentence": SHORT,
    "paragraph": [" ".join(SHORT[place : place + 4]) for place in range(5)],
    "page": [LONG],
}
"""The texts of requests, by their size."""


class Load(NamedTuple):
    """What was measured with so many clients."""

    load: str
    clients: int
    per_second: float
    p50: float
    p99: float
    requests: int
    wrong: int


class Client:
    """One connection that is kept, as those of real clients are."""

    def __init__(self, port: int, target: str) -> None:
        self._port, self._target = port, target

    async def __aenter__(self) -> "Client":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def translate(self, text: str) -> str:
        body = json.dumps({"q": text, "source": "en", "target": self._target}).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        head += "Content-Type: application/json\r\n\r\n"
        self._writer.write(head.encode() + body)
        status = await self._reader.readline()
        length = 0
        while (line := await self._reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        answer = json.loads(await self._reader.readexactly(length))
        if b" 200 " not in status:
            raise RuntimeError(f"{status.decode().strip()}: {answer}")
        return str(answer["translatedText"])


async def measure(port: int, target: str, expected: dict[str, str], seconds: float, load: str, *, clients: int) -> Load:
    """So many clients, each sending its next text when it has its answer."""
    texts, latencies, wrong = LOADS[load], list[float](), 0
    end = time.perf_counter() + seconds

    async def work(number: int) -> None:
        nonlocal wrong
        async with Client(port, target) as client:
            while time.perf_counter() < end:
                number += 1
                text = texts[number % len(texts)]
                begin = time.perf_counter()
                wrong += await client.translate(text) != expected[text]
                latencies.append(time.perf_counter() - begin)

    begin = time.perf_counter()
    await asyncio.gather(*(work(number) for number in range(clients)))
    spent = time.perf_counter() - begin
    p99 = quantiles(latencies, n=100)[98] if len(latencies) > 1 else latencies[0]
    return Load(load, clients, len(latencies) / spent, median(latencies), p99, len(latencies), wrong)


# ---- the service


@contextmanager
def started(command: list[str], port: int) -> Iterator[int]:
    """A service in a process of its own, once it answers. Raises `RuntimeError` where another one has the port."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise RuntimeError(f"port {port} is in use: another service would be measured; end it first")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/health/ready", timeout=5).close()
                    break
                except OSError:
                    if process.poll() is not None:
                        raise RuntimeError(f"it ended with code {process.returncode}") from None
                    time.sleep(0.2)
            yield port
        finally:
            process.terminate()
            process.wait(30)


def command_of(model: str, port: int, engines: int) -> list[str]:
    served = ["serve", "--model", model, "--port", str(port), "--engines", str(engines), "--quiet"]
    return [sys.executable, "-m", "limelight", *served]


# ---- the worst request

LIMITS = Limits()
WORDS = ["the", "old", "house", "by", "a", "river", "was", "sold", "to", "people", "who", "never", "came"]
ALPHABETS = {
    "letters": "abcdefghijklmnopqrstuvwxyz ", "one-letter": "a", "emoji": "\U0001f600\U0001f680\U0001f9ea\U0001f40d ",
    "no-spaces": "abcdefghijklmnopqrstuvwxyz0123456789", "digits": "0123456789., ", "chinese": "犬猫水火山川，",
}  # fmt: skip
CHOICES: dict[str, Sequence[Any]] = {
    "kind": ("words", "sentences", "lines", "addresses", *ALPHABETS), "texts": (1, 8, LIMITS.texts),
    "beam": (LIMITS.beam, 1, WIDTH), "split": (True, False), "prefix": (0, 500, 5000), "terms": (0, 1000),
    "tags": (False, True), "stream": (False, True),
}  # fmt: skip
"""What the search varies; the first value of each is where it begins."""


def text_of(kind: str, size: int, draw: random.Random) -> str:
    """A text of so many characters."""
    parts = {
        "words": lambda number: draw.choice(WORDS) + " ",
        "sentences": lambda number: f"Go {draw.choice(WORDS)} on! ",
        "lines": lambda number: "a.\n",
        "addresses": lambda number: f"{{x{number}}} a@b.org ",
    }
    part = parts.get(kind, lambda number: draw.choice(ALPHABETS[kind]))
    return "".join(part(number) for number in range(size))[:size]


def request_of(recipe: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """The largest request of this kind that the limits accept."""
    body: dict[str, Any] = {"source_lang": "en", "target_lang": "de", "beam_size": recipe["beam"]}
    plain, count = not (recipe["tags"] or recipe["terms"]), recipe["texts"]
    ranks = recipe["beam"] if plain else 1
    allowed = int(LIMITS.characters // max(recipe["beam"] / WIDTH, ranks))
    prefix = min(recipe["prefix"], allowed // 2) if plain and count == 1 else 0
    size = min(allowed - prefix, LIMITS.body // 3) // count
    texts = [text_of(recipe["kind"], size, draw) for _ in range(count)]
    if recipe["tags"]:
        texts = [f"<p>{text.replace(' ', ' <b>x</b> ')}"[: size - 4] + "</p>" for text in texts]
        body["tag_handling"] = "html"
    terms = [{"source": f"{draw.choice(WORDS)} {number}", "target": "x"} for number in range(recipe["terms"])]
    body |= {"text": texts, "split_sentences": recipe["split"], "terms": terms}
    body |= {"n_best": ranks, "stream": recipe["stream"]} if plain else {}
    return body | ({"prefix": text_of("words", prefix, draw)} if prefix else {})


def ask(port: int, body: dict[str, Any], client: str = "127.0.0.1") -> int:
    """Status of the answer to a request from the address `client`."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=600, source_address=(client, 0))) as connection:
        connection.request("POST", "/api/v1/translate", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        return answer.status


def sentences_until(ended: threading.Event, port: int, seconds: list[float]) -> None:
    """Send a short sentence again and again, from an address of its own."""
    while not ended.wait(0.1):
        began = time.monotonic()
        ask(port, {"text": "A dog runs.", "source_lang": "en", "target_lang": "de"}, "127.0.0.2")
        seconds.append(time.monotonic() - began)


def beside(port: int, work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of some work, and the p99 of another client's sentences meanwhile."""
    ended, seconds = threading.Event(), [0.0]
    other = threading.Thread(target=sentences_until, args=(ended, port, seconds))
    other.start()
    result = work()
    ended.set()
    other.join()
    return result, sorted(seconds)[len(seconds) * 99 // 100]


def worst_request(model: str, port: int, minutes: float, seed: int = 1) -> None:
    """Send the largest requests of each kind, and then variations of the worst one, for so long."""
    draw, end = random.Random(seed), time.monotonic() + 60 * minutes
    first = {name: values[0] for name, values in CHOICES.items()}
    waiting = [{**first, name: value} for name, values in CHOICES.items() for value in values[name != "kind" :]]
    worst = 0.0, first
    command = [*command_of(model, port, 1), "--deadline", "3600"]
    with started(command, port):
        while time.monotonic() < end:
            name = draw.choice(list(CHOICES))
            recipe = waiting.pop(0) if waiting else {**worst[1], name: draw.choice(CHOICES[name])}
            _, alone = beside(port, lambda: time.sleep(5.0))
            body = request_of(recipe, draw)
            status, slowest = beside(port, partial(ask, port, body))
            worst = max(worst, (slowest / alone, recipe), key=lambda each: each[0])
            told = {name: value for name, value in recipe.items() if value != first[name]} or "the first"
            waited = f"p99 of another client {slowest:.3f} s" if slowest else "over before another client's sentence"
            print(f"{told}: status {status}, {waited}, alone {alone:.3f} s", flush=True)
    print(f"another client's sentence, p99 relative to alone: at most {worst[0]:.1f}, beside {worst[1]}")


# ---- the whole


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    import torch

    from limelight.pipelines.load import load_translator

    load_average = os.getloadavg()[0]  # of others, before there is any of ours
    torch.set_num_threads(1)
    translator = load_translator(options.model)
    texts = [text for of_size in LOADS.values() for text in of_size]
    expected = {text: translator.translate(text, source_lang="en", target_lang=options.target).text for text in texts}
    rows = list[Load]()
    with started(command_of(options.model, options.port, options.engines), options.port) as port:
        for load, clients in product(options.loads, options.clients):
            asking = measure(port, options.target, expected, options.seconds, load, clients=clients)
            rows.append(asyncio.run(asking))
            print(cells(rows[-1]), flush=True)
    return {"load_average": load_average, "engines": options.engines, "rows": [row._asdict() for row in rows]}


def cells(load: Load) -> list[object]:
    times = (round(1000 * load.p50), round(1000 * load.p99))
    return [load.load, load.clients, load.per_second, *times, load.requests, load.wrong]


def table_of(found: dict[str, Any]) -> str:
    head = ["request", "clients", "requests a second", "p50, ms", "p99, ms", "requests", "wrong"]
    return table(head, [cells(Load(**row)) for row in found["rows"]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--target", default="de")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=list(LOADS))
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--worst", type=float, default=0.0, help="only the worst request, for so many minutes")
    parser.add_argument("--port", type=int, default=8470)
    options = parser.parse_args()
    if options.worst:
        worst_request(options.model, options.port, options.worst)
        return
    found = measure_all(options)
    report("serving", f"serving --model {Path(options.model).name}", table_of(found), **found)


if __name__ == "__main__":
    main()

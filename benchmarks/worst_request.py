"""The CPU time of the most expensive requests that the default limits accept.

`python -m benchmarks.worst_request` starts `limelight serve` with the bundled model, and sends one request at a time
that uses every limit at once (texts, beam, n-best, and the characters that are accepted with them). It prints how each
ended, and how many CPU seconds the service and its engine took for it.
"""

import json
import os
import random
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from benchmarks.machine import describe_machine
from limelight.serving.limits import Limits
from limelight.serving.service import WIDTH

LIMITS = Limits()
TICKS = os.sysconf("SC_CLK_TCK")


def texts(kind: str) -> list[str]:
    """As many texts as are accepted, with as many characters together."""
    draw, size = random.Random(1), LIMITS.characters * WIDTH // LIMITS.beam // LIMITS.texts
    words = ["the", "old", "house", "by", "a", "river", "was", "sold", "to", "people", "who", "never", "came"]
    alphabets = {"letters": "abcdefghijklmnopqrstuvwxyz ", "emoji": "\U0001f600\U0001f680\U0001f9ea\U0001f40d "}
    if kind == "words":
        return [" ".join(draw.choices(words, k=size))[: size - 1] + "." for _ in range(LIMITS.texts)]
    if kind == "sentences":
        each = size // 16
        return [" ".join(f"Go {draw.choice(words)} on!" for _ in range(each)) for _ in range(LIMITS.texts)]
    return ["".join(draw.choices(alphabets[kind], k=size)) for _ in range(LIMITS.texts)]


def cpu_seconds(pid: int) -> float:
    """Of a process and its children, so far."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    total = 0.0
    for each in (str(pid), *children):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def ask(url: str, kind: str) -> tuple[int, int]:
    """Status of the answer, and its bytes."""
    body = {"text": texts(kind), "source_lang": "en", "target_lang": "de", "beam_size": LIMITS.beam}
    content = json.dumps({**body, "n_best": LIMITS.n_best}).encode()
    request = urllib.request.Request(f"{url}/api/v1/translate", content, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as answer:
            return answer.status, len(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, len(error.read())


def main() -> None:
    """Print a line for each kind of text."""
    print(describe_machine())
    command = [sys.executable, "-m", "limelight", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(json.loads(line) for line in process.stderr)
        url = next(f"http://127.0.0.1:{line['port']}" for line in lines if line["event"] == "listening")
        next(line for line in lines if line["event"] == "engine_ready")
        for kind in ("words", "sentences", "letters", "emoji"):
            before, begun = cpu_seconds(process.pid), time.monotonic()
            status, size = ask(url, kind)
            seconds = time.monotonic() - begun
            time.sleep(2)  # what goes on after an answer is counted, too
            used = cpu_seconds(process.pid) - before
            print(f"{kind}: status {status}, {size:,} bytes, {used:.1f} CPU seconds in {seconds:.1f} s", flush=True)
        process.terminate()


if __name__ == "__main__":
    main()

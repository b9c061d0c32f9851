"""A translation memory of many segments: the time to index it, the time to look a text up, and what is missed.

    python -m benchmarks.translation_memory --text PAIRS.tsv.gz [--segments 1000000] [--seed 1]

The memory has the pairs of the file; further segments are made of them by another word at a random place. The texts are
segments with one word exchanged. Reference is the Levenshtein distance to every segment: how often the best one of at
least the default similarity is found.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from benchmarks.machine import describe_machine
from limelight.formats import read_pairs
from limelight.formats.translation_memory import LEAST, open_memory
from limelight.text.words import words_and_signs

TEXTS = 200
INDEX = """
import sys, time
from pathlib import Path
from limelight.formats.translation_memory import open_memory
began = time.process_time()
open_memory(sys.argv[1], "en", "de")
peak = next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print([time.process_time() - began, int(peak)])
"""


def exchanged(text: str, word: str, draw: Random) -> str:
    """The text with another word at a random place."""
    words = text.split()
    words[draw.randrange(len(words))] = word
    return " ".join(words)


def write_memory(path: Path, text: str, segments: int, draw: Random) -> list[str]:
    """Write the memory; returns its sources."""
    pairs = [(pair.source, pair.target) for pair in read_pairs([text])][:segments]
    words = [word for source, _ in pairs for word in source.split()]
    given = len(pairs)
    while len(pairs) < segments:
        source, target = pairs[len(pairs) % given]
        pairs.append((exchanged(source, draw.choice(words), draw), target))
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return [source for source, _ in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", required=True)
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw = Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.tsv"
        sources = write_memory(path, asked.text, asked.segments, draw)
        texts = [exchanged(draw.choice(sources), "penguin", draw) for _ in range(TEXTS)]
        built, peak = json.loads(subprocess.check_output([sys.executable, "-c", INDEX, path]))
        memory = open_memory(path, "en", "de")
        size, seconds, found = memory.index.stat().st_size, list[float](), list[float]()
        for text in texts:
            began = time.process_time()
            matches = memory.find(text)
            seconds.append(time.process_time() - began)
            found.append(matches[0].similarity if matches else 0.0)
    tokens = [words_and_signs(source.casefold()) for source in sources]
    best = [
        process.extractOne(
            words_and_signs(text.casefold()), tokens, scorer=Levenshtein.normalized_similarity, score_cutoff=LEAST
        )
        for text in texts
    ]
    there = [(one, each[1]) for one, each in zip(found, best, strict=True) if each is not None]
    ordered = sorted(seconds)
    figures = {
        "machine": describe_machine(),
        "segments": len(sources),
        "index_cpu_seconds": round(built, 1),
        "index_megabytes": round(size / 1e6),
        "peak_megabytes": round(peak / 1024),
        "look_up_cpu_ms_median": round(1000 * ordered[TEXTS // 2], 2),
        "look_up_cpu_ms_p95": round(1000 * ordered[TEXTS * 95 // 100], 2),
        "texts_with_a_match": len(there),
        "best_match_found": sum(one >= min(other, 0.99) - 1e-9 for one, other in there),
    }
    print(json.dumps(figures, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()

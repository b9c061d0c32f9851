"""Whether a change of the code changed translations: records them under several settings, and compares later.

    python -m benchmarks.golden FOLDER          # records the first time, compares from then on

Record with the code before a change, on the machine that compares: rounding differs between processors. Texts are our
own: those of the card, and paragraphs, capitals, numbers, names of variables and tags.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from limelight.decoding.sampling import Sampling
from limelight.pipelines.load import load_translator
from limelight.pipelines.translation import Translation
from limelight.pipelines.translator import Translator
from limelight.storage.layout import DEFAULT

SAMPLES = Path(__file__).parent / "box_samples"
FURTHER = (
    "The dog sleeps. The cat sees the dog!\n\n  Is it late? It is half past nine.\n",
    "DO NOT OPEN THE WINDOW",
    "The Old House Of My Aunt Is Small",
    "“Come in,” she said, “and close the door.”",
    "The parcel weighs 1,234.5 kg and costs 99 euros.",
    "On 24 December 2023 at 17:30 we met 12 friends.",
    "Hello {name}, you have %d new messages.",
    "Write to info@example.org or see https://example.org/a?b=1 for details.",
    "Press <b>Enter</b> to start, or <a href='x'>read the manual</a>.",
    "%(count)s of {{total}} files were copied. ${user} can see them.",
    "",
    "   ",
    "12345",
    "go go go go go go go go go go go go",
    "I see a a a a a a a a a.",
    "It",
    "He said nothing. " * 12,
)
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "greedy": {"beam_size": 1},
    "greedy, no guards": {"beam_size": 1, "guards": False},
    "lines, no guards, beam 5": {"beam_size": 5, "lines": True, "guards": False, "length_penalty": 1.0},
    "n-best": {"beam_size": 4, "n_best": 3},
    "sampling": {"sampling": Sampling(temperature=0.8, top_k=20, seed=7), "n_best": 2},
    "excluded": {"must_not_include": ["Hund", "die"]},
    "included": {"must_include": ["heute|Heute"]},
    "no repeats": {"no_repeat_ngram": 2, "max_length_factor": 1.2, "beam_size": 2},
}
NEAR = 1e-4
"""Maximum difference of scores and confidence, for the order of additions."""
SHOWN = 10


def main(
    folder: Annotated[Path, typer.Argument(help="Where translations are kept.")],
    model: Annotated[str, typer.Option(help="A model that translates from English.")] = DEFAULT,
    precision: Annotated[str, typer.Option(help="fp32, bf16 or int8.")] = "fp32",
    to: Annotated[str, typer.Option(help="The target language.")] = "de",
) -> None:
    """Record, or compare; exits with 1 if there are differences."""
    translator = load_translator(model, precision=precision)
    different = compare(translator, folder / f"golden-{precision}.json", target_lang=to)
    for line in different[:SHOWN]:
        print(line)
    print(f"{len(different):,} differences")
    if different:
        raise typer.Exit(1)


def texts() -> list[str]:
    """All texts."""
    files = sorted(SAMPLES.glob("*.txt"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()] + list(FURTHER)


def compare(translator: Translator, file: Path, *, target_lang: str = "") -> list[str]:
    """A line for each difference to the translations in a file, which is written if it does not exist."""
    direction: dict[str, Any] = {"source_lang": "en", "target_lang": target_lang} if target_lang else {}
    found = {
        name: [_plain(each) for each in translator.translate(texts(), **direction, **options)]
        for name, options in SETTINGS.items()
    }
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        return []
    recorded = json.loads(file.read_text(encoding="utf-8"))
    return [line for name in SETTINGS for line in _differences(name, recorded.get(name, []), found[name])]


def _differences(name: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[str]:
    if len(before) != len(after):
        yield f"{name}: {len(before)} translations became {len(after)}"
        return
    for old, new in zip(before, after, strict=True):
        for key in old:
            if not _near(old[key], new.get(key)):
                yield f"{name}: {old['source']!r}: {key}: {old[key]!r} became {new.get(key)!r}"


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=NEAR, abs_tol=NEAR)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_near, one, other))
    return bool(one == other)


def _plain(translation: Translation) -> dict[str, Any]:
    """What is compared."""
    return {
        "source": translation.source,
        "text": translation.text,
        "tokens": list(translation.tokens),
        "score": translation.score,
        "log_probability": translation.log_probability,
        "confidence": translation.confidence,
        "finished": translation.finished,
        "warnings": list(translation.warnings),
        "alternatives": [[each.text, each.score] for each in translation.alternatives],
    }


if __name__ == "__main__":
    typer.run(main)

"""Sentences with numbers of every notation: how many translations change a value, and of how many of these it is said.

    python -m benchmarks.number_sentences --model RUN --from en --to de [--count 480] [--no-guards]

Templates and numbers are ours and drawn with a seed; `benchmarks/values.py` checks the translations.
"""

import argparse
import csv
import sys
from collections import Counter
from random import Random
from typing import NamedTuple

from benchmarks.robustness import INPUTS
from benchmarks.values import MONTHS, differs

COUNT = 480

TEMPLATES = INPUTS / "number_templates.tsv"
SEPARATORS = {"en": (".", ","), "de": (",", "."), "fr": (",", "\u202f")}
"""The decimal point and the separator of thousands."""


class Given(NamedTuple):
    """A sentence, and the values that its translation must have."""

    kind: str
    text: str
    values: tuple[str, ...]


def sentences(language: str, count: int = COUNT, seed: int = 1) -> list[Given]:
    """Different sentences, of all kinds and templates in turn."""
    draw = Random(seed)
    with TEMPLATES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    templates = [(row["kind"], row["template"]) for row in rows if row["language"] == language]
    found: dict[str, Given] = {}
    while len(found) < count:
        kind, template = templates[len(found) % len(templates)]
        value, written = _drawn(kind, language, draw)
        text = template.format(written)
        found.setdefault(text, Given(kind, text, (value,)))
    return list(found.values())


def _drawn(kind: str, language: str, draw: Random) -> tuple[str, str]:
    """A value for `benchmarks.values`, and how the language writes it."""
    if kind == "version":
        version = ".".join(str(draw.randint(0 if place else 1, 19)) for place in range(draw.choice((2, 3, 3, 4))))
        return f"={version}", version
    if kind == "time":
        hour, minute = draw.randint(1, 23), draw.choice((0, 5, 10, 20, 25, 30, 35, 40, 50))
        return f"{hour}:{minute:02}", _time(hour, minute, language, draw)
    if kind == "date":
        year, month, day = draw.randint(1950, 2040), draw.randint(1, 12), draw.randint(1, 28)
        return f"{year}-{month:02}-{day:02}", _date(year, month, day, language, draw)
    units = {
        "price": ("$", "€", "£") if language == "en" else ("€", "€", "$"),
        "dose": ("mg", "g", "kg", "ml", "l", "m", "cm", "km"),
        "percent": ("%",),
        "degrees": ("°C",),
    }
    number = _number(kind, draw)
    written = _written(number, language)
    if kind not in units:
        return number, written
    unit = draw.choice(units[kind])
    first = kind == "price" and language == "en"
    space = "" if language == "en" and kind == "percent" else " " if language != "fr" else "\u00a0"
    return f"{number} {unit}", f"{unit}{written}" if first else f"{written}{space}{unit}"


def _number(kind: str, draw: Random) -> str:
    """A number with a decimal point."""
    if kind == "grouped":
        return str(draw.choice((draw.randint(1001, 9999), draw.randint(10_000, 999_999), draw.randint(10**6, 10**8))))
    if kind == "price":
        whole = draw.choice((draw.randint(1, 99), draw.randint(1, 99), draw.randint(1000, 99_999)))
        return f"{whole}.{draw.randint(1, 99):02}"
    if kind == "percent":
        return draw.choice((f"{draw.randint(0, 99)}.{draw.randint(1, 9)}", str(draw.randint(13, 99))))
    if kind == "degrees":
        return f"{draw.choice(('', '-'))}{draw.randint(0, 40)}.{draw.randint(1, 9)}"
    places = draw.randint(1, 3)
    return f"{draw.choice((0, draw.randint(1, 20), draw.randint(20, 300)))}.{draw.randint(1, 10**places - 1):0{places}}"


def _written(number: str, language: str) -> str:
    point, group = SEPARATORS[language]
    whole, _, decimals = number.lstrip("-").partition(".")
    grouped = f"{int(whole):,}".replace(",", group)
    return "-" * number.startswith("-") + grouped + (point + decimals if decimals else "")


def _time(hour: int, minute: int, language: str, draw: Random) -> str:
    if language == "de":
        return f"{hour}:{minute:02} Uhr" if minute else f"{hour} Uhr"
    if language == "fr":
        return f"{hour} h {minute:02}" if minute else f"{hour} h"
    if draw.random() < 0.5 or hour == 0:
        return f"{hour}:{minute:02}"
    half = "am" if hour < 12 else "pm"
    return f"{hour % 12 or 12}:{minute:02} {half}" if minute else f"{hour % 12 or 12} {half}"


def _date(year: int, month: int, day: int, language: str, draw: Random) -> str:
    name = MONTHS[language].split()[month - 1]
    if draw.random() < 0.5:
        return {
            "en": f"{month}/{day}/{year}",
            "de": f"{day:02}.{month:02}.{year}",
            "fr": f"{day:02}/{month:02}/{year}",
        }[language]
    return {"en": f"{name} {day}, {year}", "de": f"{day}. {name} {year}", "fr": f"{day} {name} {year}"}[language]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="run or model folder")
    parser.add_argument("--from", dest="source", required=True, help="language of the sentences")
    parser.add_argument("--to", dest="target", required=True, help="language to translate into")
    parser.add_argument("--count", type=int, default=COUNT, help="number of sentences")
    parser.add_argument("--seed", type=int, default=1, help="draws other numbers")
    parser.add_argument("--no-guards", action="store_true", help="what the model's search finds, as it is")
    given = parser.parse_args()
    if not {given.source, given.target} <= SEPARATORS.keys():
        parser.error(f"--from {given.source} --to {given.target}: the languages are {', '.join(SEPARATORS)}")
    import limelight

    inputs = sentences(given.source, given.count, given.seed)
    translator = limelight.load(given.model)
    outputs = translator.translate(
        [each.text for each in inputs],
        source_lang=given.source,
        target_lang=given.target,
        guards=not given.no_guards,
    )
    counts, wrong, warned, alarms = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for each, output in zip(inputs, outputs, strict=True):
        is_warned = bool({"number lost", "number added", "unit lost"} & set(output.warnings))
        is_wrong = differs(each.values, output.text, given.target)
        counts[each.kind] += 1
        wrong[each.kind] += is_wrong
        warned[each.kind] += is_wrong and is_warned
        alarms[each.kind] += is_warned and not is_wrong
        if is_wrong or is_warned:
            state = "wrong" if is_wrong else "right"
            print(f"{each.kind}: {state}: {each.text!r} -> {output.text!r} {output.warnings}", file=sys.stderr)
    print(f"{'kind':10}{'sentences':>10}{'wrong':>7}{'of these warned of':>20}{'right, but warned of':>22}")
    for kind in counts:
        print(f"{kind:10}{counts[kind]:>10}{wrong[kind]:>7}{warned[kind]:>20}{alarms[kind]:>22}")
    print(f"{'all':10}{counts.total():>10}{wrong.total():>7}{warned.total():>20}{alarms.total():>22}")


if __name__ == "__main__":
    main()

"""Inputs that break translators, each with properties that a machine can check.

    python -m benchmarks.robustness --model RUN --from en --to de

The inputs are ours: `benchmarks/robustness_inputs/{en,de,fr}.tsv`, 21 per category and language. They were written
before the bundled model was trained and never change to suit it. A column `keep` lists what must come through as it is;
a column named after a target language lists words of which a right translation contains at least one. In the categories
of `VALUES`, `keep` has values as `benchmarks/values.py` writes them.
"""

import argparse
import csv
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sacrebleu

from benchmarks.values import GROUPS, POINTS, differs, form_of

INPUTS = Path(__file__).parent / "robustness_inputs"
LANGUAGES = ("en", "de", "fr")
DIRECTIONS = (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))

LONGEST = 3.0
"""No output has more than this many times the characters of its input."""
SHORTEST = 0.5
"""A paragraph keeps at least this share of its characters..."""
SENTENCES = 0.7
"""...and of its sentences."""
UPPER = 0.9
"""Share of the letters of a translation of ALL CAPS that are capitals."""
SAME = 50.0
"""chrF between input and output from which text in the target language counts as left alone."""

QUOTES = re.compile(r"[\"„“”«»‹›]|(?<!\w)['‘‚]|['’](?!\w)")
MARKER = re.compile(r"\s*(?:[-*•]|\d+[.)]|[a-z]\))(?=\s)")
SENTENCE_END = re.compile(r"[.!?…]+(?=[\"“”»]?(?:\s|$))")
VALUES = ("decimals", "prices", "doses", "versions", "times", "numeric dates")
"""Categories whose numbers have to have these values in the translation, and no others."""


@dataclass(frozen=True, slots=True)
class Input:
    """A text with what must hold of its translation."""

    category: str
    text: str
    keep: tuple[str, ...]
    """Names, numbers, addresses and the like that come through as they are."""
    any_of: tuple[str, ...]
    """Beginnings of words, lower-cased, of which the translation contains one; empty for no such check."""
    languages: tuple[str, str] = ("en", "de")
    """Of the text and of its translation."""


def read_inputs(source: str, target: str) -> list[Input]:
    """All inputs of a direction. Text that is in the target language already comes from that language's own file."""
    rows = [_input(row, source, target) for row in _rows(source) if row["category"] != "plain"]
    already = [
        Input("target", row["text"], (), (), (source, target)) for row in _rows(target) if row["category"] == "plain"
    ]
    return rows + already


def faults(given: Input, output: str) -> list[str]:
    """The names of the properties that a translation breaks; an empty list for a good one."""
    if not output.strip():
        return ["empty"]
    checks = (*EVERYWHERE, *CHECKS.get(given.category, ()))
    return [name for name, holds in checks if not holds(given, output)]


def _rows(language: str) -> Iterator[dict[str, str]]:
    with open(INPUTS / f"{language}.tsv", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def _input(row: dict[str, str], source: str, target: str) -> Input:
    keep, any_of = (tuple(filter(None, row[name].split(";"))) for name in ("keep", target))
    return Input(row["category"], row["text"].replace("\\n", "\n"), keep, any_of, (source, target))


def _no_loop(given: Input, output: str) -> bool:
    """No one to four words stand three times in a row where they do not in the input; single words four times."""
    for size, times in ((1, 4), (2, 3), (3, 3), (4, 3)):
        if _longest_run(output, size) >= max(times, 1 + _longest_run(given.text, size)):
            return False
    return True


def _longest_run(text: str, size: int) -> int:
    """How often the same `size` words follow themselves, at most."""
    words = re.findall(r"\w+", text.casefold())
    best = 0
    for start in range(size):
        groups = [tuple(words[place : place + size]) for place in range(start, len(words) - size + 1, size)]
        run = 0
        for place, group in enumerate(groups):
            run = run + 1 if place and group == groups[place - 1] else 1
            best = max(best, run)
    return best


def _bounded(given: Input, output: str) -> bool:
    return len(output) <= LONGEST * len(given.text)


def _kept(given: Input, output: str) -> bool:
    plain = output.replace("\ufe0f", "")  # a variation selector is invisible
    return all(item.replace("\ufe0f", "") in plain for item in given.keep)


def _numbers_kept(given: Input, output: str) -> bool:
    """Each number has the same value; 1,000 may become 1.000 or 1 000 in German."""
    point, group = POINTS[given.languages[0]], GROUPS[given.languages[0]]
    for item in given.keep:
        form = re.escape(item)
        if not re.fullmatch(r"\d+ \d{4}", item):  # no telephone number
            form = form_of(re.sub(f"[{group}]", "", item).replace(point, "."), given.languages[1])
        if not re.search(form, output):
            return False
    return True


def _dates_kept(given: Input, output: str) -> bool:
    """Each part of a date or time occurs, alone or in a date or time in digits."""
    joined = r"\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{4}-\d{1,2}-\d{1,2}|\d{1,2}(?:[:.]| ?h ?)\d{2}(?![\d.,])"
    tokens = re.findall(rf"{joined}|\d+(?:[.,/-]\d+)*", output.replace("\u00a0", " ").replace("\u202f", " "))
    parts = [
        part for token in tokens for part in (re.findall(r"\d+", token) if re.fullmatch(joined, token) else [token])
    ]
    return all(any(part.lstrip("0") == item.lstrip("0") for part in parts) for item in given.keep)


def _values_kept(given: Input, output: str) -> bool:
    return not differs(given.keep, output, given.languages[1])


def _meant(given: Input, output: str) -> bool:
    lowered = output.lower()
    return not given.any_of or any(word in lowered for word in given.any_of)


def _not_copied(given: Input, output: str) -> bool:
    return output.casefold().strip() != given.text.casefold().strip()


def _capitals(_given: Input, output: str) -> bool:
    letters = [letter for letter in output if letter.upper() != letter.lower()]
    return sum(letter.isupper() for letter in letters) >= UPPER * len(letters)


def _no_end_added(_given: Input, output: str) -> bool:
    return not output.rstrip().endswith((".", "!", "?", "…"))


def _quoted(given: Input, output: str) -> bool:
    return len(QUOTES.findall(output)) >= len(QUOTES.findall(given.text))


def _lines_kept(given: Input, output: str) -> bool:
    return output.count("\n") == given.text.count("\n")


def _markers_kept(given: Input, output: str) -> bool:
    return [_marker(line) for line in output.split("\n")] == [_marker(line) for line in given.text.split("\n")]


def _marker(line: str) -> str:
    found = MARKER.match(line)
    return found.group().strip() if found else ""


def _sentences_kept(given: Input, output: str) -> bool:
    return len(SENTENCE_END.findall(output)) >= SENTENCES * len(SENTENCE_END.findall(given.text))


def _not_cut(given: Input, output: str) -> bool:
    return len(output) >= SHORTEST * len(given.text)


def _left_alone(given: Input, output: str) -> bool:
    return sacrebleu.sentence_chrf(output, [given.text]).score >= SAME


Check = tuple[str, Callable[[Input, str], bool]]
EVERYWHERE: tuple[Check, ...] = (("loop", _no_loop), ("too long", _bounded))
MEANING: tuple[Check, ...] = (("meaning lost", _meant),)
TRANSLATED: tuple[Check, ...] = (*MEANING, ("copied", _not_copied))
CHECKS: dict[str, tuple[Check, ...]] = {
    "names": (("name lost", _kept),),
    "numbers": (("number lost", _numbers_kept),),
    "dates": (("number lost", _dates_kept),),
    **dict.fromkeys(VALUES, (("value changed", _values_kept),)),
    "caps": (*TRANSLATED, ("capitals lost", _capitals)),
    "title": TRANSLATED,
    "word": MEANING,
    "emoji": (("emoji lost", _kept),),
    "links": (("address lost", _kept),),
    "paragraph": (("line breaks", _lines_kept), ("sentence lost", _sentences_kept), ("cut", _not_cut)),
    "script": (("foreign word lost", _kept),),
    "typos": TRANSLATED,
    "bare": (*TRANSLATED, ("punctuation added", _no_end_added)),
    "quotes": (*TRANSLATED, ("quotation marks lost", _quoted), ("name lost", _kept)),
    "lists": (*MEANING, ("line breaks", _lines_kept), ("list marks lost", _markers_kept)),
    "target": (("changed", _left_alone),),
}
"""What is checked beside `EVERYWHERE`, by category."""


def report(inputs: Sequence[Input], outputs: Sequence[str]) -> str:
    """A line per category (how many of its inputs have no fault, and which faults there are), and one for all."""
    lines, good_of_all = [f"{'category':12}{'good':>9}  faults"], 0
    for category in CHECKS:
        found = [
            faults(given, output) for given, output in zip(inputs, outputs, strict=True) if given.category == category
        ]
        good = sum(not names for names in found)
        good_of_all += good
        named = sorted({name for names in found for name in names})
        counts = ", ".join(f"{name} {sum(name in names for names in found)}" for name in named)
        lines.append(f"{category:12}{good:>4}/{len(found):<4}  {counts}".rstrip())
    return "\n".join([*lines, f"{'all':12}{good_of_all:>4}/{len(inputs):<4}".rstrip()])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="run or model folder")
    parser.add_argument("--from", dest="source", choices=LANGUAGES, required=True, help="language of the inputs")
    parser.add_argument("--to", dest="target", choices=LANGUAGES, required=True, help="language to translate into")
    parser.add_argument("--no-guards", action="store_true", help="what the model's search finds, as it is")
    given = parser.parse_args()
    if (given.source, given.target) not in DIRECTIONS:
        parser.error(f"--from {given.source} --to {given.target}: there are inputs for {DIRECTIONS}")
    import limelight

    inputs = read_inputs(given.source, given.target)
    translator = limelight.load(given.model)
    translations = translator.translate(
        [each.text for each in inputs],
        source_lang=given.source,
        target_lang=given.target,
        guards=not given.no_guards,
    )
    outputs = [translation.text for translation in translations]
    print(report(inputs, outputs))
    for each, output in zip(inputs, outputs, strict=True):
        for name in faults(each, output):
            print(f"{each.category}: {name}: {each.text!r} -> {output!r}", file=sys.stderr)


if __name__ == "__main__":
    main()

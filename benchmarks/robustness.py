"""Inputs that break translators, each with properties that a program can check.

    python -m benchmarks.robustness --model RUN --from en --to de

They are in `benchmarks/robustness_inputs/{en,de,fr}.tsv`, 21 of ours per category and language. They were written
before the bundled model was trained and never change to suit it. A column `keep` lists what must come through as it is;
a column named after a target language lists words of which a right translation contains at least one.

A parser of numbers could make the same mistake as the one that it checks. So nothing is parsed here: of each expected
value (`0.5 mg`, `17:30`, `2027-12-05`, `=1.2.3` as it is) all accepted forms are generated, and the rest of the
translation must have no digit.
"""

import csv
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

import sacrebleu
import typer

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


def _rows(name: str) -> Iterator[dict[str, str]]:
    with open(INPUTS / f"{name}.tsv", encoding="utf-8", newline="") as file:
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


# --- forms of a value ---

SPACE = "[ \u00a0\u202f]"
GROUPS = {"en": ",", "de": ".", "fr": " \u00a0\u202f."}
"""The separators of thousands that mean nothing else in a language."""
POINTS = {"en": ".", "de": ",", "fr": ","}
UNITS = {
    "mg": "mg|[Mm]illigram(?:m|s|me|mes)?",
    "g": "g|[Gg]ram(?:m|s|me|mes)?",
    "kg": "kg|[Kk]ilo(?:gram(?:m|s|me|mes)?|s)?",
    "ml": "ml|[Mm]illilit(?:er|ers|re|res)",
    "l": "l|[Ll]it(?:er|ers|ern|re|res)",
    "km": "km|[Kk]ilom(?:eter|eters|etern|etre|etres|ètre|ètres)",
    "m": "m|[Mm](?:eter|eters|etern|etre|etres|ètre|ètres)",
    "cm": "cm|(?:[Cc]enti|[Zz]enti)m(?:eter|eters|etern|etre|etres|ètre|ètres)",
    "km/h": "km/h|kmh|kph|(?:[Kk]ilom\\w+|[Ss]tundenkilom\\w+)(?: (?:an|per|pro|par|à|l.)\\s?\\w+)*",
    "°C": "°C|°|[Gg]rad|[Dd]egrees?|degrés?",
    "%": "%|[Pp]er ?cent|[Pp]rozent|pour cent",
    "$": r"\$|[Dd]ollars?|USD",
    "€": "€|[Ee]uros?|EUR",
    "£": "£|[Pp]ounds?|[Pp]fund|livres?(?: sterling)?|GBP",
    "GB": "GB|[Gg]igabytes?|Go|gigaoctets?",
    "kWh": "kWh|[Kk]ilowatt\\w*(?: \\w+)?",
}
CURRENCIES = {"$": r"\$|USD", "€": "€|EUR", "£": "£|GBP"}
"""What may also precede the number."""
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
HOURS = {
    "en": "twelve one two three four five six seven eight nine ten eleven",
    "de": "zwölf ein(?:s)? zwei drei vier fünf sechs sieben acht neun zehn elf",
    "fr": "douze une deux trois quatre cinq six sept huit neuf dix onze",
}
"""The hours of the clock from 12 on."""
TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix",
}
LATE = {
    "en": r"(?:p\.?m\.?|in the (?:afternoon|evening)|at night|o'clock in the (?:afternoon|evening))",
    "de": "(?:Uhr )?(?:nachmittags|abends|nachts|am (?:Nachmittag|Abend)|mittags)",
    "fr": "(?:heures )?(?:de l.après-midi|du soir|de la nuit)",
}
EARLY = {
    "en": r"(?:a\.?m\.?|in the morning|o'clock(?: in the morning)?)",
    "de": "(?:Uhr(?: morgens| früh| vormittags)?|morgens|früh|vormittags)",
    "fr": "(?:h|heures?)(?: du matin)?",
}

DATE = re.compile(r"\d{4}-\d\d-\d\d")


def differs(values: tuple[str, ...], output: str, target: str) -> bool:
    """Whether an output in a language lacks one of the values, or has another number."""
    for value in sorted(values, key=len, reverse=True):
        rest, found = re.subn(form_of(value, target), " ", output, count=1)
        parts = [] if found else _date_parts(value, target)
        for part in parts:  # the parts of a date may be apart
            rest, found = re.subn(part, " ", rest, count=1)
            if not found:
                return True
        if not found:
            return True
        output = rest
    return re.search(r"\d", output) is not None


def form_of(value: str, target: str) -> str:
    """A regular expression of all forms of a value in a language."""
    if value.startswith("="):
        return _alone(re.escape(value[1:]))
    if re.fullmatch(r"\d+:\d\d", value):
        return _alone("|".join(_times(value, target)))
    if DATE.fullmatch(value):
        return _alone("|".join(_dates(value, target)))
    number, _, unit = value.partition(" ")
    forms = _quantities(number, target)
    if not unit:
        return forms
    before = f"(?:{CURRENCIES[unit]}){SPACE}?{forms}|" if unit in CURRENCIES else ""
    return rf"(?:{before}{forms}{SPACE}{{0,2}}-?(?:{UNITS[unit]})(?!\w))"


def _alone(forms: str) -> str:
    """Not as a part of a longer number or word."""
    return rf"(?<![\w])(?<!\d[.,'’:/-])(?:{forms})(?!\w)(?![.,'’:/-]\d)"


def _quantities(number: str, target: str) -> str:
    """All forms of a number with a decimal point or without one."""
    whole, _, decimals = number.lstrip("-").partition(".")
    forms = set[str]()
    fractions = {decimals, decimals.rstrip("0"), decimals.ljust(2, "0")} if decimals else {""}
    for fraction, point, group in product(fractions, ".,", ["", *",.'’ \u00a0\u202f"]):
        grouped = f"{int(whole):,}".replace(",", group) if group else whole
        is_grouped = grouped != whole
        if point == group or (is_grouped and not fraction and group in ".," and group not in GROUPS[target]):
            continue
        if fraction and point != POINTS[target] and not is_grouped and len(fraction) == 3 and whole != "0":
            continue  # its point would divide thousands
        forms.add(re.escape(grouped + (point + fraction if fraction else "")))
    if decimals == "" and int(whole) <= 12:
        forms |= {rf"(?i:{HOURS[target].split()[int(whole) % 12]})\b"} if int(whole) else set()
    if decimals == "" and int(whole) in range(20, 100, 10):
        forms |= {rf"(?i:{TENS[target].split()[int(whole) // 10 - 2]})\b"}
    alternatives = "|".join(sorted(forms, key=len, reverse=True))
    before = "(?:[-−–]|minus |moins )" if number.startswith("-") else r"(?<![\s(][-−])(?<!\d)(?<!\d[.,'’:/])"
    return rf"{before}(?:{alternatives})(?!\d)(?![.,'’:/]\d)"


def _times(value: str, target: str) -> list[str]:
    hour, minute = map(int, value.split(":"))
    twelve, words = hour % 12 or 12, HOURS[target].split()
    part = (LATE if hour >= 12 else EARLY)[target]
    forms = [rf"0?{hour}[:.]{minute:02}(?:[:.]00)?(?:{SPACE}?(?:Uhr|h|heures|o'clock))?"]
    forms += [rf"{hour}{SPACE}?(?:h|Uhr|heures?){SPACE}?{format(minute, '02') if minute else '(?:00)?'}"]
    half = r"[Aa]\.?[Mm]\.?" if hour < 12 else r"[Pp]\.?[Mm]\.?"
    forms += [rf"{twelve}(?:[:.]{minute:02}){'?' if minute == 0 else ''}{SPACE}?{half}"]
    forms += [rf"{twelve}[:.]{minute:02}{SPACE}?{part}", rf"{twelve}{SPACE}?h{SPACE}?{minute:02} {part}"]
    if hour < 12 and target == "en":
        forms += [rf"{hour}[:.]{minute:02}"]
    if minute == 0:
        forms += [rf"{hour}{SPACE}?(?:Uhr|h|heures?|o'clock)", rf"{twelve}{SPACE}?{part}"]
        forms += [rf"{words[hour % 12]} (?:Uhr|heures?|o'clock)"] if hour <= 12 else []
        forms += [str(hour)]
    if minute == 30:
        spoken = {"en": f"half past {words[hour % 12]}", "de": f"halb {words[(hour + 1) % 12]}"}
        forms += [spoken.get(target, rf"{words[hour % 12]} heures? et demie"), rf"{words[hour % 12]} Uhr dreißig"]
        forms += {"de": [f"{hour} Uhr dreißig"], "fr": [f"{hour} heures? trente"]}.get(target, [])
    return sorted(forms, key=len, reverse=True)


def _dates(value: str, target: str) -> list[str]:
    year, month, day = map(int, value.split("-"))
    name = MONTHS[target].split()[month - 1]
    both = rf"0?{day}[./-]0?{month}[./-]{year}", rf"0?{month}/0?{day}/{year}"
    named = {
        "en": [rf"{name} {day}(?:st|nd|rd|th)?,? {year}", rf"{day}(?:st|nd|rd|th)?(?: of)? {name},? {year}"],
        "de": [rf"{day}\. {name} {year}"],
        "fr": [rf"{day}(?:er)? {name} {year}"],
    }
    return [value, *both, *named[target]]


def _date_parts(value: str, target: str) -> list[str]:
    """Forms of the year, the name of the month, and the day; empty for other values."""
    if not DATE.fullmatch(value):
        return []
    year, month, day = map(int, value.split("-"))
    return [_alone(str(year)), MONTHS[target].split()[month - 1], _alone(rf"{day}(?:st|nd|rd|th|er|\.)?")]


def main(
    model: Annotated[str, typer.Option(help="Run or model folder, or the name of a bundled model.")],
    source: Annotated[str, typer.Option("--from", help="Language of the inputs.")],
    target: Annotated[str, typer.Option("--to", help="Language to translate into.")],
    no_guards: Annotated[bool, typer.Option("--no-guards", help="What the model's search finds, as it is.")] = False,
) -> None:
    """The inputs of the files."""
    import limelight

    if source not in LANGUAGES or target not in LANGUAGES:
        raise typer.BadParameter(f"--from {source} --to {target}: the languages are {', '.join(LANGUAGES)}")
    inputs = read_inputs(source, target)
    texts = [each.text for each in inputs]
    found = limelight.load(model).translate(texts, source_lang=source, target_lang=target, guards=not no_guards)
    outputs = [each.text for each in found]
    print(report(inputs, outputs))
    for each, output in zip(inputs, outputs, strict=True):
        for name in faults(each, output):
            print(f"{each.category}: {name}: {each.text!r} -> {output!r}", file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)

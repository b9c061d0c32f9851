"""The forms in which a value may be written, to check numbers of translations without reading them.

A parser of numbers could make the same mistake as the one that it checks. So nothing is parsed here: of each expected
value all accepted forms are generated, and what is left of a translation without them must have no digit.

    0.5 mg        a quantity, with a decimal point, and its unit or currency
    17:30         a time of day in 24 hours
    2027-12-05    a date
    =1.2.3        what has to be kept as it is
"""

import re
from itertools import product

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

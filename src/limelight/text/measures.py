"""Units and currencies beside numbers: which forms of a unit a translation may have.

A unit of the source that has no form in the translation, or fewer than there are numbers with it, is lost. A unit of
the translation that has no form in the source is another one: 72 hours for "72 ans", 21 o'clock for "the 21st".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from limelight.text.languages import normal_code
from limelight.text.number_words import word_values

LANGUAGES = ("en", "de", "fr")
"""The languages whose words for units are known; in others units are not compared."""

CURRENCIES = "$€£¥₹₽₩"
"""Signs that may precede the number."""

_UNITS = """
mg:
µg: μg mcg mikrogram microgram
g: gr
kg:
t:
mm:
cm:
dm: dezim decim
km: stundenkilom
m: million mio
km/h: kmh kph kilom stundenkilom
mph: meile. mile. mille. stundenmeile
ft: fuss
lb: lbs pfund. livre.
lbs: lb pound. pfund. livre.
oz:
tsp: teelöffel café TL
tbsp: esslöffel soupe EL
min: Min mn minut *minüt hour stund *viertelstund heure
k: K tsd tausend thousand mille
bn: billion milliard mrd md
m/s: meter. metre. mètre.
m²: m2 quadratm square carré qm
qm: m² m2 quadratm square carré
km²: km2 quadratk square carré qkm
m³: m3 kubikm cubic cube
l: L
ml: mL
cl: centilit zentilit
dl: dezilit decilit
°C: ° º grad degr celsius
°F: ° grad degr fahrenheit
°: º grad degr °C °F
%: *prozent percent per-cent pourcent pour-cent
‰: promille pour-mille per-mille
KB: KiB kB ko Ko kilob kiloo
MB: MiB Mo megab mégao
GB: GiB Go gigab gigao
TB: TiB To terab térao
Ko: KB kB ko kilob kiloo
ko: KB kB kilob kiloo
Mo: MiB MB megab mégao
Go: GiB GB gigab gigao
To: TiB TB terab térao
GHz: gigah
MHz: megah mégah
kHz: kiloh
Hz: hertz
kWh: kilow
kW: kilow
MW: megaw mégaw
W: watt.
kV: kilov
V: volt.
mA: milliam
mAh: Ah milliam
Wh: watt
lm: lumen
psi:
kPa: kilop
rpm: U/min tr/min umdreh tour.
Mbit/s: Mbps megab mégab
A: amp. ampere. ampère.
hPa: hektop hectop
dB: dezib decib décib
ms: millis
€: EUR
$: USD US$ buck
ct: Ct ¢
¢: ct Ct cent. centime.
£: GBP pound. pfund. livre.
¥: JPY CNY yuan.
₹: INR rupie rupee roupie
₽: RUB rubel rubl rouble roubl ruble
₩: KRW won.
CHF: Fr.
Fr.: CHF franc frank
DM: mark. DEM
EUR: € euro.
USD: $ dollar.
GBP: £ pound. pfund. livre.
JPY: ¥ yen.
kcal: kilok
kJ: kiloj
ppm:
px: pixel
dpi:
"""
"""Each symbol with other forms of its unit: beginnings of words, of three or more lower-case letters, with an asterisk
also within words; whole words, which end with a full stop here; symbols."""
_OTHERS = """
mi: meile mph
yd:
gal:
ac:
ha: hekt hectare
in: " ”
st: stein
pence: p penn pfenn
s: sekund *sekünd
hour: h hour heure stund *stünd
day: *day dai tag täg *tägig jour quotid
week: week *woch *wöch semaine hebdo
month: month monat mois mensu
"""
"""The same for units that have a name only beside a number, as words, or after another unit."""
_SPELLED = {
    "mg": "milligram(?:me?s?|s?)", "kg": "kilogram(?:me?s?|s?)|kilos?", "g": "gram(?:me?s?|s?)",
    "km": "kilom[eè]t(?:ern?|re)s?", "cm": "[cz]entim[eè]t(?:ern?|re)s?", "mm": "millim[eè]t(?:ern?|re)s?",
    "m": "m[eè]t(?:ern?|re)s?(?! carré| cube)",
    "m²": "square met(?:er|re)s?|quadratmetern?|m[eè]tres? carrés?", "pence": "pence",
    "m³": "cubic met(?:er|re)s?|kubikmetern?|m[eè]tres? cubes?",
    "ml": "millilit(?:ern?|re)s?", "l": "lit(?:ern?|re)s?", "t": "ton(?:s|nen?|nes)?",
    "ft": "feet|foot|fuß|pieds?", "mi": "miles?|meilen?|milles", "in": "inch(?:es)?|zoll|pouces?",
    "yd": "yards?", "gal": "gall?on(?:s|en)?", "ac": "acres?", "ha": "hectares?|hektar",
    "‰": "promille|p(?:er|our)[ -]mille",
    "lb": "pounds?", "st": "stones?", "oz": "ounces?|unzen?|onces?",
    "%": r"per[ \u00a0]?cent|prozent|pour[ \u00a0]cent|v\.[ \u00a0]?h\.",
    "€": "euros?", "$": "dollars?", "ct": "cents?|centimes?", "¥": "yens?", "CHF": "franken|francs?",
    "s": "seconds?|sekunden?|secondes?", "min": "minut(?:es?|en?)", "hour": "hours?|stunden?",
    "day": "days?|tage?n?|jours?", "week": "weeks?|wochen?|semaines?", "month": "months?|monate?n?|mois",
}  # fmt: skip
"""Words for units in English, German and French."""

_DIGIT = r"[\d½⅓⅔¼¾](?<!:\d\d)(?:[.,][-\u2013\u2212]{1,2})?"
"""The last digit of a number, with the dash of a price such as 3,- Euro."""
_JOINT, _START, _END = "[ \u00a0\u202f-]", r"(?<![^\W\d_])", r"(?![^\W\d_])"
_SCALE = (
    rf"(?:{_JOINT}(?:thousand|tausend|mille|[mb]illions?|millionen|milliarden?|milliards?|bn|mio\.?|mrd\.?)"
    rf"(?:{_JOINT}(?:of|von|de|d['’]))?)?"
)
"""What may stand between a number and its unit: "million", "millions d'"."""


def _rows(table: str) -> Iterator[tuple[str, str]]:
    """The names of a table, each with its other forms."""
    for line in table.strip().splitlines():
        name, _, others = line.partition(":")
        yield name, others


@cache
def _forms(name: str) -> re.Pattern[str]:
    """Matches each form of a unit: symbols as they are, of which the shortest need a digit before them; words in any
    case. Compiled when a unit is first compared: to compile all of them takes longer than most imports."""
    words, symbols = [rf"{_START}(?:{_SPELLED[name]})(?!\w)"] if name in _SPELLED else [], [name]
    for each in _NAMED[name].split():
        if each.startswith("*"):
            words.append(each[1:])
        elif each.endswith(".") and each.islower():
            words.append(rf"{_START}{each[:-1]}(?:[ns]|e[nrs])?(?!\w)")
        elif "-" in each or (len(each) >= 3 and each.isalpha() and each.islower()):
            words.append(_START + each.replace("-", "[ \u00a0]"))
        else:
            symbols.append(each)
    found = list[str]()
    for each in symbols:
        symbol = re.escape(each)
        if each in '"”':
            found.append(_DIGIT + symbol)
        elif not any(map(str.isalpha, each)):  # as in "fünfzig%"
            found.append(symbol)
        elif len(each) == 1 or each in ("in", "st"):
            found.append(rf"{_DIGIT}{_JOINT}?{symbol}{_END}")
        else:
            found.append(rf"{_START}{symbol}{_END}")
    return re.compile("|".join([*found, *[rf"(?i:{'|'.join(words)})"] * bool(words)]))


_NAMED = dict([*_rows(_UNITS), *_rows(_OTHERS)])
_SYMBOLS = "|".join(re.escape(name) for name in sorted(dict(_rows(_UNITS)), key=len, reverse=True))
SYMBOL = rf"(?:{_SYMBOLS})(?![\w²³/'’])"
"""A regular expression for the symbols of all units."""
_BESIDE = re.compile(
    rf"{_DIGIT}(?:(?i:{_SCALE})[ \u00a0\u202f]?|[ \u00a0\u202f]?(?:[Mk]|Mds?)(?=[{CURRENCIES}]))({SYMBOL})"
    rf"|([{CURRENCIES}]|\b(?:EUR|USD|GBP|JPY|CHF|DM)\b)[ \u00a0\u202f]?\d"
)
_ANY_SPELLED = "|".join(f"(?P<u{number}>{words})" for number, words in enumerate(_SPELLED.values()))
_WORD_BESIDE = re.compile(rf"{_DIGIT}{_SCALE}{_JOINT}?(?:{_ANY_SPELLED})(?!\w)", re.IGNORECASE)
_NUMBER_WORD = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w*(?:teen|ty|hundred|thousand|million)"
    r"|\w*(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zig|ßig|hundert|tausend)"
    r"|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingt|\w+ante|cent|mille"
)
_SPOKEN = (
    *("mg", "kg", "g", "km", "cm", "mm", "m²", "m³", "ml", "l", "mi", "in", "yd", "gal", "ac", "ha", "oz", "lb"),
    *("€", "$", "¥", "CHF", "%", "‰"),
)
"""The units that are also compared after a number in words, of which they seldom mean anything else."""
_AFTER_WORD = re.compile(
    rf"(?<!\w)(?:{_NUMBER_WORD}){_SCALE}{_JOINT}(?:"
    + "|".join(f"(?P<u{number}>{_SPELLED[name]})" for number, name in enumerate(_SPOKEN))
    + r")(?!\w)",
    re.IGNORECASE,
)
_STEMS = (
    *("mile", "mille", "meile", "meter", "metre", "mètre", "gram", "kilo", "liter", "litre", "inch", "zoll", "pouce"),
    *("yard", "gallon", "acre", "hekt", "hect", "pound", "ounce", "unze", "once", "euro", "dollar", "yen", "fran"),
    *("cent", "prozent"),
)
"""What a text with such a unit contains."""
_SECOND = re.compile(r"\d ?(?:(st) \d+ ?lbs?|ft \d+ ?(in))(?!\w)")
"""Units that are only sure beside another one: 8 st 4 lb, 5 ft 11 in."""
_FRENCH_HOURS = re.compile(
    r"(?<!\w)(?:tou(?:te)?s les|pendant|durant|dans|depuis|des|ces)[ \u00a0]\d+[ \u00a0]heures(?!\w)", re.IGNORECASE
)
"""Hours that are no time of day."""
_CHAINED = re.compile(
    rf"\d(?=[ \u00a0\u202f]?(?:[-–—/,;x×+]|(?<!\w)(?:und|bis|auf|to|and|by|or|oder|et|ou|à)(?!\w))[ \u00a0\u202f]?"
    rf"[{CURRENCIES}]?\d)"
)
"""A number whose unit may be that of the next one: 5 and 10 kg."""
_AGE_OR_CLOCK = re.compile(
    rf"(?<![\d.,])\b(\d+|[^\W\d_]+){_JOINT}?(?:(?P<year>years?|jahre?n?|ans)|(?P<hour>heures?|uhr|o['’]clock))(?!\w)",
    re.IGNORECASE,
)
_TIMES = "|".join(
    [*(_SPELLED[each] for each in ("s", "min", "hour", "day", "week", "month")), "years?|jahre?n?|ans|heures"]
)
_DATED = re.compile(
    rf"(?<![\d.,])(\d+)(?:(?:st|nd|rd|th|er|ère|i?ème|e)(?!\w)|\.(?= [A-ZÄÖÜ])|{_JOINT}?(?i:{_TIMES})(?!\w))"
)
"""An ordinal, or a number with a unit of time."""
_HOURS_AND_MINUTES = re.compile(r"\d(?:[ \u00a0\u202f]?h[ \u00a0\u202f]?|:)\d\d(?!\d)")
_OF_UNIT = {
    "year": re.compile(r"year|jahr|jähr|(?<!\w)ann?(?:s|ées?)(?!\w)", re.IGNORECASE),
    "hour": re.compile(r"hour|stund|heure|(?<!\w)uhr(?!\w)|clock|\d ?(?:h|[ap]\.?m)(?!\w)|\d:\d", re.IGNORECASE),
}
"""All that says years, or hours and times of day."""


def units_of(text: str) -> list[str]:
    """The units next to numbers, as symbols or words, each once."""
    return list(_amounts(text))


def _amounts(text: str) -> Counter[str]:
    """The units next to numbers, with how many numbers have them."""
    found = Counter(after or before for after, before in _BESIDE.findall(text))
    names = list(_SPELLED)
    found.update(names[int(str(match.lastgroup)[1:])] for match in _WORD_BESIDE.finditer(text))
    found.update(one or other for one, other in _SECOND.findall(text))
    found.update("hour" for _ in _FRENCH_HOURS.finditer(text))
    if may_have_spoken_unit(text):
        for match in _AFTER_WORD.finditer(text):
            found.setdefault(_SPOKEN[int(str(match.lastgroup)[1:])], 1)
    return found


def may_have_spoken_unit(text: str) -> bool:
    """Whether a text may have a unit after a number in words."""
    return any(map(text.lower().__contains__, _STEMS))


def lost_units(source: str, output: str, language: str) -> tuple[str, ...]:
    """The units next to numbers of the source of which the output has no form, or fewer than there are such numbers.
    Empty for a target language whose words are not known."""
    language = normal_code(language)
    if language and language not in LANGUAGES:
        return ()
    wanted = _amounts(source)
    shared = len(_CHAINED.findall(output)) if wanted and max(wanted.values()) > 1 else 0
    return tuple(
        unit
        for unit, count in wanted.items()
        if (there := len(_forms(unit).findall(output))) < count - shared or not there
    )


def other_units(source: str, output: str, languages: tuple[str, str]) -> tuple[str, ...]:
    """The units next to numbers of the output of which the source has no form, and years or hours of a number that has
    another unit there, or is an ordinal. Empty if the words of a language are not known."""
    if not {*map(normal_code, languages)} <= {*LANGUAGES}:
        return ()
    has_time = _HOURS_AND_MINUTES.search(source) is not None
    found = [
        unit for unit in units_of(output) if not (_forms(unit).search(source) or (has_time and unit in ("hour", "min")))
    ]
    dated = {int(each) for each in _DATED.findall(source)}
    added = dict[str, set[int]]()
    for match in _AGE_OR_CLOCK.finditer(output) if dated else ():
        values = {int(match[1])} if match[1].isdecimal() else {*word_values(match[1], normal_code(languages[1]))}
        added.setdefault("year" if match["year"] else "hour", set()).update(values & dated)
    found += [unit for unit, values in added.items() if values and not _OF_UNIT[unit].search(source)]
    return tuple(dict.fromkeys(found))

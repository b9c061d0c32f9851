"""Units and currencies beside numbers: which forms of a unit a translation may have."""

from __future__ import annotations

import re
from typing import NamedTuple

from limelight.text.languages import normal_code

LANGUAGES = ("en", "de", "fr")
"""The languages whose words for units are known; in others units are not compared."""

CURRENCIES = "$€£¥₹₽₩"
"""Signs that may precede the number."""

_UNITS = """
mg: milligram
µg: μg mcg mikrogram microgram
g: gram gr
kg: kilo
t: ton
mm: millim
cm: centim zentim
dm: dezim decim
km: kilom
m: met mèt million mio
km/h: kmh kph kilom stundenkilom
mph: meile mile mille
ft: foot feet fuß fuss pied
lb: lbs pound pfund livre
lbs: lb pound pfund livre
oz: ounce unze once
tsp: teelöffel café TL
tbsp: esslöffel soupe EL
min: minut
k: K tsd tausend thousand mille
bn: billion milliard mrd md
m/s: met mèt
m²: m2 quadratm square carré qm
km²: km2 quadratk square carré qkm
m³: m3 kubikm cubic cube
l: L lit
ml: mL millilit
cl: centilit zentilit
dl: dezilit decilit
°C: ° grad degr celsius
°F: ° grad degr fahrenheit
%: percent per-cent prozent pourcent pour-cent
‰: promille pour-mille per-mille
KB: kB ko Ko kilob kiloo
MB: Mo megab mégao
GB: Go gigab gigao
TB: To terab térao
Ko: KB kB ko kilob kiloo
ko: KB kB kilob kiloo
Mo: MB megab mégao
Go: GB gigab gigao
To: TB terab térao
GHz: gigah
MHz: megah mégah
kHz: kiloh
Hz: hertz
kWh: kilow
kW: kilow
MW: megaw mégaw
W: watt
kV: kilov
V: volt
mA: milliam
mAh: Ah milliam
Wh: watt
lm: lumen
psi:
kPa: kilop
rpm: U/min tr/min umdreh tour
Mbit/s: Mbps megab mégab
A: amp
hPa: hektop hectop
dB: dezib decib décib
ms: millis
€: EUR eur
$: USD dollar US$
ct: Ct cent zent ¢
£: GBP pound pfund livre
¥: JPY CNY yen yuan
₹: INR rupie rupee roupie
₽: RUB rubel rubl rouble roubl ruble
₩: KRW won
CHF: Fr. frank franc
EUR: € euro
USD: $ dollar
GBP: £ pound pfund livre
JPY: ¥ yen
kcal: kilok
kJ: kiloj
ppm:
px: pixel
dpi:
"""
"""Each unit with other forms; forms of three or more lower-case letters are beginnings of words."""


class _Unit(NamedTuple):
    name: str
    forms: re.Pattern[str]


def _forms(name: str, others: str) -> re.Pattern[str]:
    """Matches each form of a unit: symbols as they are, those with letters after a digit, a space or a sign; words in
    any case."""
    words, symbols = list[str](), [name]
    for each in others.split():
        if len(each) >= 3 and each.isalpha() and each.islower():
            words.append(re.escape(each))
        elif "-" in each:
            words.append(each.replace("-", "[ \u00a0]"))
        else:
            symbols.append(each)
    signs = [re.escape(each) for each in symbols if not any(map(str.isalpha, each))]  # as in "fünfzig%"
    symbol = rf"(?<![^\W\d_])(?:{'|'.join(map(re.escape, symbols))})(?![^\W\d_])"
    return re.compile("|".join([symbol, *signs, *[rf"(?i:{'|'.join(words)})"] * bool(words)]))


_TABLE = dict[str, _Unit]()
for _line in _UNITS.strip().splitlines():
    _name, _, _others = _line.partition(":")
    _TABLE[_name] = _Unit(_name, _forms(_name, _others))

_BY_LENGTH = "|".join(re.escape(name) for name in sorted(_TABLE, key=len, reverse=True))
SYMBOL = rf"(?:{_BY_LENGTH})(?![\w²³/'’])"
"""A regular expression for the symbols of all units."""
_BESIDE = re.compile(
    rf"[\d½⅓⅔¼¾][ \u00a0\u202f]?({SYMBOL})|([{CURRENCIES}]|\b(?:EUR|USD|GBP|JPY|CHF)\b)[ \u00a0\u202f]?\d"
)


_SPELLED = {
    "mg": "milligram(?:me?s?|s?)", "kg": "kilogram(?:me?s?|s?)|kilos?", "g": "gram(?:me?s?|s?)",
    "km": "kilom[eè]t(?:ern?|re)s?", "cm": "[cz]entim[eè]t(?:ern?|re)s?", "mm": "millim[eè]t(?:ern?|re)s?",
    "m": "m[eè]t(?:ern?|re)s?", "ml": "millilit(?:ern?|re)s?", "l": "lit(?:ern?|re)s?",
    "ft": "feet|foot|fuß|pieds?", "lb": "pounds?", "oz": "ounces?|unzen?|onces?", "min": "minut(?:es?|en?)",
    "%": "per[  ]?cent|prozent|pour[  ]cent", "€": "euros?", "$": "dollars?", "ct": "cents?|centimes?",
}  # fmt: skip
"""Words for units in English, German and French."""
_ANY_SPELLED = "|".join(f"(?P<u{number}>{words})" for number, words in enumerate(_SPELLED.values()))
_WORD_BESIDE = re.compile(rf"\d[ \u00a0\u202f]?(?:{_ANY_SPELLED})(?!\w)", re.IGNORECASE)


def units_of(text: str) -> list[str]:
    """The units next to numbers, as symbols or words, each once."""
    found = [after or before for after, before in _BESIDE.findall(text)]
    names = list(_SPELLED)
    found += [names[int(str(match.lastgroup)[1:])] for match in _WORD_BESIDE.finditer(text)]
    return list(dict.fromkeys(found))


def lost_units(source: str, output: str, language: str) -> tuple[str, ...]:
    """The units next to numbers of the source of which the output has no form. Empty for a target language whose words
    are not known."""
    language = normal_code(language)
    if language and language not in LANGUAGES:
        return ()
    return tuple(unit for unit in units_of(source) if not _TABLE[unit].forms.search(output))

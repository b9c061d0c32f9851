"""Random names, numbers, addresses and other strings that a translation has to copy."""

import re
from collections.abc import Callable, Sequence
from random import Random

from limelight.text.kept_signs import SIGNS
from limelight.text.languages import normal_code
from limelight.text.numbers import NOTATIONS, SPACED, Notation
from limelight.text.words import read_table

_PARTS = {name: parts.split() for name, parts in read_table("invented.txt")}
"""Parts of names, letters of scripts that the languages of most models do not use, emoji, units, pieces of code..."""
_CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"


def invented_name(words: Sequence[str], random: Random) -> str:
    """The beginning of a word and the end of another, capitalized: hardly a name that a list has."""
    first, last = random.choice(words), random.choice(words)
    return (first[: random.randint(2, 5)] + last[-random.randint(2, 6) :]).capitalize()


def invented_number(random: Random) -> int:
    """A random number, at least 2; small numbers, years and round numbers are frequent."""
    kind = random.randrange(4)
    if kind == 0:
        return random.randint(2, 99)
    if kind == 1:
        return random.randint(1000, 2100)
    if kind == 2:
        return random.randint(1, 99) * 10 ** random.randint(1, 5)
    return random.randint(2, 10 ** random.randint(1, 7))


def _notations_of(languages: Sequence[str]) -> Sequence[Notation]:
    """The notations of two languages; twice the same one if the other is unknown, as numbers are carried."""
    known = [NOTATIONS[code] for code in map(normal_code, languages) if code in NOTATIONS] or [SPACED]
    return (known * 2)[:2]


def written(number: str, languages: Sequence[str], ungrouped: int = 3) -> list[str]:
    """A number such as `1299.50` formatted for two languages: `1,299.50` in English, `1.299,50` in German. A whole part
    of at most `ungrouped` digits has no separators."""
    whole, point, decimals = number.partition(".")
    grouped = f"{int(whole):,}" if len(whole) > ungrouped else whole
    return [
        grouped.replace(",", notation.group) + notation.decimal * bool(point) + decimals
        for notation in _notations_of(languages)
    ]


def invented_decimal(random: Random) -> str:
    """A random decimal with a point and without thousands separators, mostly of one or two places."""
    places = random.choice((1, 1, 1, 2, 2, 2, 3))
    whole = random.choice((0, random.randint(1, 9), random.randint(10, 999), random.randint(1000, 10**6)))
    return f"{whole}.{random.randrange(10**places):0{places}d}"


def invented_quantity(languages: Sequence[str], random: Random) -> list[str]:
    """The same random quantity in two languages: a number with a unit, a price, a percentage, a version or a range."""
    kind = random.randrange(5)
    if kind == 0:
        version = random.choice(("", "v")) + ".".join(str(random.randrange(20)) for _ in range(random.randint(3, 4)))
        return [version] * 2
    if kind == 1:
        first = random.randint(1, 90)
        text = f"{first}{random.choice('-–')}{first + random.randint(1, 40)}{random.choice(('', ' cm', ' kg'))}"
        return [text] * 2
    value, sign = invented_decimal(random), random.choice(("", "", "", "-", "−", "+"))
    unit, currency, is_close = (
        random.choice(_PARTS["units"]),
        random.choice(_PARTS["currencies"]),
        random.random() < 0.5,
    )
    quantities = []
    for number, (_, _, is_first) in zip(written(value, languages), _notations_of(languages), strict=True):
        if kind == 2:
            quantities.append(f"{sign}{number} {unit}")
        elif kind == 3:
            quantities.append(f"{currency}{number}" if is_first else f"{number} {currency}")
        else:
            quantities.append(f"{sign}{number}%" if is_first and is_close else f"{sign}{number} %")
    return quantities


def invented_sign(random: Random) -> str:
    """A sign, a variable, a tag, a path or another piece of code."""
    kind, name = random.randrange(6), _syllables(random)
    if kind < 3:
        return "".join(random.choices(SIGNS, k=random.choice((1, 1, 2))))
    if kind == 3:
        return random.choice(_PARTS["variables"]).replace("x", name)
    if kind == 4:
        return f"{name} {random.choice('&+/=<>|×→–')} {_syllables(random)}"
    return random.choice(("/", "\\", "C:\\", "~/", "./", "#", "@", "--")) + name


def whole_number(digits: str) -> str:
    """A pattern of these digits where they are not within another number, a word, a date or a variable."""
    return rf"(?<![\w.,:/{{$%#-]){digits}(?![\w:/-]|[.,]\d)"


def shared_numbers(source: str, target: str) -> list[str]:
    """The whole numbers that occur exactly once on each side, not within others, in order; without 1, whose noun may be
    another form."""
    sides = [re.findall(whole_number(r"(?!1\b)\d+"), text) for text in (source, target)]
    return [number for number in sides[0] if all(side.count(number) == 1 for side in sides)]


def invented_insert(random: Random) -> str:
    """A URL, an e-mail address, an emoji, a code, a time, or a word of another script."""
    return random.choice(_KINDS)(random)


def _syllables(random: Random) -> str:
    """A random word of one to three syllables."""
    parts = (random.choice(_PARTS["onsets"]) + random.choice(_PARTS["vowels"]) for _ in range(random.randint(1, 3)))
    return "".join(parts) + random.choice(["", "", "", *_PARTS["codas"]])


def _domain(random: Random) -> str:
    middle = random.choice(("", "-", ".")).join(_syllables(random) for _ in range(random.randint(1, 2)))
    return f"{middle}.{random.choice(_PARTS['domains'])}"


def _url(random: Random) -> str:
    start = random.choice(("https://", "https://", "https://www.", "http://", "www."))
    path = "".join(f"/{_syllables(random)}" for _ in range(random.randrange(4)))
    end = random.choice(("", "", "/", ".html", ".pdf", f"?{_syllables(random)}={random.randrange(1000)}"))
    port = random.choice(("", "", "", "", f":{random.randrange(1024, 9999)}"))
    return f"{start}{_domain(random)}{port}{path}{end if path else ''}"


def _email(random: Random) -> str:
    number = random.choice(("", "", str(random.randrange(100))))
    name = random.choice((".", "_", "-", "", "+")).join(_syllables(random) for _ in range(random.randint(1, 2)))
    return f"{name}{number}@{_domain(random)}"


def _emoji(random: Random) -> str:
    return "".join(random.choices(_PARTS["emoji"], k=random.choice((1, 1, 1, 2, 3))))


def _code(random: Random) -> str:
    parts = ("".join(random.choices(_CODE, k=random.randint(2, 5))) for _ in range(random.randint(1, 3)))
    return random.choice(("-", "/", "_", "")).join(parts)


def _foreign(random: Random) -> str:
    letters = random.choice(_PARTS["alphabets"])
    return "".join(random.choices(letters, k=random.randint(2, 8)))


_KINDS: tuple[Callable[[Random], str], ...] = (
    _url,
    _email,
    _emoji,
    _code,
    lambda random: f"{random.randrange(24)}:{random.randrange(60):02d}",
    _foreign,
)

"""Random names, numbers, addresses and other strings that a translation has to copy."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

_ONSETS = ("b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br", "dr", "kr", "st")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ei", "ia", "io")
_CODAS = ("", "", "", "n", "r", "l", "s", "m", "k", "ld", "nd", "rt", "ski", "ova", "sen")
_ALPHABETS = (
    "абвгдежзиклмнопрстуфхшя",
    "αβγδεζηθικλμνξοπρστυφχω",
    "あいうえおかきくけこさしすせそたちつてとなにの",
    "山水火木金土日月人大小中国学生本田川",
    "가나다라마바사아자차하한국어",
    "ابتجحدرسشعفقكلمنهوي",
    "אבגדהוזחטיכלמנסעפצקרשת",
    "कखगघचजटडतदनपबमयरलवसह",
    "กขคงจชดตทนบปมยรลวสห",
)
"""Letters of scripts that the languages of most models do not use."""
_EMOJI = tuple(
    "😀😃😄😁😅😂🙂😉😊😍😘😎😢😭😡😱😴🤔🙏👍👎👋👏💪💔🔥⭐🌙☔⛄🌈🌲🌹🍎🍕🍞☕🍺🎂🎉🎁🎄🎵🎸⚽🏆🏠🚗🚆🚲📞📚💡🐱🐶🐟🐝✅❌"
)
_EMOJI += ("❤️", "☀️", "🏖️", "✈️", "⚠️")
_DOMAINS = ("com", "org", "net", "de", "fr", "eu", "edu", "io", "example", "co.uk")
_CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"

THOUSANDS = {"de": ".", "es": ".", "it": ".", "nl": ".", "pt": ".", "fr": "\u202f", "en": ","}
"""Thousands separators by language; other languages use a no-break space."""


def invented_name(random: Random) -> str:
    """A capitalized random word of one to three syllables."""
    syllables = (random.choice(_ONSETS) + random.choice(_VOWELS) for _ in range(random.randint(1, 3)))
    return ("".join(syllables) + random.choice(_CODAS)).capitalize()


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


def number_written(value: int, language: str) -> str:
    """A whole number formatted for a language: from 10,000 on with thousands separators."""
    if value < 10_000:
        return str(value)
    return f"{value:,}".replace(",", THOUSANDS.get(language, "\u00a0"))


def shared_numbers(source: str, target: str) -> list[str]:
    """The whole numbers that occur exactly once on each side, not within longer ones, in order."""
    sides = [re.findall(r"(?<![\w.,:/-])\d+(?![\w:/-]|[.,]\d)", text) for text in (source, target)]
    return [number for number in sides[0] if all(side.count(number) == 1 for side in sides)]


def invented_insert(random: Random) -> str:
    """A URL, an e-mail address, an emoji, a code, a time, or a word of another script."""
    return random.choice(_KINDS)(random)


def _lower(random: Random) -> str:
    return invented_name(random).lower()


def _domain(random: Random) -> str:
    middle = random.choice(("", "-", ".")).join(_lower(random) for _ in range(random.randint(1, 2)))
    return f"{middle}.{random.choice(_DOMAINS)}"


def _url(random: Random) -> str:
    start = random.choice(("https://", "https://", "https://www.", "http://", "www."))
    path = "".join(f"/{_lower(random)}" for _ in range(random.randrange(4)))
    end = random.choice(("", "", "/", ".html", ".pdf", f"?{_lower(random)}={random.randrange(1000)}"))
    port = random.choice(("", "", "", "", f":{random.randrange(1024, 9999)}"))
    return f"{start}{_domain(random)}{port}{path}{end if path else ''}"


def _email(random: Random) -> str:
    number = random.choice(("", "", str(random.randrange(100))))
    name = random.choice((".", "_", "-", "", "+")).join(_lower(random) for _ in range(random.randint(1, 2)))
    return f"{name}{number}@{_domain(random)}"


def _emoji(random: Random) -> str:
    return "".join(random.choices(_EMOJI, k=random.choice((1, 1, 1, 2, 3))))


def _code(random: Random) -> str:
    parts = ("".join(random.choices(_CODE, k=random.randint(2, 5))) for _ in range(random.randint(1, 3)))
    return random.choice(("-", "/", "_", "")).join(parts)


def _time(random: Random) -> str:
    return f"{random.randrange(24)}:{random.randrange(60):02d}"


def _foreign(random: Random) -> str:
    letters = random.choice(_ALPHABETS)
    return "".join(random.choices(letters, k=random.randint(2, 8)))


_KINDS: tuple[Callable[[Random], str], ...] = (_url, _email, _emoji, _code, _time, _foreign)

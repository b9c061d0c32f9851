"""Files with translations that are the text in capitals, and what an edit leaves alone."""

import re

from limelight.formats.registry import find_units
from limelight.formats.unit import Options, Unit, splice

_CODE = re.compile("([\U000f1000-\U000ffffd])")


def units_of(text: str, suffix: str, source: str = "en", target: str = "de", *, everything: bool = False) -> list[Unit]:
    return find_units(text, suffix, Options(source, target, everything))[0]


def texts(text: str, suffix: str, **options: object) -> list[str]:
    """What is translated; each code is a `|`."""
    return [_CODE.sub("|", unit.text) for unit in units_of(text, suffix, **options)]  # type: ignore[arg-type]


def upper(text: str) -> str:
    """The text in capitals, codes as they are."""
    return "".join(part if _CODE.match(part) else part.upper() for part in _CODE.split(text))


def translated(text: str, suffix: str, **options: object) -> str:
    units = units_of(text, suffix, **options)  # type: ignore[arg-type]
    return splice(text, [each for unit in units for each in unit.write(upper(unit.text))])

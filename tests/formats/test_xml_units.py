"""XLIFF, TMX and Qt files: which segments are translated, and where translations go."""

import re

import pytest

from limelight.formats.unit import FormatError
from tests.formats.helpers import translated, units_of


@pytest.mark.parametrize(
    ("target", "forms", "new"),
    [
        ("de", 2, 2),
        ("de", 1, 2),  # `lupdate` without a language
        ("pl", 1, 3),
        ("hu", 1, 1),
        ("xx", 2, 2),
        ("pl", 0, 3),
    ],
)
def test_forms_of_qt(target: str, forms: int, new: int) -> None:
    source = "<message numerus='yes'><source>%n file(s)</source><translation type='unfinished'>"
    text = f"<TS>{source}{'<numerusform></numerusform>' * forms}</translation></message></TS>"
    found = translated(text, ".ts", target=target)
    assert re.findall("<numerusform>(.*?)</numerusform>", found) == ["%N FILE(S)"] * new
    if forms == 0:
        text = text.replace("<translation type='unfinished'></translation>", "")
        assert translated(text, ".ts", target=target).count("<numerusform>") == 3


@pytest.mark.parametrize("suffix", [".xlf", ".ts"])
def test_another_root_is_refused(suffix: str) -> None:
    with pytest.raises(FormatError, match="the file begins with <html>"):
        units_of("<html/>", suffix)

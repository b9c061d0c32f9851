"""Signs that a translation loses or adds."""

import pytest

from limelight.documents.report import unequal_signs


@pytest.mark.parametrize(
    ("source", "output", "signs"),
    [
        ("a [b] c", "A B C", ("[", "]")),
        ("the ~{dog}", "der Hund", ("{", "}", "~")),
        ("a_b", "a b", ("_",)),
        ("a", "a|b", ("|",)),
        ("Mr\u00a0Smith", "Herr Smith", ("\u00a0",)),
        ("10\u00a0km", "10 km", ()),
        ("it costs $5, or 50%", "es kostet 5 Dollar, oder 50 Prozent", ()),
        ("a (b), c!", "A: b? - c", ()),
        ("[a] {b}", "{A} [B]", ()),
    ],
)
def test_unequal_signs(source: str, output: str, signs: tuple[str, ...]) -> None:
    assert unequal_signs(source, output) == signs

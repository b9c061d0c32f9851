import pytest

from limelight.errors import drawable, shown
from limelight.inspection.words import readable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("▁light", "light"),
        ("house", "house"),
        ("▁Stra<0xC3><0x9F>e", "Straße"),
        ("▁<0xF0><0x9F><0x98><0x80>", "😀"),
        ("▁<0xC3>", "\ufffd"),
        ("▁", "▁"),
        ("▁<ph3>", "<ph3>"),
        ("</s>", "</s>"),
    ],
)
def test_words_read_as_text(text, shown):
    assert readable(text) == shown


@pytest.mark.parametrize("letter", ["\n", "\x1b", "\x00", "\u202e", "\u2028", "\ud800", "\ufffe"])
def test_what_cannot_be_drawn_is_replaced(letter):
    assert drawable(f"a{letter}b") == shown(f"a{letter}b") == "a\ufffdb"


@pytest.mark.parametrize("text", ["می\u200cروم", "ශ්\u200dරී", "ខ្ញុំ\u200bទៅ", "10\xa0km"])
def test_joiners_are_shown(text):
    assert shown(text) == text

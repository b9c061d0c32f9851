"""Normalization, reserved pieces, and the grouping of pieces into words."""

import itertools
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens import language_tag, normalize
from limelight.tokens.tokenizer import group_words


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        (" \t\n", ""),
        ("  a \t b\u2028c\u3000d ", "a b c d"),
        ("a\u2581\u2581b", "a b"),
        ("cafe\u0301", "café"),
        ("un\u00a0: deux\u202f!", "un\u00a0: deux\u202f!"),  # no-break spaces stay
        ("ﬁ ² Ａ ß İ", "ﬁ ² Ａ ß İ"),  # no compatibility forms, no case
        ("half \ud83d", "half \ufffd"),
        ("😀 \u200d x", "😀 \u200d x"),
    ],
)
def test_normalize(text: str, normal: str) -> None:
    assert normalize(text) == normal


@given(st.text(st.characters()))
def test_normalizing_twice_is_normalizing_once(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "  " not in once
    assert once == once.strip(" ")
    once.encode("utf-8")


def test_language_tag() -> None:
    assert language_tag("de") == "<2de>"
    assert language_tag("pt-BR") == "<2pt-BR>"


@pytest.mark.parametrize("language", ["", "d e", "<de>", "-de", "x" * 33, "ä", "de\n"])
def test_a_language_needs_a_plain_name(language: str) -> None:
    with pytest.raises(UserError, match=r"is not a language name; write letters, digits, - and _, for example de"):
        language_tag(language)


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ("", []),
        ("▁a b ▁c d e", [0, 0, 1, 1, 1]),
        ("a b ▁c", [0, 0, 1]),
        ("▁a <ph0> ▁b", [0, 1, 2]),
        ("▁a <ph0> b c", [0, 1, 2, 2]),
        ("▁ <ph0> b ▁c", [0, 0, 1, 2]),
        ("▁ <ph0> <ph1>", [0, 0, 1]),
        ("▁a ▁ b </s>", [0, 1, 1, 2]),
        ("</s>", [0]),
        ("▁我 喜歡 你 。", [0, 1, 2, 3]),
        ("▁ 我 喜歡 A B C ▁d 你 </s>", [0, 0, 1, 2, 2, 2, 3, 4, 5]),
        ("▁ 猫 <ph0> が", [0, 0, 1, 2]),
        ("▁ฉ ั น", [0, 0, 1]),
        ("▁나 는 ▁간 다", [0, 0, 1, 1]),
        ("▁ [E7] [8C] [AB] が [E9] [AD] [9A] a [C3] [A9]", [0, 0, 0, 0, 1, 2, 2, 2, 3, 3, 3]),
        ("▁a [C3] [A9] b", [0, 0, 0, 0]),
        ("▁a [C3] b [FF] [80] [E9]", [0] * 6),
    ],
)
def test_group_words(pieces: str, words: list[int]) -> None:
    parts = re.sub(r"\[(..)\]", r"<0x\1>", pieces).split()
    assert group_words(parts, [part.startswith(("<p", "</")) for part in parts]) == words


@given(st.lists(st.sampled_from(["▁", "▁a", "b", "<ph0>"])))
def test_words_are_numbered_without_gaps(pieces: list[str]) -> None:
    words = group_words(pieces, [piece == "<ph0>" for piece in pieces])
    assert words[:1] in ([], [0])
    assert all(later - earlier in (0, 1) for earlier, later in itertools.pairwise(words))

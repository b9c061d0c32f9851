"""Sentences of a text, and the text of its sentences."""

from types import SimpleNamespace

import pytest
import sentencex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from limelight.text import sentences
from limelight.text.sentences import Sentences, split_sentences

PARTS = [
    "Hello there.",
    "Who?",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\n\n",
    "- ",
    "1. ",
    "a) ",
    "3.5",
    "z.B. ",
    "„Nein.“",
    "他来了。",
    "\t",
    "…",
]


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), st.sampled_from(["en", "de", "fr", "zh", "xx", ""]))
def test_nothing_is_lost(text: str, language: str) -> None:
    found = split_sentences(text, language)
    assert found.join(found.texts) == text
    assert len(found.gaps) == len(found.texts) + 1
    assert all(each and each == each.strip() and "\n" not in each for each in found.texts)


@pytest.mark.parametrize(
    ("text", "language", "sentences"),
    [
        ("A dog runs. A cat sleeps!  Who sings?", "en", ["A dog runs.", "A cat sleeps!", "Who sings?"]),
        ("Dr. Smith met Mr. Jones at 3.5 km.", "en", ["Dr. Smith met Mr. Jones at 3.5 km."]),
        ("one line\nand another", "en", ["one line", "and another"]),
        ("- bread\n- milk\n", "en", ["bread", "milk"]),
        ("1. Open it.\n2) Close it.", "en", ["Open it.", "Close it."]),
        ("Am 3. Mai kam er. Er blieb.", "de-AT", ["Am 3. Mai kam er.", "Er blieb."]),
        ("Am 3. Mai kam er. Er blieb.", "deu_Latn", ["Am 3. Mai kam er.", "Er blieb."]),
        ("他来了。我走了。", "zh", ["他来了。", "我走了。"]),
        ("ខ្ញុំទៅ។ តើអ្នកសុខទេ? ល្អណាស់។", "km", ["ខ្ញុំទៅ។", "តើអ្នកសុខទេ?", "ល្អណាស់។"]),
        ("Im 19. Jahrhundert war hier Wald. Er ist fort.", "de", ["Im 19. Jahrhundert war hier Wald.", "Er ist fort."]),
        ("Im XIX. und im 20. Jahrhundert.", "de", ["Im XIX. und im 20. Jahrhundert."]),
        ("Auf dem 9. Immobilientag. Es war voll.", "de", ["Auf dem 9. Immobilientag.", "Es war voll."]),
        ("He is 19. Julia is 20. She is 21.", "en", ["He is 19.", "Julia is 20.", "She is 21."]),
        ("Er ist 125. Es ist die 1.3. Teil 4 kommt.", "de", ["Er ist 125.", "Es ist die 1.3.", "Teil 4 kommt."]),
        ("Det var den 3. mai. Han gikk.", "nb", ["Det var den 3. mai.", "Han gikk."]),
        ("To było w 19. wieku.", "pl", ["To było w 19. wieku."]),
        ("A. Smith came. He left.", "en", ["A. Smith came.", "He left."]),
        ("J. R. R. Doe wrote it.", "en", ["J. R. R. Doe wrote it."]),
        ("We use .NET at work. It is old.", "en", ["We use .NET at work.", "It is old."]),
        (".NET ist alt. Java auch.", "de", [".NET ist alt.", "Java auch."]),
        ("He came . She left.", "en", ["He came .", "She left."]),
        ("M. Dupont est là. Le M. Durand aussi.", "fr", ["M. Dupont est là.", "Le M. Durand aussi."]),
        ("", "en", []),
        (" \n\t", "en", []),
        ("-", "en", ["-"]),
    ],
)
def test_where_sentences_end(text: str, language: str, sentences: list[str]) -> None:
    assert list(split_sentences(text, language).texts) == sentences


def test_translations_stand_where_their_sentences_stood() -> None:
    found = split_sentences("- A dog.  It runs.\n\n* Who?\n")
    assert found.join(["EIN HUND.", "ER LÄUFT.", "WER?"]) == "- EIN HUND.  ER LÄUFT.\n\n* WER?\n"


ORDINARY = [
    "He came in. ", "Who is it? ", 'She said: "It is me. Open." ', "Dr. Smith met Mr. Jones. ", "Am 3. Mai kam er. ",
    "他来了。", "「我走了。」", "(A remark. Another one.) ", "1.5 km, e.g. there! ", "aaa aaa aaa ", "„Nein. Doch.“ ",
]  # fmt: skip


@given(st.lists(st.sampled_from(ORDINARY), max_size=40).map("".join), st.sampled_from(["en", "de", "zh"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_long_line_has_the_sentences_of_a_short_one(
    monkeypatch: pytest.MonkeyPatch, text: str, language: str
) -> None:
    whole = split_sentences(text, language)
    with monkeypatch.context() as patch:
        patch.setattr(sentences, "WINDOW", 240)
        assert split_sentences(text, language) == whole


def test_the_work_for_a_line_grows_with_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """sentencex itself takes quadratic time for a line without spaces; so it sees a part of it at a time."""
    segment, seen = sentencex.segment, list[int]()
    monkeypatch.setattr(sentencex, "segment", lambda language, text: seen.append(len(text)) or segment(language, text))
    for unit in ("a", "犬猫。", "a. ", "\"'", "<!--"):
        seen.clear()
        text = unit * (40_000 // len(unit))
        found = split_sentences(text)
        assert found.join(found.texts) == text
        assert max(seen) <= 2000
        assert sum(seen) <= 3 * len(text)
    sizes, search = list[int](), sentences._SIGN.search
    ours = SimpleNamespace(search=lambda text: sizes.append(len(text)) or search(text))
    monkeypatch.setattr(sentences, "_SIGN", ours)
    assert len(split_sentences("Das ist der 5. " * 100, "de").texts) == 1
    assert 0 < max(sizes) <= 2


def test_sentences_are_joined_as_the_script_of_the_translation_wants() -> None:
    chinese, english = "今天天气很好。我明天去北京！", "It's a nice day. I'm going to Beijing tomorrow!"
    parts = split_sentences(chinese, "zh"), split_sentences(english, "en")
    assert parts[0].join(parts[1].texts) == english
    assert parts[1].join(parts[0].texts) == chinese
    assert [each.join(each.texts) for each in parts] == [chinese, english]
    assert split_sentences("他说：“你好。”她走了。", "zh").join(['"Hello."', "She left."]) == '"Hello." She left.'
    assert split_sentences("你好!再见!", "zh").join(["Hi!", "Bye!"]) == "Hi! Bye!"


def test_abbreviations_at_the_beginning_are_no_list_marks() -> None:
    for text, first in (
        ("- z. B. Äpfel", "z. B. Äpfel"),
        ("d. h. wir gehen", "d. h. wir gehen"),
        ("a. Erstens", "Erstens"),
    ):
        assert split_sentences(text, "de").texts == (first,)


def test_sentences_of_thai_have_a_space_between_them() -> None:
    assert Sentences(("Hello there.", "See you."), ("", " ", "")).join(["สวัสดีครับ", "แล้วพบกัน"]) == "สวัสดีครับ แล้วพบกัน"
    assert Sentences(("Hello there.", "See you."), ("", " ", "")).join(["你好。", "再见。"]) == "你好。再见。"
    assert Sentences(("ดี(中)ครับ", "ว่า中ครับ"), ("", "", "")).join(["Hello.", "See you."]) == "Hello. See you."
    assert Sentences(("你好。", "再见。"), ("", "", "")).join(["สวัสดีครับ", "แล้วพบกัน"]) == "สวัสดีครับ แล้วพบกัน"

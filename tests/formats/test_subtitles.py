"""Subtitles: sentences over several cues, tags, dialog."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.helpers import texts, translated, units_of

SRT = (
    "\ufeff1\n00:00:01,000 --> 00:00:02,000\nI wanted to go home, but\n\n"
    "2\n00:00:02,000 --> 00:00:03,000\nthe bus was late.\n\n"
    "3\n00:00:03,000 --> 00:00:04,000\n{\\an8}<i>Where is\nTom?</i>\n\n"
    "4\n00:00:05,000 --> 00:00:06,000\n- Are you tired?\n- No.\n\n"
    "5\n00:00:07,000 --> 00:00:08,000\n...\n"
)
VTT = "WEBVTT\n\nNOTE no\n\nSTYLE\n::cue {}\n\n00:01.000 --> 00:02.000 align:start\n<v Tom>Hello there\n"


def test_a_sentence_over_cues_is_one_unit() -> None:
    assert texts(SRT, ".srt") == ["I wanted to go home, but the bus was late.", "||Where is Tom?|",
                                  "- Are you tired?", "- No."]  # fmt: skip
    new = translated(SRT, ".srt")
    assert "I WANTED TO GO HOME, BUT\n\n2\n" in new
    assert "\nTHE BUS WAS LATE.\n\n3\n" in new
    assert "\n{\\an8}<i>WHERE IS TOM?</i>\n\n4\n" in new
    assert new.endswith("- ARE YOU TIRED?\n- NO.\n\n5\n00:00:07,000 --> 00:00:08,000\n...\n")


def test_webvtt_keeps_its_notes_and_voices() -> None:
    assert texts(VTT, ".vtt") == ["|Hello there"]
    assert translated(VTT, ".vtt") == VTT.replace("Hello there", "HELLO THERE")


def cues(*texts: str, gap: float = 0.0) -> str:
    """Cues of a second each."""
    times = (f"00:{number * (1 + gap):09.6f}"[:-3] for number in range(len(texts)))
    return "WEBVTT\n\n" + "".join(
        f"{time} --> 00:{float(time[3:]) + 1:06.3f}\n{text}\n\n" for time, text in zip(times, texts, strict=True)
    )


@pytest.mark.parametrize(
    "other", ["[DOOR SLAMS]", "(laughs)", "♪ a song ♪", "# a song #", "JOHN: no", "- no", ">> no", "<i>no</i>"]
)
def test_other_cues_are_no_part_of_a_sentence(other: str) -> None:
    shown = other.replace("<i>", "|").replace("</i>", "|")
    assert texts(cues("I know", other, "that he", "left."), ".vtt") == ["I know", shown, "that he left."]


def test_cues_are_not_joined_over_a_gap() -> None:
    assert texts(cues("I know", "that he left.", gap=0.9), ".vtt") == ["I know that he left."]
    assert texts(cues("I know", "that he left.", gap=1.1), ".vtt") == ["I know", "that he left."]


def test_speakers_of_one_cue_are_units_of_their_own() -> None:
    text = cues("MAN 1: I know\nthat he left.\nWOMAN: When?")
    assert texts(text, ".vtt") == ["MAN 1: I know that he left.", "WOMAN: When?"]
    assert translated(text, ".vtt").replace("MAN 1: I KNOW\nTHAT HE LEFT.\nWOMAN: WHEN?", "") != text


def test_time_stamps_stay_in_order() -> None:
    text = cues("<00:05.100>He <00:05.600>has <00:06.000>seen")
    (unit,) = units_of(text, ".vtt")
    first, second, third = (character for character in unit.text if ord(character) > 0xF0FFF)
    (change,) = unit.write(f"{third}sah {first}er {second}ihn")
    assert change.text == "<00:05.100>sah <00:05.600>er <00:06.000>ihn"


@given(st.lists(st.text("猫と犬。、「」ราaä 1", min_size=1, max_size=60), min_size=2, max_size=4))
def test_any_translation_is_divided_among_all_cues(parts: list[str]) -> None:
    """In scripts without spaces between characters; nothing is lost, and only spaces are added or left out."""
    (unit,) = units_of(cues(*["some words"] * len(parts)), ".vtt")
    new = " ".join("".join(parts).split())
    written = [change.text for change in unit.write(new)]
    assert "".join("".join(written).split()) == "".join(new.split())
    assert not new or sum(map(bool, written)) >= min(len(parts), len(set(new) & set("猫と犬ร")))


@pytest.mark.parametrize("number", ["", "2\n"])
def test_a_cue_without_a_blank_line_before_it_is_a_cue(number: str) -> None:
    text = f"WEBVTT\n\n00:01.000 --> 00:02.000\none.\n{number}00:02.000 --> 00:03.000\ntwo.\n"
    assert translated(text, ".vtt") == text.replace("one.", "ONE.").replace("two.", "TWO.")


@pytest.mark.parametrize(
    "text", ["1" * 100_000, f"{'1' * 5000}:00:00,000 --> 00:00:01,000\none.\n", "00:00:01,000 --> " * 3_000]
)
def test_long_numbers_are_no_times_and_are_read_in_time(text: str) -> None:
    assert len(texts(text, ".srt")) <= 1


@pytest.mark.parametrize("cue", ["كيف حالك؟", "ང་ཡིན།", "ደህና ነህ፧", "ᱡᱚᱦᱟᱨ᱾"])
def test_a_sentence_ends_in_every_script(cue: str) -> None:
    assert len(texts(cues(cue, "أنا بخير."), ".vtt")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "मैंने आज बाज़ार जाकर अपने परिवार के लिए फल खरीदे",
        "ذَهَبْتُ ٱلْيَوْمَ إِلَى ٱلسُّوقِ لِشِرَاءِ",
        "วันนี้ฉันไปตลาดเพื่อซื้อผักและผลไม้สำหรับครอบครัวของฉัน",
    ],
)
def test_marks_take_no_columns(text: str) -> None:
    (unit,) = units_of(cues("some words"), ".vtt")
    assert len(text) > 42, "with its marks"
    assert [each.text for each in unit.write(text)] == [text]


def test_spaces_that_do_not_break_stay() -> None:
    (unit,) = units_of(cues("some words", "more words"), ".vtt")
    assert [each.text for each in unit.write("Quoi\u202f? Non\u202f!")] == ["Quoi\u202f?", "Non\u202f!"]

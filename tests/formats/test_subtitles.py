"""Subtitles: sentences over several cues, tags, dialog."""

import pytest

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


def test_long_lines_are_broken_evenly() -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\n" + "word " * 14 + "end\nx y\n"
    new = translated(text, ".srt").split("\n")[2:-1]
    assert len(new) == 2 or max(map(len, new)) <= 80
    assert " ".join(new).split() == text.upper().split("\n", 2)[2].split()


def test_all_words_come_out_once_in_order() -> None:
    cues = ["one two three four", "five", "six seven eight nine ten eleven twelve", "end."]
    text = "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},500\n{cue}\n\n" for n, cue in enumerate(cues, 1))
    new = translated(text, ".srt")
    words = [line for line in new.split("\n") if line.isupper() or line.endswith(".")]
    assert " ".join(words) == " ".join(cues).upper()
    assert len(words) == 4


@pytest.mark.parametrize("number", ["", "2\n"])
def test_a_cue_without_a_blank_line_before_it_is_a_cue(number: str) -> None:
    text = f"WEBVTT\n\n00:01.000 --> 00:02.000\none.\n{number}00:02.000 --> 00:03.000\ntwo.\n"
    assert translated(text, ".vtt") == text.replace("one.", "ONE.").replace("two.", "TWO.")


def test_lines_that_are_too_long_or_too_many_are_reported() -> None:
    joined, tagged, question, answer = units_of(SRT, ".srt")
    assert [list(unit.limits(unit.text)) for unit in (joined, tagged, question, answer)] == [[], [], [], []]
    word = "Donaudampfschifffahrtsgesellschaftskapit\u00e4nswitwe"
    assert list(tagged.limits(tagged.text.replace("Tom", word))) == [
        f"a line of {len(word) + 1} characters, at most 42 are read in time"
    ]
    assert list(joined.limits("word " * 50)) == [
        "4 lines, at most 2 are shown",
        "3 lines, at most 2 are shown",
    ]
    assert list(question.limits("- " + "word " * 9)) == ["a line of 47 characters, at most 42 are read in time"]
    wide = SRT.replace("...", "word " * 10 + "end")
    assert list(units_of(wide, ".srt")[-1].limits("Wort " * 10 + "Ende")) == []

"""Words as text that people write, and the words of each token."""

import pytest

from limelight.inspection.word_alignment import joined_words, words_of_tokens


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("Hello , world !", "Hello, world!"),
        ('He said : " yes " .', 'He said: "yes".'),
        ("l' homme d' affaires", "l'homme d'affaires"),
        ("Tom 's cat ( black ) costs 5 %", "Tom's cat (black) costs 5%"),
        ("我 喜欢 猫 。", "我喜欢猫。"),
        ("a - b", "a - b"),
        ("", ""),
    ],
)
def test_words_are_joined_as_people_write(words: str, text: str) -> None:
    joined, spans = joined_words(words.split())
    assert joined == text
    assert [joined[begin:end] for begin, end in spans] == words.split()


def test_tokens_belong_to_the_words_that_they_spell() -> None:
    text, spans = joined_words(["Straße", ",", "nein"])
    pieces = ["\u2581Stra", "<0xC3>", "<0x9F>", "e", ",", "\u2581ne", "in"]
    assert words_of_tokens(pieces, text, spans) == [[0], [0], [], [0], [1], [2], [2]]
    assert words_of_tokens(["\u2581Straße,\u2581nein"], text, spans) == [[0, 1, 2]]
    assert words_of_tokens([], "", []) == []


def test_what_a_tokenizer_normalizes_leaves_the_other_tokens_in_place() -> None:
    text, spans = joined_words(["ﬁne", "day"])  # the ligature becomes two letters
    assert words_of_tokens(["\u2581fi", "ne", "\u2581day"], text, spans) == [[], [0], [1]]

"""Plain text: paragraphs, and lines that were broken to a width."""

from tests.formats.helpers import texts, translated

WRAPPED = (
    "  The old man who lives in the house at the end of the street\n"
    "  told me that he had seen your brother in the city last week\n"
    "  with a friend.\n"
)


def test_each_line_is_a_paragraph_and_gaps_stay() -> None:
    text = "One.\r\n\r\n  two \t\n---\n5\nthree"
    assert texts(text, ".txt") == ["One.", "  two \t", "three"]
    assert translated(text, ".txt") == "ONE.\r\n\r\n  TWO \t\n---\n5\nTHREE"


def test_wrapped_lines_are_one_paragraph_and_are_wrapped_again() -> None:
    (text,) = texts(WRAPPED, ".txt")
    assert text.split() == WRAPPED.split()
    assert "\n" not in text
    new = translated(WRAPPED, ".txt")
    assert new.lower() == WRAPPED.lower()


def test_options_of_a_program_are_not_joined() -> None:
    text = (
        "  -a, --author               print the author of each file entry\n  -b, --escape               print escapes\n"
    )
    assert len(texts(text, ".txt")) == 2


def test_lines_that_are_sentences_are_not_joined() -> None:
    text = "This is a sentence that is long enough to have been wrapped.\nThis one is not.\n- a list\n"
    assert len(texts(text, ".txt")) == 3
    text = "A heading without a stop that is quite long, as it happens\n- an item\n"
    assert len(texts(text, ".txt")) == 2


def test_sentences_of_other_scripts_are_not_joined() -> None:
    assert len(texts(("यह एक बहुत लंबा वाक्य है जो एक ही पंक्ति में पूरा लिखा गया है।" + "\n") * 2, ".txt")) == 2

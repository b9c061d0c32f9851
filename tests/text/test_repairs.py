"""What is put right in a translation by its text alone."""

import random

import pytest

from limelight.text import checks
from limelight.text.checks import find_loop, is_title, lost_addresses


@pytest.mark.parametrize(
    ("output", "cut"),
    [
        ("ein Hund und ein Hund und ein Hund und", "ein Hund und"),
        ("so so so so weit", "so weit"),
        ("Er sagt: ja, ja, ja, ja, ja.", "Er sagt: ja."),
        ("hahahahahahahahaha!", "ha!"),
        ("drei drei drei", "drei drei drei"),
    ],
)
def test_each_loop_is_there_once(output: str, cut: str) -> None:
    assert checks.cut_loops("a dog", output) == cut


def test_a_loop_is_as_long_as_that_of_the_source() -> None:
    assert checks.cut_loops("no no no no", "nein nein nein nein nein nein") == "nein nein nein nein"


def test_no_loop_is_left_of_any_text(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(200):
        words = [draw.choice(["a", "b", "ab", "aab", "c,", "ß", "--"]) for _ in range(draw.randint(1, 9))]
        output = draw.choice([" ", ""]).join(words * draw.randint(1, 9))
        cut = checks.cut_loops("x", output)
        assert find_loop("x", cut) == ()
        assert len(cut) <= len(output)


@pytest.mark.parametrize(
    ("output", "repaired"),
    [
        ("Mehr auf https://exmaple.org/a-b.", "Mehr auf https://example.org/a_b."),
        ("Mehr dort.", "Mehr dort https://example.org/a_b."),
        ("", "https://example.org/a_b"),
        ("„Mehr dort!“", "„Mehr dort https://example.org/a_b!“"),
    ],
)
def test_addresses_come_back(output: str, repaired: str) -> None:
    source = "More at https://example.org/a_b."
    replaced = checks.put_back_addresses(source, output)
    assert replaced == (repaired if "exmaple" in output else output)
    found = checks.append_addresses(source, replaced)
    assert found == repaired
    assert lost_addresses(source, found) == ()


def test_capitals() -> None:
    assert checks.is_capitals("THE DOG RUNS")
    assert checks.is_capitals("ÜBER A@B.ORG a@b.org!")
    for text in ("NASA runs", "USA", "Ärger", "", "1999", "The DOG"):
        assert not checks.is_capitals(text)


VOCABULARY = ["der", "Hund", "hund", "schläft", "the", "is", "Tom", "l", "eau"]


def encode(word: str) -> list[int]:
    """Of words that are frequent in this order; others have a token per letter."""
    return [VOCABULARY.index(word)] if word in VOCABULARY else list(range(99, 99 + len(word)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("DER HUND SCHLÄFT", "Der Hund schläft"),
        ("„DER HUND SCHLÄFT A@B.org.“", "„Der Hund schläft A@B.org.“"),
        ("The Hund Is NASA, Tom", "The Hund is NASA, Tom"),
        ("L'Eau Is www.The.de", "L'eau is www.The.de"),
        ("the McTom is", "The McTom is"),
        ("", ""),
        ("1 2", "1 2"),
    ],
)
def test_each_word_is_written_as_the_vocabulary_knows_it_best(text: str, sentence: str) -> None:
    assert checks.recased(text, encode) == sentence


def test_title_case() -> None:
    for text in ("The Old House Is Red", "L'eau Est Froide", "A Tale Of Two Towns"):
        assert is_title(text)
    for text in ("", "Old House", "THE OLD HOUSE", "The quiet House Is Red", "Das Haus ist am See", "1 2 3 4"):
        assert not is_title(text)


def test_a_quoted_whole_is_quoted_again() -> None:
    assert checks.put_back_quotes("„Ja.“", "Yes.") == "„Yes.“"
    assert checks.put_back_quotes("„Ja“", '"Yes"') == '"Yes"'
    for source in ("„Ja“, sagt er", "„Ja“ und „nein“", "«", ""):
        assert checks.put_back_quotes(source, "Yes") == "Yes"


def test_raised_keeps_addresses() -> None:
    assert checks.raised("der Hund, a@b.org") == "DER HUND, a@b.org"

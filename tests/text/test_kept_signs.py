"""Signs that a vocabulary does not hold, signs that a translation has changed, and their place."""

import pytest

from limelight.text import kept_signs
from limelight.text.kept_signs import (
    MAX_UNHELD,
    changed_signs,
    find_foreign_words,
    find_signs,
    find_unheld,
    held_characters,
    lost_parts,
    put_back_signs,
    swapped_sides,
    without_lost_emphasis,
)
from limelight.text.marking import placeholder

HELD = held_characters(
    ["</s>", "<unk>", "<ph0>", "<2de>", "<0xE2>", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,'-0123456789☑é", "▁the"]
)


def unheld(text: str, language: str = "en") -> list[str]:
    return [text[begin:end] for begin, end in find_unheld(text, HELD, language)]


def test_bytes_and_reserved_pieces_hold_no_character() -> None:
    assert {"t", "☑", " "} <= HELD
    assert not {"<", ">", "0x", "E", "M", "_"} & HELD


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("we go home.", []),
        ("we love ❤️ it", ["❤️"]),
        ("a 👩‍👩‍👧 and a 👍🏽 here", ["👩‍👩‍👧", "👍🏽"]),
        ("🎉🎉 and 🎉 🎊", ["🎉🎉", "🎉 🎊"]),
        ("the flag 🏴󠁧󠁢󠁳󠁣󠁴󠁿 is", ["🏴󠁧󠁢󠁳󠁣󠁴󠁿"]),
        ("done ☑️ and ☑ too", ["☑️"]),  # the vocabulary holds the sign, not its variant
        ("press 1️⃣ now", ["1️⃣"]),
        ("we saw 東京 and 京", ["東京", "京"]),
        ("we saw 東京tower", ["東京"]),
        ("live in łódź today", ["łódź"]),
        ("the d'łódź-train", ["łódź"]),
        ("the mean x̂ is", ["x̂"]),
        ("a cafe\u0301 here", []),  # é, composed
        ("3 m³ of it", ["m³"]),
        ("50%, 7 % and €5, but % and ~", ["%", "~"]),  # beside numbers, units are left to their checks
        ("a \u202aright\u202c b", ["\u202aright\u202c"[:1], "\u202c"]),
        ("in\u00advisible\u200b and \ufeff", []),
        (f"a {placeholder(0)} b", []),
    ],
)
def test_what_a_vocabulary_does_not_hold_is_found_in_whole_words(text: str, parts: list[str]) -> None:
    assert unheld(text) == parts


def test_the_letters_of_the_language_of_a_text_are_left_to_the_model() -> None:
    assert unheld("über der straße", "de") == []
    assert unheld("über der straße", "en") == ["über", "straße"]
    assert unheld("A B") == []  # letters of English, although not held
    assert unheld("über", "") == [] != unheld("мир", "")


def test_each_word_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()
    rest = kept_signs._rest_of_word
    monkeypatch.setattr(kept_signs, "_rest_of_word", lambda *given: asked.append(given[2]) or rest(*given))
    assert unheld(f"a {'ж' * 1000} b") == ["ж" * 1000]
    assert asked == [1]


def test_their_number_has_a_bound() -> None:
    assert len(unheld("a ❤ " * (MAX_UNHELD + 9))) == MAX_UNHELD


@pytest.mark.parametrize(
    ("source", "output", "changed"),
    [
        ("Press → now", "Jetzt → drücken", ""),
        ("Press → now", "Jetzt drücken", "→"),
        ("Well 🎉", "Gut 🎉🎉", "🎉"),
        ("Fish & chips", "Fisch und Pommes", ""),
        ("um fünfzig% mehr", "fifty percent more", ""),
        ("um fünfzig% mehr", "50% more", ""),
        ("um fünfzig% mehr", "fifty more", "%"),
        ("the name", "der {Name}", "{}"),
        ("the name & more", "der Name> & mehr", ">"),
        ("no. 5", "Nr. 5", ""),
        ("number 5", "#5", ""),
        ("Fish & chips and peas", "Fisch und Pommes", "&"),
        ("5 % of £3", "5 Prozent von 3 Pfund", ""),
        ("3,-- € und 5,-€", "€3 and €5", ""),
        ("the £ sign", "das Zeichen", "£"),
        ("{a} [b] \\ ` |", "{a} [b] \\ ` |", ""),
        ("{a} [b] \\ ` |", "a", "[\\]`{|}"),
        ("“Well,” he said – “no”…", "„Gut“, sagte er, „nein“ ...", ""),
        ("a _ b", "a b", "_"),
        ("a\u00adb \u200ec", "ab c", ""),
        ("the µ here", "das hier", "µ"),
        ("file_name", "Dateiname", ""),
        ("Press _really_ hard", "Drücke wirklich fest", "_"),
        ("Press _really_ hard", "Drücke _wirklich_ fest", ""),
        ("E is mc²", "E ist mc", "²"),
        ("10⁶ cells", "10 Zellen", "⁶"),
        ("5 m² of 3 km²", "5 Quadratmeter von 3 qkm", ""),
        ("₹500 and 50¢", "500 Rupien und 50 Cent", ""),
        ("1,5 Mio. € oder 3 Millionen $", "1.5 million euros or 3 million dollars", ""),
        ("§ 5", "Section 5", ""),
        ("in <5 s", "in 5 s", "<"),
        ("in <5 s", "in weniger als 5 s", ""),
        ("in <5 s", "in unter 5 s", ""),
        ("if x ≥ $5", "wenn x 5 $", "≥"),
        ("if x ≥ 5", "wenn x mindestens 5 ist", ""),
        ("5 ± 2", "5 2", "±"),
        ("5 ± 2", "5 plus/minus 2", ""),
        ("~5 s", "5 s", "~"),
        ("~5 s", "etwa 5 s", ""),
    ],
)
def test_signs_of_the_source_are_counted_in_the_output(source: str, output: str, changed: str) -> None:
    assert changed_signs(source, output) == tuple(changed)


def test_words_with_letters_of_other_languages_are_found() -> None:
    def words(text: str, languages: tuple[str, str]) -> list[str]:
        return [text[begin:end] for begin, end in find_foreign_words(text, languages)]

    assert words("Kőszegi und Çeşme und Café in Москва", ("de", "fr")) == ["Kőszegi", "Çeşme", "Москва"]
    assert words("Kőszegi", ("de", "hu")) == []
    assert words("Þórr und São Paulo, der señor im Café", ("de", "fr")) == ["Þórr", "São"]
    assert words("Señor Þórr", ("en", "es")) == ["Þórr"]
    assert words("Kőszegi", ("", "")) == []
    assert lost_parts("Kőszegi", [(0, 7)], "Koszegi") == ("Kőszegi",)


def test_ordinary_punctuation_may_change() -> None:
    assert lost_parts("¿a — b?", [(0, 1), (3, 4)], "a, b?") == ()
    assert put_back_signs("¿a — b?", "a, b?", [(0, 1), (3, 4)]) == "a, b?"


@pytest.mark.parametrize(
    ("source", "output", "rest"),
    [
        ("Objets *Element*", "Element Objects", "Objets Element"),
        ("a *b* and **c d**", "a b und **c d**", "a b and **c d**"),
        ("a *b*", "a *b*", "a *b*"),
        ("a *b*", "a", "a *b*"),
        ("a *b* and *b*", "*b* und b", "a *b* and *b*"),
        ("a *b*", "a *b", "a *b*"),
        ("2 * 3 * 4, 2*3*4", "2 3 4", "2 * 3 * 4, 2*3*4"),
        ("Un *n*-uplet.", "A tuple.", "Un -uplet."),
        ("Un *n*-uplet de *x*.", "An *n*-tuple.", "Un *n*-uplet de *x*."),
    ],
)
def test_emphasis_is_lost_where_its_words_are_there_without_asterisks(source: str, output: str, rest: str) -> None:
    assert without_lost_emphasis(source, output) == rest


def test_adjacent_signs_are_one_span() -> None:
    text = "a => b ❤️! {x}"
    assert [text[begin:end] for begin, end in find_signs(text)] == ["=>", "❤️", "{", "}"]


@pytest.mark.parametrize(
    ("source", "output", "whole"),
    [
        ("🎉 we dance", "wir tanzen", "🎉 wir tanzen"),
        ("we dance 🎉", "wir tanzen", "wir tanzen 🎉"),
        ("we dance 🎉.", "wir tanzen.", "wir tanzen 🎉."),
        ("we dance 🎉 and sing", "wir tanzen und singen", "wir tanzen 🎉 und singen"),
        ("we dance 🎉", "wir 🎉 tanzen", "wir 🎉 tanzen"),
    ],
)
def test_a_lost_sign_is_put_back_at_its_place(source: str, output: str, whole: str) -> None:
    assert put_back_signs(source, output, find_signs(source)) == whole


@pytest.mark.parametrize(
    ("source", "output", "signs"),
    [
        ("if a < b then", "wenn b < a dann", ("<",)),
        ("if a < b then", "wenn a < b dann", ()),
        ("if a < b and b < a", "wenn b < a und a < b", ()),
        ("if a < b then", "wenn b > a dann", ()),  # changed, which `changed_signs` finds
        ("go x -> y -> z.", "gehe y -> x -> z.", ("->",)),
        ("File > Save", "Datei > Sichern", ()),
        (f"from 5 {placeholder(0)} 3 now", f"von 3 {placeholder(0)} 5 jetzt", (placeholder(0),)),
    ],
)
def test_the_sides_of_a_sign_are_not_swapped(source: str, output: str, signs: tuple[str, ...]) -> None:
    assert swapped_sides(source, output) == signs


def test_tabs_between_words_are_signs() -> None:
    assert changed_signs("Name:\tTom\tAge:\t42", "Name: Tom: 42") == ("\t",)
    assert changed_signs("\tName:\tTom\n", "Nom\u00a0:\tTom") == ()

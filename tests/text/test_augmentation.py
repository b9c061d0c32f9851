"""Augmented pairs: what each augmentation promises, on drawn seeds that are printed when a test fails."""

import hashlib
import re
from random import Random

import pytest

from limelight.config.run import AugmentationConfig
from limelight.text.augmentation import ALIGNED, AUGMENTATIONS, Augmented, Languages, augment, names
from limelight.text.languages import script_of
from limelight.text.marked_pairs import Alignment, Link, WordForms
from limelight.text.marking import (
    ANNOTATION,
    FORMALITY_MARKS,
    MARK,
    PLACEHOLDER,
    TERM_BEGIN,
    TERM_END,
    mark_number,
    placeholder,
)
from limelight.text.numbers import NOTATIONS, find_numbers
from limelight.text.pair import Sides
from limelight.text.words import TERMINATORS

EN_DE, EN_FR = Languages("en", "de"), Languages("en", "fr")
PAIR = Sides("Yesterday Tom bought 12 books.", "Gestern hat Tom 12 Bücher gekauft.")


def changed(name: str, pair: Sides, seed: int, languages: Languages = EN_DE) -> Sides:
    return AUGMENTATIONS[name](pair, languages, Random(seed))


def test_every_augmentation_has_a_rate_and_every_rate_an_augmentation() -> None:
    assert AugmentationConfig().rates.keys() == {"join", *ALIGNED, *AUGMENTATIONS}


ALIGNMENT = Alignment([Link(0, 0), Link(1, 2), Link(4, 4), Link(5, 5)], WordForms())
NAMES = [["Tom", "Zoë"], ["Köln"]]
PAIRS = [Sides(f"{PAIR.source} Number {n}.", f"{PAIR.target} Nummer {n} für dich.") for n in range(50)]


def augmented(rates: dict[str, float], seed: int) -> list[Augmented]:
    return augment(PAIRS, [EN_DE] * 50, rates, seed, lambda _: ALIGNMENT, name_lists=NAMES)


def test_the_same_seed_gives_the_same_pairs_also_in_later_versions() -> None:
    """A run that is resumed has to see the same text: a change of this digest raises the format of checkpoints."""
    rates = dict.fromkeys(AugmentationConfig().rates, 0.5)
    found = augmented(rates, 1)
    assert augmented(rates, 1) == found != augmented(rates, 2)
    assert all(augmented({name: 1.0}, 1) != [Augmented(pair) for pair in PAIRS] for name in rates)
    assert hashlib.sha256(repr([tuple(each.pair) for each in found]).encode()).hexdigest()[:16] == "a929396e8017ede0"


def test_a_sentence_loses_the_sign_at_its_end_in_every_script() -> None:
    for sign in TERMINATORS:
        assert changed("bare", Sides(f"a b{sign}", "c d."), 1) == Sides("a b", "c d")
        assert changed("bare", Sides(f"a b{sign}", "c d"), 1) == Sides(f"a b{sign}", "c d")


def test_a_rate_of_0_draws_nothing() -> None:
    """So runs without a new augmentation are continued exactly."""
    random = Random(1)
    random.random()  # whether there are other names
    assert augmented({"names": 1.0}, 1)[0].pair == names(PAIRS[0], EN_DE, random, lists=NAMES)


def test_joined_pairs_are_those_that_follow_and_speak_the_same_languages() -> None:
    pairs = [Sides(f"a{n}.", f"b{n}.") for n in range(4)]
    languages = [EN_DE, Languages("en", "fr"), EN_DE, EN_DE]
    for (source, target), *_ in augment(pairs, languages, {"join": 1.0}, 1, lambda _: ALIGNMENT):
        places = re.findall(r"a(\d)\.", source)
        assert places == re.findall(r"b(\d)\.", target)
        assert len({languages[int(place)] for place in places}) == 1
        assert source == " ".join(f"a{place}." for place in places)


def test_a_name_of_a_list_becomes_another_of_that_list() -> None:
    first, cities, seed = ["Tom", "Zoë", "Jean-Marie"], ["Köln", "Bad Ems"], 1
    seen = {names(PAIR, EN_DE, Random(seed + offset), lists=(first, cities)) for offset in range(200)}
    new = {pair.source.removeprefix("Yesterday ").removesuffix(" bought 12 books.") for pair in seen}
    assert set(first) < new  # and invented ones
    assert not new & set(cities)
    assert all(pair.target == PAIR.target.replace("Tom", name) for pair, name in ((p, p.source[10:-17]) for p in seen))


def test_a_name_with_a_vowel_does_not_take_the_place_of_one_without() -> None:
    pair = Sides("Ivan's and Paul's cats", "les chats d'Ivan et de Paul")
    for seed in range(100):
        target = names(pair, EN_FR, Random(seed), lists=[["Ivan", "Paul", "Élise", "Tom"]]).target
        assert re.fullmatch("les chats d'[AEIOUÉ].* et de [^AEIOUÉ].*", target)


def test_without_lists_names_are_invented_from_words_of_the_pair() -> None:
    """So they are in its script."""
    pair = Sides("Вчера Том купил книги", "Учора Том купив книги")
    found = [names(pair, Languages("ru", "uk"), Random(seed)) for seed in range(20)]
    assert len(set(found)) > 10
    for source, target in found:
        name = source.removeprefix("Вчера ").removesuffix(" купил книги")
        assert target == f"Учора {name} купив книги"
        assert name.istitle()
        assert set(name.casefold()) <= set("вчератомкупилкнигиучоравкупив ")


def test_an_aligned_word_is_written_in_capitals_on_both_sides() -> None:
    pair, links = Sides("The big house", "Das große Haus"), Alignment([Link(n, n) for n in range(3)], WordForms())
    found = augment([pair] * 30, [EN_DE] * 30, {"emphasis": 1.0}, 1, lambda _: links)
    assert {each.pair for each in found} == {
        Sides("THE big house", "DAS große Haus"), Sides("The BIG house", "Das GROSSE Haus"),
        Sides("The big HOUSE", "Das große HAUS"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["emphasis", "lowercase", "uppercase"])
def test_case_changes_on_both_sides_or_on_none(name: str) -> None:
    pair, links = Sides("고양이가 www.Ab.de", "The www.Ab.de"), Alignment([Link(0, 0)], WordForms())
    assert augment([pair], [Languages("ko", "en")], {name: 1.0}, 1, lambda _: links) == [Augmented(pair)]


def test_shared_numbers_become_placeholders_in_the_order_of_the_source() -> None:
    pair = Sides("In 1990 he had 12 dogs and 3 cats.", "1990 hatte er 3 Katzen und 12 Hunde.")
    [found] = augment([pair], [EN_DE], {"figures": 1.0}, 1, lambda _: ALIGNMENT)
    first = PLACEHOLDER.findall(found.pair.source)
    assert found.is_marked
    assert [mark_number(mark) - mark_number(first[0]) for mark in first] == [0, 1, 2]
    assert PLACEHOLDER.findall(found.pair.target) == [first[0], first[2], first[1]]


@pytest.mark.parametrize("name", ["numbers", "decimals"])
def test_new_numbers_have_the_same_value_in_the_notation_of_each_language(name: str) -> None:
    draw = Random(1)
    for seed in range(300):
        languages = Languages(*draw.choices([*NOTATIONS], k=2))
        sides = zip(changed(name, Sides("a 7 b", "c 7 d"), seed, languages), languages, strict=True)
        (one,), (other,) = (find_numbers(side, language) for side, language in sides)
        assert one.readings & other.readings, (one, other, languages)


@pytest.mark.parametrize("languages", [("en", "sw"), ("ur", "de"), ("", "")])
@pytest.mark.parametrize(("name", "text"), [("numbers", "a 7"), ("decimals", "a 7"), ("decimals", "a")])
def test_both_sides_have_the_notation_that_is_known(name: str, text: str, languages: tuple[str, str]) -> None:
    for seed in range(40):
        found = changed(name, Sides(text, text), seed, Languages(*languages))
        assert found.source == found.target


@pytest.mark.parametrize("name", ["numbers", "decimals", "figures"])
def test_a_number_within_another_one_or_a_word_stays(name: str) -> None:
    for seed in range(20):
        source, target = changed(name, Sides("A4, {8} %7$s 1 4.5 and 4 sheets", "A4, {8} %7$s 1 4,5 und 4 Blatt"), seed)
        assert source.startswith("A4, {8} %7$s 1 4.5 and ")
        assert not source.startswith("A4, {8} %7$s 1 4.5 and 4 ")
        assert target.startswith("A4, {8} %7$s 1 4,5 und ")


def test_what_both_sides_have_is_not_mistyped() -> None:
    found = {changed("typos", Sides("The {date} of Jones", "Das {date} von Jones"), seed).source for seed in range(50)}
    assert all(source.endswith("{date} of Jones") for source in found)
    assert len(found) > 3


def test_text_in_the_target_language_has_the_notation_of_that_language() -> None:
    pair = Sides("We have no oil.", "Wir haben kein Öl.")
    rates = {"same": 1.0, "decimals": 1.0, "quotes": 1.0}
    for seed in range(30):
        [((source, target), _)] = augment([pair], [EN_DE], rates, seed, lambda _: ALIGNMENT)
        assert source == target


def test_quotation_marks_of_other_languages_are_straight() -> None:
    found = {languages: {changed("quotes", Sides("a", "b"), seed, Languages(*languages)) for seed in range(20)}
             for languages in (("en", "de-AT"), ("en", "ru"))}  # fmt: skip
    assert found == {
        ("en", "de-AT"): {Sides('"a"', '"b"'), Sides("“a”", "„b“")}, ("en", "ru"): {Sides('"a"', '"b"')}
    }  # fmt: skip


def test_the_same_string_is_inserted_on_both_sides() -> None:
    for seed in range(100):
        source, target = changed("inserts", PAIR, seed)
        assert source == target or source.replace(PAIR.source, "") == target.replace(PAIR.target, "")


def test_no_word_in_a_script_of_the_pair_is_inserted() -> None:
    found = "".join(changed("inserts", Sides("猫", "Кот"), seed).source.strip("猫") for seed in range(1000))
    assert {"latin", "hangul", "greek"} < {*map(script_of, found)}
    assert not {"han", "cyrillic"} & {*map(script_of, found)}


def test_no_augmentation_empties_a_side_or_breaks_on_odd_text() -> None:
    odd = ["a", "?", "1", "...", "  x  ", "\u0130\u0131ß", "👍", "http://a", "ABC", "a\u0301b"]
    for name in AUGMENTATIONS:
        for seed in range(20):
            for text in odd:
                assert all(side.strip() for side in changed(name, Sides(text, text), seed)), (name, text)


MARKED = Sides(
    f"{placeholder(0)}Yesterday{placeholder(1)} Tom bought 12 books {TERM_BEGIN} Buch {TERM_END} for {placeholder(2)}.",
    f"{placeholder(0)}Gestern{placeholder(1)} hat Tom 12 Bücher für {placeholder(2)} gekauft.",
)


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_marks_survive_every_other_augmentation(name: str) -> None:
    """Each once on each side; the form of a term keeps its letters, but for capitals, names and numbers."""
    for seed in range(100):
        found = changed(name, MARKED, seed)
        for side in found:
            assert PLACEHOLDER.findall(side) == [placeholder(number) for number in range(3)]
        if name != "same":
            assert [match.lower() for match in ANNOTATION.findall(found.source)] == [f"{TERM_BEGIN} buch {TERM_END}"]


def test_links_follow_their_sentences_when_pairs_are_joined() -> None:
    """The words that a placeholder replaces are translations of one another in every sentence."""
    pairs = [Sides(f"a{n}, b{n} c{n}.", f"C{n} B{n} A{n}!") for n in range(200)]
    links = Alignment([Link(0, 2), Link(1, 1), Link(2, 0)], WordForms())
    rates = {"join": 1.0, "placeholders": 1.0}
    joined = 0
    for (source, target), is_marked in augment(pairs, [EN_DE] * 200, rates, 1, lambda _: links):
        assert sorted(MARK.findall(source)) == sorted(MARK.findall(target))
        left = [re.findall(r"[a-c]\d+", side.lower()) for side in (source, target)]
        assert sorted(left[0]) == sorted(left[1])
        joined += is_marked and target.count("!") > 1
    assert joined > 190


def test_private_use_characters_of_a_corpus_stay_text() -> None:
    """No mark is put beside them, so that none of them is taken for one."""
    pair = Sides(f"A{placeholder(3)} b", f"C{placeholder(3)} d")
    alignment = Alignment([Link(0, 0), Link(1, 1)], WordForms())
    rates = {"placeholders": 1.0, "terms": 1.0, "formality": 1.0}
    assert augment([pair], [EN_DE], rates, 1, lambda _: alignment) == [Augmented(pair)]
    for own in (Sides(f"A{placeholder(3)} b", "C du"), Sides("A b", "C󰔀 du")):
        assert augment([own], [EN_DE], {"formality": 1.0}, 1, lambda _: alignment) == [Augmented(own)]
    assert not Augmented(pair).is_marked


def test_a_source_is_tagged_with_the_form_of_address_of_its_target() -> None:
    pairs = [Sides("Are you there?", target) for target in ("Bist du da?", "Sind Sie da?", "Ist er da?")]
    found = augment(pairs, [EN_DE] * 3, {"formality": 1.0}, 1, lambda _: ALIGNMENT)
    assert [each.pair.source for each in found] == [
        f"{FORMALITY_MARKS['informal']}Are you there?", f"{FORMALITY_MARKS['formal']}Are you there?", "Are you there?"
    ]  # fmt: skip
    assert [each.pair.target for each in found] == [pair.target for pair in pairs]
    assert [each.is_marked for each in found] == [True, True, False]
    assert augment(pairs[:1], [Languages("en", "sv")], {"formality": 1.0}, 1, lambda _: ALIGNMENT) == [
        Augmented(pairs[0])
    ]

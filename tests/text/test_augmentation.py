"""Augmented pairs: what each augmentation promises, on drawn seeds that are printed when a test fails."""

import re
from collections import Counter
from random import Random

import pytest

from limelight.config.augmentation import AugmentationConfig
from limelight.text.augmentation import AUGMENTATIONS, Languages, Sides, augment

EN_DE = Languages("en", "de")
PAIR = Sides("Yesterday Tom bought 12 books.", "Gestern hat Tom 12 Bücher gekauft.")


def changed(name: str, pair: Sides, seed: int, languages: Languages = EN_DE) -> Sides:
    return AUGMENTATIONS[name](pair, languages, Random(seed))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    drawn = Random().randrange(2**31)
    print(f"seed {drawn}")
    return drawn


def test_every_augmentation_has_a_rate_and_every_rate_an_augmentation() -> None:
    assert set(AugmentationConfig.model_fields) == {"join", *AUGMENTATIONS}


def test_all_rates_are_off_by_default() -> None:
    config = AugmentationConfig()
    assert not config.active
    assert augment([PAIR] * 5, [EN_DE] * 5, config.model_dump(), seed=1) == [PAIR] * 5


def test_the_same_seed_gives_the_same_pairs_and_another_seed_others(seed: int) -> None:
    rates = dict.fromkeys(AugmentationConfig.model_fields, 0.5)
    pairs = [Sides(f"{PAIR.source} Number {n}.", f"{PAIR.target} Nummer {n}.") for n in range(50)]
    first = augment(pairs, [EN_DE] * 50, rates, seed)
    assert augment(pairs, [EN_DE] * 50, rates, seed) == first
    assert augment(pairs, [EN_DE] * 50, rates, seed + 1) != first


def test_a_rate_is_the_share_of_pairs_that_change(seed: int) -> None:
    count = 4000
    found = augment([PAIR] * count, [EN_DE] * count, {"uppercase": 0.3}, seed)
    share = sum(pair.source.isupper() for pair in found) / count
    assert abs(share - 0.3) < 5 * (0.3 * 0.7 / count) ** 0.5  # five standard deviations


def test_a_rate_without_an_augmentation_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no augmentation uper"):
        augment([PAIR], [EN_DE], {"uper": 0.1}, seed=1)


def test_joined_pairs_are_those_that_follow_and_speak_the_same_languages(seed: int) -> None:
    pairs = [Sides(f"a{n}.", f"b{n}.") for n in range(4)]
    languages = [EN_DE, Languages("en", "fr"), EN_DE, EN_DE]
    for source, target in augment(pairs, languages, {"join": 1.0}, seed):
        places = re.findall(r"a(\d)\.", source)
        assert places == re.findall(r"b(\d)\.", target)
        assert len({languages[int(place)] for place in places}) == 1
        assert source == " ".join(f"a{place}." for place in places)


def test_sentences_of_chinese_meet_without_a_space() -> None:
    found = augment([Sides("Yes.", "是。")] * 3, [Languages("en", "zh")] * 3, {"join": 1.0}, seed=1)
    assert found[0].target in ("是。是。", "是。是。是。")
    assert found[0].source in ("Yes. Yes.", "Yes. Yes. Yes.")


def test_a_shared_name_becomes_another_on_both_sides(seed: int) -> None:
    found = changed("names", PAIR, seed)
    match = re.fullmatch(r"Yesterday ([A-Z][a-z]+) bought 12 books\.", found.source)
    assert match
    assert found.target == f"Gestern hat {match[1]} 12 Bücher gekauft."


def test_a_name_on_one_side_alone_stays() -> None:
    pair = Sides("I saw Vienna.", "Ich habe Wien gesehen.")
    assert changed("names", pair, 1) == pair


def test_a_shared_number_becomes_another_on_both_sides(seed: int) -> None:
    found = changed("numbers", PAIR, seed)
    english = re.fullmatch(r"Yesterday Tom bought ([\d,]+) books\.", found.source)
    german = re.fullmatch(r"Gestern hat Tom ([\d.]+) Bücher gekauft\.", found.target)
    assert english
    assert german
    assert english[1].replace(",", "") == german[1].replace(".", "")


def test_large_numbers_are_written_as_each_language_writes_them() -> None:
    written = {changed("numbers", Sides("7", "7"), seed, Languages("en", "de")) for seed in range(300)}
    assert any(re.fullmatch(r"\d{1,3}(,\d{3})+", source) for source, _ in written)
    assert all(source.replace(",", ".") == target for source, target in written)


@pytest.mark.parametrize("text", ["1.75 m", "14:30", "3-4", "A7", "2/3"])
def test_parts_of_other_numbers_stay(text: str) -> None:
    assert changed("numbers", Sides(text, text), 1) == Sides(text, text)


def test_the_same_string_is_inserted_on_both_sides() -> None:
    kinds = Counter[str]()
    for seed in range(400):
        source, target = changed("inserts", PAIR, seed)
        if source == target:
            kinds["alone"] += 1
            continue
        added = {side.replace(text, "").strip() for side, text in zip((source, target), PAIR, strict=True)}
        assert len(added) == 1
        what = added.pop()
        kinds["url"] += what.startswith(("http", "www."))
        kinds["email"] += "@" in what
        kinds["script"] += not what.isascii()
    assert min(kinds[kind] for kind in ("alone", "url", "email", "script")) > 10


def test_text_in_the_target_language_stays_as_it_is() -> None:
    assert changed("same", PAIR, 1) == Sides(PAIR.target, PAIR.target)


def test_quotation_marks_are_those_of_the_language() -> None:
    found = {changed("quotes", Sides("Yes.", "Ja."), seed) for seed in range(20)}
    assert found == {Sides("“Yes.”", "„Ja.“"), Sides('"Yes."', '"Ja."')}


def test_list_marks_are_the_same_on_both_sides(seed: int) -> None:
    source, target = changed("lists", PAIR, seed)
    assert source.removesuffix(PAIR.source) == target.removesuffix(PAIR.target) != ""


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (Sides("Stop!", "Halt!"), Sides("Stop", "Halt")),
        (Sides("Why?!", "Warum?"), Sides("Why", "Warum")),
        (Sides("Est-il là ?", "Is he there?"), Sides("Est-il là", "Is he there")),
        (Sides("好。", "Good."), Sides("好", "Good")),
        (Sides("Stop!", "Halt"), Sides("Stop!", "Halt")),
        (Sides("...", "..."), Sides("...", "...")),
    ],
)
def test_final_marks_are_lost_together(pair: Sides, expected: Sides) -> None:
    assert changed("bare", pair, 1) == expected


def test_recasing_leaves_addresses_alone() -> None:
    pair = Sides("Write to Info@Example.org now", "Schreib an Info@Example.org jetzt")
    assert changed("uppercase", pair, 1) == Sides("WRITE TO Info@Example.org NOW", "SCHREIB AN Info@Example.org JETZT")
    assert changed("lowercase", pair, 1) == Sides("write to Info@Example.org now", "schreib an Info@Example.org jetzt")
    assert changed("titlecase", pair, 1) == Sides("Write To Info@Example.org Now", pair.target)


def test_typing_errors_are_few_and_on_the_source_alone() -> None:
    changed_sources = 0
    for seed in range(200):
        source, target = changed("typos", PAIR, seed)
        assert target == PAIR.target
        assert abs(len(source) - len(PAIR.source)) <= 2
        assert "12" in source
        words = zip(source.split(), PAIR.source.split(), strict=True)
        assert sum(now != before for now, before in words) <= 2
        changed_sources += source != PAIR.source
    assert changed_sources > 150


def test_no_augmentation_empties_a_side_or_breaks_on_odd_text() -> None:
    odd = ["a", "?", "1", "...", "  x  ", "\u0130\u0131ß", "👍", "http://a", "ABC", "a\u0301b"]
    for name in AUGMENTATIONS:
        for seed in range(20):
            for text in odd:
                assert all(side.strip() for side in changed(name, Sides(text, text), seed)), (name, text)

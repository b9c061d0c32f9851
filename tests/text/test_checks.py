"""Checks of translations: what each finds, and what it leaves alone."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text.checks import (
    cut_loops,
    find_addresses,
    find_loop,
    in_capitals,
    is_capitals,
    is_copied,
    loses_address,
)


@pytest.mark.parametrize(
    ("source", "output", "loop"),
    [
        ("salad", "salad salad salad salad", ("salad",)),
        ("I go there.", "ich gehe da, ich gehe da, ich gehe da", ("ich", "gehe", "da")),
        ("Once again.", "encore une fois encore une fois encore une fois.", ("encore", "une", "fois")),
        ("Nice.", "lalalalalalalalalala", ("la",)),
        ("Ha ha ha! No.", "Das ist sehr gut, das ist sehr gut, das ist sehr gut.", ("das", "ist", "sehr", "gut")),
        ("x", "----------------------", ("-",)),
        ("The year of the king.", "Das Jahr 2024 2024 2024 2024 2024", ("2024",)),
        ("1. Intro .............", "_x_x_x_x_x_x_x_x_x", ("_x",)),
        ("1. Intro .............", "Eeeeeeeeeeeeeeeeeee", ("e",)),
        ("a", "ha" * 7 + " h", ("ha",)),
        ("a", "x" * 11, ()),
        ("Very, very, very, very good!", "Sehr, sehr, sehr, sehr gut!", ()),
        ("hahahahahahahaha", "hahahahahahahaha", ()),
        ("No, no, no.", "Nein, nein, nein.", ()),
        ("a b a b c", "c d c d e", ()),
        ("That is a thing.", "އެއީ އެއްޗެއް.", ()),
        ("", "", ()),
    ],
)
def test_loops(source: str, output: str, loop: tuple[str, ...]) -> None:
    found = find_loop(source, output)
    assert (found.words if found else 0) == len(loop)
    if found:
        assert not find_loop(source, cut_loops(source, output))


TEXT = "See https://a.b/c?d=e. Mail me.too@x.org, or www.test.com/path) or example.com! Not e.g. this, z.B. das, 3.5."


def test_addresses_are_found_without_the_punctuation_around_them() -> None:
    assert find_addresses(TEXT) == ["https://a.b/c?d=e", "me.too@x.org", "www.test.com/path", "example.com"]


def test_an_address_has_to_come_back_as_it_was_and_as_often() -> None:
    assert not loses_address(TEXT, TEXT)
    assert loses_address(TEXT, TEXT.replace("me.too", "me"))
    assert loses_address("a@b.org and a@b.org", "a@b.org")


@pytest.mark.parametrize(
    ("source", "output", "copied"),
    [
        ("The dog sleeps.", "the dog sleeps.", True),
        ("To\u0302i ye\u0302u ba\u0323n.", "T\u00f4i y\u00eau b\u1ea1n.", True),
        ("Tom Miller", "Tom Miller", False),
        ("12 30", "12 30", False),
        ("OK", "OK", False),
        ("Blah, blah, blah.", "Blah, blah, blah.", False),
        ("The dog sleeps.", "Der Hund schläft.", False),
    ],
)
def test_copies(source: str, output: str, copied: bool) -> None:
    assert is_copied(source, output) is copied


def longest_run(words: list[str], size: int) -> int:
    """How often `size` words follow one another at most, by counting."""
    best = 0
    for start in range(len(words)):
        times = 1
        while words[start : start + size] == words[start + times * size : start + (times + 1) * size]:
            times += 1
        best = max(best, times)
    return best


def test_loops_are_what_counting_finds() -> None:
    draw, number = random.Random(4), 0
    for _ in range(2000):
        few = draw.choices("abc", k=draw.randint(1, 5))
        output = " ".join(draw.choices("abc", k=draw.randint(0, 4)) + few * draw.randint(1, 4) + ["c"])
        expected = any(longest_run(output.split(), size) >= 3 + (size == 1) for size in range(1, 9))
        assert (find_loop("a b a b", output) is not None) == expected
        number += expected
    assert 300 < number < 1700


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("See [url=https://example.org/a]the page[/url].", "https://example.org/a"),
        ("[url=https://example.org]here[/url]", "https://example.org"),
        ("[the page](https://example.org/b?c=1)", "https://example.org/b?c=1"),
        ("https://example.org/a[1]=2&b[]=3, then", "https://example.org/a[1]=2&b[]=3"),
        ("[example.org/a]", "example.org/a"),
        ("请访问https://example.com了解详情", "https://example.com"),
        ("https://example.com을 보세요", "https://example.com"),
        ("邮箱是foo@bar.com请联系我", "foo@bar.com"),
        ("https://example.com/路径。谢谢", "https://example.com/路径"),
        ("https://example.com، then", "https://example.com"),
        ("https://hi.wikipedia.org/wiki/हिन्दी।", "https://hi.wikipedia.org/wiki/हिन्दी"),
        ("See https://de.wikipedia.org/wiki/Käse…", "https://de.wikipedia.org/wiki/Käse"),
        ("info@müller.de", "info@müller.de"),
        ("SEE HTTPS://EXAMPLE.COM/A. NOW", "HTTPS://EXAMPLE.COM/A"),
        ("OR WWW.TEST.DE!", "WWW.TEST.DE"),
        ("(https://a.org/K_(b)).", "https://a.org/K_(b)"),
        ("[t](https://a.org/A_(b)) x", "https://a.org/A_(b)"),
    ],
)
def test_an_address_ends_where_markup_or_text_begins(text: str, address: str) -> None:
    assert find_addresses(text) == [address]


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Our grandparents live here.", "हमारे दादा-दादी यहाँ रहते हैं।"),
        ("A trillion is 1,000,000,000,000.", "Eine Billion ist 1000000000000."),
        ("Hahahahahahahahaha, how good", "Jajajajajajajajaja, qué bueno"),
        ("哈哈哈哈哈哈哈哈", "Hahahahahahahahaha"),
        ("哈哈哈哈", "Ha ha ha ha"),
        ("快点快点快点", "Hurry up, hurry up, hurry up"),
        ("Danke, danke, danke!", "Thank you, thank you, thank you!"),
        ("1000000000000 m", "1.000.000.000.000 m"),
    ],
)
def test_what_the_source_has_is_no_loop(source: str, output: str) -> None:
    assert cut_loops(source, output) == output


@given(st.text() | st.text("ᎣᏏᏲꭳꮟᏸხეეΣςßŉ İi"))
def test_no_folded_text_is_in_capitals(text: str) -> None:
    assert not is_capitals(text.casefold())


def test_addresses_have_no_capitals() -> None:
    assert in_capitals("Siehe www.example.org/Path für mehr") == "SIEHE www.example.org/Path FÜR MEHR"
    assert in_capitals("{name} ist da: %s", "{name} IS THERE: %s") == "{name} IST DA: %s"
    assert in_capitals("Hoş geldiniz", dotted=True) == "HOŞ GELDİNİZ"

"""Gettext catalogs: what is translated, and what msgfmt says to it."""

import re

import pytest

from tests.formats.helpers import texts, translated

HEAD = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: \\n"\n\n'


def test_untranslated_and_fuzzy_entries_are_translated_and_become_fuzzy() -> None:
    text = HEAD + (
        '#. a comment\n#: a.c:1\nmsgctxt "menu"\nmsgid "open"\nmsgstr ""\n\n'
        '#, c-format\nmsgid "close %d"\nmsgstr ""\n\n'
        '#, fuzzy\n#| msgid "before"\nmsgid "after"\nmsgstr "davor"\n\n'
        'msgid "yes"\nmsgstr "ja"\n\n#~ msgid "gone"\n#~ msgstr ""\n'
    )
    assert texts(text, ".po") == ["open", "close %d", "after"]
    new = translated(text, ".po")
    assert '#: a.c:1\n#, fuzzy\nmsgctxt "menu"\nmsgid "open"\nmsgstr "OPEN"\n' in new
    assert '#, fuzzy, c-format\nmsgid "close %d"\nmsgstr "CLOSE %D"\n' in new
    assert '#| msgid "before"\nmsgid "after"\nmsgstr "AFTER"\n' in new
    assert '"Language: de\\n"' in new
    assert 'msgid "yes"\nmsgstr "ja"\n\n#~ msgid "gone"\n#~ msgstr ""\n' in new
    assert texts(text, ".po", everything=True)[-1] == "yes"


POLISH = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2);"
LATE = "nplurals=3; plural=(n==0 ? 0 : n==1 ? 1 : 2);"


@pytest.mark.parametrize(
    ("rule", "target", "given", "new"),
    [
        (POLISH, "xx", ["", ""], ["ONE DOG", "%D DOGS", "%D DOGS"]),
        (LATE, "xx", ["", ""], ["%D DOGS", "ONE DOG", "%D DOGS"]),
        ("nplurals=1; plural=0;", "xx", ["", ""], ["%D DOGS"]),
        ("nplurals=2; plural=(n != 1);", "xx", ["", "", ""], ["ONE DOG", "%D DOGS"]),
        ("nplurals=INTEGER; plural=EXPRESSION;", "pl", ["", ""], ["ONE DOG", "%D DOGS", "%D DOGS"]),
        ("nplurals=2; plural=(n != 1);", "de", ["", "Hunde"], ["ONE DOG", "Hunde"]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_forms_by_their_number(rule: str, target: str, given: list[str], new: list[str], end: str) -> None:
    strings = "".join(f'msgstr[{number}] "{form}"\n' for number, form in enumerate(given))
    head = HEAD.replace('"Language', f'"Plural-Forms: {rule}\\n"\n"Language')
    text = f'{head}msgid "one dog"\nmsgid_plural "%d dogs"\n{strings}\nmsgid "a"\nmsgstr "b"\n'.replace("\n", end)
    found = translated(text, ".po", target=target)
    assert re.findall(r'msgstr\[(\d)\] "(.*)"', found) == [(str(place), form) for place, form in enumerate(new)]
    assert found.count("#, fuzzy") == 1
    assert "INTEGER" not in found
    assert re.search(r'"Plural-Forms: nplurals=\d; plural=.*;\\n"', found)
    assert found.count("\n") == found.count(end)
    assert found.endswith(f'{end}{end}msgid "a"{end}msgstr "b"{end}')


def test_a_first_form_that_the_language_does_not_have_is_removed() -> None:
    head = HEAD.replace('"Language', '"Plural-Forms: nplurals=1; plural=0;\\n"\n"Language')
    new = translated(f'{head}msgid "dog"\nmsgid_plural "dogs"\nmsgstr[1] ""\nmsgstr[0] ""\n', ".po")
    assert new.endswith('msgid_plural "dogs"\nmsgstr[0] "DOGS"\n')


def test_strings_over_several_lines_and_escapes() -> None:
    text = HEAD + 'msgid ""\n"a \\"b\\"\\n"\n"c\\td\\n"\nmsgstr ""\n'
    assert texts(text, ".po") == ['a "b"\nc\td\n']
    assert translated(text, ".po").endswith('msgstr ""\n"A \\"B\\"\\n"\n"C\\tD\\n"\n')


def test_flags_of_an_obsolete_entry_are_not_those_of_the_next() -> None:
    assert texts(HEAD + '#, fuzzy\n#~ msgid "a"\n#~ msgstr "b"\n\nmsgid "c"\nmsgstr "d"\n', ".po") == []

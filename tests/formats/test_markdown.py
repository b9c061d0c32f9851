"""Markdown: blocks, inline markup as codes, and what is not translated."""

import time

import pytest

from limelight.formats.unit import splice
from limelight.text.marking import FIRST_CODE
from tests.formats.helpers import texts, translated, units_of, upper

TEXT = """---
title: no
---
# A *big* house #

The dog [sleeps](http://a.org "t") in `the house`, and **the cat
runs** away.\x20\x20
It rains.

1. one <br> two
   - [x] done

> quoted

| a b | c |
|-----|---|
| `x` | y \\| z |

```sh
no
```

    no

<div title="tip">html *no*</div>

[ref]: http://a.org
"""


def test_blocks_and_codes() -> None:
    assert texts(TEXT, ".md") == [
        "A |big| house",
        "The dog |sleeps| in |, and |the cat runs| away.|It rains.",
        "one | two",
        "|done",
        "quoted",
        "a b",
        "c",
        "y | z",
        "tip",
        "html *no*",
    ]
    new = translated(TEXT, ".md")
    assert "# A *BIG* HOUSE #\n" in new
    assert '[SLEEPS](http://a.org "t") IN `the house`, AND **THE CAT RUNS** AWAY.  \nIT RAINS.\n' in new
    assert (
        "   - [x] DONE\n\n> QUOTED\n\n| A B | C |\n|-----|---|\n| `x` | Y \\| Z |\n\n```sh\nno\n```\n\n    no\n" in new
    )
    assert '<div title="TIP">HTML *NO*</div>' in new
    assert new.startswith("---\ntitle: no\n---\n")
    assert new.endswith("[ref]: http://a.org\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a * b and snake_case_name", "a * b and snake_case_name"),
        ("**bold *and* more**", "|bold |and| more|"),
        ("![alt text](a.png)", "|alt text|"),
        ("[a [b] c](x)", "|a [b] c|"),
        ("[not a link] here", "[not a link] here"),
        ("see <http://a.org> and [^1]", "see | and |"),
        ("``a ` b`` c", "| c"),
        ("5 \\* 3 &amp; d", "5 | 3 | d"),
        ("a <b>c</b>", "a |c|"),
        ("~~old~~ new", "|old| new"),
    ],
)
def test_inline(text: str, shown: str) -> None:
    assert texts(text, ".md") == [shown]
    assert translated(text, ".md").lower() == text.lower()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[![Build](b.svg)](x) [![PyPI](p.svg)](y)", []),
        ("[![Build](b.svg)](x) It **runs** ![dog](d.png)", ["| It |runs| |dog|"]),
        ("It [![Build [x]](b_(c).svg)](x) is", ["It | is"]),
        ("[![Build](b.svg) it](x) [![](b.svg) and **on**](x)", ["||Build| it| || and |on||"]),
        ("***both*** and **_x_** *a **b** c*", ["||both|| and ||x|| |a |b| c|"]),
        ("a ~~~b~~~ c", ["a ~|b~| c"]),
        ("![a *b* c](x 't') d", ["|a |b| c| d"]),
        ("[a `]` b](u) ![](i.png) c", ["|a | b| | c"]),
        ('[a](<b c> "t\n u") d', ["|a| d"]),
        ('**bold [link](x "y")** \\\nline', ["|bold |link|||line"]),
        ("> one  \n> two *x*", ["one|two |x|"]),
        ("> one  \r\n> two *x*", ["one|two |x|"]),
        ("note[^1] and $x^2$ here", ["note| and | here"]),
        ("[foo *bar*](x)*baz*", ["|foo |bar|||baz|"]),
        ("- [ ] [a](b) c", ["||a| c"]),
    ],
)
def test_inline_markup_is_that_of_the_parser(text: str, shown: list[str]) -> None:
    assert texts(text, ".md") == shown
    assert translated(text, ".md").lower() == text.lower()
    assert [list(unit.limits(unit.text)) for unit in units_of(text, ".md")] == [[]] * len(shown)


def test_a_rule_at_the_beginning_is_not_metadata() -> None:
    assert texts("---\n\nA dog runs.\n\n---\n", ".md") == ["A dog runs."]


def test_a_reference_keeps_its_address_when_its_text_is_translated() -> None:
    text = "See [the dog], [the cat][] and [it][the dog].\n\n[the dog]: a.org\n[the cat]: b.org\n"
    (unit,) = units_of(text, ".md")
    new = splice(text, unit.write(unit.text.replace("dog", "Hund").replace("cat", "Katze")))
    assert new.startswith("See [the Hund][the dog], [the Katze][the cat] and [it][the dog].")
    assert splice(text, unit.write(unit.text)).startswith("See [the dog][the dog], [the cat][the cat] and")


@pytest.mark.parametrize(
    ("text", "new", "written"),
    [
        ("It was.", "1986. Es", "1986\\. Es"),
        ("It was.", "- Es", "\\- Es"),
        ("It was.", "# Es", "\\# Es"),
        ("It was.", "a *b* c", "a \\*b\\* c"),
        ("It was.", "a <b> c", "a \\<b> c"),
        ("It was 5 * 3.", "Es 5 * 3.", "Es 5 * 3."),
        ("# It was", "1986. Es", "# 1986. Es"),
        ("| a | b |\n|---|---|", "x | y", "| x \\| y | b |\n|---|---|"),
    ],
)
def test_text_does_not_become_markup(text: str, new: str, written: str) -> None:
    unit = units_of(text, ".md")[0]
    assert splice(text, unit.write(new)) == written
    assert not list(unit.limits(new))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("> [!WARNING]\n> This is *it*.\n", ["|This is |it|."]),
        ("> [!NOTE] This\n> is it.\n", ["|This is it."]),
        ("::: a\n::: b\nIt runs.\n", ["||It runs."]),
        ("A dog\n: It runs.\n: It sleeps.\n", ["A dog|It runs.|It sleeps."]),
        ("::: tip The dog\nIt runs\nnow.\n:::\n", ["|It runs now.|"]),
        ("- a\n\n  :::note\n  It **runs**.\n  :::\n", ["a", "|It |runs|.|"]),
        ("It is: so\n:smile: yes :: no\n", ["It is: so :smile: yes :: no"]),
        (":::\n", []),
    ],
)
def test_lines_with_a_meaning_stay_lines(text: str, shown: list[str]) -> None:
    """Alerts, definitions and containers of other dialects are no markup of CommonMark."""
    assert texts(text, ".md") == shown
    joined = text.replace("runs\nnow", "runs now").replace("so\n:smile", "so :smile").replace("This\n> is", "This is")
    assert translated(text, ".md").lower() == joined.lower()


def test_markup_that_a_translation_breaks_is_found() -> None:
    (unit,) = units_of("the **dog** and [x](y)", ".md")
    opened, closed, link, end = (chr(FIRST_CODE + number) for number in range(4))
    assert list(unit.limits(f"{link}x{end} und {opened}Hund{closed}")) == []
    assert list(unit.limits(f"der{opened} Hund{closed}e {link}x{end}")) == ["markup changed"]
    assert list(unit.limits(f"{opened}der {link}Hund{closed} x{end}")) == ["markup changed"]
    assert list(unit.limits(f"{opened}Hund{closed} {link}x")) == ["markup changed"]


def test_markup_is_found_in_linear_time() -> None:
    for piece in ("*a", "[", "![", "`", "<a ", "\\", "**a** ", "[a](b) ", "$", "~~"):
        assert len(units_of(piece * 500 + " word", ".md")) <= 1
    for piece in ("<code>", "[^"):  # a minute in quadratic time
        assert len(units_of("word " + piece * 12_000, ".md")) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("press <kbd>one two</kbd> now", "press | now"),
        ("a <code>b <b>c</b></code> d <var>e</var>", "a | d |"),
        ('a <span translate="no">b c</span> d', "a | d"),
        ("see [[one two]] and [[three]] now", "see | and | now"),
        ("see [[one two|a b]] now", "see | now"),
        ("a <code>[</code> b](u) c", "a | b| c"),
    ],
)
def test_what_is_kept_of_other_dialects(text: str, shown: str) -> None:
    assert texts(text, ".md") == [shown]
    kept = translated(text, ".md")
    assert kept.lower() == text.lower()
    assert not any(word in kept for word in ("ONE TWO]", "ONE TWO|", "</KBD>", "</CODE>", "B C<"))
    (unit,) = units_of(text, ".md")
    assert list(unit.limits(upper(unit.text))) == []


@pytest.mark.parametrize(
    "text",
    [
        "[^n]: a note\nmore of it\n[^m]: another one\n",
        '!!! note "a title"\n    a text\n',
        "a text\n{: .note }\n",
    ],
)
def test_lines_that_only_dialects_have_stay_lines(text: str) -> None:
    assert [line.split(" ")[0] for line in translated(text, ".md").lower().splitlines() if line[:1] in "[!{"] == [
        line.split(" ")[0] for line in text.splitlines() if line[:1] in "[!{"
    ]


@pytest.mark.parametrize(
    "front", ['+++\ntitle = "My page"\n+++\n', '{\n  "title": "My page"\n}\n', "---\ntitle: My page\n---\n"]
)
def test_metadata_is_not_translated(front: str) -> None:
    assert texts(f"{front}\nHello there.\n", ".md") == texts(f"{front}<p>Hello there.</p>", ".html") == ["Hello there."]


@pytest.mark.parametrize(
    "code",
    [
        "{% highlight ruby %}\ndef one\n  two\nend\n\nputs three\n{% endhighlight %}",
        '{{< highlight go "linenos" >}}\na b\n\nc d\n{{< /highlight >}}',
        "> <div>\n> some text\n> and more\n> </div>",
        "```markdown\n!!! note\n    ```python\n    x y\n    ```\n```",
    ],
)
def test_blocks_of_other_programs_stay(code: str) -> None:
    assert translated(f"one two\n\n{code}\n\nthree four\n", ".md") == f"ONE TWO\n\n{code}\n\nTHREE FOUR\n"


def test_html_in_a_quotation_is_translated_where_a_text_is_on_one_line() -> None:
    assert texts("> <p>one two</p>\n> <p>three four</p>\n", ".md") == ["one two", "three four"]


def test_metadata_is_looked_for_once() -> None:
    began = time.process_time()
    assert len(texts("---\nb c\n\n" + "<div>one two</div>\n\n" * 3000, ".md")) > 3000
    assert time.process_time() - began < 4  # 10 seconds in quadratic time


def test_the_text_of_a_container_of_mkdocs_is_translated() -> None:
    text = '!!! note "a title"\n\n    some text\n    and more\n\n    - a point\n\nafter it\n\n    no text\n'
    assert texts(text, ".md")[-3:] == ["some text and more", "a point", "after it"]
    assert texts(f"```x``` is code\n\n{text}", ".md")[-3:] == ["some text and more", "a point", "after it"]
    assert texts(f"```\nno\n  ```\n\n{text}", ".md")[-3:] == ["some text and more", "a point", "after it"]
    assert translated(text, ".md").endswith("\n    SOME TEXT AND MORE\n\n    - A POINT\n\nAFTER IT\n\n    no text\n")
    assert translated(text, ".md").startswith("!!! note ")
    assert texts("[^n]: a note\n\n    two\n\none\n:   a b\n\n    c\n", ".md") == ["|: a note", "two", "one|a b", "c"]

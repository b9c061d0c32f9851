"""Markdown: blocks, inline markup as codes, and what is not translated."""

import pytest

from tests.text.units.helpers import texts, translated

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

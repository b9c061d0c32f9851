"""HTML: blocks, inline tags, attributes, and what is not translated."""

import random

from tests.text.units.helpers import texts, translated, units_of


def test_blocks_are_units_and_inline_tags_are_codes() -> None:
    text = "<ul><li>One <b>big</b> dog<li>Two<br>\n  dogs</ul>tail"
    assert [" ".join(each.split()) for each in texts(text, ".html")] == ["One |big| dog", "Two| dogs", "tail"]
    assert translated(text, ".html").startswith("<ul><li>ONE <b>BIG</b> DOG<li>TWO<br>")


def test_what_is_code_stays() -> None:
    text = (
        "<script>var a = '<p>no</p>';</script><style>p {}</style><pre>no</pre><p translate=no>no <b>no</b></p>"
        "<p class='x notranslate'>no</p><!-- no --><p>yes <code>no</code></p>"
    )
    assert texts(text, ".html") == ["yes |"]
    assert translated(text, ".html") == text.replace("yes", "YES")


def test_attributes_that_people_read() -> None:
    text = (
        '<html lang="en"><meta name="description" content="a page"><meta name="x" content="no">'
        '<p title=\'tip "a"\'>see <img alt="a dog" src="no.png"> <a href="no" title="go">here</a></p>'
        '<input type="submit" value="send"><input value="no">'
    )
    assert set(texts(text, ".html")) == {"a page", 'tip "a"', "a dog", "go", "see | |here|", "send"}
    new = translated(text, ".html")
    assert '<html lang="de"><meta name="description" content="A PAGE">' in new
    assert '<p title=\'TIP &quot;A&quot;\'>SEE <img alt="A DOG" src="no.png">' in new
    assert '<a href="no" title="GO">HERE</a>' in new


def test_entities_are_characters_for_the_model_and_text_is_escaped() -> None:
    text = "<p>fish &amp; chips &lt;now&gt; caf&eacute;&nbsp;x &copy; a & b</p>"
    assert texts(text, ".html") == ["fish & chips <now> café\u00a0x © a & b"]
    assert translated(text, ".html") == "<p>FISH & CHIPS &lt;NOW> CAFÉ&nbsp;X © A & B</p>"


def test_white_space_is_one_space_but_at_the_ends() -> None:
    assert texts("<p>\n  a\n   b\t<i> c </i></p>", ".html") == ["\n  a b\t| c |"]


def test_any_sequence_of_tags_is_read(seed: int) -> None:
    draw = random.Random(seed)
    pieces = ["<p>", "</p>", "<b>", "</b>", "<script>", "</script>", "<!--", "-->", "<", ">", "a b", "&amp;", "&", '"',
              "<img alt='x y'>", "<a title=\"t\">", "<pre>", "</pre>", "<![CDATA[", "<?", "<!DOCTYPE html>",
              "\n"]  # fmt: skip
    for _ in range(200):
        text = "".join(draw.choices(pieces, k=draw.randint(1, 20)))
        for unit in units_of(text, ".html"):
            list(unit.write(unit.text))
        translated(text, ".html")

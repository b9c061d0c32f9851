"""HTML: blocks, inline tags, attributes, and what is not translated."""

import random
import time

import pytest

from limelight.formats.unit import rewritten, splice
from tests.formats.helpers import texts, translated, units_of


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
    assert '<p title=\'TIP "A"\'>SEE <img alt="A DOG" src="no.png">' in new
    assert '<a href="no" title="GO">HERE</a>' in new


def test_entities_are_characters_for_the_model_and_text_is_escaped() -> None:
    text = "<p>fish &amp; chips &lt;now&gt; caf&eacute;&nbsp;x &copy; a & b</p>"
    assert texts(text, ".html") == ["fish & chips <now> café|x © a & b"]
    assert translated(text, ".html") == "<p>FISH &amp; CHIPS &lt;NOW&gt; CAFÉ&nbsp;X © A &amp; B</p>"


@pytest.mark.parametrize(
    ("text", "new", "written"),
    [
        ("<p>a & b</p>", "<é> & “b”", "<p>&lt;é&gt; &amp; “b”</p>"),
        ("<p title='a'>5</p>", 'Tom\'s "x" & y', "<p title='Tom&#x27;s \"x\" &amp; y'>5</p>"),
        ("<p title=a>5</p>", "b c", '<p title="b c">5</p>'),
    ],
)
def test_text_is_escaped_where_it_is_written(text: str, new: str, written: str) -> None:
    (unit,) = units_of(text, ".html")
    assert splice(text, unit.write(new)) == written


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


@pytest.mark.parametrize(
    "text",
    [
        "<select><option value='x'>{}</option></select>",
        "<select><optgroup label='{}'><option>5</option></optgroup></select>",
        "<noscript>{}</noscript>",
        "<textarea>{}</textarea>",
        "<template><p>{}</p></template>",
    ],
)
def test_elements_that_show_text_are_translated(text: str) -> None:
    assert texts(text.format("one two"), ".html") == ["one two"]
    assert translated(text.format("one two"), ".html") == text.format("ONE TWO")


def test_a_picture_in_a_sentence_stays() -> None:
    text = "<p>see <svg><text>one two</text></svg> here</p>"
    assert texts(text, ".html") == ["see | here"]
    assert translated(text, ".html") == "<p>SEE <svg><text>one two</text></svg> HERE</p>"
    assert not units_of("<svg><code></svg>" * 20_000, ".html")  # minutes in quadratic time


@pytest.mark.parametrize("text", ["<" + "a" * 40_000, "{{" * 25_000 + " a dog", "<a " + '"<a" ' * 10_000])
def test_what_has_no_end_takes_linear_time(text: str) -> None:
    began = time.process_time()
    translated(text, ".html")
    assert time.process_time() - began < 3  # 6 seconds and more in quadratic time


def test_templates_are_not_escaped() -> None:
    text = '<p title="{% if a > b %}x{% endif %}">{% if n > 1 %}many{% endif %} {{ a && b }} dogs &lt;% x %&gt;</p>'
    assert rewritten(text, units_of(text, ".html"), [unit.text for unit in units_of(text, ".html")]) == text
    assert "{{ a && b }} DOGS" in rewritten(
        text, units_of(text, ".html"), [unit.text.replace("dogs", "DOGS") for unit in units_of(text, ".html")]
    )


def test_an_entity_of_thousands_of_digits_is_no_character() -> None:
    text = f"<p title='a {'&#1' * 9}'>one &#{'1' * 5000}; two &amp; three</p>"
    assert texts(text, ".html")[-1] == "one \ufffd two & three"


def test_attributes_of_what_is_not_translated_stay() -> None:
    assert texts('<p class="notranslate" title="a name">a name</p><img translate="NO" alt="a corp">', ".html") == []


def test_an_element_without_an_end_ends_with_the_one_around_it() -> None:
    assert texts("<ul><li translate=no>a<li>b</ul><p>more text</p>", ".html") == ["more text"]
    assert texts("<p>one<div translate=no>a</p> b</div> more text", ".html") == ["one", "more text"]
    assert texts("<ul><li translate=no>a<ul><li>b</ul></li><li>c</li></ul>", ".html") == ["c"]

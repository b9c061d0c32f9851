"""JSON and YAML: strings are values, and are written in the style they had."""

import json
from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from limelight.formats.registry import find_units
from limelight.formats.unit import FormatError, Options, splice
from tests.formats.helpers import texts, translated, units_of


def test_strings_of_json_and_their_layout() -> None:
    text = '{\n  "a" : "My {{name}} \\"house\\"", "n": 1.0,\n\t"list": ["I am.", "btn_open", "x1", ""], "t": true\n}\n'
    assert texts(text, ".json") == ['My {{name}} "house"', "I am."]
    new = translated(text, ".json")
    assert new == text.replace('My {{name}} \\"house', 'MY {{NAME}} \\"HOUSE').replace("I am.", "I AM.")


TEXTS = st.text(alphabet="aA b.-:/_1é猫{}%\\\"'\n", max_size=12)


@given(st.recursive(TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8))
def test_every_string_is_a_unit_or_is_counted(value: object) -> None:
    """In JSON and in YAML; what is text by any doubt is translated."""

    def strings(value: object) -> list[str]:
        if isinstance(value, str):
            return [value] if value else []
        inner = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
        return [each for key, one in inner if not str(key).startswith("@") for each in strings(one)]

    for text, suffix in ((json.dumps({"k": value}), ".json"), (yaml.safe_dump({"k": value}), ".yaml")):
        units, kept = find_units(text, suffix, Options())
        found = [unit.text for unit in units] + [each.text for each in kept]
        assert not Counter(strings(value)) - Counter(found)
        assert splice(text, [each for unit in units for each in unit.write(unit.text)]) == text or suffix == ".yaml"


@pytest.mark.parametrize(
    "text", ["Yes", "No", "On", "Loading...", "Name:", "E-mail", "Sat/Sun", "and/or", "Wi-Fi", "Welcome.", "null",
             "...more", "第3章", "Node.js", "C++"]
)  # fmt: skip
def test_a_word_is_text(text: str) -> None:
    assert texts(json.dumps([text]), ".json") == texts(f"a: {json.dumps(text)}", ".yaml") == [text]


def test_a_long_value_is_read_in_time() -> None:
    assert texts(json.dumps(["data:image/png;base64," + "a/b+" * 50_000 + "="]), ".json") == []


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".html", ".txt"])
def test_private_characters_stay(suffix: str) -> None:
    before, after = {".json": ('["', '"]'), ".yaml": ("a: ", ""), ".html": ('<img alt="', '">'), ".txt": ("", "")}[
        suffix
    ]
    text = f"{before}a \U000f1005 b{after}"
    assert translated(text, suffix) == text.replace("a \U000f1005 b", "A \U000f1005 B")


@pytest.mark.parametrize(
    "text",
    [
        "btn_open",
        "x1",
        "onClick",
        "img/a.png",
        "/usr/bin",
        "https://a.org",
        "a@b.org",
        "app.title",
        "#fff",
        "v2.0",
        ":year",
        "%Y-%m-%d",
        "%B %d, %Y",
    ],
)
def test_an_identifier_is_counted(text: str) -> None:
    assert find_units(json.dumps([text]), ".json", Options()) == ([], [(1, text)])


def test_other_letters_are_escaped_where_the_file_does() -> None:
    assert translated('{"a": "\\u00e4 b"}', ".json") == '{"a": "\\u00c4 B"}'
    assert translated('{"a": "ä b"}', ".json") == '{"a": "Ä B"}'


def test_messages_of_chrome_and_flutter() -> None:
    text = '{"name": {"message": "my app", "description": "no text", "placeholders": {"x": {"content": "no no"}}}}'
    assert texts(text, ".json") == ["my app"]
    both = {name: {"message": "my app", "description": "no text"} for name in map(str, range(20_000))}
    assert len(texts(json.dumps(both), ".json")) == 20_000  # in time
    assert len(texts('{"en": {"message": "Message", "send": "Send"}}', ".json")) == 2
    assert texts('{"hello": "hello there", "@hello": {"description": "no text"}}', ".arb") == ["hello there"]


def test_the_language_at_the_top_is_renamed() -> None:
    assert translated('{"en": {"a": "a b"}}', ".json") == '{"de": {"a": "A B"}}'
    assert translated("en:\n  a: a b\n", ".yml") == "de:\n  a: A B\n"
    assert translated("en:\n  a: a b\n", ".yml", source="") == "de:\n  a: A B\n"
    assert translated("title: a b\n", ".yml") == "title: A B\n"


YAML = """# comment
en:
  plain: The old house   # comment
  single: 'It''s raining'
  double: "He said: \\"no\\""
  literal: |
    The first line.
    The second line.
  folded: >-
    It goes
    on here.
  "off": yes
  number: 5
  anchor: &a same text
  alias: *a
  list: [one two, three four]
"""


def test_styles_of_yaml() -> None:
    assert len(texts(YAML, ".yaml")) == 8
    new = translated(YAML, ".yaml")
    assert "\n  plain: THE OLD HOUSE   # comment\n  single: 'IT''S RAINING'\n" in new
    assert "\n  literal: |\n    THE FIRST LINE.\n    THE SECOND LINE.\n  folded: >-\n" in new
    assert "anchor: &a SAME TEXT\n  alias: *a\n  list: [ONE TWO, THREE FOUR]\n" in new
    before, after = yaml.safe_load(YAML)["en"], yaml.safe_load(new)["de"]
    for key, value in before.items():
        if isinstance(value, str):
            assert after[key].upper() == value.upper()


@pytest.mark.parametrize(
    "text", ["a: b", "- no", "x # y", "'q'", "yes", "{a}", "key: [b", "%d x", "@a", "!!timestamp x", "a\nb", " x "]
)
def test_a_plain_value_is_quoted_where_it_must_be(text: str) -> None:
    (unit,) = units_of("key: old text\n", ".yaml")
    (change,) = unit.write(text)
    assert yaml.safe_load(f"key: {change.text}\n") == {"key": text}


@pytest.mark.parametrize("head", ["|", "|-", ">-", ">+", "|2"])
@pytest.mark.parametrize("text", [" a b", "a\n b", "  a\nb", "# a", "a", "\n a"])
def test_a_block_has_the_value_of_its_translation(head: str, text: str) -> None:
    catalog = f"a:\n  key: {head}\n    old text\n  next: 5\n"
    (unit,) = units_of(catalog, ".yaml")
    read = yaml.safe_load(splice(catalog, unit.write(text)))["a"]
    assert (read["key"].rstrip("\n"), read["next"]) == (text, 5)


@pytest.mark.parametrize("end", ["\u00a0", " "])
def test_a_block_keeps_its_line_ends(end: str) -> None:
    catalog = f"a: |\r\n  the old\r\n  house{end}\r\nb: 5\r\n"
    assert translated(catalog, ".yaml") == catalog.replace("the old", "THE OLD").replace("house", "HOUSE")


@pytest.mark.parametrize("text", ['{"a": }', '{"a" "b"}', "[1,]", '{"a": "b', "", "[" * 1000, '"\\q"', "nope"])
def test_no_json(text: str) -> None:
    with pytest.raises(FormatError):
        units_of(text, ".json")


@pytest.mark.parametrize(
    "text", ["a: b: c", "\t- x", "a: *none", "[" * 1000, "a: &a [*a]\nb: !!python/object:x y\n: ["]
)
def test_no_yaml(text: str) -> None:
    with pytest.raises(FormatError):
        units_of(text, ".yaml")


def test_a_renamed_key_is_quoted_where_yaml_would_read_no_text() -> None:
    assert translated("en:\n  a: hello there\n", ".yaml", source="en", target="no").startswith('"no":')
    assert translated('"en":\n  a: hello there\n', ".yaml").startswith('"de":')


def test_the_locale_of_flutter_is_changed() -> None:
    assert '"@@locale": "de"' in translated('{"@@locale": "en", "a": "hello there"}', ".arb")


def test_catalogs_of_angular_and_go() -> None:
    text = '{"locale": "en-US", "translations": {"1": "hello there"}}'
    assert translated(text, ".json") == '{"locale": "de", "translations": {"1": "HELLO THERE"}}'
    assert texts('[{"id": "home", "translation": "home page"}]', ".json") == ["home page"]
    assert texts("- id: home\n  translation: home page\n", ".yaml") == ["home page"]
    assert texts("form:\n  id: an id number\n  translation: your text\n", ".yaml") == ["an id number", "your text"]


def test_deep_strings_of_yaml() -> None:
    assert texts("[" * 150 + "some text" + "]" * 150, ".yaml") == ["some text"]

"""Protected spans: nothing is lost, each comes back exactly once, and what is not right is reported."""

import random
import re
import time
from html.parser import HTMLParser

import pytest

from limelight.text.marking import (
    MARK,
    MAX_PLACEHOLDERS,
    TERM_BEGIN,
    annotated,
    mark_number,
    placeholder,
    text_placeholder,
)
from limelight.text.plan import plan_text
from limelight.text.protectors import DEFAULT, PROTECTORS, pattern
from limelight.text.spans import protect, protect_within, restore
from tests.marks import show_marks

FRAGMENTS = [
    "<b>", "</b>", "<i>", "</i>", '<a href="{u}">', "</a>", "<br/>", "<br>", "{x}", "{y}", "%s", "%d", "{}", "$t(k)",
    "&nbsp;", "{n, plural, other {#}}", "https://a.org/x", "<!-- c -->", placeholder(0), TERM_BEGIN, "\U000f0100",
    " ", " ", " ", "\n", "  ", "the lamp", "hums", "日本", ".", "!", "(", ")", '"', "-", "5", "\u00a0",
]  # fmt: skip


def drawn(draw: random.Random, most: int = 25) -> str:
    return "".join(draw.choices(FRAGMENTS, k=draw.randint(0, most)))


def marked(text: str) -> str:
    """`<ph0>` as the mark."""
    return re.sub(r"<ph(\d+)>", lambda match: text_placeholder(int(match[1])), text)


def seen(text: str) -> list[str]:
    """What a model sees of each sentence, with its tags."""
    return [show_marks(each.text) for each in plan_text(text, DEFAULT).sentences if each]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Press <b>Start</b> now.", ["Press <ph0>Start<ph1> now."]),
        ("<p>Go <b>on</b>.</p>", ["Go <ph0>on<ph1>."]),
        ("  <p> <i>Go</i> </p>\n", ["Go"]),
        ("<b>Go</b> on", ["<ph0>Go<ph1> on"]),
        ("<br/>Go<br>", ["Go"]),
        ("<!-- a --><li>Go", ["Go"]),
        ("{x} and %s", ["<ph0> and <ph1>"]),
        ("<b>{x}</b> and", ["<ph0> and"]),
        ("a <i class='y'></i> b", ["a <ph0> b"]),
        ("<b>{x}</b>", []),
        ("H<sub>2</sub>O is here<sup>1</sup>", ["H<ph0>O is here<ph1>"]),
        ("a{{#if x}}lamp{{else}}dog{{/if}} {{/y}} z", ["a<ph0>lamp", "dog<ph0> <ph1> z"]),
        ("<b>Go <i>on</b> now</i>", ["<ph0>Go <ph1>on<ph2> now"]),
        ("", []),
    ],
)
def test_what_the_model_sees(text: str, parts: list[str]) -> None:
    assert seen(text) == parts


def test_a_text_that_is_not_translated_comes_back_as_it_was(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        text = drawn(draw)
        marked_text, spans = protect(text, DEFAULT)
        assert MARK.findall(marked_text) == [text_placeholder(number) for number in range(len(spans))]
        assert restore(marked_text, spans) == (text, ())
        plan = plan_text(text, DEFAULT)
        assert plan.join([each and each.text for each in plan.sentences]) == (text, [])


def changed(draw: random.Random, text: str) -> str:
    """A translation by a bad model: marks moved, dropped, doubled, invented; other words, other spaces."""
    parts = [part for part in re.split(f"({MARK.pattern}| )", text) if part]
    for _ in range(draw.randint(0, 4)):
        kind, place = draw.randrange(5), draw.randrange(len(parts) + 1)
        if kind == 0 and parts:
            parts.pop(min(place, len(parts) - 1))
        elif kind == 1 and parts:
            parts.insert(place, draw.choice(parts))
        elif kind == 2:
            parts.insert(place, placeholder(draw.randrange(MAX_PLACEHOLDERS)))
        elif kind == 3:
            parts.insert(place, draw.choice([" ", "Wort", "."]))
        else:
            draw.shuffle(parts)
    return "".join(parts)


def test_each_span_is_there_exactly_once_or_reported(seed: int) -> None:
    """Spans are numbered, so that each can be told from the others in the result."""
    draw = random.Random(seed)
    for _ in range(300):
        text = "".join(draw.choice(["a", "b", ".", " ", f"{{v{number}}}", f"<v{number}>"]) for number in range(10, 24))
        marked_text, spans = protect(text, [PROTECTORS["variables"], PROTECTORS["tags"]])
        output = changed(draw, marked_text)
        there = {*map(mark_number, MARK.findall(output))}
        restored, failed = restore(output, spans)
        for number, span in enumerate(spans):
            assert restored.count(span.text) == (number in there) == (number not in failed)
        assert not MARK.search(restored)
        for span in spans:
            restored = restored.replace(span.text, "")
        assert re.sub(r"\s", "", restored) == re.sub(r"\s", "", MARK.sub("", output))


class Nesting(HTMLParser):
    """An independent judge of whether elements nest."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.good = True

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.good &= bool(self.opened) and self.opened.pop() == tag


def is_nested(text: str) -> bool:
    judge = Nesting()
    judge.feed(text)
    judge.close()
    return judge.good and not judge.opened


def test_tags_that_are_not_well_formed_are_reported(seed: int) -> None:
    draw = random.Random(seed)
    told = {True: 0, False: 0}
    for _ in range(300):
        names = draw.sample("abcdefg", 3)
        text = "x {0}one {1}two{/1} y{/0} z {2}w{/2}.".replace("{", "<").replace("}", ">")
        for number, name in enumerate(names):
            text = text.replace(f"<{number}>", f"<{name}>").replace(f"</{number}>", f"</{name}>")
        marked_text, spans = protect(text, DEFAULT)
        order = list(MARK.findall(marked_text))
        if draw.random() < 0.7:
            first, second = draw.sample(range(6), 2)
            order[first], order[second] = order[second], order[first]
        restored, failed = restore("w".join(order), spans)
        assert (not failed) == is_nested(restored)
        told[not failed] += 1
    assert min(told.values()) > 10


@pytest.mark.parametrize(
    ("source", "output", "text"),
    [
        ("Hello {x}!", "Hallo <ph0> !", "Hallo {x}!"),
        ("({x}) lamps", "Lampen ( <ph0> )", "Lampen ({x})"),
        ("the <b>cat</b> sleeps", "die<ph0> Katze <ph1>schläft", "die <b>Katze</b> schläft"),
        ("un<b>believ</b>able", "un<ph0>glaub<ph1>lich", "un<b>glaub</b>lich"),
        ("press {x} now", "jetzt <ph0>-Taste", "jetzt {x}-Taste"),
        ("press {x} now", "今<ph0>を押す", "今{x}を押す"),
        ("open {x}", "<ph0> öffnen", "{x} öffnen"),
        ("{x}% done", "<ph0> % fertig", "{x}% fertig"),
    ],
)
def test_spaces_beside_spans(source: str, output: str, text: str) -> None:
    assert restore(marked(output), protect(source, DEFAULT)[1])[0] == text


@pytest.mark.parametrize("piece", ["{x} a ", "<a>", "</b>x", "<a></b>", "<b>a", "a<br>"])
def test_the_work_for_many_spans_grows_with_their_number(piece: str) -> None:
    text, began = piece * (30_000 // len(piece)), time.process_time()
    marked_text, spans = protect(text + "</a>" * 1000, DEFAULT)
    assert restore(marked_text, spans) == (text + "</a>" * 1000, ())
    plan = plan_text(text, DEFAULT)
    assert plan.join([None] * len(plan.sentences)) == (text, [])
    assert time.process_time() - began < 3  # more in quadratic time


def test_marked_text_gets_further_placeholders_and_keeps_its_own_and_its_terms() -> None:
    term = annotated("dog 5", "Köter 7")
    text = f"{placeholder(1)} the {term} saw 3 and 4 {placeholder(0)}"
    found, spans = protect_within(text, [pattern(r"\d")])
    assert found == f"{placeholder(1)} the {term} saw {placeholder(2)} and {placeholder(3)} {placeholder(0)}"
    output = f"{placeholder(3)} und {placeholder(2)} {placeholder(0)}{placeholder(1)}"
    assert restore(output, spans)[0] == f"4 und 3 {placeholder(0)}{placeholder(1)}"
    assert protect_within("nothing", [pattern(r"\d")]) == ("nothing", ())
    with pytest.raises(ValueError, match="placeholder 30"):
        protect_within("1 " * 31, [pattern(r"\d")])


def test_an_apostrophe_of_a_translation_quotes_nothing_in_a_message() -> None:
    """Before a brace it would begin a quotation of ICU; elsewhere it is written as it is."""
    for text, expected in (
        ("{n, plural, one {of {name}} other {it}}", "{n, plural, one {d''{name}''} other {l'un''}}"),
        ("of {name}", "d'{name}'"),
    ):
        plan = plan_text(text, DEFAULT)
        texts = [each and each.text.replace("of ", "d'").replace("it", "l'un") + "'" for each in plan.sentences]
        assert plan.join(texts) == (expected, [])
        assert plan.join([None] * len(texts)) == (text, [])

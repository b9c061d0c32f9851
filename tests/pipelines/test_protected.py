"""Tags and variables through a translation: each exactly once, or reported."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

from limelight.config import DecodingConfig, Direction, TransformerConfig
from limelight.decoding.constraints import MAX_PHRASES, Phrase
from limelight.decoding.engine import Engine, Outcome
from limelight.decoding.ensemble import Ensemble
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.formats.html import html_units
from limelight.models.families import build_model
from limelight.pipelines import codec, repair_marks
from limelight.pipelines.codec import Part
from limelight.pipelines.job import Text
from limelight.pipelines.options import Options
from limelight.pipelines.translator import Translation, Translator
from limelight.text.glossary import Glossary, Term
from limelight.text.marking import MARK, mark_of, placeholder, without_marks
from limelight.text.protectors import DEFAULT, find_spans
from limelight.tokens import Tokenizer, Tokenizers, train_tokenizer
from tests.marks import show_marks

TEXTS = ["the lamp hums here now", "press the lamp and it hums", "a name is here", "the dog runs now", "it is a lamp"]


@functools.cache
def tokenizer(kind: str = "bpe") -> Tokenizer:
    return train_tokenizer(
        TEXTS * 9, kind=kind, vocabulary_size=None, languages=("de", "fr"), byte_fallback=True, seed=1, sentences=45
    )


class Scripted(Translator):
    """A random model for attention; what it says is what `say` makes of marked text, one text for each hypothesis."""

    def __init__(
        self, say: Callable[[str], Sequence[str]], kind: str = "bpe", members: int = 1, *, answer: str = "",
        knows_terms: bool = False,
    ) -> None:  # fmt: skip
        both = Tokenizers(tokenizer(kind), tokenizer(kind))
        config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8)
        models = [build_model(config, both) for _ in range(members)]
        super().__init__(models[0] if members == 1 else Ensemble(models), both, DecodingConfig(beam_size=2))
        self.say, self.answer, self.knows_terms = say, answer, knows_terms
        self.asked: list[str] = []
        self.demanded: list[tuple[tuple[str, ...], int]] = []
        """Of each phrase that was asked for the first forms, and how many there are."""

    def options(self, **asked: Any) -> Options:
        return replace(super().options(**{"protect": True, "guards": False, **asked}), detected=False)

    phrases = property(lambda self: self)  # type: ignore[assignment]

    def of(self, phrases: Sequence[Sequence[str]]) -> tuple[Phrase, ...]:
        self.demanded += [(forms[:3], len(forms)) for forms in phrases]
        return tuple(Phrase(((5,),)) for _ in phrases)

    def engine(self, **_: Any) -> Engine:
        return Silent()

    def encode(self, part: Part, settings: SearchSettings, phrases: Sequence[Phrase] = ()) -> Part:
        self.asked.append(part.text)
        return super().encode(part, settings, phrases)

    def finish(self, part: Part, hypotheses: Sequence[Hypothesis] = ()) -> list[Translation]:
        texts = self.say(part.text)
        texts = texts if part.marked else [without_marks(text) for text in texts]  # as decoding does
        if part.request is not None and part.request.phrases:
            texts = (self.answer or texts[0]).split("|")
        return [Translation(text, 0.0, (), 0.0, part.text, finished=True) for text in texts]


class Silent(Engine):
    """Finds nothing at once."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def submit(self, request: Request, *, first: bool = False) -> int:
        self.numbers.append(len(self.numbers))
        return len(self.numbers) - 1

    @property
    def waiting(self) -> int:
        return 0

    @property
    def busy(self) -> bool:
        return bool(self.numbers)

    def step(self, **_: Any) -> list[Outcome]:
        found, self.numbers = [Outcome(number, []) for number in self.numbers], []
        return found


def marked(text: str) -> str:
    for number in range(30):
        text = text.replace(f"<ph{number}>", placeholder(number))
    return text


def said(*texts: str) -> Callable[[str], list[str]]:
    return lambda _source: [marked(text) for text in texts]


def translated(text: str, say: Callable[[str], Sequence[str]], **settings: Any) -> Translation:
    return Scripted(say, **settings).translate(text)


def test_spans_come_back_and_the_model_sees_placeholders_but_no_tags() -> None:
    translator = Scripted(said("die Lampe <ph2>"))
    (found,) = translator.translate(['the <a href="u">lamp</a> {x}'])
    assert [show_marks(each) for each in translator.asked] == ["the lamp <ph2>"]
    assert [found.text.count(span) for span in ('<a href="u">', "</a>", "{x}")] == [1, 1, 1]
    assert (found.moved, found.failed) == ((), ())


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("members", [1, 2])
def test_what_is_missing_goes_where_attention_says(kind: str, members: int) -> None:
    """Of an ensemble the attention of its first model."""
    answer = "die Lampe summt <ph3>"
    found = translated("the <b>lamp</b> {x} hums {y}", said(answer, answer), kind=kind, members=members)
    assert (found.moved, found.failed) == (("{x}",), ())
    assert [found.text.count(span) for span in ("<b>", "</b>", "{x}", "{y}")] == [1, 1, 1, 1]
    assert found.text.index("<b>") < found.text.index("</b>")


def test_further_copies_and_placeholders_of_nothing_go() -> None:
    answer = "<ph0> die <ph0> Lampe <ph7> <ph31>"
    found = translated("{x} the lamp", said(answer.replace("<ph31>", mark_of(31)), answer))
    assert found.text == "{x} die Lampe"
    assert (found.moved, found.failed) == ((), ())


def test_arguments_without_names_keep_their_order_and_the_change_is_reported() -> None:
    found = translated("the %s runs %d now", said("<ph1> die <ph0>", "<ph1> die <ph0>"))
    assert found.text == "%s die %d"
    assert set(found.failed) == {"%s", "%d"}


def test_without_attention_they_are_appended_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair_marks, "MAX_ATTENDED", 0)
    found = translated("the <b>lamp</b> hums", said("die Lampe", "die Lampe"))
    assert found.text == "die Lampe <b></b>"
    assert found.failed == ("<b>", "</b>")


def test_sentences_are_translated_one_by_one_and_tags_at_their_ends_stay_outside() -> None:
    text = "<p><b>The lamp hums. It is {x}</b>. <i>A dog runs.</i> <br/>Now!</p>\n"
    translator = Scripted(lambda text: [text.upper()])
    assert translator.translate(["It is. <b>A dog</b>"])[0].text == "IT IS. <b>A DOG</b>"
    assert translator.asked == ["It is.", "A dog"]
    translator.asked.clear()
    (found,) = translator.translate([text])
    assert [show_marks(each) for each in translator.asked] == [
        "The lamp hums.", "It is <ph0>.", "A dog runs.", "Now!",
    ]  # fmt: skip
    assert found.text.startswith("<p><b>THE LAMP HUMS. IT IS ")
    assert found.text.endswith(" <i>A DOG RUNS.</i> <br/>NOW!</p>\n")
    assert (found.text.count("{x}"), found.text.count("</b>")) == (1, 1)


def test_text_without_words_is_not_translated() -> None:
    for text in ("{x}", " <br/>\n", "", "%s %d", "<b>5</b>"):
        translator = Scripted(said("nothing"))
        assert translator.translate([text])[0].text == text
        assert not translator.asked


def test_a_model_without_placeholders_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "knows_marks", lambda tokenizer: False)
    with pytest.raises(UserError, match="no placeholders"):
        Scripted(said("")).translate(["{x} a"])


def test_whatever_the_model_says_each_span_is_there_once_and_tags_are_nested(seed: int) -> None:
    random = Random(seed)

    def say(text: str) -> list[str]:
        answers = []
        for _ in range(2):
            words = text.replace(" ", "  ").split(" ")
            random.shuffle(words)
            marks = [mark_of(random.randrange(32)) for _ in range(random.randrange(4))]
            kept = [word if random.random() < 0.6 else without_marks(word) for word in words]
            answers.append(" ".join(kept + marks).strip())
        return answers

    parts = ["<b>", "</b>", "<i>", "</i>", "<br/>", "{x}", "%s", "%d", "the lamp", "hums", ". It", " ", " ", " "]
    texts = ["".join(random.choices(parts, k=random.randrange(30))) for _ in range(60)]
    for text, found in zip(texts, Scripted(say).translate(texts), strict=True):
        for span in ("<b>", "</b>", "<i>", "</i>", "<br/>", "{x}", "%s", "%d"):
            assert found.text.count(span) == text.count(span), text
        if not _nesting(text) and not found.failed:
            assert not _nesting(found.text), text
        assert not MARK.search(found.text)


def _nesting(text: str) -> int:
    """How many tags have no partner or cross another pair."""
    opened, wrong = list[str](), 0
    for span in find_spans(text, DEFAULT):
        if span.role == "open":
            opened.append(span.name)
        elif span.role == "close" and opened and opened[-1] == span.name:
            opened.pop()
        else:
            wrong += span.role == "close"
    return wrong + len(opened)


def test_marks_of_a_marked_text_are_ids_and_of_any_other_are_characters() -> None:
    both = Tokenizers(tokenizer(), tokenizer())
    translator = Translator(Scripted(said("")).model, both, DecodingConfig())
    one, reserved = "the lamp " + placeholder(3), tokenizer().reserved_id("<ph3>")
    (plain,) = translator.prepare([one])
    with_marks = translator.encode(Part(one, marked=True), SearchSettings())
    assert plain.request is not None
    assert with_marks.request is not None
    assert reserved not in plain.request.source
    assert reserved in with_marks.request.source
    found = Hypothesis((reserved, *tokenizer().encode("lamp")), 0.0, 0.0, True)
    assert show_marks(translator.finish(with_marks, [found])[0].text) == "<ph3> lamp"
    assert translator.finish(plain, [found])[0].text == "lamp"


GLOSSARY = Glossary([Term("lamp", "Leuchte"), Term("dog", "Köter")], "en")


def test_terms_are_annotated_for_a_model_that_was_trained_so_and_demanded_where_they_are_not_used() -> None:
    translator = Scripted(said("der Köter schläft <ph0>"), knows_terms=True)
    found = translator.translate(["the dogs sleep {x}"], glossary=GLOSSARY)[0]
    assert [show_marks(each) for each in translator.asked] == ["the dogs <ph30> Köter <ph31> sleep <ph0>"]
    assert found.text == "der Köter schläft {x}"

    translator = Scripted(lambda text: ["Lampe " + placeholder(0)], knows_terms=True)
    found = translator.translate(["The {x} lamp hums."], glossary=GLOSSARY)[0]
    assert [show_marks(each) for each in translator.asked] == ["The <ph0> lamp <ph30> Leuchte <ph31> hums."] * 2
    assert translator.demanded == [(("Leuchte", "Leuchtes", "Leuchtee"), 8)]
    assert (found.text, found.unused, found.warnings) == ("Lampe {x}", ("Leuchte",), ("term not used: Leuchte",))


def test_other_models_are_only_asked_for_terms_that_they_do_not_use() -> None:
    """A form that was used is one that may be used again."""
    translator = Scripted(lambda text: ["die Leuchter", "die Leuchter und Köter"])
    found = translator.translate(["the lamps", "the lamps and dogs"], glossary=GLOSSARY)
    assert translator.asked == ["the lamps", "the lamps and dogs", "the lamps and dogs"]
    assert [forms[0] for forms, _ in translator.demanded] == ["Leuchter", "Köter"]
    assert found[0].unused == ()
    translator = Scripted(lambda text: ["die Lampe"], answer="die Leuchte")
    found = translator.translate(["the lamps"], glossary=GLOSSARY)
    assert (found[0].text, found[0].unused, found[0].warnings) == ("die Leuchte", (), ())


def test_no_more_terms_are_demanded_than_a_search_takes() -> None:
    names = ["".join(pair) for pair in product("bcdfghkm", repeat=2)]
    names.append("lamp")
    glossary = Glossary([Term(name, 3 * name) for name in names], "en")
    translator = Scripted(said("nothing"))
    found = translator.translate(" ".join(names), glossary=glossary)
    assert len(names) == len(found.unused) == 1 + MAX_PHRASES
    assert len(translator.demanded) == MAX_PHRASES


@pytest.mark.parametrize(
    ("source", "answer", "text"),
    [
        ("The lamp hums.", "Die Lampe summt. Leuchte.", "Die Lampe summt."),
        ("The lamp hums.", "Die Leuchte summt. Leuchte.", "Die Leuchte summt. Leuchte."),
        ("The lamp hums.", "Die z. B. Leuchte summt.", "Die z. B. Leuchte summt."),
        ("The lamp hums", "Leuchte", "Leuchte"),
    ],
)
def test_a_term_in_a_sentence_of_its_own_is_not_used(source: str, answer: str, text: str) -> None:
    translator = Scripted(lambda text: ["Die Lampe summt."], answer=answer)
    translator.directions = (Direction("en", "de"),)
    (found,) = translator.translate([source], glossary=GLOSSARY, source_lang="en", target_lang="de")
    assert (found.text, found.unused) == (text, ("Leuchte",) if text == "Die Lampe summt." else ())


def test_the_search_finds_terms_that_a_model_would_never_say() -> None:
    """A random model, and terms of several tokens: the search itself, beside text that has none."""
    both = Tokenizers(tokenizer(), tokenizer())
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8)
    settings = DecodingConfig(beam_size=2, max_length_factor=1.0, max_length_extra=5)
    translator = Translator(build_model(config, both), both, settings)
    texts = ["the lamp hums", "it is here", "the dogs run now", "a name"]
    found = translator.translate(texts, glossary=GLOSSARY)
    assert [each.unused for each in found] == [()] * 4
    assert "Leuchte" in found[0].text
    assert "Köter" in found[2].text
    assert not any(word in found[number].text for number in (1, 3) for word in ("Leuchte", "Köter"))
    for each, text in zip(found, texts, strict=True):
        assert translator.translate([text], glossary=GLOSSARY)[0].text == each.text


def test_each_of_an_n_best_list_uses_the_terms() -> None:
    """The model says a term in its best translation alone: the others come of a search that demands it."""
    translator = Scripted(said("die Leuchte", "die Lampe", "eine Lampe"), answer="jene Leuchten")
    found = translator.translate("the lamps", glossary=GLOSSARY, n_best=2)
    assert [each.text for each in (found, *found.alternatives)] == ["die Leuchte", "jene Leuchten"]
    assert [each.unused for each in (found, *found.alternatives)] == [(), ()]

    translator = Scripted(lambda text: ["Lampe", "Lampen"], answer="Die Lampe. Leuchte.|Die Leuchte.|Eine Leuchte.")
    translator.directions = (Direction("en", "de"),)
    found = translator.translate("The lamp.", glossary=GLOSSARY, n_best=2, source_lang="en", target_lang="de")
    assert [each.text for each in (found, *found.alternatives)] == ["Die Leuchte.", "Eine Leuchte."]

    both = Tokenizers(tokenizer(), tokenizer())
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8)
    settings = DecodingConfig(beam_size=4, max_length_factor=1.0, max_length_extra=5)
    found = Translator(build_model(config, both), both, settings).translate(TEXTS[0], glossary=GLOSSARY, n_best=4)
    assert len({each.text for each in (found, *found.alternatives)}) == 4
    assert all("Leuchte" in each.text for each in (found, *found.alternatives))


@pytest.mark.parametrize("whole", [False, True])
def test_no_text_crosses_the_end_of_a_line(whole: bool) -> None:
    translator = Scripted(lambda text: [" ".join(reversed(text.split()))])
    text = r"the lamp<br>hums <b>it is<br/>  a</b> lamp. now\nhere<br>"
    found = translator.translate(text, lines=whole)
    assert translator.asked[0] == "the lamp"
    last = r"now lamp. a\nhere<br>" if whole else r"lamp. a now\nhere<br>"
    assert " ".join(re.sub("</?b>", "", found.text).split()) == f"lamp the<br>is it hums<br/> {last}"
    assert not _nesting(found.text)


def test_tags_stay_inside_the_pairs_that_they_are_in() -> None:
    """Whatever attention says: a link with an image does not become an image with a link."""
    text = "the <a><b>lamp</b> <img/> hums</a> <i>it <u>is <b>a</b></u></i> dog."
    outer = {"<b>": ["a", "i"], "<img/>": ["a"], "<u>": ["i"]}
    for order in ("the lamp hums it is a dog.", "dog. a is it hums lamp the", "a hums the is lamp dog. it"):
        found = translated(text, said(order, order))
        assert found.failed == ()
        for tag, around in outer.items():
            for name in around:
                inside = re.search(f"<{name}>.*</{name}>", found.text)
                assert inside
                assert tag in inside[0], found.text
        assert not _nesting(found.text)


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("{n, plural, one {# lamp} other {# lamps}}", "{n, plural, one {# LAMP} other {# LAMPS}}"),
        (
            "the lamp {n, plural, =0 {hums} other {it {y} hums {x}}} here",
            "THE LAMP {n, plural, =0 {HUMS} other {IT {y} HUMS {x}}} HERE",
        ),
        (
            "{a, select, x {the {n, plural, other {# lamp. it is}}} other {now}} {b, select, other {dog}}",
            "{a, select, x {THE {n, plural, other {# LAMP. IT IS}}} other {NOW}} {b, select, other {DOG}}",
        ),
        ("{n, plural, other {the '{lamp}' it''s {x}}}", "{n, plural, other {THE '{lamp}' IT''S {x}}}"),
        ("{d, date, short} now", "{d, date, short} NOW"),
    ],
)
def test_the_branches_of_a_message_are_translated(text: str, new: str) -> None:
    (found,) = Scripted(lambda marked: [marked.upper()]).translate([text])
    assert (found.text, found.failed) == (new, ())


def test_no_two_sentences_draw_from_the_same_random_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 lines with spans and terms of a glossary, in several chunks: text n draws from (n,), its sentence k from
    (n, k)."""
    drawn, submit = list[tuple[int, ...]](), Silent.submit

    def recorded(self: Silent, request: Request, **how: bool) -> int:
        drawn.append(request.substream)
        return submit(self, request, **how)

    monkeypatch.setattr(Silent, "submit", recorded)
    lines = [f"the {{x}} lamp {number} hums. it is. 5! a dog runs" if number % 2 else "it is" for number in range(300)]
    translator = Scripted(lambda text: [text])
    asked = {"sampling": Sampling(seed=1), "glossary": GLOSSARY, "chunk": 100}
    assert len(list(translator.translate_stream(lines, **asked))) == 300
    assert len(drawn) == len({*drawn}) == 150 * 3 + 150
    assert {(1,), (2,), (2, 1), (2, 3), (300,), (300, 3)} <= {*drawn}


def test_a_text_with_tags_is_one_job_with_the_translations_of_its_units() -> None:
    translator = Scripted(lambda text: [f"so {text}"])
    text = "<p>The lamp.</p>\n<p>It hums. A name is here.</p>"
    (job,) = translator.jobs([Text(text, units=html_units(text, ""))], translator.options())
    (found,) = translator.run([job])
    assert found.text == "<p>so The lamp.</p>\n<p>so It hums. so A name is here.</p>"
    assert [each.text for each in job.sentences] == ["so The lamp.", "so It hums. so A name is here."]
    (plain,) = translator.jobs([Text("It hums. A name.")], translator.options())
    assert (plain.count, plain.beginning(plain.found)) == (0, "")
    translator.run([plain])
    assert [each.text for each in plain.sentences] == ["so It hums.", "so A name."]


def test_the_beginning_of_a_text_is_that_of_its_translation() -> None:
    translator = Scripted(lambda text: [text.replace("It is a", "它是")])  # no space comes before it
    (job,) = translator.jobs([Text("It is it. It is a lamp.")], translator.options())
    (found,) = translator.run([job])
    assert found.text.startswith(job.beginning(job.found[:1]))

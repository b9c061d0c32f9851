"""Guards, on sentences whose translations are scripted: what is found, and what is searched once more."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from limelight.config import Direction
from limelight.decoding.constraints import Phrase
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.pipelines.codec import Codec, Part
from limelight.pipelines.guards import SEVERITY, faults, guarded
from limelight.pipelines.job import Steps
from limelight.pipelines.translation import Translation
from limelight.text.marking import PLACEHOLDER, has_marks, mark_number
from limelight.text.spans import Span
from tests.marks import show_marks

Say = Callable[[str, SearchSettings], Sequence[str]]
"""What the model makes of a text (placeholders as `<ph0>`), best first."""
LOOP = "der Hund und der Hund und der Hund und der Hund und so"


class Fake(Codec):
    """Letters are tokens; the rest is given."""

    def __init__(self, unknown: float, *, placeholders: bool) -> None:
        self._unknown, self.knows_placeholders = unknown, placeholders
        letters = SimpleNamespace(decode=lambda ids: "".join(map(chr, ids)))
        self.tokenizers = SimpleNamespace(target=letters)  # type: ignore[assignment]

    def encode(self, part: Part, settings: SearchSettings, phrases: Sequence[Phrase] = ()) -> Part:
        return asked_of(part.text, settings, part.direction)

    def finish(self, part: Part, hypotheses: Sequence[Hypothesis] = ()) -> list[Translation]:
        return [
            Translation(
                "".join(map(chr, each.ids)), 0.0, tuple(map(chr, each.ids)), 0.0, part.text, True, confidence=each.score
            )
            for each in hypotheses
        ]

    def unknown_share(self, text: str, request: Request) -> float:
        return self._unknown


def asked_of(text: str, settings: SearchSettings, direction: Direction | None) -> Part:
    request = Request([ord(letter) for letter in text], 99, settings, substream=(len(text),))
    return Part(text, direction, marked=has_marks(text), request=request)


def translated(
    text: str,
    say: Say,
    *,
    settings: SearchSettings | None = None,
    placeholders: bool = True,
    unknown: float = 0.0,
    spans: Sequence[str] = (),
) -> tuple[Translation, list[str]]:
    """The translation, and the texts that were searched. With `spans`, which placeholders of the text stand for, they
    are text at first."""
    direction, given = Direction("en", "de"), settings or SearchSettings()
    prepared, asked = asked_of(text, given, direction), list[str]()
    plain = PLACEHOLDER.sub(lambda mark: spans[mark_number(mark[0])], text) if spans else None
    first = asked_of(plain, given, direction) if plain else None
    codec = Fake(unknown, placeholders=placeholders)

    def search(part: Part) -> Steps[list[Translation]]:
        assert part.request is not None
        return codec.finish(part, (yield part.request))

    steps, found = guarded(codec, prepared, search, first, [Span(each) for each in spans]), None
    while True:
        try:
            request = next(steps) if found is None else steps.send(found)
        except StopIteration as end:
            return end.value[0], asked
        asked.append(show_marks("".join(map(chr, request.source))))
        outputs = [marked(each) for each in say(asked[-1], request.settings)]
        found = [Hypothesis(tuple(map(ord, each)), 0.9, 0.0, True) for each in outputs]


def marked(text: str) -> str:
    for number in range(9):
        text = text.replace(f"<ph{number}>", chr(0xF0000 + number))
    return text


SOURCES = ["the dog sees 3 birds", "they met at 17:05", "it rains", "Salt & pepper for $5", "see www.a.org now"]


@pytest.mark.parametrize("source", SOURCES)
def test_where_nothing_is_wrong_nothing_is_searched_again_and_the_model_has_the_last_word(source: str) -> None:
    found, asked = translated(source, lambda text, _: [f"so {text}"])
    assert (found.text, found.warnings, found.confidence, len(asked)) == (f"so {source}", (), 0.9, 1)


def test_a_lost_number_is_a_placeholder_in_one_further_search() -> None:
    said = iter([["um 7:05 Uhr am 3. Mai"], ["<ph0> um <ph1>", "am <ph1> um <ph0>"]])
    found, asked = translated("at 7:05 pm on May 3", lambda *_: next(said))
    assert asked == ["at 7:05 pm on May 3", "at <ph0> on May <ph1>"]
    assert (found.text, found.warnings) == ("19:05 um 3", ())


def test_spans_are_text_at_first_and_placeholders_if_one_is_lost() -> None:
    source, spans = marked("move <ph0> to <ph1> now"), ["{x}", "{x}.txt"]
    found, asked = translated(source, lambda *_: ["nach {x}.txt jetzt {x}"], spans=spans)
    assert asked == ["move {x} to {x}.txt now"]
    assert (show_marks(found.text), found.warnings) == ("nach <ph1> jetzt <ph0>", ())
    for lost in ("nach {x}.txt", "nach {x} und {x} jetzt {x}.txt", "nach {y} jetzt {x}.txt"):
        said = iter([[lost], ["<ph0> nach <ph1>"]])
        found, asked = translated(source, lambda *_, said=said: next(said), spans=spans)
        assert asked == ["move {x} to {x}.txt now", "move <ph0> to <ph1> now"]
        assert (show_marks(found.text), found.warnings) == ("<ph0> nach <ph1>", ())


def test_the_further_search_takes_the_hypothesis_with_the_least_faults() -> None:
    found, _ = translated(
        "see 25 dogs", lambda _, settings: ["sieh", "25 Hunde", "25 25 Hunde"][: settings.n_best], placeholders=False
    )
    assert (found.text, found.warnings) == ("25 Hunde", ())


def test_a_loop_is_searched_again_without_repeating_it_and_cut_if_it_stays() -> None:
    def again(_: str, settings: SearchSettings) -> list[str]:
        return ["der Hund und so"] if dict(settings.rules).get("no_repeat_ngram") else [LOOP]

    found, asked = translated("the dog and so on", again)
    assert (found.text, found.warnings, len(asked)) == ("der Hund und so", (), 2)
    found, asked = translated("the dog and so on", lambda *_: [LOOP])
    assert (found.text, found.warnings, len(asked)) == ("der Hund und so", ("loop",), 2)
    assert (found.confidence or 1.0) <= 0.1


@pytest.mark.parametrize("settings", [SearchSettings(n_best=2, beam_size=2), SearchSettings(sampling=Sampling())])
def test_draws_and_lists_have_warnings_alone(settings: SearchSettings) -> None:
    found, asked = translated(
        "see 25 dogs", lambda *_: ["sieh Hunde", "25 Hunde"][: settings.n_best], settings=settings
    )
    assert (found.text, found.warnings, len(asked)) == ("sieh Hunde", ("number lost",), 1)


def test_a_source_in_an_unknown_script_is_warned_of_and_unsure() -> None:
    found, asked = translated("какая погода", lambda *_: ["so ist es eben"], unknown=0.9)
    assert (found.warnings, len(asked)) == (("unknown script",), 1)
    assert (found.confidence or 1.0) <= 0.1


FAULTY = [
    ("loop", "the dog and so on", LOOP),
    ("placeholder lost", "see \U000f0000", "sieh"),
    ("number lost", "see 25 dogs", "sieh 26 Hunde"),
    ("number added", "see 25 dogs", "sieh 25 von 60 Hunden"),
    ("address lost", "see www.a.org", "sieh nach"),
    ("sign lost", "a → b of it", "a b davon"),
    ("too short", "a long sentence that says so much", ""),
    ("too long", "a b", "ein sehr langer Satz " * 3 + "der nie endet und immer noch mehr sagt"),
    ("copied", "the small dog", "the small dog"),
]


@pytest.mark.parametrize(("fault", "source", "output"), FAULTY)
def test_each_fault_is_found(fault: str, source: str, output: str) -> None:
    assert fault in faults(source, output, ("en", "de"), (len(source), len(output)))


def test_every_fault_has_a_weight() -> None:
    assert {fault for fault, *_ in FAULTY} | {"unknown script"} == {*SEVERITY}
    assert len(SEVERITY) <= 12


@pytest.mark.parametrize(
    ("source", "output", "languages"),
    [
        ("如果明天下雨，我们就不去公园了。", "If it rains tomorrow, we will not go to the park.", ("zh", "en")),
        ("今天天气很好。我明天去北京！", "It's a nice day. I'm going to Beijing tomorrow!", ("zh", "en")),
        ("「はい」と彼は言った。", 'He said "yes".', ("ja", "en")),
        ("क्या यह सही है? हाँ।", "Is this right? Yes.", ("hi", "en")),
        ("هل هذا صحيح؟ نعم، ٣ مرات.", "Is this right? Yes, 3 times.", ("ar", "en")),
        ("3万人が来た。", "30,000 people came.", ("ja", "en")),
    ],
)
def test_right_translations_of_other_scripts_have_no_faults(
    source: str, output: str, languages: tuple[str, str]
) -> None:
    assert faults(source, output, languages, (len(source), len(output) // 3)) == ()
    assert faults(output, source, languages[::-1], (len(output) // 3, len(source))) == ()

"""Guards, on sentences whose translations are scripted: what is found, what is searched again, what is put right."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from limelight.config import Direction
from limelight.decoding.constraints import Constraints, Phrase
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.pipelines import guards
from limelight.pipelines.codec import Codec, Part, Prepared, Sentence
from limelight.pipelines.guards import SEVERITY, faults, guarded
from limelight.pipelines.translation import Translation, Word
from limelight.text import checks, kept_signs, number_changes, number_order, numbers, ordinals, spelling
from limelight.text.checks import recased
from limelight.text.marking import annotated, has_marks, show_marks

Say = Callable[[str, SearchSettings], Sequence[str]]
"""What the model makes of a text (placeholders as `<ph0>`), best first."""


def asked_of(text: str, settings: SearchSettings) -> Prepared:
    return Prepared(text, Request([ord(letter) for letter in text], 99, settings, substream=(len(text),)))


def as_sentence(text: str) -> str:
    """By a vocabulary in which these words alone have one token."""
    known = ["the", "small", "dog", "runs", "sees", "Tom", "and"]
    return recased(text, lambda word: [known.index(word)] if word in known else [99, 99])


def read(prepared: Prepared, hypotheses: Sequence[Hypothesis]) -> Translation:
    if not hypotheses:
        return Translation("", 0.0, (), 0.0, prepared.text, True)
    best, *others = (
        Translation("".join(map(chr, each.ids)), 0.0, (), 0.0, prepared.text, True, confidence=each.score)
        for each in hypotheses
    )
    return replace(best, alternatives=tuple(others))


class Fake(Codec):
    """Letters are tokens; the rest is given."""

    def __init__(
        self,
        reader: Callable[[Prepared, Sequence[Hypothesis]], Translation] = read,
        unknown: float = 0.0,
        placeholders: bool = False,
        uncovered: Callable[[Translation], float] = lambda _: 0.0,
        unheld: Callable[[str], Sequence[tuple[int, int]]] = lambda _: (),
    ) -> None:
        self._reader, self._unknown, self.knows_placeholders, self._uncovered = reader, unknown, placeholders, uncovered
        self._unheld = unheld
        letters = SimpleNamespace(decode=lambda ids: "".join(map(chr, ids)))
        self.tokenizers = SimpleNamespace(target=letters)  # type: ignore[assignment]

    def encode(self, parts: Sequence[Part], settings: SearchSettings) -> list[Prepared]:
        return [asked_of(part.text, settings) for part in parts]

    def finish(self, prepared: Prepared, hypotheses: Sequence[Hypothesis] = ()) -> Translation:
        return self._reader(prepared, hypotheses)

    def unknown_share(self, text: str, request: Request) -> float:
        return self._unknown

    def unheld(self, text: str, language: str) -> Sequence[tuple[int, int]]:
        return self._unheld(text)

    def recase(self, text: str) -> str:
        return as_sentence(text)

    def uncovered(self, prepared: Prepared, found: Translation) -> float:
        return self._uncovered(found)


def translated(
    text: str,
    say: Say,
    *,
    settings: SearchSettings | None = None,
    placeholders: bool = False,
    unknown: float = 0.0,
    confidence: float = 0.9,
    uncovered: Callable[[Translation], float] = lambda _: 0.0,
    direction: Direction | None = None,
    reader: Callable[[Prepared, Sequence[Hypothesis]], Translation] = read,
    unheld: Callable[[str], Sequence[tuple[int, int]]] = lambda _: (),
    prefix: str = "",
) -> tuple[Translation, list[str]]:
    """The translation, and the texts that were searched."""
    first, asked = asked_of(text, settings or SearchSettings()), list[str]()
    assert first.request is not None
    request = replace(first.request, prefix=tuple(map(ord, prefix)))
    prepared = replace(first, request=request, direction=direction, marked=has_marks(text))
    codec = Fake(reader, unknown, placeholders, uncovered, unheld)
    steps = guarded(Sentence(codec, prepared, request))
    found = None
    while True:
        try:
            request = next(steps) if found is None else steps.send(found)
        except StopIteration as end:
            return end.value, asked
        asked.append(show_marks("".join(map(chr, request.source))))
        outputs = [marked(each) for each in say(asked[-1], request.settings)]
        found = [Hypothesis(tuple(map(ord, each)), confidence, 0.0, True) for each in outputs]


def marked(text: str) -> str:
    for number in range(9):
        text = text.replace(f"<ph{number}>", chr(0xF0000 + number))
    return text


LOOP = "der Hund und der Hund und der Hund und der Hund und so"


def test_where_nothing_is_wrong_nothing_is_searched_again() -> None:
    found, asked = translated("the dog sees 3 birds", lambda *_: ["der Hund sieht drei Vögel"])
    assert (found.text, found.warnings, found.confidence) == ("der Hund sieht drei Vögel", (), 0.9)
    assert len(asked) == 1


def han_of(text: str) -> list[tuple[int, int]]:
    """As if a vocabulary lacked two letters."""
    return [match.span() for match in re.finditer("[東京]+", text)]


def test_what_the_vocabulary_does_not_hold_is_a_placeholder_from_the_first_search_on() -> None:
    found, asked = translated(
        "the dog sees 東京", lambda *_: ["der Hund sieht <ph0> an"], placeholders=True, unheld=han_of
    )
    assert asked == ["the dog sees <ph0>"]
    assert (found.text, found.warnings) == ("der Hund sieht 東京 an", ())
    found, asked = translated("東京", lambda *_: ["x"], placeholders=True, unheld=han_of)
    assert (found.text, asked) == ("東京", [])


@pytest.mark.parametrize(
    ("source", "prefix", "rest", "text", "warning"),
    [
        ("the dog and the dog", LOOP, "", LOOP, "loop"),
        ("the dog sees 3 birds", "der Hund sieht 4", " Tauben", "der Hund sieht 4 Tauben", "number lost"),
        ("THE DOG RUNS", "der Hund", " rennt", "der Hund RENNT", ""),
        ("the dog runs", "der Hund", " rennt rennt rennt rennt", "der Hund rennt", "loop"),
    ],
)
def test_a_prefix_stays_as_it_is(source: str, prefix: str, rest: str, text: str, warning: str) -> None:
    """Only what follows it is repaired."""
    found, _ = translated(source, lambda *_: [prefix + rest], prefix=prefix, direction=Direction("en", "de"))
    assert found.text == text
    assert warning in found.warnings or not warning


def test_what_is_lost_is_put_back_with_a_warning() -> None:
    found, _ = translated("the dog sees 東京.", lambda *_: ["der Hund sieht."], placeholders=True, unheld=han_of)
    assert (found.text, found.warnings) == ("der Hund sieht 東京.", ("sign lost",))
    found, _ = translated("the dog → runs", lambda *_: ["der Hund läuft"], unheld=lambda text: [(8, 9)] * ("→" in text))
    assert (found.text, found.warnings) == ("der Hund → läuft", ("sign lost",))


def test_a_model_without_placeholders_may_have_misspelled_a_word_so_it_is_not_repeated() -> None:
    found, _ = translated("the dog sees 東京", lambda *_: ["der Hund sieht Tokio"], unheld=han_of)
    assert (found.text, found.warnings) == ("der Hund sieht Tokio", ("sign lost",))


def test_signs_that_a_translation_has_changed_are_searched_again_as_placeholders() -> None:
    def say(text: str, _: SearchSettings) -> list[str]:
        return ["der Hund <ph0> läuft"] if "<ph0>" in text else ["der Hund läuft"]

    found, asked = translated("the dog => runs", say, placeholders=True)
    assert asked == ["the dog => runs", "the dog <ph0> runs"]
    assert (found.text, found.warnings) == ("der Hund => läuft", ())
    found, asked = translated("the {dog} runs", say, placeholders=True)
    assert (asked[1], found.text) == ("the <ph0> runs", "der Hund {dog} läuft")
    found, _ = translated("the dog => runs", lambda *_: ["der Hund läuft"])
    assert (found.text, found.warnings) == ("der Hund läuft", ("sign lost",))


def test_a_letter_that_names_something_is_searched_again_as_a_placeholder() -> None:
    def say(text: str, _: SearchSettings) -> list[str]:
        return ["Vitamin <ph0> ist gut"] if "<ph0>" in text else ["Vitamin ist gut"]

    direction = Direction("en", "de")
    found, asked = translated("the vitamin C runs", say, placeholders=True, direction=direction)
    assert asked == ["the vitamin C runs", "the vitamin <ph0> runs"]
    assert (found.text, found.warnings) == ("Vitamin C ist gut", ())
    found, _ = translated("the vitamin C runs", lambda *_: ["Vitamin ist gut"], direction=direction)
    assert found.warnings == ("sign lost",)


def test_lost_emphasis_is_warned_of_and_left() -> None:
    found, asked = translated("the *dog* runs", lambda *_: ["der dog läuft"], placeholders=True)
    assert (found.text, found.warnings, len(asked)) == ("der dog läuft", ("emphasis lost",), 1)
    found, asked = translated("the *dog* runs", lambda *_: ["der *dog läuft"], placeholders=True)
    assert (found.warnings, len(asked)) == (("sign lost",), 3)


def test_a_translation_with_the_same_possible_fault_is_no_better() -> None:
    source = "he needs 5 kg"
    found, _ = translated(source, lambda *_: ["er braucht 5", "er brauchte 5"], reader=unsure_of("er braucht 5", 0.9))
    assert (found.text, found.warnings) == ("er braucht 5", ("unit lost",))


def test_a_date_in_the_order_of_english_is_put_in_that_of_the_target() -> None:
    found, asked = translated(
        "on May 5, 1987", lambda *_: ["an Mai 5, 1987"], placeholders=True, direction=Direction("en", "de")
    )
    assert (found.text, found.warnings, len(asked)) == ("am 5. Mai 1987", (), 1)  # not searched again
    found, _ = translated("on the 21st", lambda *_: ["am 21st"], direction=Direction("en", "de"))
    assert (found.text, found.warnings) == ("am 21.", ())


def test_a_code_in_another_case_is_put_back_and_a_misspelled_one_warned_of() -> None:
    found, asked = translated("he drinks H2O", lambda *_: ["er trinkt h2O"], placeholders=True)
    assert (found.text, found.warnings, len(asked)) == ("er trinkt H2O", (), 1)
    found, _ = translated("he needs 5 kWh", lambda *_: ["er braucht 5 kwh"])
    assert (found.text, found.warnings) == ("er braucht 5 kWh", ())
    found, asked = translated("he likes LaTeX", lambda *_: ["er mag LTeX"], placeholders=True)
    assert (found.text, found.warnings, len(asked)) == ("er mag LTeX", ("spelling changed",), 1)


def test_a_term_of_a_glossary_may_have_another_case() -> None:
    source = f"the {annotated('iPhone', 'IPHONE')} runs"
    found, _ = translated(source, lambda *_: ["das IPHONE rennt"])
    assert (found.text, found.warnings) == ("das IPHONE rennt", ())


def test_a_lost_number_word_is_warned_of_and_left() -> None:
    found, asked = translated("twenty-one dogs", lambda *_: ["zwanzig Hunde"], direction=Direction("en", "de"))
    assert (found.text, found.warnings, len(asked)) == ("zwanzig Hunde", ("number word lost",), 1)


def test_names_with_letters_of_another_language_are_kept() -> None:
    def say(text: str, _: SearchSettings) -> list[str]:
        return ["<ph0> läuft"] if "<ph0>" in text else ["der Hund läuft"]

    found, _ = translated("Kőszegi runs", say, placeholders=True, direction=Direction("en", "de"))
    assert (found.text, found.warnings) == ("Kőszegi läuft", ())


def test_a_loop_is_searched_again_without_repeating_it() -> None:
    def say(text: str, settings: SearchSettings) -> list[str]:
        return ["der Hund und so weiter"] if dict(settings.rules).get("no_repeat_ngram") == 3 else [LOOP]

    found, asked = translated("the dog and so on", say)
    assert (found.text, found.warnings, len(asked)) == ("der Hund und so weiter", (), 2)
    assert found.confidence == 0.9


def test_a_loop_that_stays_is_cut() -> None:
    found, _ = translated("the dog and so on", lambda *_: [LOOP])
    assert (found.text, found.warnings, found.confidence) == ("der Hund und so", ("loop",), 0.1)


def test_what_the_source_repeats_is_no_loop() -> None:
    found, asked = translated("no, no, no, no, no!", lambda *_: ["nein, nein, nein, nein, nein!"])
    assert (found.warnings, len(asked)) == ((), 1)


@pytest.mark.parametrize(
    ("source", "bad", "good", "warning"),
    [
        ("a long sentence with many words in it", "ein", "ein langer Satz mit vielen Wörtern", "too short"),
        ("a dog", "", "ein Hund", "too short"),
        ("it costs 4711 now", "es kostet jetzt", "es kostet jetzt 4711", "number lost"),
        ("see a@b.org there", "sieh dort", "sieh dort a@b.org", "address lost"),
    ],
)
def test_the_best_hypothesis_without_the_fault_is_taken(source: str, bad: str, good: str, warning: str) -> None:
    def say(_: str, settings: SearchSettings) -> list[str]:
        return [bad, "x" * 30, good, good.upper()] if settings.n_best == 4 == settings.beam_size else [bad]

    found, asked = translated(source, say)
    assert (found.text, found.warnings, found.alternatives, len(asked)) == (good, (), (), 2)
    stuck, _ = translated(source, lambda *_: [bad])
    assert stuck.warnings == (warning,)
    assert found.confidence == 0.9
    assert (stuck.confidence == 0.1) == (warning == "too short")


def unsure_of(text: str, confidence: float) -> Callable[[Prepared, Sequence[Hypothesis]], Translation]:
    """Reads hypotheses; the confidence of `text` is 0.05, that of the others the given one."""

    def reader(prepared: Prepared, hypotheses: Sequence[Hypothesis]) -> Translation:
        found = read(prepared, hypotheses)
        each = [replace(one, confidence=0.05 if one.text == text else confidence) for one in found.alternatives]
        return replace(found, confidence=0.05 if found.text == text else confidence, alternatives=tuple(each))

    return reader


SHORT_SOURCE = "the dog runs and Tom sees him"


@pytest.mark.parametrize(
    ("source", "first", "other"),
    [
        ("he needs 5 kg of it", "er braucht 5 davon", "er braucht davon 5 kg"),
        ("TOM SEES THE DOG", "DER HUND", "TOM SIEHT IHN"),
    ],
)
def test_a_less_sure_translation_never_replaces_one_that_can_be_right(source: str, first: str, other: str) -> None:
    def say(text: str, settings: SearchSettings) -> list[str]:
        return [first, other][: settings.n_best] if text == source else [other]

    def found(confidence: float) -> Translation:
        reader = unsure_of(first, confidence)
        return translated(source, say, reader=reader)[0]

    assert found(0.06).text == other
    assert found(0.06).warnings == ()
    assert found(0.04).text == first
    assert found(0.04).warnings == faults(source, first)


def test_a_loop_is_replaced_even_if_the_model_is_surer_of_it() -> None:
    """A loop is always wrong, and has high probability."""
    found, _ = translated("the dog and so on", lambda *_: [LOOP, "der Hund"], reader=unsure_of("der Hund", 0.9))
    assert (found.text, found.warnings) == ("der Hund", ())


def test_text_that_comes_back_as_it_was_stays_with_a_warning() -> None:
    """It may already be in the target language."""
    source = "ich sehe einen Hund"
    found, asked = translated(source, lambda *_: [source, "ich sehe einen dog"])
    assert (found.text, found.warnings, found.confidence, len(asked)) == (source, ("copied",), 0.9, 1)


def test_an_added_number_is_warned_of_and_left() -> None:
    found, asked = translated("it has 3 dogs", lambda *_: ["es hat 3 und 4 Hunde", "es hat 3 Hunde"], placeholders=True)
    assert (found.text, found.warnings) == ("es hat 3 und 4 Hunde", ("number added",))
    assert len(asked) == 1


def test_a_changed_negation_is_warned_of_and_left() -> None:
    found, asked = translated("do not open it", lambda *_: ["öffne es"], direction=Direction("en", "de"))
    assert (found.text, found.warnings, len(asked)) == ("öffne es", ("negation",), 1)
    right, _ = translated("do not open it", lambda *_: ["öffne es nicht"], direction=Direction("en", "de"))
    assert right.warnings == ()
    unnamed, _ = translated("do not open it", lambda *_: ["öffne es"])
    assert unnamed.warnings == ()


@pytest.mark.parametrize(
    ("warning", "source", "bad", "good"),
    [
        ("loop", "the dog and so on", LOOP, "der Hund und so weiter"),
        ("too short", "a long sentence with many words in it", "ein", "ein langer Satz mit vielen Wörtern"),
        ("number lost", "it costs 4711 now", "es kostet jetzt", "es kostet jetzt 4711"),
        ("address lost", "see a@b.org there", "sieh dort", "sieh dort a@b.org"),
        ("placeholder lost", "a <ph0> b", "ein b", "ein <ph0> b"),
    ],
)
def test_a_warning_names_a_fault_of_the_returned_text(warning: str, source: str, bad: str, good: str) -> None:
    """It goes if another search has no such fault, and stays if none has."""
    source = marked(source)
    stuck, _ = translated(source, lambda *_: [bad])
    assert stuck.warnings == (warning,)
    helped, _ = translated(source, lambda _, settings: [bad, good] if settings.n_best > 1 else [bad])
    assert (helped.text, helped.warnings) == (marked(good), ())


def test_what_is_too_long_has_a_warning_and_low_confidence() -> None:
    output = "eine Katze sitzt " * 2 + "und ein Hund und noch ein anderer"
    found, asked = translated("a cat sits", lambda *_: [output, "eine Katze sitzt"])
    assert (found.text, found.warnings, found.confidence, len(asked)) == (output, ("too long",), 0.1, 1)


@pytest.mark.parametrize("output", ["THE SMALL DOG RUNS", "the small dog RUNS", ""])
def test_capitals_that_fail_are_lowered_and_raised_again(output: str) -> None:
    def say(text: str, _: SearchSettings) -> list[str]:
        return ["Der kleine Hund rennt"] if text == "The small dog runs" else [output]

    found, _asked = translated("THE SMALL DOG RUNS", say)
    assert (found.text, found.warnings) == ("DER KLEINE HUND RENNT", ())


def test_capitals_are_searched_as_a_sentence_too_and_the_surer_one_is_kept() -> None:
    found, asked = translated("TOM SEES THE DOG", lambda text, _: ["DER HUND"] if text.isupper() else ["Tom sieht ihn"])
    assert (found.text, asked) == ("DER HUND", ["TOM SEES THE DOG", "Tom sees the dog"])


def test_a_translation_of_capitals_is_in_capitals() -> None:
    found, asked = translated("THE DOG RUNS, SAYS a@b.org", lambda *_: ["Der Hund rennt, sagt a@b.org"])
    assert (found.text, len(asked)) == ("DER HUND RENNT, SAGT a@b.org", 2)


def test_title_case_is_searched_as_a_sentence_too() -> None:
    def say(text: str, _: SearchSettings) -> list[str]:
        return ["Der kleine Hund sieht Tom"] if text == "The small dog sees Tom" else ["Das Kleine Rennt"]

    assert translated("The Small Dog Sees Tom", say, confidence=0.9)[0].text == "Das Kleine Rennt"  # equally sure

    def unsure(prepared: Prepared, hypotheses: Sequence[Hypothesis]) -> Translation:
        return replace(read(prepared, hypotheses), confidence=0.9 if prepared.text.endswith("sees Tom") else 0.2)

    found, asked = translated("The Small Dog Sees Tom", say, reader=unsure)
    assert (found.text, found.warnings) == ("Der kleine Hund sieht Tom", ())
    assert asked == ["The Small Dog Sees Tom", "The small dog sees Tom"]


@pytest.mark.parametrize("source", ["Tom and Tom", "Small Dog", "Tom, Tom, and Tom", "The dog sees Tom", "The Nasa"])
def test_names_and_sentences_are_no_title_case(source: str) -> None:
    found, asked = translated(source, lambda *_: ["was auch immer"])
    assert (found.text, asked) == ("was auch immer", [source])


def test_what_is_too_short_is_searched_for_in_a_longer_translation() -> None:
    def say(_: str, settings: SearchSettings) -> list[str]:
        longer = settings.length_penalty > SearchSettings().length_penalty
        return ["der", "der Hund rennt und Tom sieht ihn"][: 1 + longer]

    found, asked = translated(f"{SHORT_SOURCE} and runs after it", say)
    assert (found.text, found.warnings, len(asked)) == ("der Hund rennt und Tom sieht ihn", (), 2)


def test_what_was_not_attended_to_is_warned_of_and_left() -> None:
    missing = partial(translated, SHORT_SOURCE, lambda *_: ["der Hund rennt", "der Hund rennt, Tom sieht"])
    found, asked = missing(confidence=0.09, uncovered=lambda _: 0.5)
    assert (found.text, found.warnings, len(asked)) == ("der Hund rennt", ("uncovered",), 1)
    covered, asked = missing(confidence=0.09, uncovered=lambda _: 0.1)
    assert (covered.warnings, len(asked)) == ((), 1)


def test_attention_is_looked_at_where_a_translation_is_brief_alone() -> None:
    def never(_: Translation) -> float:
        raise AssertionError("attention of a translation that is long enough")

    unsure = partial(translated, confidence=0.09, uncovered=never)
    assert unsure(SHORT_SOURCE, lambda *_: ["der Hund rennt, Tom sieht"])
    assert unsure("Tom sees Tom", lambda *_: ["Tom"])[0].text == "Tom"
    compounds = "die Dampfschifffahrtsgesellschaft hat einen Kapitän"
    assert unsure(compounds, lambda *_: ["it has a great captain"])[0].warnings == ()
    sure = translated(SHORT_SOURCE, lambda *_: ["der Hund rennt"], confidence=0.11, uncovered=never)[0]
    assert sure.warnings == ()


def test_a_translation_without_faults_is_checked_once_and_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most have none. What guards cost is counted here, not timed: one check, one search and no other translation."""
    counts = Counter[str]()

    def counted(module: object, name: str) -> None:
        plain = getattr(module, name)

        def call(*given: object, **named: object) -> object:
            counts[name] += 1
            return plain(*given, **named)

        monkeypatch.setattr(module, name, call)

    for module, name in ((guards, "checked"), (guards, "faults"), (guards, "repaired"), (guards, "replace")):
        counted(module, name)
    for name in ("find_numbers", "word_values"):
        counted(number_changes, name)
    counted(checks, "lost_units")
    found, asked = translated("the dog sees birds", lambda *_: ["der Hund sieht Vögel"])
    assert (found.text, len(asked)) == ("der Hund sieht Vögel", 1)
    assert counts == {"checked": 1, "faults": 1}


def test_lost_quotation_marks_are_put_around_the_whole_or_warned_of() -> None:
    found, _ = translated('"The dog runs"', lambda *_: ["Der Hund rennt"])
    assert (found.text, found.warnings) == ('"Der Hund rennt"', ())
    found, asked = translated('"The dog runs", says Tom', lambda *_: ["Der Hund rennt, sagt Tom"])
    assert (found.text, found.warnings, len(asked)) == ("Der Hund rennt, sagt Tom", ("quotation lost",), 1)


def test_what_was_lost_is_a_placeholder_in_the_second_search() -> None:
    def say(text: str, _: SearchSettings) -> list[str]:
        return ["am <ph0> um <ph1> bei <ph2>"] if "<ph0>" in text else ["am 7. um 3 bei ihm"]

    found, asked = translated("on 17 at 13:45 with a@b.org", say, placeholders=True)
    assert asked == ["on 17 at 13:45 with a@b.org", "on <ph0> at <ph1> with <ph2>"]
    assert (found.text, found.warnings) == ("am 17 um 13:45 bei a@b.org", ())


ENGLISH_TO_GERMAN = Direction("en", "de")


def test_numbers_with_separators_are_placeholders_from_the_start_and_come_back_as_the_target_writes_them() -> None:
    def say(text: str, _: SearchSettings) -> list[str]:
        return ["es kostet <ph0>, nicht <ph1>, für 2"] if "<ph1>" in text else ["es kostet 350, nicht 129999, für 2"]

    source = "it costs $3.50, not 1,299.99, for 2"
    found, asked = translated(source, say, placeholders=True, direction=ENGLISH_TO_GERMAN)
    assert (found.text, found.warnings) == ("es kostet 3,50\u00a0$, nicht 1.299,99, für 2", ())
    assert asked == ["it costs <ph0>, not <ph1>, for 2"]
    found, asked = translated(source, say, direction=ENGLISH_TO_GERMAN)
    assert (found.text, asked[0]) == ("es kostet 3,50, nicht 1.299,99, für 2", source)
    assert found.warnings == ("unit lost",)


def test_a_text_of_numbers_alone_is_not_searched() -> None:
    def never(*_: object) -> list[str]:
        raise AssertionError("a search")

    found, _ = translated("$3.50 - 1.2.3", never, placeholders=True, direction=ENGLISH_TO_GERMAN)
    assert (found.text, found.warnings) == ("3,50\u00a0$ - 1.2.3", ())


def test_numbers_in_marked_text_get_further_placeholders() -> None:
    source = marked("a <ph1> b 3.5 c <ph0> d 4.5")
    say = lambda text, _: [text.replace("a", "ein").replace(" d", "")]  # noqa: E731
    found, asked = translated(source, say, placeholders=True, direction=ENGLISH_TO_GERMAN)
    assert asked == ["a <ph1> b <ph2> c <ph0> d <ph3>"]
    assert found.text == marked("ein <ph1> b 3,5 c <ph0> 4,5")


def test_words_have_the_numbers_in_place_of_their_placeholders() -> None:
    def reader(prepared: Prepared, hypotheses: Sequence[Hypothesis]) -> Translation:
        found = read(prepared, hypotheses)
        return replace(found, words=tuple(Word(each, 0.5) for each in found.text.split()))

    found, _ = translated(
        "it costs 3.5 now", lambda *_: ["es kostet <ph0> jetzt"], placeholders=True, direction=ENGLISH_TO_GERMAN,
        reader=reader,
    )  # fmt: skip
    assert [each.text for each in found.words] == ["es", "kostet", "3,5", "jetzt"]


def test_a_time_that_is_another_one_is_searched_again_and_converted() -> None:
    say = lambda text, _: ["um <ph0> da" if "<ph0>" in text else "um 5 Uhr da"]  # noqa: E731
    found, asked = translated("there at 5 pm", say, placeholders=True, direction=ENGLISH_TO_GERMAN)
    assert (found.text, found.warnings, asked) == ("um 17 Uhr da", (), ["there at 5 pm", "there at <ph0>"])
    stuck, _ = translated("there at 5 pm", say, direction=ENGLISH_TO_GERMAN)
    assert (stuck.text, stuck.warnings) == ("um 5 Uhr da", ("number lost",))


@pytest.mark.parametrize(
    ("output", "warnings"),
    [("es kostet 4", ("number lost",)), ("es kostet 3 und 4", ("number added",)), ("es kostet 3", ())],
)
def test_changed_numbers_are_reported(output: str, warnings: tuple[str, ...]) -> None:
    assert translated("it costs 3", lambda *_: [output], direction=ENGLISH_TO_GERMAN)[0].warnings == warnings


def test_no_phrase_can_divide_a_number() -> None:
    """With phrases to include, all numbers are placeholders, which are one token."""
    prepared = asked_of("run 26.2 miles in 4 hours", SearchSettings())
    assert prepared.request is not None
    request = replace(prepared.request, constraints=Constraints((Phrase(((1,),)),)))
    asked = next(guarded(Sentence(Fake(placeholders=True), prepared, request)))
    assert show_marks("".join(map(chr, asked.source))) == "run <ph0> miles in <ph1> hours"
    plain = next(guarded(Sentence(Fake(placeholders=True), prepared, prepared.request)))
    assert show_marks("".join(map(chr, plain.source))) == "run <ph0> miles in 4 hours"


def test_terms_of_a_glossary_are_not_replaced_by_placeholders() -> None:
    """The marks of an annotation would become placeholders, and its target form a word of the source."""
    term = annotated("dog", "Köter 2.5")
    found, asked = translated(f"the {term} costs 4711 now", lambda *_: ["der Köter kostet jetzt"], placeholders=True)
    plain, protected = (show_marks(f"the {term} costs {number} now") for number in ("4711", marked("<ph0>")))
    assert asked[:2] == [plain, protected]
    assert found.warnings == ("number lost",)


def test_a_translation_without_a_term_never_replaces_one_with_it() -> None:
    source = f"the {annotated('dog', 'Köter')} costs 4711 now"

    def say(_: str, settings: SearchSettings) -> list[str]:
        return ["der Köter kostet jetzt", "der Hund kostet jetzt 4711"][: settings.n_best]

    assert translated(source, say)[0].text == "der Köter kostet jetzt"


def test_the_target_forms_of_terms_are_no_part_of_the_source() -> None:
    source = f"the {annotated('dog', 'Windows 11')} runs"
    assert translated(source, lambda *_: ["der Hund rennt"])[0].warnings == ()


def test_numbers_and_addresses_are_put_back_and_only_appended_ones_reported() -> None:
    found, _ = translated("it costs 4711 now", lambda *_: ["es kostet jetzt 4771"])
    assert (found.text, found.warnings) == ("es kostet jetzt 4711", ())
    found, _ = translated("see www.limelight.org now.", lambda *_: ["sieh wwww.limelihgt.org."])
    assert (found.text, found.warnings) == ("sieh www.limelight.org.", ())
    found, _ = translated("write to a@b.org now.", lambda *_: ["schreib jetzt."])
    assert (found.text, found.warnings) == ("schreib jetzt a@b.org.", ("address lost",))


def test_what_has_no_words_is_not_searched() -> None:
    for text in ("...", "😀😀", "?!", marked("<ph0> - <ph1>")):
        found, asked = translated(text, lambda *_: ["Ärger"])
        assert (found.text, found.warnings, asked) == (text, (), [])
    assert translated("3", lambda *_: ["3"])[1] == ["3"]


def test_a_source_in_an_unknown_script_comes_back() -> None:
    found, _ = translated("Привет", lambda *_: ["nonsense"], unknown=0.9)
    assert (found.text, found.warnings, found.confidence) == ("Привет", ("unknown script",), 0.1)


@pytest.mark.parametrize("settings", [SearchSettings(beam_size=2, n_best=2), SearchSettings(sampling=Sampling(seed=1))])
def test_draws_and_lists_have_warnings_alone(settings: SearchSettings) -> None:
    found, asked = translated("the dog and the other dog and so on", lambda *_: [LOOP, "der Hund"], settings=settings)
    assert (found.text, found.warnings, len(asked)) == (LOOP, ("loop",), 1)
    assert [each.text for each in found.alternatives] == ["der Hund"]


def test_placeholders_of_marked_text_are_counted() -> None:
    source = marked("a <ph0> b <ph1>")
    assert faults(source, marked("<ph1> c <ph0>")) == ()
    for output in ("c <ph0>", "<ph0> <ph0> <ph1>", "<ph0> <ph1> <ph2>"):
        assert faults(source, marked(output)) == ("placeholder lost",)


def test_every_fault_has_a_weight() -> None:
    found = {
        *faults("a 17 kg a@b.org → " * 3, ""),
        *faults("a", "17"),
        *faults("no no no", "x " * 99, ("en", "de")),
        *faults("a b", "a b"),
        *faults("a *b*", "a b"),
        *faults("May 5", "Mai 5", ("en", "de")),
        *faults("twenty-one", "zwanzig", ("en", "de")),
        *faults("3 to 5", "5 bis 3", ("en", "de")),
    }
    others = {"unknown script", "doubtful", "uncovered", "placeholder lost", "quotation lost", "term lost"}
    others |= {"spelling changed"}
    assert set(SEVERITY) == found | others


@pytest.mark.parametrize(
    ("languages", "source", "output"),
    [
        (
            ("en", "de"),
            "A man in a red shirt often rides a bicycle.",
            "Ein Mann in einem roten Hemd fährt oft Fahrrad.",
        ),
        (("de", "en"), "Die Straßenbahnhaltestelle ist leer.", "The tram stop is empty."),
        (("fr", "de"), "L'homme attend le bus.", "Der Mann wartet auf den Bus."),
    ],
)
def test_ordinary_sentences_are_not_read_by_the_costly_checks(
    languages: tuple[str, str], source: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops of characters, numbers in digits and in words, ordinals, signs and addresses: a look at the letters shows
    that there are none."""
    for module, names in {
        checks: ["CHARACTER_LOOP", "ADDRESS", "compare_numbers", "lost_units"],
        number_changes: ["find_numbers", "find_dates"],
        ordinals: ["_ENGLISH", "_FRENCH", "_GERMAN", "_DECADE"],
        numbers: ["number_runs", "word_values", "_QUARTER_OF_HOUR", "_hours_and_half"],
        kept_signs: ["_SIGN", "_AMOUNT"],
        spelling: ["_TOKEN"],
        number_order: ["_joined"],
    }.items():
        for name in names:
            monkeypatch.setattr(module, name, None)
    assert faults(source, output, languages) == ()
    assert spelling.misspelled(source, output) == []

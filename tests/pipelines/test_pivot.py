"""Translation through another language: what is carried, what is searched, and what is said about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from limelight.config import Direction, find_pivots
from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.pipelines.codec import Part
from limelight.pipelines.options import Options
from limelight.pipelines.translator import Translation
from limelight.text.glossary import Glossary, Term
from limelight.tokens import Tokenizers
from tests.marks import show_marks
from tests.pipelines.test_protected import Scripted, Silent, marked

LEGS = (Direction("de", "en"), Direction("en", "fr"))
Say = Callable[[str], str] | str


class Listening(Silent):
    """Finds nothing at once, and keeps what it was asked."""

    def __init__(self, heard: list[Request]) -> None:
        super().__init__()
        self.heard = heard

    def submit(self, request: Request, *, first: bool = False, **how: bool) -> int:
        self.heard.append(request)
        return super().submit(request, first=first, **how)


class TwoLegs(Scripted):
    """Says what is scripted for each direction: one text for all, or what a function makes of a marked text."""

    def __init__(self, script: Mapping[str, Say | Sequence[str]], **settings: Any) -> None:
        super().__init__(lambda text: [text], **settings)
        self.directions, self.knows_placeholders = LEGS, True
        self.pivots = find_pivots(LEGS)
        self.script = script
        self.sure = {"de-en": 0.5, "en-fr": 0.8}
        self.heard: list[Request] = []
        self.guards = False

    def options(self, **asked: Any) -> Options:
        return super().options(**{"source_lang": "de", "target_lang": "fr", "guards": self.guards, **asked})

    def tokenizers_of(self, direction: Direction | None, tags: Sequence[str] = ()) -> Tokenizers:
        return self.tokenizers

    def engine(self, **_: Any) -> Engine:
        return Listening(self.heard)

    def finish(self, part: Part, hypotheses: Sequence[Hypothesis] = ()) -> list[Translation]:
        if part.direction not in LEGS:
            return super().finish(part, hypotheses)
        found = self.script[str(part.direction)]
        texts = [found(part.text)] if callable(found) else [found] if isinstance(found, str) else found
        self.say = lambda _: [marked(text) for text in texts]
        sure = self.sure.get(str(part.direction))
        return [replace(each, confidence=sure) for each in super().finish(part, hypotheses)]

    @property
    def seen(self) -> list[str]:
        return [show_marks(text) for text in self.asked]


def test_the_draft_of_the_first_direction_is_the_source_of_the_second() -> None:
    translator = TwoLegs({"de-en": "the lamp", "en-fr": "la lampe"})
    found = translator.translate("die Lampe")
    assert translator.seen == ["die Lampe", "the lamp"]
    assert (found.text, found.source, found.path) == ("la lampe", "die Lampe", ("de", "en", "fr"))
    assert (found.source_lang, found.target_lang) == ("de", "fr")


def test_tags_and_variables_are_carried_in_both_directions() -> None:
    script = {"de-en": "press key for <ph2>", "en-fr": "clé pour <ph2>"}
    translator = TwoLegs(script)
    found = translator.translate("drück <b>Taste</b> für {x}")
    assert translator.seen == ["drück Taste für <ph2>", "press key for <ph2>"]
    assert [found.text.count(span) for span in ("<b>", "</b>", "{x}")] == [1, 1, 1]
    assert (found.moved, found.failed, found.warnings) == ((), (), ())


def test_a_placeholder_that_the_first_direction_loses_is_in_the_translation() -> None:
    translator = TwoLegs({"de-en": "press the key", "en-fr": lambda text: text.replace("press the key", "la clé")})
    found = translator.translate("drück {x}")
    assert found.text.count("{x}") == 1
    assert found.moved == ("{x}",)


def test_terms_are_searched_for_in_the_second_direction() -> None:
    glossary = Glossary([Term("Lampe", "lanterne")], "de")
    translator = TwoLegs({"de-en": "the lamp hums", "en-fr": "la lampe brille"}, answer="la lanterne brille")
    found = translator.translate("die Lampe summt", glossary=glossary)
    assert translator.seen[:2] == ["die Lampe summt", "the lamp hums"]
    assert (found.text, found.unused) == ("la lanterne brille", ())
    assert [bool(request.phrases) for request in translator.heard] == [False, False, True]
    assert translator.demanded[0][0][0] == "lanterne"


def test_n_best_lists_and_samples_are_of_the_second_direction() -> None:
    translator = TwoLegs({"de-en": ["the lamp", "a lamp"], "en-fr": ["la lampe", "une lampe"]})
    found = translator.translate("die Lampe", n_best=2)
    assert [found.text, *(each.text for each in found.alternatives)] == ["la lampe", "une lampe"]
    assert all(each.path == ("de", "en", "fr") for each in found.alternatives)
    assert [request.settings.n_best for request in translator.heard] == [1, 2]
    translator.heard.clear()
    translator.translate(["x", "die Lampe"], sampling=Sampling(seed=4), n_best=2)
    drafts = [request for request in translator.heard if request.settings.sampling is None]
    drawn = [request for request in translator.heard if request.settings.sampling is not None]
    assert [request.settings.beam_size for request in drafts] == [2, 2]
    assert sorted(request.substream for request in drawn) == [(1,), (2,)]


def test_confidence_is_the_smaller_one_and_unknown_if_one_is() -> None:
    translator = TwoLegs({"de-en": "the lamp", "en-fr": "la lampe"})
    assert translator.translate("die Lampe").confidence == 0.5
    translator.sure = {"de-en": 0.5, "en-fr": 0.3}
    assert translator.translate("die Lampe").confidence == 0.3
    translator.sure = {"en-fr": 0.8}
    assert translator.translate("die Lampe").confidence is None


@pytest.mark.parametrize(
    ("draft", "output", "text", "warnings"),
    [
        ("7 lamps", "7 lampes", "7 lampes", ()),
        ("8 lamps", "8 lampes", "8 lampes", ("number lost",)),
    ],
)
def test_numbers_are_compared_with_the_source(draft: str, output: str, text: str, warnings: tuple[str, ...]) -> None:
    translator = TwoLegs({"de-en": draft, "en-fr": output})
    translator.guards = True
    found = translator.translate("7 Lampen")
    assert (found.text, found.warnings) == (text, warnings)


def test_a_text_that_is_refused_without_pivot_names_the_directions() -> None:
    translator = TwoLegs({"de-en": "the lamp", "en-fr": "la lampe"})
    with pytest.raises(UserError, match=r"does not translate from de to fr; its directions are: de-en, en-fr"):
        translator.translate("die Lampe", pivot=False)
    with pytest.raises(UserError, match="its directions are: de-en, en-fr"):
        translator.attention("die Lampe", source_lang="de", target_lang="fr")
    with pytest.raises(UserError, match=r"does not translate from de to nl; its directions are: de-en, en-fr$"):
        translator.translate("die Lampe", target_lang="nl")


def pairs(*names: str) -> list[Direction]:
    return [Direction(*name.split("_")) for name in names]


def test_the_detected_language_decides_between_a_direction_and_two() -> None:
    class Detector:
        languages = ("de", "en")

        def probabilities(self, text: str) -> dict[str, float]:
            return {"de": float("die" in text), "en": float("the" in text)}

    translator = TwoLegs({"de-en": "the lamp", "en-fr": "la lampe"})
    translator.detector = Detector()  # type: ignore[assignment]
    found = translator.translate(["die ab", "the ab"], source_lang=None)
    assert [each.path for each in found] == [("de", "en", "fr"), ()]
    assert [each.source_lang_confidence for each in found] == [1.0, 1.0]
    assert translator.translate("die ab", source_lang=None, pivot=False).path == (), "en-fr alone leads to fr"

"""Segments of a translation memory in translations: reused, and left alone where they do not belong."""

import pytest

import limelight
from limelight.formats.translation_memory import TranslationMemory, open_memory
from limelight.pipelines.translator import Translator
from limelight.text.glossary import Glossary, Term

CLOSED, RESTART = "The pharmacy is closed today.", "Please restart the computer."
PAIRS = {CLOSED: "Die Apotheke hat heute zu.", RESTART: "Rechner bitte neu starten."}


@pytest.fixture(scope="module")
def translator() -> Translator:
    return limelight.load()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> TranslationMemory:
    path = tmp_path_factory.mktemp("memory") / "m.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS.items()), encoding="utf-8")
    return open_memory(path, "en", "de")


def test_a_text_of_the_memory_is_not_searched(
    translator: Translator, memory: TranslationMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setattr(translator, "encode", lambda *_: pytest.fail("it was searched"))
        found = translator.translate(f" {CLOSED}\n", source_lang="en", target_lang="de", memory=memory)
    assert found.text == f" {PAIRS[CLOSED]}\n"
    assert (found.tokens, found.warnings, found.source_lang, found.target_lang) == ((), (), "en", "de")
    assert [each.origin[-8:] for each in found.matches] == ["/m.tsv:1"]


def test_sentences_of_the_memory_are_reused_in_a_text(translator: Translator, memory: TranslationMemory) -> None:
    text = f"I see a cat. {RESTART} {CLOSED}"
    plain = translator.translate("I see a cat.", source_lang="en", target_lang="de")
    found = translator.translate(text, source_lang="en", target_lang="de", memory=memory)
    assert found.text == f"{plain.text} {PAIRS[RESTART]} {PAIRS[CLOSED]}"
    assert found.tokens == plain.tokens
    assert {each.target for each in found.matches} == set(PAIRS.values())


@pytest.mark.parametrize("options", [{"target_lang": "fr"}, {"target_lang": "de", "prefix": "Die"}])
def test_other_directions_and_forced_words_are_searched(
    translator: Translator, memory: TranslationMemory, options: dict[str, object]
) -> None:
    found = translator.translate(CLOSED, source_lang="en", memory=memory, **options)  # type: ignore[call-overload]
    assert found.tokens
    assert found.matches == ()


@pytest.mark.parametrize(("term", "used"), [("Apotheke", [PAIRS[CLOSED]]), ("Pharmazie", [])])
def test_a_segment_that_lacks_a_term_is_translated_and_others_are_reused(
    translator: Translator, memory: TranslationMemory, term: str, used: list[str]
) -> None:
    terms = Glossary([Term("pharmacy", term)], "en")
    found = [
        translator.translate(text, source_lang="en", target_lang="de", memory=memory, glossary=terms)
        for text in (CLOSED, f"{CLOSED} {RESTART}")
    ]
    assert [[match.target for match in each.matches] for each in found] == [used, [*used, PAIRS[RESTART]]]

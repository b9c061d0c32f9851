"""The settings of a call: what is asked for, completed with the model's own values and checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from limelight.config import DecodingConfig, Direction
from limelight.config.directions import split_form
from limelight.decoding.constraints import Phrase
from limelight.decoding.request import SearchOptions, SearchSettings, search_settings
from limelight.errors import UserError
from limelight.formats.translation_memory import TranslationMemory
from limelight.pipelines.phrases import WIDTH
from limelight.text.glossary import Glossary
from limelight.text.languages import normal_code
from limelight.text.marking import Protector
from limelight.text.protectors import DEFAULT, pattern


class TextOptions(SearchOptions, total=False):
    """Options of a translation in addition to the search options.

    source_lang, target_lang: the direction, for a model that has several; may be omitted if unambiguous.
    lines: each text is one sentence; else a text is split into sentences, and the line breaks and spaces between them
        are kept. A text with a `prefix` is always one sentence, without protection, glossary and memory.
    guards: compare each translation with its source, search once more if something is lost, and warn:
        `pipelines/guards.py`. Default: `decoding.guards` of the model; without that, for translation between two
        different named languages. Without guards `warnings` are empty.
    protect: what is carried through: tags, variables, addresses and the like (`text/protectors.py`), numbers with
        separators, signs, and the matches of the given regular expressions; False protects nothing. Default: all that
        where the model was trained with placeholders, or with a glossary, and where guards are on by default.
    glossary: terms and their required translations.
    memory: segments that were translated before. Those with the same source are reused, and not searched; they
        are in `Translation.matches`. A memory of another direction has none.
    pivot: go through another language of the model if it has no direct direction, such as de-en and en-fr for de-fr.
        Default: True. False refuses such a text.
    formality: `formal` or `informal`: the form of address, for a model that was trained with it, else an error;
        `prefer_formal` or `prefer_informal`: as far as the model can, which `target_lang="de@formal"` means, too.
    domain: the domain of the text, for a model that was trained with its tag.
    detected: nobody has named `source_lang`. As without `source_lang`, a text that is clearly in the target language
        comes back unchanged, and one that is clearly in another language has a warning. Not without `guards`.
    """

    source_lang: str | None
    target_lang: str | None
    lines: bool
    guards: bool | None
    protect: bool | Sequence[str | Protector] | None
    glossary: Glossary | None
    memory: TranslationMemory | None
    pivot: bool
    formality: str | None
    domain: str | None
    detected: bool


SEARCH_ONLY: TextOptions = {"lines": True, "guards": False, "protect": False}
"""Options for what the search alone finds, as measurements need it."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a call, complete and checked: `Translator.options` makes them."""

    search: SearchSettings
    source_lang: str
    target_lang: str
    lines: bool
    guards: bool | None
    """Whether translations are checked; None: between two different named languages."""
    carries: bool | None
    """Whether anything is carried by default; None likewise."""
    pivot: bool
    formality: str
    domain: str
    detected: bool
    protectors: tuple[Protector, ...] | None
    """None: the default ones, where translations are checked by default."""
    glossary: Glossary | None
    memory: TranslationMemory | None
    draft: SearchSettings
    """The search for the text in a language between: for one translation, without samples."""
    beam_given: bool
    """Whether the beam size was asked for, so that searches for phrases do not widen it."""
    phrases: tuple[Phrase, ...] = ()
    """Terms as tokens."""

    @classmethod
    def of(cls, config: DecodingConfig, named: TextOptions, *, protects: bool) -> Options:
        """The model's defaults with what is asked for; `protects` is the default of `protect`.

        Raises `UserError` as `search_settings` does.
        """
        own = TextOptions.__annotations__.keys() - SearchOptions.__annotations__.keys()
        searched = {name: value for name, value in named.items() if name not in own}
        search = search_settings(config, cast(SearchOptions, searched))
        of_many = {"n_best", "sampling", *(["beam_size"] if search.sampling is not None else [])}
        once = {name: value for name, value in searched.items() if name not in of_many}
        target, form = split_form(named.get("target_lang") or "")
        guards = named.get("guards")
        return cls(
            search,
            draft=search_settings(config, cast(SearchOptions, once)),
            beam_given=named.get("beam_size") is not None,
            source_lang=named.get("source_lang") or "",
            target_lang=target,
            lines=bool(named.get("lines")),
            guards=config.guards if guards is None else guards,
            carries=config.guards,
            pivot=bool(named.get("pivot", True)),
            formality=_formality(named.get("formality") or (form and f"prefer_{form}")),
            domain=named.get("domain") or "",
            detected=bool(named.get("detected")) or not named.get("source_lang"),
            protectors=_protectors(named.get("protect"), default=protects),
            glossary=named.get("glossary"),
            memory=named.get("memory"),
        )

    def checks(self, direction: Direction | None) -> bool:
        """Whether translations of a direction are checked. A task other than translation has outputs whose numbers,
        addresses, and letters may differ from its input."""
        return is_between_languages(direction) if self.guards is None else self.guards

    def protected_in(self, direction: Direction | None) -> tuple[Protector, ...]:
        """What is protected in a direction."""
        if self.protectors is not None:
            return self.protectors
        carries = is_between_languages(direction) if self.carries is None else self.carries
        return DEFAULT if carries else ()

    def with_terms(self, phrases: tuple[Phrase, ...]) -> Options:
        """The same for a search for terms, with a wider beam."""
        width = self.search.beam_size if self.beam_given else max(WIDTH, self.search.beam_size)
        return replace(self, search=replace(self.search, beam_size=width), phrases=phrases)


FORMALITIES = ("formal", "informal", "prefer_formal", "prefer_informal")


def _formality(name: str | None) -> str:
    if name and name not in FORMALITIES:
        raise UserError(f"formality is {name!r}: one of {', '.join(FORMALITIES)}")
    return name or ""


def is_between_languages(direction: Direction | None) -> bool:
    """Whether a direction translates between two different named languages."""
    if direction is None:
        return False
    source, target = map(normal_code, direction)
    return source != target and all(direction.languages)


def _protectors(protect: bool | Sequence[str | Protector] | None, *, default: bool) -> tuple[Protector, ...] | None:
    """The protectors of a call; None for the default ones."""
    if isinstance(protect, bool) or protect is None:
        return DEFAULT if protect else None if protect is None and default else ()
    if isinstance(protect, str):
        raise UserError(f"protect is a list of expressions: write [{protect!r}]")
    return (*DEFAULT, *(pattern(expression) if isinstance(expression, str) else expression for expression in protect))

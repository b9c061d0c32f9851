"""Between text and engine: sentences to requests, and hypotheses to translations."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from threading import Lock
from typing import NamedTuple, cast
from unicodedata import category

import torch

from limelight.config import (
    DecodingConfig,
    Direction,
    find_direction,
    find_pivots,
    fitting_directions,
)
from limelight.decoding.constraints import Phrase
from limelight.decoding.ensemble import prepare_each
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.shortlist import ShortOutput
from limelight.errors import UserError
from limelight.inference.linear import is_pending
from limelight.inspection.coverage import ranked
from limelight.models.interface import Seq2Seq, device_of, longest_sequence, require_room
from limelight.pipelines.confidence import estimated
from limelight.pipelines.options import Options
from limelight.pipelines.phrases import PhraseTokens
from limelight.pipelines.translation import Translation
from limelight.storage.model import StoredModel
from limelight.storage.tables import Confidence, Shortlist
from limelight.text.checks import recased
from limelight.text.detection import LanguageDetector
from limelight.text.judge import IN_TARGET_LANGUAGE, foreign_language
from limelight.text.kept_signs import INVISIBLE, find_unknown
from limelight.text.languages import normal_code
from limelight.text.marking import MARK, Protector, without_marks
from limelight.text.numbers import carried_numbers
from limelight.text.sentences import MAX_TOKENS, NO_BREAK
from limelight.tokens import FORMALITY_TAGS, UNKNOWN, TaggedTokenizer, Tokenizers, side_constraint_tag, tagged
from limelight.tokens.marked import decode_marked, encode_marked, knows_marks
from limelight.tokens.tokenizer import SPACE, byte_of, language_tag

SURE = 0.98
"""Minimum probability, among the languages of a model, with which a detected language is said to be another than the
source language."""
MIN_RECASED = 2
"""Minimum number of words that are in another case in a sentence: one of them may be a name."""
SOURCE_LANGUAGE = "source language"
"""The warning for a text in another language, before its code: `source language: es`."""


class Part(NamedTuple):
    """A sentence to be searched."""

    text: str
    direction: Direction | None = None
    prefix: str = ""
    place: tuple[int, ...] = (1,)
    """The number of its text, and, except for its first sentence, the number of the sentence in it."""
    marked: bool = False
    """Whether the text and its translation are marked: their placeholders are reserved tokens."""
    tags: tuple[str, ...] = ()
    """Reserved tokens before the text, after the token of the language."""
    request: Request | None = None
    """The request to an engine, which `Codec.encode` makes; None for a blank text."""


class Chosen(NamedTuple):
    """The direction of a text."""

    direction: Direction | None
    """None for a model of one direction whose languages have no names."""
    confidence: float | None = None
    """The probability that it is in its source language; None if that was not detected."""


class Codec:
    """A model with its tokenizers: makes requests of sentences, and translations of hypotheses.

    Args:
        config: has the defaults of the search options.
        precision: `fp32`, `bf16` or `int8`: the model is prepared for inference (`inference.prepare`) with the weights
            that it has now; after a change of them call `refresh(changed=True)`. Without it the model itself is used.
        shortlist: only its tokens are scored.
        threads: for the owner of the process: the maximum number of engines that work in parallel on a CPU; in a call,
            torch's number of threads and Python's switch interval are changed for the whole process. Such calls wait
            for one another.
        directions: with several of them the tag of the target language is put before each source.

    Raises `UserError` for a precision that is not available, for a shortlist of another vocabulary, and for fewer than
    one thread; `TypeError` for a shortlist with an ensemble.
    """

    def __init__(
        self,
        model: Seq2Seq | StoredModel,
        tokenizers: Tokenizers,
        config: DecodingConfig | None = None,
        *,
        precision: str | None = None,
        shortlist: Shortlist | None = None,
        threads: int | None = None,
        directions: Sequence[Direction] = (),
    ) -> None:
        if threads is not None and threads < 1:
            raise UserError(f"threads must be at least 1, not {threads}")
        self.threads = threads
        self.directions = tuple(directions)
        self.has_language_tokens = False
        """Whether each side begins with a token for its own language, see `DataConfig.language_tokens`."""
        self.pivots = find_pivots(self.directions)
        """Pairs of languages without a direction, each with the language through which they are translated."""
        self._given = model
        self.name = ""
        """The name of the model in titles: the folder it was loaded from."""
        self.confidence: Confidence | None = None
        self.detector: LanguageDetector | None = None
        self.knows_placeholders = False
        """Whether the model was trained with placeholders, which protect spans."""
        self.knows_terms = False
        """Whether the model was trained with annotated terms; else terms are constraints of the search."""
        self.tokenizers = tokenizers
        self._known: dict[str, bool] = {}
        self._tagged = cache(partial(tagged, tokenizers))
        """The tokenizers with the tags of a target language and of side constraints."""
        self.config = config or DecodingConfig()
        self._precision, self._shortlist, self._refreshing = precision, shortlist, Lock()
        self._prepare()

    def _prepare(self) -> None:
        self.awaits_loops = is_pending()
        """Whether the model is searched without compiled loops until these have been compiled."""
        searched = self.model if self._precision is None else prepare_each(self._given, self._precision)
        short = self._shortlist
        self.short = None if short is None else ShortOutput(self.model, short, self._precision or "fp32")
        self._longest = longest_sequence(searched)
        self.searched = searched  # last: engines in other threads compare it with theirs

    def refresh(self, *, changed: bool = False) -> bool:
        """Prepare the model for search again if its weights were `changed`, or if compiled loops have become available
        since, which is also looked for before each call. Returns whether that was so."""
        with self._refreshing:
            if changed := changed or (self.awaits_loops and not is_pending()):
                self._prepare()
        return changed

    @property
    def model(self) -> Seq2Seq:
        """The readable model; a stored one is built when it is first asked for."""
        return cast(Seq2Seq, self._given.model) if isinstance(self._given, StoredModel) else self._given

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return device_of(self.searched)

    def towards(self, direction: Direction | None) -> Tokenizers:
        """The tokenizers for a direction, with the tag of its target language if the model has several: `tokenizers_of`
        for any caller, and for M2M100 and NLLB, whose targets begin with their language, with its tag on that side.

        Raises `UserError` if the model does not have the direction, or has several and None is given.
        """
        known_direction = find_direction(self.directions, *(direction or ("", "")))
        sides = self.tokenizers_of(known_direction)
        if not (self.has_language_tokens and known_direction):
            return sides
        return Tokenizers(sides.source, TaggedTokenizer(sides.target, language_tag(known_direction.target)))

    def tokenizers_of(self, direction: Direction | None, tags: Sequence[str] = ()) -> Tokenizers:
        """The tokenizers for a direction of the model, with these tags. A source begins with the tag of the target
        language if the model has several directions, for M2M100 and NLLB with the tag of its own language."""
        language = "" if direction is None or len(self.directions) < 2 else direction.target
        if self.has_language_tokens and direction is not None:
            language = direction.source
        if not (language or tags):
            return self.tokenizers
        return self._tagged(language, *tags)

    @cached_property
    def constraints_known(self) -> frozenset[str]:
        """The side constraints that the model was trained with: `formal`, `informal`, `domain:NAME`."""
        reserved = getattr(self.tokenizers.source, "reserved", ())
        return frozenset(piece[1:-1] for piece in reserved if piece in FORMALITY_TAGS or piece.startswith("<domain:"))

    def has_formality(self, target: str) -> bool:
        """Whether the model chooses the form of address in a language. English has no choice."""
        return "formal" in self.constraints_known and normal_code(target) != "en"

    def tags_of(self, options: Options, target: str) -> tuple[str, ...]:
        """The tags that a call asks for in a translation into `target`.

        Raises `UserError` for a form of address or a domain that the model was not trained with; a form of address that
        is only preferred is left out then.
        """
        form, domain = options.formality.removeprefix("prefer_"), options.domain
        names = []
        if form and self.has_formality(target):
            names.append(form)
        elif form == options.formality != "":
            why = "it was not trained with augmentation.formality"
            if "formal" in self.constraints_known:
                why = "English has one form of address"
            raise UserError(f"formality={form}: this model cannot choose: {why}; leave it out, or use prefer_{form}")
        if domain:
            if f"domain:{domain}" not in self.constraints_known:
                known = sorted(
                    constraint.partition(":")[2] for constraint in self.constraints_known if ":" in constraint
                )
                raise UserError(f"domain={domain}: this model knows {', '.join(known) or 'no domains'}; leave it out")
            names.insert(0, f"domain:{domain}")  # before the form, as in training
        return tuple(map(side_constraint_tag, names))

    @property
    def knows_marks(self) -> bool:
        """Whether the vocabulary can represent spans."""
        return all(map(knows_marks, self.tokenizers))

    def choose(self, text: str, source: str | None, target: str | None, *, pivot: bool = True) -> Chosen:
        """The requested direction. If several directions fit and no source language is given, it is detected.

        With `pivot` it may be a pair of languages that two directions connect, if a target language is given and no
        direction fits. Raises `UserError`, as `find_direction` does, if none fits, or several with this source
        language.
        """
        source, target, detector = source or "", target or "", self.detector
        pivots = self.pivots if pivot else ()
        fitting = fitting_directions((*self.directions, *(pivots if target else ())), source, target)
        sources = {direction.source for direction in fitting}
        if source or detector is None or len(sources) < 2 or not sources <= set(detector.languages):
            language, probability = source, None
        else:
            probabilities = detector.probabilities(text)
            language = max(sorted(sources), key=lambda code: probabilities[code])
            probability = probabilities[language]
        return Chosen(find_direction(self.directions, language, target, pivots), probability)

    def other_language(self, text: str, direction: Direction | None) -> str:
        """The code of the language that a text is in, if that is clear and not the source language of `direction`,
        which nobody has named; else an empty string."""
        (source, _), detector = names_of(direction), self.detector
        if not source:
            return ""
        known = {each.source for each in self.directions}
        expected = {source} if detector is None else {*detector.languages, *known}
        if foreign := foreign_language(text, expected)[0]:
            return foreign
        if detector is None or source not in detector.languages or len(text.split()) < 2:
            return ""
        probabilities = detector.probabilities(text)
        language, total = next(iter(probabilities)), sum(probabilities.values())
        is_clear = probabilities[language] >= SURE * total and total >= 0.5
        return language if language != source and is_clear else ""

    def forced(self, direction: Direction | None) -> list[int]:
        """The first token of a translation by M2M100 or NLLB, which is its language; none of other models."""
        if not self.has_language_tokens or direction is None:
            return []
        return [self.tokenizers.target.reserved_id(language_tag(direction.target))]

    def fits(self, text: str) -> bool:
        """Whether a sentence, which may be marked, has at most `MAX_TOKENS` tokens."""
        size = len(text) if text.isascii() else 1 + len(text.encode("utf-8", "surrogatepass"))
        if 3 * size <= MAX_TOKENS:  # a token for each byte, and spaces before them; NFC triples them at most
            return True
        marks = len(MARK.findall(text))
        return len(self.tokenizers.source.encode(without_marks(text))) + marks <= MAX_TOKENS

    def encode(self, part: Part, settings: SearchSettings, phrases: Sequence[Phrase] = ()) -> Part:
        """The sentence with its request. Raises `UserError` for one that is too long."""
        source, target = self.tokenizers_of(part.direction, part.tags).source, self.tokenizers.target
        text = part.text
        if not text.isascii():
            text = NO_BREAK.sub(
                " ", "".join(each for each in text if each not in INVISIBLE or self.in_vocabulary(each))
            )
        ids = encode_marked(source, text) if part.marked else source.encode(text)
        if not ids or not text.strip():
            return part._replace(request=None)
        prefix = target.encode(part.prefix) if part.prefix else []
        prefix = [*self.forced(part.direction), *prefix]
        limit, longest = settings.max_length(len(ids)), self._longest
        if longest is not None:
            require_room(ids, longest, f"text {part.place[0]}")
            require_room(prefix, longest, f"prefix {part.place[0]}")
            limit = min(limit, longest - 1)
        ids = [*ids, self.searched.end_id]
        forced = [*prefix, *(token for phrase in phrases for form in phrase.forms for token in form)]
        listed = None if self.short is None else self.short.listed(ids, forced)
        request = Request(
            ids, limit, settings, tuple(prefix), shortlist=listed, substream=part.place, phrases=tuple(phrases)
        )
        return part._replace(request=request)

    def ranked(self, request: Request, hypotheses: Sequence[Hypothesis]) -> Sequence[Hypothesis]:
        """The hypotheses of a request, best first, by its coverage penalty too. Without one the model is not needed."""
        return ranked(self.model, request, hypotheses) if request.settings.coverage_penalty else hypotheses

    def finish(self, part: Part, hypotheses: Sequence[Hypothesis] = ()) -> list[Translation]:
        """The translations of a sentence from its hypotheses, best first. The one of a blank text, which has no
        hypotheses, is empty."""
        if part.request is not None:
            hypotheses = self.ranked(part.request, hypotheses)
        translations = [self._translation(part, hypothesis) for hypothesis in hypotheses]
        return translations or [unsearched(part.text, "", part.direction)]

    def _translation(self, part: Part, hypothesis: Hypothesis) -> Translation:
        """The translation that a hypothesis is."""
        target, ids = self.tokenizers.target, hypothesis.ids
        text = decode_marked(target, ids) if part.marked else target.decode(ids)
        text = text.replace("\r", " ").replace("\n", " ")  # each input line gives one output line
        texts, direction = (part.text, text), str(part.direction or "")
        return replace(
            unsearched(part.text, text, part.direction),
            score=hypothesis.score,
            tokens=tuple(target.pieces(ids)),
            log_probability=hypothesis.log_probability,
            finished=hypothesis.finished,
            confidence=estimated(self.confidence, direction, target, texts, hypothesis) if self.confidence else None,
        )

    @cached_property
    def phrases(self) -> PhraseTokens:
        """Phrases as tokens of the target vocabulary."""
        return PhraseTokens(self.tokenizers.target)

    @cached_property
    def _spelled(self) -> frozenset[int]:
        """The ids of the unknown token and of bytes in the source vocabulary."""
        pieces = self.tokenizers.source.pieces(range(self.tokenizers.source.size))
        return frozenset({UNKNOWN, *(number for number, piece in enumerate(pieces) if byte_of(piece))})

    @cached_property
    def _letters(self) -> frozenset[str]:
        """The letters in the source vocabulary, in lower case."""
        source = self.tokenizers.source
        return frozenset("".join(source.pieces(range(source.size))).lower())

    def in_vocabulary(self, character: str) -> bool:
        """Whether the vocabulary has tokens for a character, as its tokenizer normalizes it; for a symbol, also the
        target's."""
        if character not in self._known:
            both = self.tokenizers if category(character)[0] in "PS" else self.tokenizers[:1]
            self._known[character] = character != SPACE and all(
                self._spelled.isdisjoint(tokenizer.encode(character)) for tokenizer in both
            )
        return self._known[character]

    def holds(self, text: str) -> bool:
        """Whether the vocabulary has tokens for all characters of a text but spaces."""
        return all(character.isspace() or self.in_vocabulary(character) for character in set(text))

    def carriers(self, direction: Direction | None) -> tuple[Protector, ...]:
        """The protectors of numbers, in the notation of the target language, and of signs and words that the
        vocabulary lacks."""
        languages = names_of(direction)
        unknown = partial(find_unknown, in_vocabulary=self.in_vocabulary, languages=languages)
        return partial(carried_numbers, languages=languages), unknown

    def unknown_share(self, text: str, request: Request) -> float:
        """The share of letters of a text that are not in the source vocabulary."""
        if self._spelled.isdisjoint(request.source):
            return 0.0
        letters = [letter for letter in text.lower() if letter.isalpha()]
        return sum(letter not in self._letters for letter in letters) / len(letters) if letters else 0.0

    def recased(self, part: Part) -> Part:
        """A sentence in capitals in sentence case; the same if hardly a word changes."""
        text = recased(part.text, self.tokenizers.source.encode)
        changed = sum(one != other for one, other in zip(part.text.split(), text.split(), strict=False))
        if part.request is None or changed < MIN_RECASED:
            return part
        return self.encode(part._replace(text=text), part.request.settings)


def names_of(direction: Direction | None) -> tuple[str, str]:
    """The languages of a direction; empty if they have no names."""
    return direction.languages if direction else ("", "")


def unsearched(source: str, text: str, direction: Direction | None) -> Translation:
    """A translation without the results of a search."""
    source_lang, target_lang = names_of(direction)
    return Translation(text, source=source, source_lang=source_lang, target_lang=target_lang)


def unchanged(text: str, language: str, direction: Direction | None) -> Translation | None:
    """The translation of a text that is in the target language already: the text itself. None for any other one."""
    source, target = map(normal_code, names_of(direction))
    if not language or normal_code(language) != target or source == target:
        return None
    return Translation(text, source=text, warnings=(IN_TARGET_LANGUAGE,), source_lang=target, target_lang=target)

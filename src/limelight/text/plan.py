"""A text as the sentences that a model translates: spans become placeholders, sentences stay apart, terms are found.

    plan = plan_text("Press <b>{key}</b>. Then wait.", DEFAULT)
    text, failed = plan.join([translated(sentence) for sentence in plan.sentences])

Sentences are marked text (`text/marking.py`). Tags are removed from the model's input, and placed by its attention
weights. A text without spans and terms is a plan of plain sentences. With [n] for span n of the text, and (n) for span
n of its sentence, the token `<phn>`:

    the text              Press <b>the {key} key</b> now. Wait for {name}.
    `protect`             Press [0]the [1] key[2] now. Wait for [3].
    `sentences[0].text`   Press (0)the (1) key(2) now.            `numbers` 0, 1, 2
    `sentences[0].sent`   Press the (1) key now.                  what the model reads
    the model             Drücken Sie nun die Taste (1).
    `repair_marks.repair` Drücken Sie nun (0)die Taste (1)(2).    tags placed by attention
    `Plan.join`           Drücken Sie nun <b>die Taste {key}</b>. Warten Sie auf {name}.
"""

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from limelight.text.glossary import Glossary, Match, find_terms
from limelight.text.marking import (
    CODES,
    MARK,
    MAX_PLACEHOLDERS,
    PLACEHOLDER,
    Protector,
    mark_number,
    mark_numbers,
    placeholder,
    text_placeholder,
    without_marks,
)
from limelight.text.protectors import MESSAGE, find_spans
from limelight.text.sentences import Fits, Sentences, split_sentences, with_short
from limelight.text.spans import VALUE, Span, protect, restore
from limelight.text.words import replaced

_QUOTING = re.compile(rf"(?<!')'(?={MARK.pattern}|$)")
"""An apostrophe before a brace quotes it in an ICU message (`l'{name}`); two of them are one apostrophe."""


class MarkedSentence(NamedTuple):
    """A sentence with placeholders, numbered from 0."""

    text: str
    spans: tuple[Span, ...] = ()
    """The spans of its placeholders; partners are numbers within the sentence, -1 for a partner in another sentence."""
    numbers: tuple[int, ...] = ()
    """The numbers of these spans in the whole text."""
    prefix: str = ""
    """Marks before the sentence, which stay there."""
    suffix: str = ""
    sent: str = ""
    """The model's input: the sentence without the tags that attention places."""
    terms: tuple[Match, ...] = ()
    """Terms of the glossary in `sent`."""


class Plan(NamedTuple):
    """A text as sentences."""

    split: Sentences
    """Its sentences, and the text between them."""
    marked: tuple[MarkedSentence, ...]
    spans: tuple[Span, ...] | None = None
    """None for a text without spans and terms, whose private-use characters are no marks."""

    @property
    def is_plain(self) -> bool:
        """Whether the text has neither spans nor terms."""
        return self.spans is None

    @property
    def sentences(self) -> list[MarkedSentence | None]:
        """All sentences. None for one without words in a text with spans, which is not translated."""
        return [each if self.is_plain or any(map(str.isalpha, each.text)) else None for each in self.marked]

    def join(self, texts: Sequence[str | None]) -> tuple[str, list[str]]:
        """The text with other sentences, and the spans that are not whole in it. `texts` has a marked text for each of
        `sentences`; None leaves the sentence unchanged."""
        sentences, is_message = list[str](), any(MESSAGE.match(span.text) for span in self.spans or ())
        for source, translated in zip(self.marked, texts, strict=True):
            text = source.text if translated is None else translated
            if is_message and translated is not None:
                text = _QUOTING.sub("''", text)
            if not self.is_plain:
                numbers = source.numbers
                text = renumbered(text, numbers, text_placeholder) if numbers else without_marks(text)
            sentences.append(source.prefix + text + source.suffix)
        joined = self.split.join(sentences)
        if self.spans is None:
            return joined, []
        joined, failed = restore(joined, self.spans)
        return joined, [self.spans[number].text for number in failed]


def plan_text(
    text: str,
    protectors: Sequence[Protector],
    language: str = "en",
    glossary: Glossary | None = None,
    *,
    whole: bool = False,
    fits: Fits = lambda _text: True,
) -> Plan:
    """Protect the spans of a text, and split it into sentences by the rules of its language, unless it is to stay
    `whole`.

    Tags are removed from the model's input and placed by attention weights. Sentences that do not fit are divided.
    """
    has_terms = glossary is not None and bool(glossary.find(text))
    marked, spans = protect(text, protectors) if protectors or has_terms else (text, ())
    if not (spans or has_terms):
        split = with_short(Sentences((text,), ("", "")) if whole else split_sentences(text, language), fits)
        return Plan(split, tuple(MarkedSentence(sentence, sent=sentence) for sentence in split.texts))

    split = with_short(
        _split(marked, spans, "" if whole else language),
        lambda text: len(MARK.findall(text)) <= MAX_PLACEHOLDERS and fits(text),
    )
    sentences = (_sentence(sentence, spans) for sentence in split.texts)
    return Plan(
        split, tuple(sentence._replace(terms=find_terms(sentence.sent, glossary)) for sentence in sentences), spans
    )


def without_spans(text: str, protectors: Sequence[Protector]) -> str:
    """The text with a space in place of each span, to detect its language."""
    return replaced(text, ((span.begin, span.end, " ") for span in find_spans(text, protectors)))


def renumbered(text: str, numbers: Sequence[int], mark: Callable[[int], str] = placeholder) -> str:
    """A marked text whose placeholders have these numbers instead of 0, 1, 2...: those of a sentence, or with
    `text_placeholder` those of a whole text."""
    return PLACEHOLDER.sub(lambda match: mark(numbers[mark_number(match[0])]), text)


def without_placeholders(text: str, missing: Sequence[int], spans: Sequence[Span]) -> tuple[str, dict[int, int]]:
    """A marked text without some placeholders, and the places in it of all kept and removed ones. Those of white space
    become a space."""
    kept, places, position = "", dict[int, int](), 0
    for match in MARK.finditer(text):
        number = mark_number(match[0])
        kept += text[position : match.start()]
        places[number] = len(kept)
        position = match.end()
        if number not in missing:
            kept += match[0]
        elif (not kept or kept.endswith(" ")) and text[position : position + 1] == " ":
            position += 1  # one of the two spaces around it
        elif spans[number].role == "space" and text[position : position + 1] != " ":
            kept += " "
    return kept + text[position:], places


def _split(text: str, spans: Sequence[Span], language: str) -> Sentences:
    """The sentences of a text; without a language one for each line. Lines also end at spans that break them."""
    texts, gaps = list[str](), [""]
    breaks = {text_placeholder(number) for number, span in enumerate(spans) if span.role == "break"}
    for is_break, characters in groupby(text, breaks.__contains__):
        line = "".join(characters)
        bare = line.strip()
        if is_break or not bare:
            gaps[-1] += line
            continue
        before, _, after = line.partition(bare)
        split = split_sentences(line, language) if language else Sentences((bare,), (before, after))
        gaps[-1] += split.gaps[0]
        gaps += split.gaps[1:]
        texts += split.texts
    return Sentences(tuple(texts), tuple(gaps))


def _sentence(text: str, spans: Sequence[Span]) -> MarkedSentence:
    """One sentence; tags at its ends that belong to other sentences, or are single, are kept outside of it."""
    begin, end = _inside(text, spans)
    inner = text[begin:end]
    numbers = mark_numbers(inner)
    local = {number: local_number for local_number, number in enumerate(numbers)}
    own = tuple(spans[number]._replace(partner=local.get(spans[number].partner, -1)) for number in numbers)
    marked = MARK.sub(lambda match: placeholder(local[mark_number(match[0])]), inner)
    sent = model_input(marked, own)
    return MarkedSentence(marked, own, tuple(numbers), text[:begin], text[end:], sent)


def model_input(marked: str, spans: Sequence[Span]) -> str:
    """A sentence as a model reads it: without its tags."""
    left_out = [number for number, span in enumerate(spans) if _is_tag(span)]
    return without_placeholders(marked, left_out, spans)[0] if left_out else marked


def _is_tag(span: Span) -> bool:
    """Whether a span is markup, which has no text itself; a code with unknown content may have some."""
    return span.role in ("open", "close", "space") or span.name not in ("", "code", VALUE)


def _inside(text: str, spans: Sequence[Span]) -> tuple[int, int]:
    """Begin and end of the sentence without tags at its ends: a pair around it, or tags whose partner is outside."""
    numbers = mark_numbers(text)
    begin, end = 0, len(text)
    while begin < end:
        first, last = _tag(text[begin], spans), _tag(text[end - 1], spans)
        around = first is not None and first.partner >= 0 and text[end - 1] == text_placeholder(first.partner)
        before = around or (first is not None and first.partner not in numbers)
        after = around or (not before and last is not None and last.partner not in numbers)
        if not (before or after):
            break
        begin = len(text) - len(text[begin + 1 :].lstrip(" ")) if before else begin
        end = max(begin, len(text[: end - 1].rstrip(" "))) if after else end
    return begin, end


def _tag(character: str, spans: Sequence[Span]) -> Span | None:
    """The span of a placeholder, if it is a tag."""
    span = spans[mark_number(character)] if MARK.match(character) else None
    return span if span and (_is_tag(span) or CODES.fullmatch(span.text)) and span.name != VALUE else None

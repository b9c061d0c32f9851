"""Tags and variables through a translation: how many come out exactly once, well-formed, where they belong.

    python -m benchmarks.tags --test en-de.test.tsv.gz --from en --to de --out tags.json

Real sentences of a test set get tags around words, tags between words, and variables in place of names and numbers, at
random by a seed. They are translated with and without: BLEU of the text around the spans compares, as each variable
is replaced by its value again before it is scored.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import sacrebleu

from benchmarks.machine import describe_machine
from benchmarks.output import write_result
from limelight.formats import read_pairs
from limelight.pipelines.job import Text
from limelight.pipelines.load import load_translator
from limelight.storage.layout import DEFAULT as DEFAULT_MODEL
from limelight.text.protectors import DEFAULT, find_spans
from limelight.text.words import word_spans

PAIRS = (
    ("<b>", "</b>"),
    ("<i>", "</i>"),
    ('<a href="https://example.org/a?b=1">', "</a>"),
    ('<span class="x">', "</span>"),
    ('<g id="1">', "</g>"),
)
ALONE = ("<hr/>", '<x id="3"/>', '<img src="a.png" alt=""/>')
VARIABLES = ("{name}", "{{value}}", "%(name)s", "${x}", "%1$s", "{0}")
APPENDED = (" (%d)", " {{count}}", " [%s]", ": %s", " https://example.org/help", " <me@example.org>")


class Item(NamedTuple):
    """A sentence with spans."""

    plain: str
    marked: str
    reference: str
    values: dict[str, str]
    """What each variable stands for."""


def generate(pairs: Sequence[tuple[str, str]], count: int, seed: int) -> list[Item]:
    """So many sentences of at least four words, each with one to four spans."""
    random = Random(seed)
    items: list[Item] = []
    for source, reference in random.sample(list(pairs), len(pairs)):
        if len(items) == count:
            break
        if len(word_spans(source)) >= 4 and not find_spans(source, DEFAULT):
            items.append(_with_spans(source, reference, random))
    return items


def read_test(test: str, source: str, target: str) -> list[tuple[str, str]]:
    """Pairs of a file in a direction: `en-de=FILE`, or a name that begins with `en-de.`, says which sides it has.

    Raises `SystemExit` for a file of other languages.
    """
    given, _, path = test.rpartition("=")
    named = re.match(r"([a-z]{2,3})-([a-z]{2,3})$", given) or re.match(r"([a-z]{2,3})-([a-z]{2,3})\.", Path(path).name)
    sides = (named[1], named[2]) if named else (source, target)
    if {*sides} != {source, target}:
        raise SystemExit(f"{test} has {'-'.join(sides)}, not {source}-{target}")
    pairs = [(pair.source, pair.target) for pair in read_pairs([path], *sides)]
    return pairs if sides == (source, target) else [(other, one) for one, other in pairs]


def _with_spans(source: str, reference: str, random: Random) -> Item:
    values: dict[str, str] = {}
    text = _with_variable(source, reference, values, random) if random.random() < 0.4 else source
    for _ in range(random.choice((1, 1, 2))):
        kind = random.random()
        if kind < 0.7:
            text = _with_pair(text, random)
        elif kind < 0.85 or not source.endswith("."):
            text = _with_tag(text, random)
        else:
            text = f"{text[:-1]}{random.choice(APPENDED[:5])}."
    return Item(source, text, reference, values)


def _with_variable(source: str, reference: str, values: dict[str, str], random: Random) -> str:
    """A variable in place of a name or a number that both sides have once."""
    both = set(re.findall(r"\b[A-Z][a-z]+\b|\b\d+\b", source)) & set(re.findall(r"\w+", reference))
    names = [word for word in sorted(both) if source.count(word) == 1 == reference.count(word)]
    if not names:
        return source
    name, variable = random.choice(names), random.choice(VARIABLES)
    values[variable] = name
    return source.replace(name, variable)


def _words(text: str) -> list[tuple[int, int]]:
    """Words that are no part of a span."""
    spans = find_spans(text, DEFAULT)
    return [
        (begin, end)
        for begin, end in word_spans(text)
        if not any(span.begin < end and begin < span.end for span in spans)
    ]


def _with_pair(text: str, random: Random) -> str:
    words = _words(text)
    place = random.randrange(len(words))
    last = min(len(words) - 1, place + random.choice((0, 0, 1, 2)))
    begin, end = words[place][0], words[last][1]
    if any(span.role in ("open", "close") for span in find_spans(text[begin:end], DEFAULT)):
        end = words[place][1]
    opening, closing = random.choice(PAIRS)
    return text[:begin] + opening + text[begin:end] + closing + text[end:]


def _with_tag(text: str, random: Random) -> str:
    begin = random.choice(_words(text))[0]
    return text[:begin] + random.choice(ALONE) + text[begin:]


def rendered(text: str, values: dict[str, str]) -> str:
    """A text as its reader sees it: without tags and what was appended, and with values in place of variables."""
    for variable, value in values.items():
        text = text.replace(variable, value)
    for appended in APPENDED:
        text = text.replace(appended, "").replace(appended.strip(" :"), "")
    parts, place = [], 0
    for span in find_spans(text, DEFAULT):
        parts.append(text[place : span.begin])
        place = span.end
    return re.sub(r"\s+", " ", "".join([*parts, text[place:]])).strip()


def is_well_formed(text: str) -> bool:
    """Whether the tags of a text are nested."""
    opened: list[str] = []
    for span in find_spans(text, DEFAULT):
        if span.role == "open":
            opened.append(span.name)
        elif span.role == "close" and (not opened or opened.pop() != span.name):
            return False
    return not opened


def spans_of(text: str) -> Counter[str]:
    """How often each span is there."""
    return Counter(text[span.begin : span.end] for span in find_spans(text, DEFAULT))


def figures(items: Sequence[Item], plain: Sequence[str], texts: Sequence[str], notes: Sequence[object]) -> dict:
    """What became of the spans, and the BLEU of what is around them."""
    once = [spans_of(item.marked) == spans_of(text) for item, text in zip(items, texts, strict=True)]
    formed = [is_well_formed(text) for text in texts]
    references = [[item.reference for item in items]]
    around = [rendered(text, item.values) for item, text in zip(items, texts, strict=True)]
    bleu = sacrebleu.BLEU()
    return {
        "sentences": len(items),
        "spans": sum(sum(spans_of(item.marked).values()) for item in items),
        "exactly_once_percent": 100 * sum(once) / len(items),
        "well_formed_percent": 100 * sum(formed) / len(items),
        "without_repair_percent": 100 * sum(not note.moved and not note.failed for note in notes) / len(items),
        "lost_and_placed_by_attention_percent": 100 * sum(bool(note.moved) for note in notes) / len(items),
        "failed_percent": 100 * sum(bool(note.failed) for note in notes) / len(items),
        "bleu_without": round(bleu.corpus_score(list(plain), references).score, 2),
        "bleu_with": round(bleu.corpus_score(around, references).score, 2),
        "bleu_signature": str(bleu.get_signature()),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=DEFAULT_MODEL, help="default: the bundled one")
    parser.add_argument("--test", required=True, help="a file of pairs")
    parser.add_argument("--from", dest="source", default="en")
    parser.add_argument("--to", dest="target", default="de")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beam", type=int)
    parser.add_argument("--carry-tags", action="store_true", help="give the model placeholders for tags, too")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=int, default=0, help="so many of those that are not whole")
    given = parser.parse_args(arguments)
    pairs = read_test(given.test, given.source, given.target)
    items = generate(pairs, given.count, given.seed)
    translator = load_translator([given.model])
    options = {"source_lang": given.source, "target_lang": given.target, "beam_size": given.beam}
    plain = [each.text for each in translator.translate([item.plain for item in items], **options)]
    asked = replace(translator.options(protect=True, **options), carry_tags=given.carry_tags)
    found = translator.run(translator.jobs([Text(item.marked) for item in items], asked))
    result = figures(items, plain, [each.text for each in found], found)
    for item, each in _some(items, found, given.show):
        print(item.marked, each.text, f"moved {each.moved}, failed {each.failed}", sep="\n", end="\n\n")
    result = {
        "model": given.model,
        "pairs": Path(given.test).name,
        "direction": f"{given.source}-{given.target}",
        "seed": given.seed,
        "carry_tags": given.carry_tags,
        **result,
    }
    print(json.dumps(result, indent=1))
    if given.out:
        write_result(given.out.stem, {**result, "machine": describe_machine()}, folder=given.out.parent)


def _some(items: Sequence[Item], found: Sequence, count: int) -> Iterator[tuple]:
    suspect = [pair for pair in zip(items, found, strict=True) if pair[1].moved or pair[1].failed]
    yield from suspect[:count]


if __name__ == "__main__":
    main()

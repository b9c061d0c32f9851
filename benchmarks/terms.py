"""Terms of a glossary through a translation: how many are used, how many where they should not be, and what it costs.

    python -m benchmarks.terms --test en-de.test.tsv.gz --from en --to de --out terms.json
    python -m benchmarks.terms --test en-de.test.tsv.gz --from en --to de --not-annotated --out terms-beam.json

The glossary is made from the test set: words of the source with the word of the reference that comes with them most
(Dice). Each sentence has the terms whose target its reference uses, in whatever form. Distractors are sentences with
a word that only begins like a term, and without the term.
"""

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

import sacrebleu
import typer

from benchmarks.common import describe_machine, run, write_result
from limelight.formats import read_pairs
from limelight.pipelines.load import load_translator
from limelight.storage.layout import DEFAULT
from limelight.text.glossary import Glossary, Term, find_used
from limelight.text.words import word_spans

MIN_COUNT, MIN_DICE, MIN_LETTERS = 3, 0.5, 4


class Item(NamedTuple):
    """A sentence with the terms that it has."""

    source: str
    reference: str
    terms: tuple[Term, ...]
    """Empty for a distractor."""
    avoided: tuple[Term, ...] = ()
    """Terms of which a distractor has a word that begins alike."""


def read_test(test: Path, source: str, target: str) -> list[tuple[str, str]]:
    """Pairs in this direction; a file `de-en.*` is read backwards from English to German."""
    pairs = [(pair.source, pair.target) for pair in read_pairs([test])]
    is_backwards = test.name.startswith(f"{target}-{source}.")
    return [(other, one) for one, other in pairs] if is_backwards else pairs


def find_terms(pairs: Sequence[tuple[str, str]], most: int) -> list[Term]:
    """Words of at least four letters, each with the word of the references that comes with it most."""
    sides = [({*_words(source)}, {*_words(target)}) for source, target in pairs]
    left = Counter(word for words, _ in sides for word in words)
    right = Counter(word for _, words in sides for word in words)
    both = Counter((one, other) for words, others in sides for one in words for other in others)
    scored = [
        (2 * count / (left[one] + right[other]), one, other)
        for (one, other), count in both.items()
        if count >= MIN_COUNT and one.lower() != other.lower()
    ]
    terms, seen = list[Term](), set[str]()
    for dice, one, other in sorted(scored, reverse=True):
        if dice >= MIN_DICE and one not in seen:
            seen.add(one)
            terms.append(Term(one, other))
    return terms[:most]


def items_of(pairs: Sequence[tuple[str, str]], glossary: Glossary, count: int, seed: int) -> list[Item]:
    """So many sentences with terms that their references use, and all distractors."""
    random = Random(seed)
    items, distractors = list[Item](), list[Item]()
    for source, reference in random.sample(list(pairs), len(pairs)):
        found = tuple(match.term for match in glossary.find(source))
        if found and all(find_used(term.target, reference) for term in found):
            items.append(Item(source, reference, found))
        elif not found and (avoided := _alike(source, reference, glossary)):
            distractors.append(Item(source, reference, (), avoided))
    return items[:count] + distractors


def _alike(source: str, reference: str, glossary: Glossary) -> tuple[Term, ...]:
    words = [word.casefold() for word in _words(source)]
    return tuple(
        term
        for term in glossary.terms
        if any(word.startswith(term.source.casefold()) for word in words) and not find_used(term.target, reference)
    )


def _words(text: str) -> list[str]:
    return [text[begin:end] for begin, end in word_spans(text) if end - begin >= MIN_LETTERS]


def figures(items: Sequence[Item], plain: Sequence[str], texts: Sequence[str]) -> dict[str, Any]:
    """Shares of terms that are used, and of distractors with a term that they have not without the glossary; BLEU of
    the sentences with terms."""
    without, used = (
        [bool(find_used(term.target, text)) for item, text in zip(items, some, strict=True) for term in item.terms]
        for some in (plain, texts)
    )
    wrong = [
        any(find_used(term.target, text) and not find_used(term.target, before) for term in item.avoided)
        for item, before, text in zip(items, plain, texts, strict=True)
        if item.avoided
    ]
    rows = [place for place, item in enumerate(items) if item.terms]
    references = [[items[place].reference for place in rows]]
    bleu = sacrebleu.BLEU()
    return {
        "sentences": len(rows),
        "terms": len(used),
        "used_percent": 100 * sum(used) / max(1, len(used)),
        "used_without_glossary_percent": 100 * sum(without) / max(1, len(without)),
        "distractors": len(wrong),
        "misused_percent": 100 * sum(wrong) / max(1, len(wrong)),
        "bleu_without": round(bleu.corpus_score([plain[place] for place in rows], references).score, 2),
        "bleu_with": round(bleu.corpus_score([texts[place] for place in rows], references).score, 2),
        "bleu_signature": str(bleu.get_signature()),
    }


def main(
    test: Annotated[Path, typer.Option(help="A file of pairs, such as en-de.test.tsv.gz.")],
    model: Annotated[str, typer.Option(help="Run or model folder, or the name of a bundled model.")] = DEFAULT,
    source: Annotated[str, typer.Option("--from")] = "en",
    target: Annotated[str, typer.Option("--to")] = "de",
    count: int = 500,
    terms: int = 200,
    seed: int = 1,
    beam: int | None = None,
    not_annotated: Annotated[bool, typer.Option(help="As for a model that was not trained with terms.")] = False,
    out: Annotated[Path | None, typer.Option(help="File for the figures.")] = None,
) -> None:
    """Translate with and without the glossary."""
    pairs = read_test(test, source, target)
    glossary = Glossary(find_terms(pairs, terms), source)
    items = items_of(pairs, glossary, count, seed)
    translator = load_translator([model])
    translator.knows_terms &= not not_annotated
    options: dict[str, Any] = {"source_lang": source, "target_lang": target, "beam_size": beam}
    sources = [item.source for item in items]
    started = time.monotonic()
    plain = [each.text for each in translator.translate(sources, **options)]
    between = time.monotonic()
    texts = [each.text for each in translator.translate(sources, glossary=glossary, **options)]
    result = {
        "direction": f"{source}-{target}",
        "glossary": len(glossary),
        "annotated": translator.knows_terms,
        "seconds_without": round(between - started, 1),
        "seconds_with": round(time.monotonic() - between, 1),
        **figures(items, plain, texts),
    }
    print(json.dumps(result, indent=1))
    if out:
        write_result(out.stem, {**result, "machine": describe_machine()}, folder=out.parent)


if __name__ == "__main__":
    run(main)

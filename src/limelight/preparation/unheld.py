"""A report of the characters of a training text for which a vocabulary has no tokens."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unicodedata import name, normalize

from limelight.text.kept_signs import held_characters
from limelight.text.marking import MARK
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers

NAMED = 10
"""Characters that are named at once; all of them are in a file."""


class Characters:
    """The characters of both sides of the pairs that were counted, with the first place of each."""

    def __init__(self) -> None:
        self.counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._places: tuple[dict[str, str], dict[str, str]] = ({}, {})

    def count(self, pair: Pair) -> None:
        """Count the characters of a pair."""
        for text, counts, places in zip((pair.source, pair.target), self.counts, self._places, strict=True):
            text = text if text.isascii() else normalize("NFC", text)
            counts.update(text)
            if not places.keys() >= set(text):
                places.update(dict.fromkeys(set(text) - places.keys(), pair.place))

    def missing(self, tokenizers: Tokenizers) -> Iterator[tuple[str, int, str]]:
        """Each character without a token in the vocabulary of its side, with its count and its first place, the most
        frequent ones first."""
        found, first = Counter[str](), dict[str, str]()
        for tokenizer, counts, places in zip(tokenizers, self.counts, self._places, strict=True):
            held = held_characters(tokenizer.pieces(range(tokenizer.size)))
            for character in counts.keys() - held:
                if not (character.isspace() or MARK.match(character)):
                    found[character] += counts[character]
                    first.setdefault(character, places[character])
        for character, count in sorted(found.items(), key=lambda each: (-each[1], each[0])):
            yield character, count, first[character]

    def report(self, tokenizers: Tokenizers, file: Path, *, byte_fallback: bool) -> str:
        """A message about these characters, which are listed in `file`; empty if there are none."""
        rows = list(self.missing(tokenizers))
        if not rows:
            return ""
        lines = (f"{_shown(each)}\tU+{ord(each):04X}\t{count}\t{place}\n" for each, count, place in rows)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(lines), encoding="utf-8")
        examples = ", ".join(f"{_shown(each)} ({count:,}; {place})" for each, count, place in rows[:NAMED])
        how = "are spelled in bytes" if byte_fallback else "are unknown to it"
        which = f"the {NAMED} most frequent" if len(rows) > NAMED else "all"
        total = sum(count for _, count, _ in rows)
        return (
            f"{len(rows):,} characters of the text, {total:,} times in all, have no token in the vocabulary and {how}; "
            f"{which}, with count and first line: {examples}. They are listed in {file}. With "
            "augmentation.placeholders the model carries them unchanged"
        )


def _shown(character: str) -> str:
    """The character, or its name if it cannot be seen."""
    return character if character.isprintable() else name(character, f"U+{ord(character):04X}")

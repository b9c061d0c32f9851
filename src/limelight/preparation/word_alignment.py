"""Which words of a pair translate one another, and which words are forms of one another: learned from parallel text.

IBM Model 1 with a preference for the diagonal (`lexicon.py`) is learned in both directions from lowercased words. Links
that both directions find are sure; links that only one direction finds are added next to a sure one, for words that
have none ("grow-diag", Koehn et al. 2003, section 4.5).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, product, takewhile
from typing import NamedTuple

import numpy as np

from limelight.preparation.lexicon import Ids, Pieces, learn_lexicon
from limelight.text.marked_pairs import Link
from limelight.text.pair import Sides
from limelight.text.words import without_accents, words_of

MAX_LEARNED = 200_000
"""Pairs from which the probabilities are learned; more say little more."""
DIAGONAL = 4.0
"""lambda; fast_align begins with it."""
MAX_COMMON, COMMON_SHARE = 100, 0.01
"""So many of the most frequent words count as common, but no larger share of all different words."""
MAX_FORMS, MAX_RELATED = 50_000, 6
"""Words of each side whose related forms are kept, the most frequent first; and how many for each."""
MIN_SEEN = 2
"""A translation that was seen only once may be a wrong link."""
MIN_STEM, MIN_STEM_SHARE = 3, 0.6
"""Letters that forms of one word have in common at their beginning, and their share of the longer form."""
_NEIGHBORS = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


class Words(NamedTuple):
    """The words of both sides of a pair."""

    source: Sequence[str]
    target: Sequence[str]


def split_words(pair: Sides) -> Words:
    """The words of a pair as they are written."""
    return Words(words_of(pair.source), words_of(pair.target))


class WordAligner:
    """Tables of t(target | source) and t(source | target), learned from the words of pairs of one direction in
    lowercase."""

    def __init__(self, pairs: Sequence[Words]) -> None:
        self._counts = [Counter(word.lower() for pair in pairs for word in pair[side]) for side in range(2)]
        self._ids = [{word: number for number, word in enumerate(counts)} for counts in self._counts]
        sizes = [len(ids) + 1 for ids in self._ids]  # the last number is that of unknown words
        self._lexicons = [
            learn_lexicon(rows, nothing=nothing, classes=classes, diagonal=DIAGONAL)
            for rows, nothing, classes in zip(self._both_ways(pairs), sizes, sizes[::-1], strict=True)
        ]

    def align(self, pairs: Sequence[Words]) -> Iterator[list[Link]]:
        """The links of each pair, in the order of the source words."""
        both = zip(self._lexicons, self._both_ways(pairs), strict=True)
        yield from map(grow, *(lexicon.best_sources(rows, DIAGONAL) for lexicon, rows in both))

    def common(self, side: int) -> list[str]:
        """The most frequent words of a side, sorted."""
        counts = self._counts[side]
        count = min(MAX_COMMON, int(COMMON_SHARE * len(counts)))
        return sorted(word for word, _ in counts.most_common(count))

    def _both_ways(self, pairs: Sequence[Words]) -> tuple[list[Pieces], list[Pieces]]:
        """The pairs as numbers, also turned."""
        rows = [Pieces(*map(self._encoded, pair, range(2))) for pair in pairs]
        return rows, [Pieces(row.target, row.source) for row in rows]

    def _encoded(self, words: Sequence[str], side: int) -> Ids:
        ids = self._ids[side]
        return np.array([ids.get(word.lower(), len(ids)) for word in words], dtype=np.int32)


def grow(of_targets: Sequence[int], of_sources: Sequence[int], *, final: bool = False) -> list[Link]:
    """The links of both directions, and links of one direction beside another link, if one of their words has none.

    Args:
        of_targets: for each target word its source word, -1 for none.
        of_sources: for each source word its target word, -1 for none.
        final: also each link of one direction whose two words have no other link ("grow-diag-final-and").
    """
    forward = {(source, target) for target, source in enumerate(of_targets) if source >= 0}
    backward = {(source, target) for source, target in enumerate(of_sources) if target >= 0}
    sure = forward & backward
    others = forward ^ backward
    sources, targets = {source for source, _ in sure}, {target for _, target in sure}
    links = sorted(sure)

    def add(link: tuple[int, int]) -> None:
        others.remove(link)
        sources.add(link[0])
        targets.add(link[1])
        links.append(link)

    for source, target in links:  # which grows in the loop
        for right, down in _NEIGHBORS if others else ():
            near = source + right, target + down
            if near in others and (near[0] not in sources or near[1] not in targets):
                add(near)
    for link in (*sorted(others & forward), *sorted(others & backward)) if final else ():
        if link[0] not in sources and link[1] not in targets:
            add(link)
    return [Link(*link, link in sure) for link in sorted(links)]


class FormCounter:
    """Counts which surface forms translate which lowercased words, on both sides."""

    def __init__(self) -> None:
        self._counts: tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]] = (Counter(), Counter())

    def add(self, words: Words, links: Sequence[Link]) -> None:
        """Count the sure links of a pair, whose words are as they are written."""
        for source, target, sure in links:
            if sure:
                self._counts[0][words.target[target].lower(), words.source[source]] += 1
                self._counts[1][words.source[source].lower(), words.target[target]] += 1

    def related(self, side: int) -> dict[str, list[str]]:
        """For the words of a side (0 source, 1 target) other forms that translate the same word."""
        groups: dict[str, list[tuple[str, int]]] = {}
        for (word, form), count in self._counts[side].most_common():
            if count >= MIN_SEEN:
                groups.setdefault(word, []).append((form, count))
        by_form: dict[str, Counter[str]] = {}
        for forms in groups.values():
            for (form, _), (other, count) in product(forms, repeat=2):
                if share_stem(form, other):
                    by_form.setdefault(form, Counter())[other] += count
        chosen = islice(by_form.items(), MAX_FORMS)
        return {form: [other for other, _ in others.most_common(MAX_RELATED)] for form, others in chosen}


def share_stem(first: str, second: str) -> bool:
    """Whether two words may be forms of one word: they begin with the same letters, without accents and in lowercase,
    and differ after them."""
    first, second = _bare(first), _bare(second)
    stem = sum(1 for _ in takewhile(lambda letters: letters[0] == letters[1], zip(first, second, strict=False)))
    return first != second and stem >= MIN_STEM and stem >= MIN_STEM_SHARE * max(len(first), len(second))


@lru_cache(maxsize=1 << 16)
def _bare(word: str) -> str:
    return without_accents(word.lower())

"""Quality of word alignments."""

from collections.abc import Iterable
from typing import NamedTuple

from limelight.errors import UserError

Link = tuple[int, int]


class GoldAlignment(NamedTuple):
    """Manual links: `sure` ones, and `possible` ones, which include the sure ones."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def read_gold(line: str) -> GoldAlignment:
    """Parse links such as `0-0 1-2 3p4`: `-` is sure and `p` possible; words count from 0.

    Raises `UserError` for anything else.
    """
    sure, possible = set[Link](), set[Link]()
    for word in line.split():
        for mark, links in (("-", sure), ("p", possible)):
            source, separator, target = word.partition(mark)
            if separator and source.isdecimal() and target.isdecimal():
                links.add((int(source), int(target)))
                break
        else:
            raise UserError(f"{word!r} is not a link; links are like 0-1 (sure) or 0p1 (possible)")
    return GoldAlignment(frozenset(sure), frozenset(sure | possible))


def alignment_error_rate(links: Iterable[Iterable[Link]], gold: Iterable[GoldAlignment]) -> float:
    """1 - (|A & S| + |A & P|) / (|A| + |S|) over a corpus (Och and Ney 2003, equation 24); 0 is perfect.

    Raises `ValueError` for unequal numbers of sentences, and if there is no link at all.
    """
    right = count = 0
    for predicted, (sure, possible) in zip(map(set, links), gold, strict=True):
        right += len(predicted & sure) + len(predicted & possible)
        count += len(predicted) + len(sure)
    if not count:
        raise ValueError("there are no links")
    return 1 - right / count

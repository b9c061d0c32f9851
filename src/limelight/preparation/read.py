"""The pairs of a corpus, as its files have them."""

from collections.abc import Iterator

from limelight.config import Corpus, DataConfig, Direction, sides_of
from limelight.formats import read_pairs
from limelight.formats.lines import OnBadLine
from limelight.text.pair import BadLine, Pair

REPLAY = "replay"
"""The tag of a corpus that is replayed."""


def new_corpora(data: DataConfig) -> tuple[Corpus, ...]:
    """The training text of a run without what it replays."""
    return tuple(corpus for corpus in data.train if corpus.tag != REPLAY)


def has_text(pair: Pair, max_characters: int) -> bool:
    """Whether both sides have text, and at most so many characters."""
    return all(0 < len(side.strip()) <= max_characters for side in (pair.source, pair.target))


def silently(_line: BadLine) -> None:
    """Ignore bad lines, which are reported once while the corpus is tokenized."""


def pairs_of(
    corpus: Corpus,
    on_bad_line: OnBadLine | None = None,
    on_unused: OnBadLine | None = None,
    otherwise: Direction | None = None,
) -> Iterator[Pair]:
    """The pairs of a corpus, in the languages of `otherwise` if it does not name them; see `read_pairs`."""
    return read_pairs(corpus.files, *sides_of(corpus, otherwise), on_bad_line=on_bad_line, on_unused=on_unused)

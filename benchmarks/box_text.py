"""The text of the bundled model: which corpora, their development parts, and pairs of German and French.

DATA holds a folder for each corpus: `en-de` and `en-fr` as `.train.tsv.gz` and `.test.tsv.gz`, English first, and for
some also `.dev.tsv.gz`; `written` has `train.tsv.gz` and `test.tsv.gz` with three columns, English, German and French,
and `names` lists of names. The training part of `written` also has our own triples, `benchmarks/box_written`. Where
there is no development part, one is taken from the training part: the pairs whose lower-cased English text has a
SHA-256 that is divisible by `DEV_SHARE`. Pairs of German and French are those of the same English text, in each part
by itself.
"""

import gzip
import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from limelight.config import Corpus
from limelight.files import write_whole
from limelight.formats import read_lines, read_pairs
from limelight.text.pair import Pair

DEV_SHARE = 100
MAX_JOINED = 3
"""Maximum number of pairs of German and French for one English text."""
MAX_PHRASE = 5
"""Maximum number of words of a phrase, in English."""
PARTS = ("train", "dev", "test")
PHRASES = "phrases"
"""The part of a training part that has its own weight."""
Direction = tuple[str, str]
Rows = list[tuple[str, str]]


class Register(NamedTuple):
    """A corpus, named by its folder."""

    folder: str
    partners: tuple[str, ...]
    weight: float
    """How often an epoch contains a pair with English."""
    has_dev: bool = False
    phrases: float = 0.0
    """Weight of its phrases, such as openings of letters, which few tokens teach otherwise; 0.0: that of the rest."""

    @property
    def pairs(self) -> list[Direction]:
        """The languages of its files, in the order of their columns."""
        with_english = [("en", partner) for partner in self.partners]
        return with_english + [("de", "fr")] * (len(self.partners) == 2)

    @property
    def directions(self) -> list[Direction]:
        """The directions of its pairs, both ways."""
        return [*self.pairs, *(languages[::-1] for languages in self.pairs)]

    def weight_of(self, languages: Direction, part: str = PARTS[0]) -> float:
        """Pairs without English have a lower weight, as English connects them already."""
        return (self.phrases if part == PHRASES else self.weight) * (1.0 if "en" in languages else 0.7)


REGISTERS = (
    Register("tatoeba", ("de", "fr"), 1.2, has_dev=True),
    Register("libreoffice-help", ("de", "fr"), 0.9),
    Register("home-assistant", ("de", "fr"), 1.4),
    Register("python-docs", ("fr",), 0.35),
    Register("mozilla", ("de", "fr"), 1.5),
    Register("libreoffice-ui", ("de", "fr"), 2.4),
    Register("chromium", ("de", "fr"), 1.4),
    Register("cldr", ("de", "fr"), 2.0),
    Register("written", ("de", "fr"), 3.4, phrases=4.5),
)
TRIPLES = "written"
"""The corpus whose files have three columns."""
OWN_TRIPLES = Path(__file__).parent / "box_written"
"""Further triples of its training part."""
LEFT_OUT = {"libreoffice-ui": {
    "Dear", "Sincerely", "Yours faithfully", "Yours sincerely", "Love", "Hello,", "Best regards", "Regards", "Cheers",
    "To Whom it May Concern", "Dear Sir or Madam",
}}  # fmt: skip
"""English texts left out: openings and closings of letters, whose translations there do not match."""
NAMES = "names"


def prepare_text(data: Path, out: Path) -> None:
    """Write all parts of all registers into `out`, unless they are there."""
    for register in REGISTERS:
        if path_of(out, register, register.pairs[-1], PARTS[-1]).exists():
            continue
        found = {partner: _parts_of(data, register, partner) for partner in register.partners}
        for part in found[register.partners[0]]:
            for partner in register.partners:
                _write(path_of(out, register, ("en", partner), part), found[partner][part])
            if len(register.partners) == 2:
                _write(path_of(out, register, ("de", "fr"), part), _joined(found["de"][part], found["fr"][part]))


def path_of(out: Path, register: Register, languages: Direction, part: str) -> Path:
    """The file of a part."""
    return out / register.folder / _name(languages, part)


def corpora(out: Path, part: str) -> tuple[Corpus, ...]:
    """The corpora of a part."""
    return tuple(
        Corpus(
            files=(str(path_of(out, register, languages, each)),),
            source=languages[0],
            target=languages[1],
            weight=register.weight_of(languages, each),
        )
        for register in REGISTERS
        for each in ((part, PHRASES) if register.phrases and part == PARTS[0] else (part,))
        for languages in register.pairs
    )


def name_lists(data: Path) -> tuple[str, ...]:
    """The files with names."""
    return tuple(str(path) for path in sorted((data / NAMES).glob("*.txt.gz")))


def pairs_of(out: Path, register: Register, part: str, direction: Direction) -> list[Pair]:
    """The pairs of a direction."""
    return read_part(out, register.folder, part, direction)


def read_part(data: Path, folder: str, part: str, direction: Direction) -> list[Pair]:
    """The pairs of a direction in the file of its languages, in whichever order that has them."""
    path = data / folder / _name(direction, part)
    triples = data / folder / f"{part}.tsv.gz"
    if folder == TRIPLES and triples.exists():
        columns = [("en", "de", "fr").index(language) for language in direction]
        own = sorted(OWN_TRIPLES.glob("*.tsv")) if part == PARTS[0] else []
        rows = ((path, *row) for path in (triples, *own) for row in enumerate(read_lines(path), 1))
        return [Pair(*(row.split("\t")[column] for column in columns), str(path), line) for path, line, row in rows]
    if path.exists():
        return list(read_pairs([path]))
    pairs = read_pairs([data / folder / _name(direction[::-1], part)])
    return [Pair(pair.target, pair.source, pair.file, pair.line) for pair in pairs]


def _name(languages: Direction, part: str) -> str:
    return f"{'-'.join(languages)}.{part}.tsv.gz"


def _parts_of(data: Path, register: Register, partner: str) -> dict[str, Rows]:
    def read(part: str) -> Rows:
        pairs = read_part(data, register.folder, part, ("en", partner))
        without = LEFT_OUT.get(register.folder, ())
        return [(pair.source, pair.target) for pair in pairs if pair.source not in without]

    train, test = read("train"), read("test")
    if register.has_dev:
        return {"train": train, "dev": read("dev"), "test": test}
    dev = [row for row in train if is_dev(row[0])]
    held_out = {english for english, _ in test}
    rest = [row for row in train if not is_dev(row[0]) and row[0] not in held_out]
    if not register.phrases:
        return {"train": rest, "dev": dev, "test": test}
    phrases, longer = ([row for row in rest if (len(row[0].split()) <= MAX_PHRASE) is short] for short in (True, False))
    return {"train": longer, PHRASES: phrases, "dev": dev, "test": test}


def is_dev(english: str) -> bool:
    """Whether a text is of the development part, where none is given."""
    return int(hashlib.sha256(english.lower().encode()).hexdigest(), 16) % DEV_SHARE == 0


def _joined(german: Rows, french: Rows) -> Rows:
    """Pairs of German and French with the same English text, each once."""
    of_english: defaultdict[str, list[str]] = defaultdict(list)
    for english, text in french:
        of_english[english].append(text)
    pairs: dict[tuple[str, str], None] = {}
    count: defaultdict[str, int] = defaultdict(int)
    for english, text in german:
        for other in of_english.get(english, ()):
            if count[english] < MAX_JOINED:
                pairs[text, other] = None
                count[english] += 1
    return list(pairs)


def _write(path: Path, rows: Iterable[tuple[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{first}\t{second}\n" for first, second in rows)
    write_whole(path, gzip.compress(text.encode(), mtime=0))

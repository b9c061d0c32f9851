"""Small files in every format of segments, with the same invented sentences."""

import gzip
from pathlib import Path

from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.text.pair import BadLine, Pair

SENTENCES = [("The lamp hums.", "Die Lampe summt."), ("Turn it off.", "Mach sie aus."), ("Good night.", "Gute Nacht.")]


def tmx(units: str, *, header: str = 'srclang="en"', before: str = "") -> str:
    return f'<?xml version="1.0"?>\n{before}<tmx version="1.4"><header {header}/><body>{units}</body></tmx>'


def unit(*texts: tuple[str, str], attributes: str = "") -> str:
    variants = "".join(f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, text in texts)
    return f"<tu{attributes}>{variants}</tu>\n"


def xliff(units: str, *, version: str = "1.2") -> str:
    if version == "1.2":
        file = f'<file original="a" datatype="x" source-language="en" target-language="de"><body>{units}</body></file>'
        return f'<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">{file}</xliff>'
    name = "urn:oasis:names:tc:xliff:document:2.0"
    return f'<xliff version="{version}" srcLang="en" trgLang="de" xmlns="{name}"><file id="f">{units}</file></xliff>'


def qt(messages: str, languages: str = 'language="de_DE" sourcelanguage="en"') -> str:
    return f'<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS version="2.1" {languages}><context>{messages}</context></TS>'


PO_HEADER = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'

CONTENTS = {
    ".tmx": tmx("".join(unit(("en", source), ("de", target)) for source, target in SENTENCES)),
    ".xlf": xliff("".join(
        f'<trans-unit id="{number}"><source>{source}</source><target>{target}</target></trans-unit>\n'
        for number, (source, target) in enumerate(SENTENCES)
    )),
    ".xliff": xliff("".join(
        f'<unit id="{number}"><segment><source>{source}</source><target>{target}</target></segment></unit>\n'
        for number, (source, target) in enumerate(SENTENCES)
    ), version="2.0"),
    ".po": PO_HEADER + "".join(f'msgid "{source}"\nmsgstr "{target}"\n\n' for source, target in SENTENCES),
    ".ts": qt("".join(
        f"<message><source>{source}</source><translation>{target}</translation></message>\n"
        for source, target in SENTENCES
    )),
    ".csv": "id,en,de\n" + "".join(f"{number},{pair[0]},{pair[1]}\n" for number, pair in enumerate(SENTENCES)),
}  # fmt: skip
CONTENTS |= dict.fromkeys((".sdlxliff", ".mqxliff"), CONTENTS[".xlf"])
"""For each ending a file that holds `SENTENCES`, in English and German."""


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def sides(path: Path, source: str = "", target: str = "") -> list[tuple[str, str]]:
    """The pairs of a file."""
    return [(pair.source, pair.target) for pair in read_pairs([path], source, target)]


def read(path: Path, source: str = "en", target: str = "de") -> tuple[list[Pair], list[BadLine], list[BadLine], str]:
    """The pairs, the bad segments, those that are not used, and the error that ended the file or nothing."""
    pairs: list[Pair] = []
    bad: list[BadLine] = []
    unused: list[BadLine] = []
    try:
        pairs.extend(read_pairs([path], source, target, on_bad_line=bad.append, on_unused=unused.append))
    except UserError as error:
        return pairs, bad, unused, str(error)
    return pairs, bad, unused, ""

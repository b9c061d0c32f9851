"""Documents against other parsers: what markdown-it and lxml find changed is in the report.

The translations are random: words change places, and marks and signs are lost, doubled and added. None of the checks
shares code with the protectors: the generators know which tags and variables they wrote.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from limelight.documents.translate import Work, translate_document
from limelight.formats.unit import Options
from limelight.text.marking import MARK, without_marks
from tests.pipelines.test_protected import Scripted

COUNT = 100
WORDS = ["the lamp", "hums", "now", "a dog", "runs", "it is", "here", "and", "the name", "5 dogs"]
STRAY = ["*", "_x_", "<", "[", "`", "|", "&", "# ", "\\"]


def garbled(random: Random) -> Callable[[str], list[str]]:
    """What a bad model makes of a text."""

    def say(text: str) -> list[str]:
        answers = []
        for _ in range(2):
            words = text.upper().split(" ")
            for _ in range(random.choice((0, 1, 3))):
                one, other = random.randrange(len(words)), random.randrange(len(words))
                words[one], words[other] = words[other], words[one]
            words = [word if random.random() < 0.9 else without_marks(word) for word in words]
            words += random.choices(MARK.findall(text) or ["X"], k=random.random() < 0.2)
            words += random.choices(STRAY, k=random.random() < 0.15)
            answers.append(" ".join(word for word in words if word) or "X")
        return answers

    return say


def reported(folder: Path, name: str, text: str, random: Random) -> tuple[str, set[int]]:
    """A document as it is translated, and the lines that its report has."""
    translator = Scripted(garbled(random))
    source, output = folder / name, folder / f"new-{name}"
    source.write_text(text, encoding="utf-8")
    asked = translator.options()
    work = Work(lambda texts, language: translator.run(translator.jobs(texts, asked)), Options("en", "de"))
    report = translate_document(source, output, work)
    return output.read_text(encoding="utf-8"), {note.line for note in report.suspects}


def inline(random: Random, pairs: list[tuple[str, str]], singles: list[str], depth: int = 0) -> str:
    """A sentence with tags."""
    parts = list[str]()
    for _ in range(random.randrange(2, 5)):
        kind = random.random()
        if kind < 0.3 and depth < 2:
            pair = random.choice(pairs)
            others = [each for each in pairs if each[1] != pair[1]]
            inside = f"{random.choice(WORDS)} {inline(random, others, singles, depth + 1)}"
            parts.append(pair[0] + inside + pair[1])
        elif kind < 0.45:
            parts.append(random.choice(singles))
        parts.append(random.choice(WORDS))
    return " ".join(parts)


def paths(tokens: list[Any], around: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Each tag of markdown-it with those around it."""
    for token in tokens:
        if token.nesting < 0:
            around = around[:-1]
            continue
        own = (token.type, token.markup if token.type == "fence" else "", tuple(sorted(token.attrs.items())))
        if token.type not in ("text", "softbreak", "text_special", "inline"):
            code = token.content if token.type in ("code_inline", "html_inline") else ""
            yield (*around, own, code)
        if token.nesting > 0:
            around = (*around, own)
        yield from paths(token.children or [], (*around, own) if token.type == "image" else around)


def test_markdown_against_its_parser(tmp_path: Path, seed: int) -> None:
    from markdown_it import MarkdownIt

    random = Random(seed)
    pairs = [("**", "**"), ("*", "*"), ("[", "](http://a.org)"), ("[", '](b.html "t")'), ("~~", "~~"), ("<b>", "</b>")]
    singles = ["`x y`", "![](i.png)", "[![a](b.svg)](c)", "<br>", "<http://a.org>", "\\*", "&amp;", "![dog](d.png)"]
    blocks = [random.choice(("", "# ", "- ", "> ")) + inline(random, pairs, singles) for _ in range(COUNT)]
    new, lines = reported(tmp_path, "a.md", "\n\n".join(blocks) + "\n", random)
    parser, found = MarkdownIt("commonmark").enable(["table", "strikethrough"]), new.rstrip("\n").split("\n\n")
    assert len(found) == len(blocks)
    changed = 0
    for number, (block, now) in enumerate(zip(blocks, found, strict=True)):
        if Counter(paths(parser.parse(block))) != Counter(paths(parser.parse(now))):
            changed += 1
            assert 2 * number + 1 in lines, (block, now)
    assert changed < COUNT / 2, "most of the markup is to be kept"


def test_html_against_lxml(tmp_path: Path, seed: int) -> None:
    html = pytest.importorskip("lxml.html")
    random = Random(seed)
    pairs = [("<b>", "</b>"), ('<a href="u?a=1&amp;b">', "</a>"), ("<i class=x>", "</i>"), ("<code>", "</code>")]
    singles = ["<br>", "<img src=a alt='5'>", "&gt;", "&amp;", "&nbsp;", "&copy;", "<!-- x -->", "H<sub>2</sub>O"]
    blocks = [f"<p>{inline(random, pairs, singles)}</p>" for _ in range(COUNT)]
    new, lines = reported(tmp_path, "a.html", "\n".join(blocks) + "\n", random)
    found = new.rstrip("\n").split("\n")
    assert len(found) == len(blocks)

    def tree(text: str) -> Counter[Any]:
        def walk(element: Any, around: tuple[Any, ...]) -> Iterator[Any]:
            own = (*around, str(element.tag), tuple(sorted(element.attrib.items())))
            yield own
            for child in element:
                yield from walk(child, own)

        return Counter(walk(html.fromstring(text), ()))

    for number, (block, now) in enumerate(zip(blocks, found, strict=True), start=1):
        signs = ("&gt;", "&nbsp;", "©")  # not "&", which a translation may write as a word
        entities = [Counter({each: text.replace("&copy;", "©").count(each) for each in signs}) for text in (block, now)]
        if tree(block) != tree(now) or entities[0] != entities[1]:
            assert number in lines, (block, now)

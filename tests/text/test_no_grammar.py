"""No grammar of a natural language in code: its words are in data files of `text/`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import limelight
from limelight.text.judge import WORD, function_words

PACKAGES = ("text", "pipelines", "documents", "decoding")
MAX_WORDS = 20
"""Maximum number of different words of a language in a literal."""


def constants(path: Path) -> Iterator[str]:
    """The strings that a module assigns; messages and docstrings are others."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for part in ast.walk(node.value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def of_language(text: str) -> bool:
    """Whether many words of a text are function words of one language, or are not ASCII."""
    words = {*WORD.findall(text.lower())}
    words = {word for word in words if len(word) > 1}
    if len(words) <= MAX_WORDS:
        return False
    most = max(len(words & known.keys()) for known in function_words().values())
    return most > 5 or sum(not word.isascii() for word in words) > 3


def test_no_literal_is_a_list_of_words_of_a_language() -> None:
    source = Path(limelight.__file__).parent
    files = [path for package in PACKAGES for path in (source / package).rglob("*.py")]
    assert [(path.name, text[:60]) for path in files for text in constants(path) if of_language(text)] == []
    assert of_language((source / "text" / "data" / "function_words.txt").read_text(encoding="utf-8"))

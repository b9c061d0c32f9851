"""A comparison of two systems as one HTML file: scores, and the sentences that differ most."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from html import escape

from limelight.evaluation.compare import SCORES, Comparison, Sentence

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: 0.3rem 0.8rem; text-align: right; border-bottom: 1px solid #8886; }
th:first-child, td:first-child { text-align: left; }
article { margin: 1.5rem 0; border-top: 1px solid #8886; }
article td { text-align: left; border: none; vertical-align: top; }
mark { background: #e8a33d55; color: inherit; }
code { overflow-wrap: anywhere; }
"""


def comparison_page(comparison: Comparison) -> str:
    """The page, without scripts. Words that only one of the two translations has are marked."""
    title = escape(f"{comparison.names[0]} and {comparison.names[1]}")
    signatures = "".join(
        f"<p><code>{escape(difference.signature)}</code></p>\n" for difference in comparison.differences
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>Comparison</h1>\n"
        f"<p>A: <code>{escape(comparison.names[0])}</code><br>B: <code>{escape(comparison.names[1])}</code></p>\n"
        + _table(SCORES, comparison.score_rows())
        + signatures
        + "<h2>The sentences that differ most</h2>\n"
        + "".join(map(_article, comparison.sentences))
        + "</body>\n</html>\n"
    )


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n<tr>{head}</tr>\n{body}</table>\n"


def _article(sentence: Sentence) -> str:
    first, second = sentence.translations
    rows = {"source": escape(sentence.source), "reference": escape(sentence.reference)}
    rows |= {"A": _marked(first, second), "B": _marked(second, first)}
    lines = "".join(f'<tr><td>{name}</td><td dir="auto">{text}</td></tr>\n' for name, text in rows.items())
    head = f"{escape(sentence.place)}: chrF2 {sentence.difference:+.1f}"
    return f"<article>\n<p>{head}</p>\n<table>\n{lines}</table>\n</article>\n"


def _marked(text: str, other: str) -> str:
    """A text as HTML, with the words that the other one lacks marked."""
    words, parts = text.split(), []
    for kind, start, end, *_ in SequenceMatcher(None, words, other.split(), autojunk=False).get_opcodes():
        part = escape(" ".join(words[start:end]))
        parts.append(part if kind == "equal" or not part else f"<mark>{part}</mark>")
    return " ".join(filter(None, parts))

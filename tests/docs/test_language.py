"""Plain technical English: words that were retired stay away from code, documentation and names of tests.

Each row is a pattern and what to write instead. The patterns are tried on lines that break them, then on every file.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ANYWHERE = {
    r"\bstrangers?\b": "untrusted input",
    r"\bwaver(s|ed|ing)?\b": "perplexity, entropy",
    r"\bthe living\b": "active hypotheses",
    r"\b(bury|buries|buried)\b": "release a slot",
    r"\bg(ive|ives|iving|iven|ave) up\b": "prune, stop, cancel",
    r"\bas if nothing had\b": "resuming is bit-exact",
    r"\b(its|the) company in a batch\b": "batch-invariant",
    r"\b[Ss]ame numbers again\b": "reproducible",
    r"\bpromise[sd]?\b": "guarantee",
    r"\bif nothing (else )?is said\b": "by default",
    r"\bsoft look-up\b": "weighted sum",
    r"\bmay (not )?look (at|ahead|nowhere|anywhere)\b": "may attend",
    r"\b[Tt]he doors? to\b": "what the module does",
    r"\b(floors? \d|lowest floor|higher floor|FLOORS?)\b": "level",
    r"\b[Ss]ub-words?\b": "subword",
    r"(?i)(normalis|tokenis|neighbour|colour|recognis|modelling|optimis|initialis|maximis)": "American spelling",
}
IN_SENTENCES = {
    r"\bfor ever\b": "without end, never ends",
    r"(?i)\brubbish\b": "garbage, useless",
    r"\bslip of the pen\b": "mistyped option",
    r"\bgood neighbor\b": "say what it does",
    r"(?i)\bkeeps its books\b": "state of the search",
    r"\bgone wrong\b": "not finite, failed",
    r"\bhigher floors?\b": "level",
    r"\b[Nn]obody (listens|waits|joins|tells|knows|asks)\b": "no client, no request; say what is missing",
    r"\b(run|stream|it) (that )?(is|can be) taken up\b": "resumed",
}
IN_CODE = IN_SENTENCES | {
    r"\b(be had|all it takes to|by heart)\b": "available; with its tokenizer; overfitted",
    r"\bWhat became of\b": "the result, the outcome",
    r"[Ww]ithin it, (a|the|what|nobody|fp32|progress)\b": "a context that ...",
    r"\b(Like This|Written Like)\b": "title case",
    r"\bknows? nothing of\b": "independent",
    r"\b(is|once that is) mended\b": "after fixing the cause",
    r"\b[Ww]hoever\b": "name the caller, process or client",
    r"\bA (line|message) for the person in front\b": "print a message",
    r"\b_?(MOST|LONGEST|LARGEST|SMALLEST)(_\w+)?\b": "MAX_*, MIN_*",
    r"\b(offer_model|settle|_be_heard|nothings|require_verb|VERBS?)\b": "save_if_best, check_resumable, ...",
    r"\bverbs?\b": "command",
    r"\brecipes\.book\b": "registry",
}
IN_TEXT = {
    r"\bpieces?\b": "token, unless it is sentencepiece's piece",
}
IN_PAGES = {
    r"\bas (it|they) comes?\b": "by default, default settings",
    r"\b(say|says|said) so\b": "report, state",
    r"\b(is|are|was|were) told\b": "report",
    r"\basked for\b": "requested",
    r"\b(go|goes|gone|went) on with\b": "continue, resume",
    r"\bin the box\b": "bundled",
    r"\b[Nn]ow and then\b": "at intervals, some",
    r"\bwhat is (not )?there\b": "name it",
    r"\b[Tt]he law of batches\b": "batch invariance",
    r"\bstands? (beside|behind)\b": "follow, next to",
}
IN_CLEAN_CODE = {
    r'^\s*"""(Of|Those of|Likewise)\b': "a docstring that names its subject",
    r'^\s*"""See `[^`]+`\.?"""$': "nothing: an override needs no docstring",
    r": there (is|are) \{": "choose from",
    r"(?<!there )(?<!There )\b(is|are) no (?!longer\b|more\b|less\b)[a-z]": "is not a",
    r"\b(be it that|anew|for who \w+s)\b": "even if; again; for callers that",
}
CLEAN = (
    "*.py", "attention/*.py", "batching/*.py", "cli/*.py", "config/*.py", "corpus/**/*.py", "documents/*.py",
    "evaluation/*.py", "inference/*.py", "interop/*.py", "layers/*.py", "models/**/*.py", "preparation/*.py",
    "serving/dialects/*.py", "storage/*.py", "text/readers/*.py", "text/units/*.py", "tokens/*.py", "training/**/*.py",
)  # fmt: skip
"""Files of the package whose English was rewritten as a whole."""
EXEMPT = ("tests/docs/test_language.py", "tests/text/readers/test_segments.py")


def faults(text: str, rules: dict[str, str]) -> Iterator[str]:
    """A line for each retired word of a text, with its line number and what to write."""
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, instead in rules.items():
            if found := re.search(pattern, line):
                yield f"{number}: {found.group()!r}: write {instead}"


def prose(page: str) -> str:
    """A page without code: neither blocks, nor what stands in backticks, nor lines about sentencepiece."""
    text = re.sub(r"^```.*?^```", lambda block: "\n" * block.group().count("\n"), page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", text)
    return "\n".join("" if "sentencepiece" in line.lower() else line for line in text.splitlines())


def test_a_retired_word_is_found() -> None:
    text = "files of strangers\nMOST_JSON = 3\n`piece` of a [a](piece.md)\ntokens\n"
    assert list(faults(text, ANYWHERE)) == ["1: 'strangers': write untrusted input"]
    assert list(faults(text, IN_CODE)) == ["2: 'MOST_JSON': write MAX_*, MIN_*"]
    report = "`as it comes`\nand the report says so\n"
    assert list(faults(prose(report), IN_PAGES)) == ["2: 'says so': write report, state"]
    assert list(faults(prose(text + "a piece\na piece of sentencepiece"), IN_TEXT)) == [
        "5: 'piece': write token, unless it is sentencepiece's piece"
    ]


@pytest.mark.parametrize(
    ("folder", "rules"), [("src/limelight", ANYWHERE | IN_CODE), ("benchmarks", ANYWHERE), ("examples", ANYWHERE)]
)
def test_code_has_no_retired_words(folder: str, rules: dict[str, str]) -> None:
    listed = {
        str(path.relative_to(ROOT)): list(faults(path.read_text(encoding="utf-8"), rules))
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    assert {name: found for name, found in listed.items() if found} == {}


def test_an_elliptical_docstring_is_found() -> None:
    text = '    """Of a state."""\n"""See `Link`."""\nthis is no file\nthere is no file\nunknown x: there are {names}\n'
    assert [fault.partition(":")[0] for fault in faults(text, IN_CLEAN_CODE)] == ["1", "2", "3", "5"]


def test_rewritten_code_has_no_elliptical_docstrings() -> None:
    files = [path for pattern in CLEAN for path in sorted((ROOT / "src/limelight").glob(pattern))]
    listed = {str(path): list(faults(path.read_text(encoding="utf-8"), IN_CLEAN_CODE)) for path in files}
    assert {name: found for name, found in listed.items() if found} == {}
    assert len(files) > 80


def test_each_file_says_its_purpose() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/limelight").rglob("*.py"))}
    said = {path: ast.get_docstring(ast.parse(text)) or "" for path, text in texts.items() if text.strip()}
    assert [str(path) for path, docstring in said.items() if len(docstring) < len("`limelight x`.")] == []


def test_documentation_has_no_retired_words() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    listed = {
        page.name: [
            *faults(page.read_text(encoding="utf-8"), ANYWHERE | IN_SENTENCES),
            *faults(prose(page.read_text(encoding="utf-8")), IN_PAGES),
            *(
                fault
                for fault in faults(prose(page.read_text(encoding="utf-8")), IN_TEXT)
                if page.name != "glossary.md"
            ),
        ]
        for page in pages
    }
    assert {name: found for name, found in listed.items() if found} == {}


def test_names_of_tests_have_no_retired_words() -> None:
    """Names of functions and files; underscores are spaces."""
    listed = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        names = [path.stem, *re.findall(r"^\s*def (test_\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)]
        if name not in EXEMPT:
            listed[name] = list(faults("\n".join(names).replace("_", " "), ANYWHERE))
    assert {name: found for name, found in listed.items() if found} == {}

"""Budgets of size: tokens of code of each package, written in `tests/budget.json`, which only fall.

    python -m tests.budget              # the table: tokens today, budget, aim
    python -m tests.budget --write      # lower the budgets to the tokens of today; a budget that is exceeded stays
    python -m tests.budget --write --raise src/decoding     # raise this one too, or give a new package its first

Comments, docstrings, line breaks and indentation are not counted, so that nothing is gained by packing lines.
"""

import argparse
import io
import json
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

Budgets = dict[str, dict[str, Any]]
ROOT = Path(__file__).parent.parent
BUDGETS = ROOT / "tests" / "budget.json"
SLACK = 1.02
"""A budget above this multiple of the tokens has to be lowered."""
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def tokens_of(text: str) -> int:
    """Tokens of a file without comments and without docstrings: strings that are a statement. An f-string is one token,
    as it was before Python 3.12."""
    tokens, inside, before = 0, 0, tokenize.NL
    statement = False  # whether the last token is a string that begins a statement
    for kind, *_ in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[kind]
        inside += name.endswith("STRING_START") - name.endswith("STRING_END")
        tokens += kind not in LAYOUT and not inside
        tokens -= statement and kind == tokenize.NEWLINE
        statement = kind == tokenize.STRING and before in LAYOUT
        before = kind
    return tokens


def count(root: Path = ROOT) -> dict[str, int]:
    """Tokens of `src`, `tests` and `benchmarks`, and of each package (`src/.`: files outside of a package)."""
    counts: Counter[str] = Counter()
    for name, folder in (("src", "src/limelight"), ("tests", "tests"), ("benchmarks", "benchmarks")):
        for path in (root / folder).rglob("*.py"):
            tokens = tokens_of(path.read_text(encoding="utf-8"))
            counts[name] += tokens
            if name != "benchmarks":
                package = path.relative_to(root / folder).parts[:-1]
                counts[f"{name}/{package[0] if package else '.'}"] += tokens
    return dict(sorted(counts.items()))


def faults(counts: dict[str, int], budgets: Budgets) -> list[str]:
    """Budgets that are exceeded, left too high, missing, or of a package that is gone."""
    complaints = [f"{name}: no budget for {counts[name]:,} tokens" for name in counts.keys() - budgets.keys()]
    for name, row in budgets.items():
        tokens, budget = counts.get(name, 0), row["budget"]
        if tokens > budget:
            complaints.append(f"{name}: {tokens:,} tokens of code exceed the budget of {budget:,}")
        elif budget > tokens * SLACK:
            complaints.append(f"{name}: the budget of {budget:,} is too high for {tokens:,} tokens: lower it (--write)")
    return sorted(complaints)


def lowered(counts: dict[str, int], budgets: Budgets, raised: list[str]) -> Budgets:
    """The budgets after `--write`: those of today's tokens, where these are lower or the package may be raised."""
    rows = {name: dict(row) for name, row in budgets.items() if name in counts}
    for name in counts:
        if name in raised or (name in rows and counts[name] < rows[name]["budget"]):
            rows[name] = {**rows.get(name, {}), "budget": counts[name]}
    return dict(sorted(rows.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="lower the budgets")
    parser.add_argument("--raise", action="append", default=[], metavar="NAME", dest="raised", help="raise this one")
    options = parser.parse_args()
    counts, budgets = count(), json.loads(BUDGETS.read_text(encoding="utf-8"))
    if options.write:
        budgets = lowered(counts, budgets, options.raised)
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in budgets.items())
        BUDGETS.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    print(f"{'tokens':>9} {'budget':>9} {'aim':>9}")
    for name in sorted(counts.keys() | budgets.keys()):
        row = budgets.get(name, {})
        beside = f"  (the aim holds with {row['with']})" if "with" in row else ""
        print(f"{counts.get(name, 0):9,} {row.get('budget', 0):9,} {row.get('aim', 0):9,}  {name}{beside}")
    for line in faults(counts, budgets):
        print(line, file=sys.stderr)
    return bool(faults(counts, budgets))


if __name__ == "__main__":
    sys.exit(main())

"""`compare` gives the figures of sacreBLEU's own command for the same files; chrF++ and TER likewise."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.evaluation.compare import compare
from limelight.evaluation.comparison_page import comparison_page
from limelight.evaluation.metrics import further_metric
from limelight.text.pair import Pair

WORDS = ("the", "old", "man", "gave", "a", "small", "red", "book", "to", "his", "neighbor", "and", "she", "read", "it")


def texts(seed: int, noise: float) -> list[str]:
    """Sentences of which a share of the words is another one; without noise always the same."""
    plain, draw = random.Random(1), random.Random(seed)
    rows = [[plain.choice(WORDS) for _ in range(plain.randint(3, 14))] for _ in range(60)]
    return [" ".join(draw.choice(WORDS) if draw.random() < noise else word for word in row) + "." for row in rows]


def p_values(folder: Path) -> list[float]:
    """Those of sacreBLEU's command for the second system, as it prints them."""
    words = ["gold", "-i", "a", "b", "-m", "bleu", "chrf", "--paired-bs", "--format", "text"]
    run = subprocess.run([sys.executable, "-m", "sacrebleu", *words], cwd=folder, capture_output=True, check=True)
    return [float(each) for each in re.findall(r"p = ([0-9.]+)", run.stdout.decode())]


def test_the_paired_bootstrap_is_that_of_sacrebleu(tmp_path: Path) -> None:
    gold, one, two = texts(1, 0), texts(2, 0.3), texts(3, 0.25)
    for name, rows in {"gold": gold, "a": one, "b": two}.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    pairs = [Pair(text, text, "test.tsv", row) for row, text in enumerate(gold, 1)]
    found = compare(pairs, ("a", "b"), (one, two))
    assert [each.p for each in found.differences] == pytest.approx(p_values(tmp_path), abs=1e-4)
    changes = [abs(each.difference) for each in found.sentences]
    assert changes == sorted(changes, reverse=True)
    assert len(changes) == 10
    assert "B - A" in found.table()
    assert [each.p for each in compare(pairs, ("a", "b"), (one, one)).differences] == [1, 1]
    assert [each.p for each in compare(pairs[:1], ("a", "b"), ([gold[1]], gold[:1])).differences] == [1, 1]  # no sample
    assert json.loads(found.to_json())["names"] == ["a", "b"]


def test_a_page_marks_the_words_of_one_translation_alone_and_takes_texts_as_text() -> None:
    pair = Pair("<b>Hello</b>", "good day <to> you", "test.tsv", 1)
    page = comparison_page(compare([pair], ("<a>", "b"), (["good day <of> you"], ["good day <to> you"])))
    assert '<td>A</td><td dir="auto">good day <mark>&lt;of&gt;</mark> you</td>' in page
    assert '<td>B</td><td dir="auto">good day <mark>&lt;to&gt;</mark> you</td>' in page
    assert "&lt;b&gt;Hello" in page
    assert "A: <code>&lt;a&gt;</code>" in page
    assert "<script" not in page


def test_a_file_of_another_length_is_refused() -> None:
    with pytest.raises(UserError, match="two: 1 translations of 2 pairs"):
        compare([Pair("a", "b", "t", 1)] * 2, ("one", "two"), (["b", "b"], ["b"]))


def test_chrf_plus_plus_and_ter_are_those_of_sacrebleu() -> None:
    from sacrebleu.metrics import CHRF, TER

    gold, one = texts(1, 0), texts(2, 0.3)
    for name, metric in (("chrf++", CHRF(word_order=2)), ("ter", TER())):
        assert further_metric(name, one, gold).score == metric.corpus_score(one, [gold]).score
    with pytest.raises(UserError, match=r"unknown metric 'bleurt'; choose from chrf\+\+, ter, or name its --plugin"):
        further_metric("bleurt", one, gold)

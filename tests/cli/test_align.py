"""`limelight align`, and the heads that a run chooses at its end."""

import json
import shutil
from pathlib import Path

import pytest

from limelight.inspection.word_alignment import (
    TokenizedPair,
    agreement_with_erasure,
    best_sources,
    choose_heads,
    word_weights,
)
from limelight.pipelines.load import load_translator
from limelight.storage.layout import ALIGNMENT
from tests.cli.conftest import Limelight
from tests.cli.corpora import words


def test_a_run_chooses_its_heads_and_aligns_each_line(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("The old dog .\tLumi videto .\n\tkano\nThe cat\tKano velo lam\n", encoding="utf-8")
    ended = limelight("align", "--model", trained, pairs)
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert len(lines) == 3
    assert lines[1] == ""
    links = [tuple(map(int, link.split("-"))) for link in lines[0].split()]
    assert [target for _, target in sorted(links, key=lambda link: link[1])] == [0, 1, 2]
    assert all(0 <= source < 4 for source, _ in links)
    ended = limelight("align", "--model", trained, pairs, "--tokenize", "--json")
    assert json.loads(ended.out.splitlines()[0])["source"] == ["The", "old", "dog", "."]


@pytest.mark.slow
def test_calibrate_chooses_heads(limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(trained, tmp_path / "run"))
    ended = limelight("calibrate", "--model", own, "--valid", corpus / "train.tsv")
    assert ended.code == 0, ended.err
    assert "heads that align words: layer 0 head " in ended.out
    assert (own / "best" / ALIGNMENT).is_file()
    assert load_translator(own).alignment_heads


def test_a_damaged_file_of_heads_is_named_and_not_used(trained: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(trained, tmp_path / "run"))
    (own / "best" / ALIGNMENT).write_text('{"format": 1, "heads": [{"layer": 9, "head": 0, "reads": true}]}')
    with pytest.warns(UserWarning, match="layer 9 has no head 0; words are aligned with the mean of all heads"):
        assert load_translator(own).alignment_heads == ()


def test_a_model_that_reverses_words_is_aligned_backwards(many: Path) -> None:
    translator = load_translator(many)
    tokenizers = translator.towards(translator.directions[0])
    pairs = []
    for source in words(40, seed=6):
        target = source[::-1].upper()
        ids = tokenizers.source.encode(source), tokenizers.target.encode(target)
        tag = len(ids[0]) - len(source)
        places = [[] for _ in range(tag)] + [[place] for place in range(len(source))]
        pairs.append(TokenizedPair(*ids, places, [[place] for place in range(len(target))], (len(source), len(target))))
    found = [word_weights(translator.model, [pair])[0] for pair in pairs]
    heads, agreement = choose_heads((1, 2), agreement_with_erasure(translator.model, pairs, found))
    assert agreement > 0.5
    right = count = 0
    for pair, weights in zip(pairs, found, strict=True):
        right += sum(source == pair.sizes[0] - 1 - row for row, source in enumerate(best_sources(weights, heads)))
        count += pair.sizes[1]
    assert right / count > 0.65


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["a.en"], "a file with one language needs a file with the other"),
        (["a", "b", "c"], "3 files: give one file with both sides, or two files"),
        (["missing.tsv"], "missing.tsv"),
    ],
)
def test_misuse_is_told(limelight: Limelight, trained: Path, words: list[str], fault: str) -> None:
    ended = limelight("align", "--model", trained, *words)
    assert ended.code == 2
    assert fault in ended.err

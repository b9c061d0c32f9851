"""English to Japanese, through the command line: trained, scored and drawn in a script without spaces between words."""

import json
import random
import re
from itertools import product
from pathlib import Path

import pytest

import limelight
from limelight.cli.app import run
from limelight.text.words import is_unspaced

ANIMALS = {"dog": "犬", "cat": "猫", "bird": "鳥", "horse": "馬", "fish": "魚", "cow": "牛"}
COLORS = {"white": "白い", "black": "黒い", "red": "赤い", "blue": "青い"}
VERBS = {"sees": "見る", "hears": "聞く", "calls": "呼ぶ"}
SETTINGS = """
model.encoder_layers=1 model.decoder_layers=1 model.d_model=32 model.heads=2 model.d_ff=64 model.dropout=0
model.norm=pre tokens.vocabulary_size=80 tokens.byte_fallback=false batching.tokens=1024 training.learning_rate=0.01
training.warmup=20 training.schedule=cosine training.label_smoothing=0 training.validate_every=50 training.average=1
training.precision=fp32 training.device=cpu training.threads=1
"""


def write_corpus(folder: Path) -> None:
    """Every sentence that can be made, in no order: 352 to train on, 40 to validate, 40 to test."""
    pairs = [
        f"the {color} {one} {verb} the {other}.\t{COLORS[color]}{ANIMALS[one]}が{ANIMALS[other]}を{VERBS[verb]}。\n"
        for color, one, verb, other in product(COLORS, ANIMALS, VERBS, ANIMALS)
    ]
    random.Random(1).shuffle(pairs)
    for name, part in (("train", pairs[:-80]), ("valid", pairs[-80:-40]), ("test", pairs[-40:])):
        (folder / f"{name}.tsv").write_text("".join(part), encoding="utf-8")


def test_japanese_is_trained_scored_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path)
    folder, test = str(tmp_path / "run"), str(tmp_path / "test.tsv")
    settings = [word for setting in SETTINGS.split() for word in ("--set", setting)]
    text = ["--train", str(tmp_path / "train.tsv"), "--valid", str(tmp_path / "valid.tsv")]
    languages = ["--source", "en", "--target", "ja", "--set", "training.bleu_tokenize=char"]  # the same with MeCab
    assert run(["train", *text, *languages, *settings, "--recipe", "tiny", "--max-steps", "120", "--out", folder]) == 0
    assert "sacreBLEU char, cased, greedy, 40 of 40 sentences" in capsys.readouterr().err

    assert run(["evaluate", "--model", folder, "--test", test, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "|tok:char|" in found["bleu_signature"]
    assert found["bleu"] > 40
    assert run(["evaluate", "--model", folder, "--test", test, "--tokenize", "13a"]) == 0
    table = capsys.readouterr().out
    assert "|tok:13a|" in table

    assert run(["attention", "--model", folder, "the white dog sees the cat.", "-o", str(tmp_path / "map.svg")]) == 0
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    labels = [label for label in re.findall(">([^<>]+)</text>", drawn) if any(map(is_unspaced, label))]
    assert len(labels) >= 5
    translator = limelight.load(folder)
    seen = translator.attention("the white dog sees the cat.", target="白い犬が猫を見る。").merge_words()
    assert "".join(seen.target_pieces) == "白い犬が猫を見る。</s>"
    assert len(seen.target_pieces) >= 7, "no clause is one word"
    assert seen.source_pieces == ("the", "white", "dog", "sees", "the", "cat.", "</s>")

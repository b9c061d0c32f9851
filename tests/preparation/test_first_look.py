"""Before anything is made of text, a person sees a pair of it, and what is strange."""

import re
from pathlib import Path

import pytest

from limelight.config import Corpus, DataConfig, RunConfig
from limelight.errors import UserError
from limelight.preparation.pairs import first_look
from tests.preparation.parallel import invented_pairs
from tests.text.test_languages import TEXTS


def looked_at(
    folder: Path, lines: list[str], valid: list[str], source: str, target: str, on_doubt: str = "stop"
) -> list[str]:
    corpora = []
    for name, some in (("train.tsv", lines), ("valid.tsv", valid)):
        (folder / name).write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
        corpora.append(Corpus(files=(str(folder / name),), source=source, target=target))
    said: list[str] = []
    data = DataConfig(train=(corpora[0],), valid=(corpora[1],), on_doubt=on_doubt)
    config = RunConfig(data=data)
    first_look(config, said.append)
    return [line.replace(f"{folder}/", "") for line in said]


def test_the_first_pair_that_is_kept_is_shown_with_its_languages(tmp_path: Path) -> None:
    lines = ["", "same\tsame", f"A dog runs.\t{'wau ' * 30}", "A cat sleeps.\tMinoo nalu."]
    (shown,) = looked_at(tmp_path, lines, lines[3:], "en", "lumi")
    assert shown == "train.tsv:4: en: A cat sleeps. -> lumi: Minoo nalu."
    long = f"{'dog ' * 40}\t{'wau ' * 40}"
    (shown,) = looked_at(tmp_path, [long], [long], "en", "lumi")
    assert shown == f"train.tsv:1: en: {('dog ' * 40)[:70]}... -> lumi: {('wau ' * 40)[:70]}..."


def test_what_is_strange_is_told_of_training_and_validation_text(tmp_path: Path) -> None:
    good, swapped = (f"{TEXTS[one]}\t{TEXTS[other]}" for one, other in (("en", "fr"), ("fr", "en")))
    _, train, valid = looked_at(tmp_path, ["en\tfr"] + [good] * 40, [swapped] * 40, "en", "fr", on_doubt="warn")
    assert train == "warning: train.tsv:1: looks like a header (en | fr), and is used as a pair; remove the line"
    assert valid.startswith("warning: valid.tsv: the source side, said to be en, looks like fr; ")


def test_text_that_is_wrong_for_the_most_part_is_refused_with_a_way_to_go_on(tmp_path: Path) -> None:
    swapped = f"{TEXTS['fr']}\t{TEXTS['en']}"
    with pytest.raises(
        UserError, match=r"are the sides swapped\?\nThat is 100 % of the pairs: .*--set data\.on_doubt=warn"
    ):
        looked_at(tmp_path, [swapped] * 40, [swapped] * 40, "en", "fr")


def test_how_well_the_sides_belong_together_is_said(tmp_path: Path) -> None:
    lines = [f"{source}\t{target}" for source, target in invented_pairs(400, seed=2)]
    _, measured = looked_at(tmp_path, lines, lines[:100], "en", "lumi")
    assert re.fullmatch(r"train\.tsv: \d+ % of the pairs fit better than other pairs of sides", measured)

"""Before anything is made of text, a person sees a pair of it, and what is strange."""

from pathlib import Path

from limelight.config import Corpus, DataConfig, RunConfig
from limelight.preparation.first_look import first_look
from limelight.storage.layout import CONFIG
from tests.text.test_languages import TEXTS


def looked_at(folder: Path, lines: list[str], valid: list[str], source: str, target: str) -> list[str]:
    corpora = []
    for name, some in (("train.tsv", lines), ("valid.tsv", valid)):
        (folder / name).write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
        corpora.append(Corpus(files=(str(folder / name),), source=source, target=target))
    said: list[str] = []
    config = RunConfig(data=DataConfig(train=(corpora[0],), valid=(corpora[1],)))
    first_look(config, folder / "run", said.append)
    return [line.replace(f"{folder}/", "") for line in said]


def test_the_first_pair_that_is_kept_is_shown_with_its_languages(tmp_path: Path) -> None:
    lines = ["", "same\tsame", f"A dog runs.\t{'wau ' * 30}", "A cat sleeps.\tMinoo nalu."]
    (shown,) = looked_at(tmp_path, lines, lines[3:], "en", "lumi")
    assert shown == "train.tsv:4: en: A cat sleeps. -> lumi: Minoo nalu."
    long = f"{'dog ' * 40}\t{'wau ' * 40}"
    (shown,) = looked_at(tmp_path, [long], [long], "en", "lumi")
    assert shown == f"train.tsv:1: en: {('dog ' * 40)[:67]}... -> lumi: {('wau ' * 40)[:67]}..."


def test_what_is_strange_is_told_of_training_and_validation_text(tmp_path: Path) -> None:
    good, swapped = (f"{TEXTS[one]}\t{TEXTS[other]}" for one, other in (("en", "fr"), ("fr", "en")))
    _, train, valid = looked_at(tmp_path, ["en\tfr"] + [good] * 40, [swapped] * 40, "en", "fr")
    assert train == "warning: train.tsv:1: looks like a header (en | fr), and is used as a pair; remove the line"
    assert valid.startswith("warning: valid.tsv: the source side, said to be en, looks like fr; ")


def test_a_run_that_is_there_is_not_looked_at_again(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / CONFIG).touch()
    assert looked_at(tmp_path, ["en\tfr"] * 9, ["en\tfr"] * 9, "en", "fr") == []

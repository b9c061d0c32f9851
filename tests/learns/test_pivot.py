"""A model that learned de-en and en-fr translates de-fr."""

from pathlib import Path

from limelight.pipelines.load import load_translator
from tests.cli.corpora import connecting_run, words


def test_two_pairs_make_a_third(tmp_path: Path) -> None:
    translator = load_translator(connecting_run(tmp_path, steps=400))
    unseen = words(300, seed=11)
    found = translator.translate(unseen, source_lang="de", target_lang="fr", beam_size=1, guards=False)
    right = sum(each.text == word[::-1].upper() for each, word in zip(found, unseen, strict=True))
    print(f"{right} of {len(unseen)}")
    assert right >= 0.95 * len(unseen)

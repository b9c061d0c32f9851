"""`benchmarks/marian.py`: what its log says, and what it is given."""

import importlib.util
import json
from pathlib import Path

import pytest
import typer

from benchmarks import marian
from benchmarks.training_peers import SIZES

LOG = """
[training] Ep. 1 : Up. 1 : Sen. 256 : Cost 9.11713219 * 6,099 @ 2,816 after 6,099 : Time 6.97s : 874.85 words/s
[training] Ep. 1 : Up. 2 : Sen. 512 : Cost 8.22186470 * 3,617 @ 1,920 after 9,716 : Time 3.12s : 1157.91 words/s
[training] Ep. 1 : Up. 3 : Sen. 768 : Cost 7.59329367 * 1,000 @ 990 after 10,716 : Time 2.00s : 500 words/s : gNorm 2.5
[training] Seen 999 samples
[training] Ep. 1 : Up. 4 : Sen. 900 : Cost 7.5 * 2,000 @ 1,990 after 12,716 : Time 1.00s : 2000 words/s : gNorm 2.5
"""


def test_the_log_without_its_first_updates() -> None:
    assert marian.words_per_second(LOG) == 1000


def test_the_same_ids_are_words_of_text(tmp_path: Path) -> None:
    batches = [([[5, 7], [9]], [[2], [3, 4]]), ([[8]], [[6, 6]])]
    marian._write_corpus(batches, SIZES["small"], tmp_path)
    assert (tmp_path / "source").read_text(encoding="utf-8") == "w5 w7\nw9\nw8\n"
    assert (tmp_path / "target").read_text(encoding="utf-8") == "w2\nw3 w4\nw6 w6\n"
    words = (tmp_path / "words.yml").read_text(encoding="utf-8").splitlines()
    assert (words[0], words[7], len(words)) == ('"</s>": 0', '"w7": 7', 8000)
    settings = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    assert (settings["enc-depth"], settings["dim-emb"], settings["tied-embeddings-all"]) == (3, 256, True)


def test_without_it_the_way_to_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(typer.Exit):
        marian.main(tmp_path, tmp_path, size="small", rounds=1, results=tmp_path)
    assert "pip install pymarian" in capsys.readouterr().err

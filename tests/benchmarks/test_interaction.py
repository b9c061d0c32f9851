"""`benchmarks/interaction.py`: the map that is drawn, and a row for each interaction."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import interaction


def test_the_map_is_as_large_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interaction, "TOKENS", 12)
    seen = interaction.large_map()
    for weights in (seen.cross, seen.encoder_self, seen.decoder_self):
        assert weights.shape == (6, 8, 12, 12)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert not np.triu(seen.decoder_self[0, 0], 1).any()
    assert seen.merge_words().cross.shape[-1] < 12, "words of two subwords"


def test_every_interaction_is_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def no_browser(browser: str) -> Iterator[Any]:
        yield None

    monkeypatch.setattr(interaction, "opened", no_browser)
    times = {"median": 24, "largest": 48, "main_thread": 7}
    monkeypatch.setattr(interaction, "measured", lambda page, action, repeats: times)
    interaction.main(repeats=5, browser="", results=tmp_path)
    stored = json.loads((tmp_path / "interaction.json").read_text(encoding="utf-8"))
    assert stored["milliseconds"] == dict.fromkeys(interaction.interactions(), times)
    assert capsys.readouterr().out.count("| 24 | 48 | 7 | <= 100 |") == len(interaction.interactions())

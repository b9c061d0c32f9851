"""`limelight attention`: as text, as a picture, as numbers."""

from pathlib import Path

import pytest

from limelight.inspection import AttentionMap
from tests.cli.conftest import Limelight

SENTENCE = "The old dog sees a small cat."


def test_what_is_drawn_can_be_chosen(limelight: Limelight, trained: Path) -> None:
    def shown(*options: object) -> str:
        ended = limelight("attention", "--model", trained, SENTENCE, "--target", "Kano velo.", *options)
        assert (ended.code, ended.err) == (0, "")
        title, _, drawn = ended.out.partition("\n\n")
        assert title.startswith(f"{SENTENCE}\n→ Kano velo.\nmodel: {trained}\n")
        return drawn

    mean = shown()
    assert shown("--layer", 0, "--head", 0, "--head", 1) == mean == shown("--kind", "cross")
    others = [["--head", 0], ["--head", 1], ["--kind", "encoder_self"], ["--kind", "decoder_self"], ["--pieces"]]
    assert len({mean, *(shown(*options) for options in others)}) == 6


@pytest.mark.parametrize(("name", "start"), [("map.png", b"\x89PNG"), ("map.svg", b"<?xml"), ("MAP.PNG", b"\x89PNG")])
def test_pictures(limelight: Limelight, trained: Path, tmp_path: Path, name: str, start: bytes) -> None:
    path = tmp_path / name
    ended = limelight("attention", "--model", trained, SENTENCE, "-o", path)
    assert (ended.code, ended.out, ended.err.splitlines()[-1]) == (0, "", f"wrote {path}")
    mean = path.read_bytes()
    assert mean.startswith(start)
    assert limelight("attention", "--model", trained, SENTENCE, "--grid", "-o", path).code == 0
    assert path.read_bytes() != mean


def test_a_text_that_a_language_model_reads(limelight: Limelight, writing: Path, tmp_path: Path) -> None:
    ended = limelight("attention", "--model", writing, "The old dog")
    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[0] for line in ended.out.splitlines() if "%" in line] == ["<s>", "The", "old", "dog"]
    assert limelight("attention", "--model", writing, "The old dog", "--kind", "decoder_self") == ended
    assert limelight("attention", "--model", writing, "The old dog", "-o", tmp_path / "map.json").code == 0
    seen = AttentionMap.from_json((tmp_path / "map.json").read_text(encoding="utf-8"))
    assert seen.kinds == ("decoder_self",)
    assert limelight("attention", "--model", writing, "dog", "--grid", "-o", tmp_path / "map.png").code == 0

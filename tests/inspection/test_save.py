import os

import pytest

from limelight.errors import UserError
from limelight.inspection import AttentionMap, save
from tests.inspection.fakes import random_map

STARTS = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".svg": b"<?xml",
    ".json": b'{"format":"limelight.attention"',
    ".html": b"<!doctype html>",
    ".pdf": b"%PDF-1.4",
}


@pytest.mark.parametrize("name", ["map.png", "map.svg", "map.json", "MAP.PNG", "two.dots.svg", "map.html", "map.pdf"])
def test_the_ending_says_what_is_written(seed, tmp_path, name):
    path = tmp_path / name
    save(random_map(seed), path)
    assert path.read_bytes().startswith(STARTS[path.suffix.lower()])
    assert os.listdir(tmp_path) == [name], "nothing but the file is left"


def test_json_holds_everything_whatever_is_chosen_for_pictures(seed, tmp_path):
    attention = random_map(seed)
    save(attention, tmp_path / "map.json", kind="encoder_self", layer=0, heads=1)
    assert AttentionMap.from_json((tmp_path / "map.json").read_text(encoding="utf-8")).to_json() == attention.to_json()


@pytest.mark.parametrize("name", ["map", "map.gif", "map.jpeg", ".png", "map.png.gz"])
def test_an_unknown_ending_names_the_known_ones(seed, tmp_path, name):
    with pytest.raises(UserError, match=r"must be one of \.png \.svg \.pdf \.json \.html$"):
        save(random_map(seed), tmp_path / name)
    assert not os.listdir(tmp_path)


def test_a_place_that_cannot_be_written_is_named(seed, tmp_path):
    with pytest.raises(UserError, match=r"nowhere/map\.json: cannot be written: no such file or directory"):
        save(random_map(seed), tmp_path / "nowhere" / "map.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(UserError, match=r"folder\.json: cannot be written: is a directory"):
        save(random_map(seed), tmp_path / "folder.json")

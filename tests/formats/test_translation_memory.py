"""Translation memories: what is found, in which order, and files that change or are damaged."""

import json
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats.translation_memory import TranslationMemory, open_memories, open_memory

PAIRS = [
    ("The pharmacy is closed today.", "Die Apotheke ist heute geschlossen."),
    ("Please restart the computer.", "Bitte starten Sie den Rechner neu."),
    ("Please restart  the computer.", "Bitte den Computer neu starten."),
    ("Please restart the server.", "Bitte starten Sie den Server neu."),
]
TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en"><seg>one cat</seg></tuv><tuv xml:lang="de"><seg>eine Katze</seg></tuv></tu>
</body></tmx>"""


def written(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


def test_the_same_text_has_its_last_translation_and_its_place(tmp_path: Path) -> None:
    path = written(tmp_path / "m.tsv", PAIRS)
    memory = open_memory(path, "en", "de")
    found = memory.find(" Please restart the computer. ")
    assert found is not None
    assert (found.target, found.origin) == (PAIRS[2][1], f"{path}:3")
    assert memory.find("please restart the computer.") is None


def test_a_changed_file_is_indexed_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    path, said = written(tmp_path / "m.tsv", PAIRS[:1]), list[str]()
    for _ in range(2):
        open_memory(path, "en", "de", say=said.append)
    assert len(said) == 1
    written(path, PAIRS)
    assert open_memory(path, "en", "de", say=said.append).find(PAIRS[2][0]) is not None
    assert len(said) == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.tsv", "m.tsv.en-de.index"]


def test_languages_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(TMX, encoding="utf-8")
    there, back = open_memory(path, "en-US", "de"), open_memory(path, "de", "en")
    assert [match and match.target for match in (there.find("one cat"), back.find("eine Katze"))] == [
        "eine Katze",
        "one cat",
    ]
    with pytest.raises(UserError, match="no segment in both"):
        open_memory(path, "en", "fr")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TMX[:-30], r"m\.tmx:\d: "),
        (TMX.replace("<seg>one cat</seg>", "<seg> </seg>"), "no pairs in en and de"),
        ("no XML", r"m\.tmx:1: "),
    ],
)
def test_a_damaged_file_names_its_line_and_leaves_nothing(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=reason):
        open_memory(path, "en", "de")
    assert [each.name for each in tmp_path.iterdir()] == ["m.tmx"]
    with pytest.raises(UserError, match="no such file"):
        open_memory(tmp_path / "gone.tmx", "en", "de")


def test_a_folder_that_cannot_be_written_has_a_temporary_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import limelight.formats.translation_memory as module

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path, said = written(tmp_path / "m.tsv", PAIRS), list[str]()
    monkeypatch.setattr(module, "fill_file", refused)
    memory = open_memory(path, "en", "de", say=said.append)
    assert memory.find(PAIRS[0][0]) is not None
    assert "the index is temporary" in said[0]
    assert [each.name for each in tmp_path.iterdir()] == ["m.tsv"]
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    path.write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="no pairs in en and de"):
        open_memory(path, "en", "de", say=said.append)
    assert not any((tmp_path / "temporary").iterdir())


def test_the_directions_of_a_file_are_opened_together(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(TMX, encoding="utf-8")
    said = list[str]()
    for _ in range(2):
        memories = open_memories(path, [("en", "de"), ("de", "en"), ("en", "fr")], say=said.append)
    assert len(said) == 3  # a direction that is not there is looked for once, too
    assert memories.of("en", "fr").indexes == ()
    match = memories.of("en", "de").find("one cat")
    assert match is not None
    assert match.origin.startswith(f"{path}:")
    with pytest.raises(UserError, match="no segment in both"):
        open_memories(path, [("en", "fr")], say=str)


def test_segments_are_left_out_of_the_directions_of_the_file_only(tmp_path: Path) -> None:
    path, said = tmp_path / "m.tmx", list[str]()
    damaged = '<tu><tuv xml:lang="en"><seg>x</seg></tuv><tuv><seg>y</seg></tuv></tu></body>'
    path.write_text(TMX.replace("</body>", damaged), encoding="utf-8")
    open_memories(path, [("en", "de"), ("en", "fr"), ("fr", "en")], say=said.append)
    assert sum("left out of the memory" in line for line in said) == 1


def test_the_first_memory_takes_precedence_and_shows_its_name(tmp_path: Path) -> None:
    own = open_memory(written(tmp_path / "own.tsv", [(PAIRS[0][0], "x"), PAIRS[3]]), "en", "de", name="mine")
    other = open_memory(written(tmp_path / "m.tsv", PAIRS), "en", "de")
    both = TranslationMemory([*own.indexes, *other.indexes])
    match = both.find(PAIRS[0][0])
    assert match is not None
    assert (match.target, match.origin) == ("x", "mine:1")


def test_columns_without_languages_are_refused_for_several_directions(tmp_path: Path) -> None:
    path = written(tmp_path / "m.tsv", PAIRS)
    with pytest.raises(UserError, match="its languages are not in the file"):
        open_memories(path, [("en", "de"), ("en", "fr")], say=str)
    assert open_memories(path, [("en", "de")], say=str).of("en", "de")


def test_a_target_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"source": "a", "target": "b\nc"}), encoding="utf-8")
    found = open_memory(path, "en", "de").find("a")
    assert found is not None
    assert found.target == "b c"

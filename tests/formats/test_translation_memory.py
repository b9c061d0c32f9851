"""Translation memories: what is found, in which order, and files that change or are damaged."""

import random
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats.translation_memory import LEAST, TranslationMemory, open_memories, open_memory

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
    found = memory.exact(" Please restart the computer. ")
    assert found is not None
    assert (found.target, found.similarity, found.origin) == (PAIRS[2][1], 1.0, f"{path}:3")
    assert memory.exact("please restart the computer.") is None
    assert len(memory) == 4


def test_similar_segments_are_found_best_first(tmp_path: Path) -> None:
    memory = open_memory(written(tmp_path / "m.tsv", PAIRS), "en", "de")
    found = memory.find("Please restart the computer.")
    assert [(each.target, each.similarity) for each in found] == [
        (PAIRS[2][1], 1.0), (PAIRS[1][1], 1.0), (PAIRS[3][1], 0.8),
    ]  # fmt: skip
    assert memory.find("PLEASE restart the computer.")[0].similarity == 0.99
    assert memory.find("Nothing is like this.") == []
    assert memory.find("") == memory.find("...") == []


def test_nearly_all_similar_segments_are_found_among_many(tmp_path: Path, seed: int) -> None:
    """One word of a segment is another: the segment is found, and no better one is missed."""
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(300)]
    pairs = [(" ".join(draw.choices(words, k=draw.randint(4, 12))), f"t{number}") for number in range(3000)]
    memory = open_memory(written(tmp_path / "m.tsv", pairs), "en", "de")
    found = 0
    for source, target in draw.sample(pairs, 100):
        changed = source.split()
        changed[draw.randrange(len(changed))] = "other"
        matches = memory.find(" ".join(changed))
        found += any(match.target == target for match in matches)
        assert all(match.similarity >= LEAST for match in matches)
        assert [each.similarity for each in matches] == sorted((each.similarity for each in matches), reverse=True)
    assert found >= 97


def test_a_changed_file_is_indexed_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    path, said = written(tmp_path / "m.tsv", PAIRS[:1]), list[str]()
    for _ in range(2):
        open_memory(path, "en", "de", say=said.append).close()
    assert len(said) == 1
    written(path, PAIRS)
    assert len(open_memory(path, "en", "de", say=said.append)) == 4
    assert len(said) == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.tsv", "m.tsv.en-de.index"]


def test_languages_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(TMX, encoding="utf-8")
    there, back = open_memory(path, "en-US", "de"), open_memory(path, "de", "en")
    assert there.find("one cat")[0].target == "eine Katze"
    assert back.find("eine Katze")[0].target == "one cat"
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
    assert memory.find(PAIRS[0][0])[0].target == PAIRS[0][1]
    assert "the index is temporary" in said[0]
    assert [each.name for each in tmp_path.iterdir()] == ["m.tsv"]


def test_the_directions_of_a_file_are_opened_together(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(TMX, encoding="utf-8")
    memories = open_memories(path, [("en", "de"), ("de", "en"), ("en", "fr")], lambda _: None)
    assert len(memories.of("en", "fr")) == 0
    there = memories.of("en", "de")
    assert there.exact("one cat") == there.find("one cat")[0]
    with pytest.raises(UserError, match="no segment in both"):
        open_memories(path, [("en", "fr")], lambda _: None)


def test_the_first_memory_takes_precedence_and_shows_its_name(tmp_path: Path) -> None:
    own = open_memory(written(tmp_path / "own.tsv", [(PAIRS[0][0], "x"), PAIRS[3]]), "en", "de", name="mine")
    other = open_memory(written(tmp_path / "m.tsv", PAIRS), "en", "de")
    both = TranslationMemory([*own.indexes, *other.indexes])
    match = both.exact(PAIRS[0][0])
    assert match is not None
    assert (match.target, match.origin) == ("x", "mine:1")
    assert [each.target for each in both.find(PAIRS[0][0])] == ["x", PAIRS[0][1]]


def test_columns_without_languages_are_refused_for_several_directions(tmp_path: Path) -> None:
    path = written(tmp_path / "m.tsv", PAIRS)
    with pytest.raises(UserError, match="its languages are not in the file"):
        open_memories(path, [("en", "de"), ("en", "fr")], lambda _: None)
    assert open_memories(path, [("en", "de")], lambda _: None).of("en", "de")

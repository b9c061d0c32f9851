"""Hostile and broken XML ends with a message, in bounded memory, and nothing else is opened."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.formats.files import CONTENTS, SENTENCES, read, tmx, unit, write

PAIR = unit(("en", "a"), ("de", "b"))
BOMB = (
    '<!DOCTYPE tmx [<!ENTITY a "lamp"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    + "".join(f'<!ENTITY c{number} "&c{number - 1};&c{number - 1};">' for number in range(1, 40))
    + "]>"
)
EXTERNAL = '<!DOCTYPE tmx [<!ENTITY secret SYSTEM "file://{}">]>'
PARAMETER = '<!DOCTYPE tmx [<!ENTITY % all SYSTEM "file://{}"> %all;]>'


@pytest.mark.parametrize("declaration", [BOMB, EXTERNAL, PARAMETER])
def test_declared_entities_are_refused_before_they_are_used(declaration: str, tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.txt", "a secret")
    text = tmx(PAIR.replace(">a<", ">&secret;&c39;<"), before=declaration.replace("{}", str(secret)))
    pairs, bad, unused, error = read(write(tmp_path, "a.tmx", text))
    assert (pairs, bad, unused) == ([], [], [])
    assert error.endswith(
        "a.tmx:2: the file declares an entity, and such files are not read; write what it stands for instead"
    )


def test_a_document_type_elsewhere_is_not_opened(tmp_path: Path) -> None:
    write(tmp_path, "tmx14.dtd", '<!ENTITY lamp "a lamp">')
    before = f'<!DOCTYPE tmx SYSTEM "{tmp_path}/tmx14.dtd">'
    pairs, *_ = read(write(tmp_path, "a.tmx", tmx(PAIR, before=before)))
    assert [pair.source for pair in pairs] == ["a"]
    error = read(write(tmp_path, "b.tmx", tmx(PAIR.replace(">a<", ">&lamp;<"), before=before)))[3]
    assert "the entity &lamp; is declared nowhere in the file" in error


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    deep = "<hi>" * 5000 + "a" + "</hi>" * 5000
    error = read(write(tmp_path, "a.tmx", tmx(PAIR.replace(">a<", f">{deep}<"))))[3]
    assert "a.tmx:2: more than 250 elements inside one another" in error
    fine = "<hi>" * 240 + "a" + "</hi>" * 240
    pairs, *_ = read(write(tmp_path, "b.tmx", tmx(PAIR.replace(">a<", f">{fine}<"))))
    assert [pair.source for pair in pairs] == ["a"]


@pytest.mark.parametrize("inside", ["x" * 1_000_001, "<ph/>" * 20_001, "&lt;" * 1_000_001])
def test_a_huge_segment_is_refused(inside: str, tmp_path: Path) -> None:
    pairs, bad, _, error = read(write(tmp_path, "a.tmx", tmx(PAIR + PAIR.replace(">a<", f">{inside}<"))))
    assert (len(pairs), bad) == (1, [])
    assert "a segment of more than 1,000,000 characters or 20,000 tags" in error


@pytest.mark.parametrize("hostile", ["<!-- {} -->", '<hi type="{}">a</hi>', "<?x {}?>"])
def test_a_huge_tag_or_comment_is_refused(hostile: str, tmp_path: Path) -> None:
    text = tmx(PAIR.replace(">a<", ">" + hostile.replace("{}", "x" * 3_000_000) + "<"))
    pairs, _, _, error = read(write(tmp_path, "a.tmx", text))
    assert pairs == []
    assert "a tag or a comment of more than 1,000,000 bytes" in error


@pytest.mark.parametrize("suffix", [".tmx", ".xlf", ".xliff", ".ts"])
def test_a_file_that_is_cut_off_anywhere_is_an_error(suffix: str, tmp_path: Path) -> None:
    content = CONTENTS[suffix].encode()
    for end in range(0, len(content.rstrip()) - 1, 13):
        pairs, bad, _, error = read(write(tmp_path, f"a{suffix}", content[:end]))
        assert bad == []
        assert [(pair.source, pair.target) for pair in pairs] == SENTENCES[: len(pairs)]
        assert f"a{suffix}:" in error, end
        assert "is the file damaged or cut off?" in error


@pytest.mark.parametrize("suffix", CONTENTS)
def test_noise_ends_with_a_message(suffix: str, tmp_path: Path) -> None:
    content = bytearray(CONTENTS[suffix].encode())
    for place in range(0, len(content), 7):
        noisy = bytes(content[:place]) + b"\x00\xff\x1b" + bytes(content[place + 1 :])
        pairs, bad, _, error = read(write(tmp_path, f"a{suffix}", noisy))
        assert len(pairs) < len(SENTENCES) or bad or error


PEAK = """
import resource, sys
from limelight.formats import read_pairs
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for _ in read_pairs([sys.argv[1]], "en", "de"))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """30,000 units of 9 MB: a tree of them would take more than 100 MB."""
    text = "the lamp hums in the quiet house " * 3
    path = tmp_path / "a.tmx"
    path.write_text(tmx(unit(("en", text), ("de", text)) * 30_000), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
    count, kilobytes = map(int, done.stdout.split())
    assert count == 30_000
    assert kilobytes < 20_000

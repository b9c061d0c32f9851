"""Translation memories, catalogs and tables: trained on, validated on, evaluated on, as they are."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from tests.cli.conftest import Limelight, settings
from tests.formats.files import tmx, unit

Pairs = Sequence[tuple[str, str]]


def as_tmx(pairs: Pairs) -> str:
    return tmx("".join(unit(("en-GB", source), ("fr", "autre"), ("MI", target)) for source, target in pairs))


def as_po(pairs: Pairs) -> str:
    header = 'msgid ""\nmsgstr "Language: mi\\n"\n\n'
    return header + "".join(f'msgid "{source}"\nmsgstr "{target}"\n\n' for source, target in pairs)


def pairs_in(file: Path, count: int) -> Pairs:
    lines = file.read_text(encoding="utf-8").splitlines()[:count]
    sides = [line.split("\t") for line in lines]
    return [(escape(source, quote=False), escape(target, quote=False)) for source, target in sides]


def test_codes_are_placeholders_for_the_model_and_what_is_unused_is_told(
    limelight: Limelight, corpus: Path, tmp_path: Path
) -> None:
    pairs = pairs_in(corpus / "train.tsv", 30)
    marked = [(f'<ph x="1"/> {source}', f'{target} <ph x="1"/>') for source, target in pairs]
    (tmp_path / "a.tmx").write_text(as_tmx(marked) + "\n", encoding="utf-8")
    (tmp_path / "b.po").write_text(as_po([*pairs, ("not yet", "")]), encoding="utf-8")
    text = ["--train", tmp_path / "a.tmx", tmp_path / "b.po", "--source", "en", "--target", "mi"]
    ended = limelight("train", *text, "--recipe", "tiny", *settings(), "--preview", 60)
    assert ended.code == 0, ended.err
    assert len(re.findall(r"^.*<ph0> ", ended.out, re.MULTILINE)) == 30
    assert "1 segment is not used; " in ended.err
    assert "not used 1: not translated (first: " in ended.err


def test_a_file_of_other_languages_is_a_mistake_that_lists_them(
    limelight: Limelight, corpus: Path, tmp_path: Path
) -> None:
    file = tmp_path / "a.tmx"
    file.write_text(as_tmx(pairs_in(corpus / "train.tsv", 5)), encoding="utf-8")
    for languages, fault in (
        (["--source", "en", "--target", "de"], "the file has no text in de; its languages are: MI, en-GB, fr."),
        ([], "the file has more than two languages: MI, en-GB, fr; say which to read with --source and --target"),
    ):
        ended = limelight("train", "--train", file, *languages, "--recipe", "tiny", "--out", tmp_path / "run")
        assert (ended.code, ended.out) == (2, "")
        assert fault in ended.err
    assert not (tmp_path / "run").exists()

"""Paragraphs of WordprocessingML: runs, formats, and all else as codes."""

import pytest

from limelight.formats.docx import docx_units
from limelight.formats.unit import FormatError, splice
from limelight.text.marking import CODES
from tests.formats.helpers import upper

OPEN = '<w:document xmlns:w="x" xmlns:r="r" xmlns:mc="mc">'
B = "<w:rPr><w:b/></w:rPr>"


def run(text: str, style: str = "") -> str:
    return f'<w:r>{style}<w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f'<w:p w:rsidR="1"><w:pPr><w:jc/></w:pPr>{"".join(runs)}</w:p>'


def shown(text: str) -> list[str]:
    return [CODES.sub("|", unit.text) for unit in docx_units(f"{OPEN}{text}</w:document>")]


def translated(text: str) -> str:
    whole = f"{OPEN}{text}</w:document>"
    new = splice(whole, [each for unit in docx_units(whole) for each in unit.write(upper(unit.text))])
    return new.removeprefix(OPEN).removesuffix("</w:document>")


@pytest.mark.parametrize(
    ("runs", "text", "new"),
    [
        ([run("a &amp; "), run("b")], "a & b", [run("A &amp; B")]),
        ([run("a b "), run("c", B), run(" d e")], "a b |c| d e", [run("A B "), run("C", B), run(" D E")]),
        ([run("a b", B)], "a b", [run("A B", B)]),
        ([run("a: "), run("   ", B.replace("w:b", "w:u "))], "a: |",
         [run("A: "), run("   ", B.replace("w:b", "w:u "))]),
        ([run("a "), run("b", '<w:rPr><w:rFonts w:hint="eastAsia"/><w:lang w:val="en"/></w:rPr>'),
          '<w:proofErr w:type="x"/>', run(" c")],
         "a b c", [run("A B C")]),
        ([run("א "), run("b 1"), run(" א", "<w:rPr><w:rtl/></w:rPr>")], "א b 1 א", [run("א B 1 א")]),
        ([run("5 "), run("א ב", "<w:rPr><w:rtl/></w:rPr>")], "5 א ב", [run("5 א ב", "<w:rPr><w:rtl/></w:rPr>")]),
        ([run("a "), "<w:r><w:drawing><a/></w:drawing></w:r>", run(" b")], "a | b",
         [run("A "), "<w:r><w:drawing><a/></w:drawing></w:r>", run(" B")]),
        ([run("a "), '<w:hyperlink r:id="1">', run("b", B), "</w:hyperlink>", run(" cc")], "a ||b|| cc",
         [run("A "), '<w:hyperlink r:id="1">', run("B", B), "</w:hyperlink>", run(" CC")]),
        ([run("a "), f"<w:del>{run('no')}</w:del><w:ins>{run('really')}</w:ins>", run(" b")], "a really b",
         [run("A REALLY B")]),
    ],
)  # fmt: skip
def test_runs(runs: list[str], text: str, new: list[str]) -> None:
    assert shown(paragraph(*runs)) == [text]
    assert translated(paragraph(*runs)) == paragraph(*new)


def test_a_run_with_tabs_and_breaks() -> None:
    given = "<w:r><w:rPr><w:b/></w:rPr><w:t>a b</w:t><w:tab/><w:t>c</w:t></w:r>"
    assert shown(paragraph(given)) == ["a b|c"]
    assert translated(paragraph(given)) == paragraph(run("A B", B), f"<w:r>{B}<w:tab/></w:r>", run("C", B))


def test_paragraphs_in_paragraphs_and_fallback_copies() -> None:
    inner = f"<mc:Choice><w:txbxContent>{paragraph(run('in it'))}</w:txbxContent></mc:Choice>"
    copy = f"<mc:Fallback>{paragraph(run('in it'))}</mc:Fallback>"
    outer = paragraph(run("out "), f"<w:r><mc:AlternateContent>{inner}{copy}</mc:AlternateContent></w:r>")
    assert shown(outer) == ["in it", "out |"]
    assert translated(outer) == outer.replace("in it", "IN IT", 1).replace("out ", "OUT ")
    together = f"<w:r><w:t>out </w:t><mc:AlternateContent>{inner}{copy}</mc:AlternateContent></w:r>"
    assert translated(paragraph(together)) == translated(outer), "in one run with text"


def test_a_private_character_is_text() -> None:
    new = translated(paragraph(run("a \U000f1005 b")))
    assert new == paragraph(run("A "), run("\U000f1005"), run(" B"))


def test_nothing_to_translate() -> None:
    assert shown("<w:p/>" + paragraph() + paragraph(run("5")) + paragraph("<w:r><w:tab/></w:r>")) == []


def test_another_prefix_is_refused_instead_of_leaving_all_untranslated() -> None:
    with pytest.raises(FormatError, match="another prefix than w:"):
        docx_units('<x:document xmlns:x="x"><x:p><x:r><x:t>a b</x:t></x:r></x:p></x:document>')


def field(result: str, instruction: str = " REF x ") -> str:
    kinds = {name: f'<w:r><w:fldChar w:fldCharType="{name}"/></w:r>' for name in ("begin", "separate", "end")}
    code = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
    return f"{kinds['begin']}{code}{kinds['separate']}{result}{kinds['end']}"


@pytest.mark.parametrize("words", ["", "two"])
def test_a_text_box_in_a_field_is_translated(words: str) -> None:
    box = f"<w:r><w:pict>{paragraph(run('one'))}</w:pict></w:r>"
    given = paragraph(run("a "), field(box + run(words) * bool(words)))
    assert translated(given) == given.replace("a ", "A ").replace("one", "ONE").replace("two", "TWO")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (field(run("5")), "a | b"),
        (field(run("one two")), "a |one two| b"),
        (field(run("Name"), " MERGEFIELD Name "), "a | b"),
        (field(field(run("one")) + run(" two")), "a ||one| two| b"),
        (field("") + "<w:r><w:fldChar w:fldCharType='begin'/></w:r>", "a || b"),
        ("<w:fldSimple>" + run("5") + "</w:fldSimple>", "a | b"),
        ("<w:fldSimple>" + run("one") + "</w:fldSimple>", "a |one| b"),
        ("<w:r><w:t>in</w:t><w:softHyphen/><w:t>for</w:t></w:r>", "a infor b"),
    ],
)
def test_fields_and_soft_hyphens(content: str, text: str) -> None:
    given = paragraph(run("a "), content, run(" b"))
    assert shown(given) == [text]
    expected = given.replace(">a ", ">A ").replace(" b<", " B<").replace("one", "ONE").replace(" two", " TWO")
    assert translated(given) == expected or "softHyphen" in content

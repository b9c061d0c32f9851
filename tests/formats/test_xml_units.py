"""XLIFF, TMX and Qt files: which segments are translated, and where translations go."""

import re

import pytest

from limelight.formats.unit import FormatError
from tests.formats.helpers import texts, translated, units_of

XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en" datatype="x"><body>
  <trans-unit id="1">
    <source>the <g id="1">dog &amp; cat</g><x id="2"/></source>
    <note>no</note>
    <alt-trans><source>no</source><target>no</target></alt-trans>
  </trans-unit>
  <trans-unit id="2"><source>b b</source><target state="new"/></trans-unit>
  <trans-unit id="3"><source>c c</source><target>fertig</target></trans-unit>
  <trans-unit id="4"><source>d d</source><target xml:lang="de" state="needs-translation">x</target></trans-unit>
  <trans-unit id="5" translate="no"><source>e e</source></trans-unit>
  <group translate="no"><trans-unit id="6"><source>f f</source></trans-unit></group>
  <trans-unit id="7" approved="yes"><source>g g</source><target></target></trans-unit>
  <trans-unit id="8"><source>h. i.</source><seg-source><mrk mtype="seg" mid="1">h.</mrk> <mrk mtype="seg" mid="2">i.</mrk></seg-source></trans-unit>
</body></file></xliff>
"""  # noqa: E501
MACHINE = 'state="needs-review-translation" state-qualifier="leveraged-mt"'


def test_xliff_1() -> None:
    assert texts(XLIFF_1, ".xlf") == ["the |dog & cat||", "b b", "d d", "|h.| |i.|"]
    new = translated(XLIFF_1, ".xlf")
    assert f'/></source>\n    <target {MACHINE}>THE <g id="1">DOG &amp; CAT</g><x id="2"/></target>\n    <note>' in new
    assert f"<source>b b</source><target {MACHINE}>B B</target>" in new
    assert f'<target xml:lang="de" {MACHINE}>D D</target>' in new
    assert f'</seg-source><target {MACHINE}><mrk mtype="seg" mid="1">H.</mrk> <mrk mtype="seg" mid="2">I.</mrk>' in new
    assert 'datatype="x" target-language="de">' in new
    assert "<target>fertig</target>" in new
    assert len(texts(XLIFF_1, ".xlf", everything=True)) == 5


def test_xliff_2() -> None:
    text = """<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f"><unit id="u">
<segment id="s1"><source>a <pc id="1">b b</pc> <ph id="2"/><sc id="3"/>c<ec startRef="3"/></source></segment>
<ignorable><source> </source></ignorable>
<segment state="final"><source>d d</source><target>x</target></segment>
<segment state="initial"><source>e e</source><target></target></segment>
</unit></file></xliff>"""
    assert texts(text, ".xliff") == ["a |b b| ||c|", "e e"]
    new = translated(text, ".xliff")
    assert '<segment id="s1" state="translated"><source>' in new
    assert '<target>A <pc id="1">B B</pc> <ph id="2"/><sc id="3"/>C<ec startRef="3"/></target></segment>' in new
    assert '<segment state="translated"><source>e e</source><target>E E</target></segment>' in new
    assert 'trgLang="de"' in new
    codes = units_of(text, ".xliff")[0].codes
    assert [code.role for code in codes] == ["open", "close", "alone", "open", "close"]
    assert codes[3].name == codes[4].name


def test_qt() -> None:
    text = """<!DOCTYPE TS><TS version="2.1"><context>
<message><source>open &amp;it</source></message>
<message><source>a a</source><translation type="unfinished"></translation></message>
<message numerus="yes"><source>%n b</source><translation type="unfinished"><numerusform></numerusform><numerusform/></translation></message>
<message><source>c c</source><translation>fertig</translation></message>
<message><source>d d</source><translation type="vanished"></translation></message>
</context></TS>"""  # noqa: E501
    assert texts(text, ".ts") == ["open it", "a a", "%n b"]
    new = translated(text, ".ts")
    assert '</source><translation type="unfinished">OPEN &amp;IT</translation></message>' in new
    assert "<numerusform>%N B</numerusform><numerusform>%N B</numerusform>" in new
    assert '<TS version="2.1" language="de">' in new


@pytest.mark.parametrize(
    ("target", "forms", "new"),
    [
        ("de", 2, 2),
        ("de", 1, 2),  # `lupdate` without a language
        ("pl", 1, 3),
        ("hu", 1, 1),
        ("xx", 2, 2),
        ("pl", 0, 3),
    ],
)
def test_forms_of_qt(target: str, forms: int, new: int) -> None:
    source = "<message numerus='yes'><source>%n file(s)</source><translation type='unfinished'>"
    text = f"<TS>{source}{'<numerusform></numerusform>' * forms}</translation></message></TS>"
    found = translated(text, ".ts", target=target)
    assert re.findall("<numerusform>(.*?)</numerusform>", found) == ["%N FILES"] * new
    if forms == 0:
        text = text.replace("<translation type='unfinished'></translation>", "")
        assert translated(text, ".ts", target=target).count("<numerusform>") == 3


@pytest.mark.parametrize("suffix", [".xlf", ".tmx", ".ts"])
def test_another_root_is_refused(suffix: str) -> None:
    with pytest.raises(FormatError, match="the file begins with <html>"):
        units_of("<html/>", suffix)

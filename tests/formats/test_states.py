"""Which segments are used by their states."""

from pathlib import Path

import pytest

from limelight.formats import read_pairs
from limelight.text.pair import BadLine
from tests.formats.files import PO_HEADER, write, xliff


def unit(number: int, attributes: str = "", target: str = "") -> str:
    return f'<trans-unit id="{number}"{attributes}><source>a</source><target{target}>{number}</target></trans-unit>'


def segment(number: int, state: str = "") -> str:
    said = f' state="{state}"' if state else ""
    return f'<unit id="{number}"><segment{said}><source>a</source><target>{number}</target></segment></unit>'


FILES = {
    "1.xlf": xliff(
        unit(1) + unit(2, ' approved="yes"') + unit(3, target=' state="final"') + unit(4, target=' state="translated"')
        + unit(5, target=' state="new"') + unit(6, target=' state-qualifier="mt-suggestion"')
        + unit(7, ' approved="no"')
        + unit(8, ' translate="no"') + '<trans-unit id="9"><source>a</source><target state="new"/></trans-unit>'
    ),
    "2.xlf": xliff(
        segment(1) + segment(2, "reviewed") + segment(3, "final") + segment(4, "translated") + segment(5, "initial"),
        version="2.1",
    ),
    "3.po": PO_HEADER + 'msgid "a"\nmsgstr "1"\n\n#, fuzzy\nmsgid "a"\nmsgstr "2"\n\n#, fuzzy\nmsgid "a"\nmsgstr ""\n'
    '\n#~ msgid "a"\n#~ msgstr "3"\n',
}  # fmt: skip


@pytest.mark.parametrize(("name", "used"), [("1.xlf", "1234"), ("2.xlf", "1234"), ("3.po", "1")])
def test_segments_by_their_states(name: str, used: str, tmp_path: Path) -> None:
    unused: list[BadLine] = []
    path = write(tmp_path, name, FILES[name])
    assert "".join(pair.target for pair in read_pairs([path], on_unused=unused.append)) == used
    assert ("not approved (" in unused[0].reason) == name.endswith("xlf")

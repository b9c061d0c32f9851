"""Pairs and units come from one parser: what a document gets is what a reader of pairs gives."""

from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.documents.document import read_document
from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.formats.registry import BILINGUAL, FORMATS
from limelight.formats.unit import Options
from limelight.text.marking import CODES
from tests.formats.files import PO_HEADER, xliff
from tests.formats.helpers import upper

TEXTS = st.lists(
    st.text("aäß猫 &<>\"'\\.", min_size=1, max_size=20).map(lambda text: f"w{text}w"), min_size=1, max_size=4
)
BUILT = {
    ".xlf": lambda texts: xliff("".join(f"<trans-unit id='a'><source>{text}</source></trans-unit>" for text in texts)),
    ".xliff": lambda texts: xliff(
        "".join(f"<unit><segment><source>{text}</source></segment></unit>" for text in texts), version="2.0"
    ),
    ".po": lambda texts: PO_HEADER + "".join(f'msgid "{text}"\nmsgstr ""\n\n' for text in texts),
}
"""Files without translations, of texts that are escaped for the format."""


@given(texts=TEXTS, code=st.sampled_from(["", '<g id="1"/>', '<ph id="2"/>']))
@pytest.mark.parametrize("suffix", BUILT)
def test_what_is_written_for_a_unit_is_read_as_its_pair(
    suffix: str, texts: list[str], code: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    code = "" if suffix == ".po" else code
    if suffix == ".po":
        content = BUILT[suffix]([text.replace("\\", "\\\\").replace('"', '\\"') for text in texts])
    else:
        content = BUILT[suffix]([escape(text) + code for text in texts])
    document = read_document(content.encode(), f"a{suffix}", Options("en", "de"))
    assert document.written([None] * len(document.units)) == content.encode()
    path = tmp_path_factory.mktemp("both") / f"a{suffix}"
    written = document.written([upper(each.text) for each in document.units])
    for draft in (
        b' state="needs-review-translation" state-qualifier="leveraged-mt"',
        b"#, fuzzy\n",
    ):
        written = written.replace(draft, b"")
    path.write_bytes(written)
    pairs = [(pair.source, pair.target) for pair in read_pairs([path], "en", "de")]
    if suffix != ".po":  # which has accelerators
        assert pairs == [(text, text.upper()) for text in texts]
        assert [CODES.sub("", each.text) for each in document.units] == texts
    assert [source.replace("&", "") for source, _ in pairs] == [text.replace("&", "") for text in texts]


@given(text=st.text("a<>&\"'{}[]:,-#*_=|\n\t 1é", max_size=60))
@pytest.mark.parametrize("suffix", [suffix for suffix in FORMATS if suffix not in BILINGUAL])
def test_a_document_with_nothing_translated_is_byte_equal(suffix: str, text: str) -> None:
    try:
        document = read_document(text.encode(), f"a{suffix}", Options("en", "de"))
    except UserError:
        return
    assert document.written([None] * len(document.units)) == text.encode()
    assert document.written([each.text for each in document.units]) == text.encode()
    changed = document.written([each.text.replace("a", "A") for each in document.units]).decode()
    assert changed.lower().count("a") >= text.count("a") or suffix in (".txt", ".md", ".markdown")

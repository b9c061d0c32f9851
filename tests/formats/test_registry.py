"""Files by their names: encodings, and which formats there are."""

import codecs

import pytest

from limelight.formats.registry import decode_file, is_document
from limelight.formats.unit import FormatError


def test_a_document_is_known_by_its_name() -> None:
    assert is_document("a.DOCX")
    assert is_document("b/a.txt")
    assert not is_document("a.pdf")


@pytest.mark.parametrize(
    ("data", "suffix", "text"),
    [
        ("ä".encode(), ".txt", "ä"),
        (codecs.BOM_UTF8 + b"a", ".txt", "a"),
        (codecs.BOM_UTF16_LE + "ä".encode("utf-16-le"), ".srt", "ä"),
        (codecs.BOM_UTF16_BE + "ä\r\n".encode("utf-16-be"), ".txt", "ä\r\n"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe4</a>', ".xlf", None),
        (b'<meta charset="windows-1252">\x80', ".html", '<meta charset="windows-1252">€'),
        (b"<meta charset=iso-8859-1>\x93a\x94", ".html", "<meta charset=iso-8859-1>“a”"),  # as browsers read it
        (b'msgid ""\nmsgstr "charset=ISO-8859-1"\n\xe4', ".po", None),
    ],
)
def test_encodings_are_kept(data: bytes, suffix: str, text: str | None) -> None:
    decoded = decode_file(data, suffix)
    assert decoded.encode(decoded.text) == data
    assert text is None or decoded.text == text
    assert text is not None or "ä" in decoded.text


@pytest.mark.parametrize("encoding", ["idna", "undefined", "punycode", "hex", "none"])
def test_an_encoding_that_is_not_read(encoding: str) -> None:
    with pytest.raises(FormatError, match=f"the encoding '{encoding}' is not read"):
        decode_file(f'<meta charset="{encoding}"><p>a'.encode(), ".html")

"""Sentencepiece models from inside, against what the library says of them."""

import io

import pytest
import sentencepiece

from limelight.errors import UserError
from limelight.tokens.metadata import read_stored
from limelight.tokens.sentencepiece_file import fields, pieces_in, rules_of, type_of, with_fields, with_rules
from tests.interop.helpers import ENGLISH, GERMAN, make_tokenizers


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One of our own."""
    folder = tmp_path_factory.mktemp("tokenizer")
    make_tokenizers(joint=True).source.save(folder)
    return read_stored(folder).model


def foreign(kind: str) -> bytes:
    """One as the library makes it when nothing is asked for."""
    found = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(ENGLISH + GERMAN), model_writer=found, model_type=kind, vocab_size=80,
        hard_vocab_limit=False, user_defined_symbols=["<a>", "ü>"], minloglevel=2,
    )  # fmt: skip
    return found.getvalue()


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_what_a_model_says_of_itself_is_read(kind: str) -> None:
    model = foreign(kind)
    assert type_of(model) == kind
    pieces = pieces_in(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    assert list(pieces) == [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    assert [piece for piece in pieces if pieces[piece] and not piece.startswith("▁")] == ["<a>", "ü>"]
    name, rules = rules_of(model)
    assert name == "nmt_nfkc"
    assert len(rules) > 100_000


def test_rules_are_put_in_and_taken_out(model: bytes) -> None:
    assert rules_of(model) == ("identity", b"")
    _, rules = rules_of(foreign("bpe"))
    changed = with_rules(model, "compatible", rules)
    assert rules_of(changed) == ("compatible", rules)
    text = "\ufb01ne \u2460"  # a ligature and a circled digit
    plain, folded = (sentencepiece.SentencePieceProcessor(model_proto=each) for each in (model, changed))
    assert folded.encode(text) == plain.encode("fine 1") != plain.encode(text)
    back = with_rules(changed, "identity", b"")
    assert with_rules(back, "identity", b"") == back
    assert sentencepiece.SentencePieceProcessor(model_proto=back).encode(text) == plain.encode(text)


def test_only_the_named_fields_change(model: bytes) -> None:
    changed = with_fields(model, {200: b"x" * 300})
    assert changed.startswith(model)
    assert [field.value for field in fields(changed) if field.number == 200] == [b"x" * 300]
    assert with_fields(with_fields(model, {200: b"y"}), {200: b"x" * 300}) == changed


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (b"\x0a\x05ab", "breaks off in the field at byte 0"),
        (b"\x12\x02\x18\x09", "its type is 9"),
        (b"\x10\xff\xff\xff\xff\xff\xff\x07", "field 2 is a number"),
        (b"\x12\x04\x1a\x02xy", "its type is b'xy'"),
    ],
)
def test_what_is_no_model_is_told(message: bytes, fault: str) -> None:
    with pytest.raises(UserError, match=f"^not a sentencepiece model: .*{fault}"):
        type_of(message)


def test_a_file_of_something_else_has_no_pieces() -> None:
    with pytest.raises(UserError, match="field 1 is a number"):
        pieces_in(b"\x08\x01")
    assert rules_of(b"") == ("", b"")
